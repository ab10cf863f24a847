"""What makes rows of pictures, and descriptions of sentences, where a model names it.

Nothing is fetched: what is not on this machine is not used, and a sentence says how to get it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from unseen.apps.serve.settings import Limits
from unseen.classes import ClassTable
from unseen.classes.recipe import SaysNothingError
from unseen.datasets import class_words
from unseen.datasets.class_words import ClassWords
from unseen.datasets.encoder_file import encoders_of, image_encoder
from unseen.encoders.images import ImageEncoder
from unseen.encoders.tfidf import Tfidf
from unseen.errors import InputError, MissingExtraError
from unseen.estimators import ZeroShotClassifier

# The name of a class that is known by a description alone.
DESCRIBED = "described"
NO_PICTURES = "the model was not trained on a folder of 'unseen embed', so it names no encoder"
_NUMBERS = "its classes are described by numbers, so give 'vector' or 'attributes'"
_BOTH = "its classes are described by more than one text, so give 'vector' or 'attributes'"


@dataclass(frozen=True)
class Encoders:
    """The encoders of a model: None where there is none, and then why.

    pictures : the contents of picture files to rows; an error names the picture by its number.
    sentence : a sentence to a class table of one class.
    """

    pictures: Callable[[list[bytes]], np.ndarray] | None = None
    why_no_pictures: str = NO_PICTURES
    sentence: Callable[[str], ClassTable] | None = None
    why_no_sentences: str = _NUMBERS


def encoders_for(model: ZeroShotClassifier, where: Path, images: str, limits: Limits) -> Encoders:
    """The encoders that a model file names, loaded; `images` is where that of pictures is, else
    it is looked for under the name that it had in training."""
    pictures, why_no_pictures = None, NO_PICTURES
    try:
        # Few pictures are in memory at a time, which may be large.
        found = image_encoder(model, where, images, threads=limits.threads)
        if found is not None:
            pictures, why_no_pictures = PictureRows(found), ""
    except (InputError, MissingExtraError) as error:
        if images:
            raise
        why_no_pictures = str(error)
    if images and pictures is None:
        raise InputError(f"--images {images}: {NO_PICTURES}")
    sentence, why_no_sentences = sentences_of(model)
    return Encoders(pictures, why_no_pictures, sentence, why_no_sentences)


class PictureRows:
    """Pictures to rows by an encoder; one request at a time, as networks take all cores."""

    def __init__(self, encoder: ImageEncoder) -> None:
        self._encoder, self._lock = encoder, Lock()

    def __call__(self, contents: list[bytes]) -> np.ndarray:
        with self._lock:
            return self._encoder.transform(contents)


def sentences_of(model: ZeroShotClassifier) -> tuple[Callable[[str], ClassTable] | None, str]:
    """What makes a description of a sentence as those of the classes in training were made, or
    None and why not."""
    table, text = model.class_table_, encoders_of(model).get("text") or {}
    recipe, name = table.recipe, text.get("name", class_words.TFIDF)
    if recipe is None and name == class_words.TFIDF:
        return None, _NUMBERS
    if recipe is not None and (recipe.numbers is not None or len(recipe.text_columns) != 1):
        return None, _BOTH
    try:
        if recipe is None:
            make = _Sentences(class_words.text_encoder(name, offline=True), table)
            make("a thing")
            return make, ""
        encoding = next(iter(recipe.parts.values())).encoding
        if not isinstance(encoding, Tfidf):
            encoding(["a thing"])  # pyright: ignore[reportOptionalCall]
    except (InputError, MissingExtraError) as error:  # said before anyone asks
        return None, str(error)

    def encode(said: str) -> ClassTable:
        try:
            return table.encode({DESCRIBED: said})
        except SaysNothingError as error:  # who asked knows of no class and no column
            raise InputError(f"the sentence {error.why}") from None

    return encode, ""


class _Sentences:
    """Sentences by the encoder that 'unseen embed' used for the words of the classes."""

    def __init__(self, encoder: Any, table: ClassTable) -> None:
        self._encoder, self._table = encoder, table

    def __call__(self, said: str) -> ClassTable:
        words = ClassWords([DESCRIBED], {"description": [said]}, {})
        columns, values = class_words.as_table(words, self._encoder, ())
        if values.shape[1] != self._table.n_attributes:
            raise InputError(_BOTH)
        return ClassTable([DESCRIBED], values, self._table.attributes or columns)
