"""The demonstration as a service: digits and the segments of a display, or drawn things."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image

from unseen.apps.serve.encoders import Encoders
from unseen.apps.serve.run import gallery_of
from unseen.apps.serve.served import Current, Served
from unseen.apps.serve.settings import Settings
from unseen.classes import ClassTable
from unseen.datasets import ZeroShotDataset, load_digits_zero_shot, make_shapes
from unseen.datasets.shapes import FILLINGS, INKS, SHAPES, picture_features
from unseen.encoders.pictures import read_picture
from unseen.errors import InputError, naming
from unseen.estimators import method
from unseen.support.work import tell

# Drawn pictures are so wide; so is a digit before its pixels are counted in blocks.
_SIDE = 32
_BLOCK = 4
# What is darker than this share of the darkest, or as much lighter than the ground, is ink.
_INK = 0.4


def demo(name: str, settings: Settings) -> Current:
    """A model of an embedded data set, trained on its seen classes, with all its pictures."""
    if name not in ("digits", "shapes"):
        raise InputError(f"--data {name}: the demonstration has 'digits' and 'shapes'")
    tell("drawing pictures and training" if name == "shapes" else "training")
    data = make_shapes() if name == "shapes" else load_digits_zero_shot()
    model = method("gaussian-match")().fit(*data.training_set(), _grouped(data))
    encoders = Encoders(shape_rows if name == "shapes" else digit_rows, "")
    gallery = gallery_of(data, "all", [], settings)
    return Current(Served(model, name, gallery, encoders, settings.limits))


def _grouped(data: ZeroShotDataset) -> ClassTable:
    """The class table with words that say what kind of word they are."""
    kinds = {"colour": INKS, "filling": FILLINGS, "shape": SHAPES}
    words = {word: kind for kind, group in kinds.items() for word in group}
    table = data.classes
    names = [f"{words.get(a, 'segment')}: {a}" for a in table.attributes or ()]
    return ClassTable(table.names, table.vectors, names)


def shape_rows(contents: list[bytes]) -> np.ndarray:
    """Rows of any pictures, as those of the drawn shapes are made."""
    small = _each(contents, lambda picture: np.asarray(picture.resize((_SIDE, _SIDE))))
    return picture_features(small.astype(np.float32) / 255)


def digit_rows(contents: list[bytes]) -> np.ndarray:
    """Rows of pictures of digits, made as those of the data set were: the ink is cut out, brought
    to a height of 32 pixels, and counted in blocks of 4 x 4."""
    return _each(contents, _digit)


def _digit(picture: Image.Image) -> np.ndarray:
    grey = np.asarray(picture.convert("L"))
    edge = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    ink = np.abs(grey - float(np.median(edge)))  # dark on light, or light on dark
    drawn = ink > _INK * ink.max()
    if not drawn.any():
        raise InputError("the picture is of one shade: there is no digit to see")
    lines, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    cut = Image.fromarray(np.uint8(255 * drawn))
    cut = cut.crop((columns[0], lines[0], columns[-1] + 1, lines[-1] + 1))
    width = int(np.clip(round(_SIDE * cut.width / cut.height), 1, _SIDE))
    place = (_SIDE - width) // 2
    whole = np.zeros((_SIDE, _SIDE))
    whole[:, place : place + width] = np.asarray(cut.resize((width, _SIDE), Image.Resampling.BOX))
    side = _SIDE // _BLOCK
    return whole.reshape(side, _BLOCK, side, _BLOCK).sum(axis=(1, 3)).ravel() / 255


def _each(contents: list[bytes], make: Callable[[Image.Image], np.ndarray]) -> np.ndarray:
    """What is made of each picture; an error says of which it is."""
    made = []
    for number, content in enumerate(contents):
        with naming(f"picture {number}"):
            made.append(make(read_picture(content)))
    return np.stack(made)
