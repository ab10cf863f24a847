"""The demonstration as a service: drawn things, or digits and the segments of a display."""

from __future__ import annotations

import numpy as np

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

_SIDE = 32


def demo(name: str, settings: Settings) -> Current:
    """A model of an embedded data set, trained on its seen classes, with all its pictures."""
    if name not in ("shapes", "digits"):
        raise InputError(f"--data {name}: the demonstration has 'shapes' and 'digits'")
    tell("drawing pictures and training" if name == "shapes" else "training")
    data = make_shapes() if name == "shapes" else load_digits_zero_shot()
    model = method("gaussian-match")().fit(*data.training_set(), _grouped(data))
    encoders = Encoders(shape_rows, "") if name == "shapes" else Encoders()
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
    small = []
    for number, content in enumerate(contents):
        with naming(f"picture {number}"):
            small.append(np.asarray(read_picture(content).resize((_SIDE, _SIDE))))
    return picture_features(np.stack(small).astype(np.float32) / 255)
