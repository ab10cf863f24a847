"""Pictures on the command line: rows of a model from a folder of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from unseen.apps.cli.output import note, working
from unseen.classes import ClassTable
from unseen.datasets import class_words
from unseen.datasets.encoder_file import encoders_of, image_encoder
from unseen.datasets.layouts import find_layout
from unseen.datasets.picture_folder import Listing, list_pictures
from unseen.datasets.row_files import PICTURE_SUFFIXES, Rows, holds_pictures
from unseen.encoders.cache import cache_folder
from unseen.encoders.pictures import PictureError
from unseen.errors import InputError, counted
from unseen.estimators import ZeroShotClassifier

_IMAGES = (
    "The encoder of the pictures, where it is not under the name that it had in training: a name, "
    "a folder or an .onnx file. It must be the same one."
)
Images = Annotated[str, typer.Option("--images", metavar="NAME|PATH", help=_IMAGES)]


def is_pictures(path: str) -> bool:
    """Whether a path is a picture, or a folder of files that are no data set but pictures."""
    if os.path.isfile(path):
        return path.lower().endswith(PICTURE_SUFFIXES)
    if not os.path.isdir(path) or any(Path(path).glob("features.*")) or find_layout(Path(path)):
        return False
    return holds_pictures(Path(path))


def picture_rows(model: ZeroShotClassifier, model_file: Path, path: str, images: str) -> Rows:
    """The rows of pictures, made by the encoder that the model was trained with."""
    encoder = image_encoder(model, model_file, images, cache=cache_folder())
    if encoder is None:
        raise InputError(
            f"{model_file} was not trained on pictures of 'unseen embed', so it does not know how "
            f"to make rows of {path}: give it a feature file"
        )
    listing = Listing([""], {}) if os.path.isfile(path) else list_pictures(path)
    names, vectors = [], []
    with working(f"encoding {counted(len(listing.names), 'picture')}"):
        sources = [os.path.join(path, name) if name else path for name in listing.names]
        for source, found in zip(sources, encoder.stream(sources), strict=True):
            if isinstance(found, PictureError):
                listing.skipped[source] = str(found)
            else:
                names.append(source)
                vectors.append(found)
    _tell_skipped(listing.skipped, path, bool(names))
    return Rows(np.array(vectors), _labels(names, path, model), np.array(names))


def _tell_skipped(skipped: dict[str, str], path: str, some: bool) -> None:
    if not skipped:
        return
    name, reason = min(skipped.items())
    if not some:
        raise InputError(f"no file of {path} could be used; the first: {name}: {reason}")
    note(f"{counted(len(skipped), 'file')} of {path} left out; the first: {name}: {reason}")


def _labels(names: list[str], path: str, model: ZeroShotClassifier) -> np.ndarray | None:
    """The classes of pictures in folders that are named after classes of the model."""
    known = set(map(str, model.class_table_.names.tolist()))
    firsts = [os.path.relpath(name, path).split(os.sep)[0] for name in names]
    labels = [first if first in known else "" for first in firsts]
    return np.array(labels) if any(labels) else None


def new_classes(model: ZeroShotClassifier, path: Path) -> ClassTable:
    """Further classes; their text is encoded as that of the classes in training was."""
    text = encoders_of(model).get("text")
    if not text or text["name"] == class_words.TFIDF or path.suffix not in (".csv", ".tsv"):
        return ClassTable.read(path, like=model.class_table_)
    words = class_words.read_words(path)
    if not words.text:
        return ClassTable.read(path, like=model.class_table_)
    encoder = class_words.text_encoder(text["name"], offline=True)
    columns, values = class_words.as_table(words, encoder, text["templates"])
    return ClassTable(words.names, values, columns)
