"""Texts to vectors: one transformer for TF-IDF and for sentence encoders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unseen.encoders.sentences import SentenceEncoder, sentence_encoder
from unseen.encoders.tfidf import Tfidf, learn_tfidf
from unseen.errors import InputError
from unseen.support.parameters import Composite, at_least, has_parameters, parameter

# What a text encoder has learned: it makes numbers of texts.
TextEncoding = Tfidf | SentenceEncoder
TFIDF = "tfidf"


@has_parameters
class TextEncoder(TransformerMixin, Composite):
    """Texts as rows of float32 numbers, each of length one.

    Parameters
    ----------
    name : "tfidf", which learns words and their weights in `fit` and needs no other files; or a
        sentence encoder (extra `encode`), by the name it has for sentence-transformers, such as
        "all-MiniLM-L6-v2", or by its folder, which learns nothing in `fit`.
    n_columns : of TF-IDF: None for the words themselves, up to 1,000 of them, and beyond that for
        as many directions of an SVD as there are texts, in which nothing of them is lost.
    batch_size : how many texts a sentence encoder takes at once.
    offline : fetch nothing; a name that is not on this machine gives the command that gets it.

    Attributes
    ----------
    encoding_ : what makes numbers of texts. It holds no weights of a sentence encoder, but its name
        and its hash.

    >>> encoder = TextEncoder().fit(["a striped horse", "a striped cat", "a horse with horns"])
    >>> encoder.get_feature_names_out().tolist()
    ['cat', 'horns', 'horse', 'striped']
    >>> encoder.transform(["a horse without stripes"]).tolist()
    [[0.0, 0.0, 1.0, 0.0]]
    """

    name: str = parameter(TFIDF, str)
    n_columns: int | None = parameter(None, at_least(1), None)
    batch_size: int = parameter(32, at_least(1))
    offline: bool = parameter(False, "boolean")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from texts X (a list of strings)."""
        self._check_parameters()
        if self.name == TFIDF:
            self.encoding_: TextEncoding = learn_tfidf(as_texts(X), self.n_columns)
        elif self.n_columns is not None:
            raise InputError(f"n_columns is of 'tfidf'; {self.name!r} has as many as it has")
        else:
            self.encoding_ = sentence_encoder(self.name, bool(self.offline))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Texts as numbers, N x width; without any known word a text is a row of zeros."""
        texts = as_texts(X)
        # A sentence encoder has nothing to learn.
        if "encoding_" not in vars(self) and self.name != TFIDF:
            self.fit(texts)
        check_is_fitted(self)
        if isinstance(self.encoding_, SentenceEncoder):
            return self.encoding_(texts, self.batch_size)
        return self.encoding_(texts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The words that are columns, or `text0`, `text1`, ..."""
        check_is_fitted(self)
        names = self.encoding_.columns()
        numbered = [f"text{k}" for k in range(self.encoding_.width)]
        return np.array(numbered if names is None else names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.requires_fit = self.name == TFIDF
        return tags


def as_texts(X: Any) -> list[str]:
    """Texts as a list of strings that are not empty, or an error that says which is none."""
    if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
        raise InputError(f"texts must be a list of strings, not {str(X)[:40]!r}")
    texts = list(X)
    if not texts:
        raise InputError("the list of texts is empty")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InputError(f"text {number} (counted from 0) is not a string but of type {kind}")
        if not text.strip():
            raise InputError(f"text {number} (counted from 0) is empty")
    return texts


def text_encoder(encoder: Any) -> TextEncoder:
    """What a user may give for an encoder: its name, or a `TextEncoder`. A table is read without
    fetching anything."""
    if isinstance(encoder, TextEncoder):
        return encoder
    if isinstance(encoder, str):
        return TextEncoder(encoder, offline=True)
    raise InputError(f"encoder must be a name such as 'tfidf', or a TextEncoder, not {encoder!r}")
