"""TF-IDF: a text as the words it holds, rare ones counting more; no download, no network.

A word w that occurs n times in a text counts

    (1 + log n) (1 + log((1 + T) / (1 + t_w)))

where t_w of the T texts learned from hold it. Words of all texts, and those such as "the" and
"with", do not count. A text is scaled to length one. Where the words are many, texts are given in
the directions of an SVD.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.errors import InputError, counted
from unseen.support.parameters import is_float_array
from unseen.support.registry import register

# Words of two letters or more, and numbers: "bird's" is "bird", "black_footed" two words.
TOKEN = r"[^\W\d_]{2,}|\d+"
# Words that describe nothing. Longer lists have "bill" and "thick" on them, which describe a bird.
_IDLE = """
also an and are as at be been but by can for from had has have if in into is it its may of on or so
some such than that the their them then there these they this those to was were which while who with
"""
# Up to so many words are columns by themselves, which an explanation can name.
MOST_COLUMNS = 1_000
# The most widespread words of many long texts.
MOST_WORDS = 20_000
# Directions that hold less than this share of the first are rounding.
_LEAST = 1e-5
# So many texts have an exact SVD in a second or two.
_EXACT = 1_000


@register("tfidf")
@dataclass(frozen=True, eq=False)
class Tfidf:
    """What was learned from texts: words (V, sorted), their weights, and directions (k x V) or None
    where each word is a column."""

    words: np.ndarray
    weights: np.ndarray
    directions: np.ndarray | None = None

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Texts as numbers, float32; one without a known word is a row of zeros."""
        counts = _counter(vocabulary=self.words).transform(texts)
        found = _weighed(counts, self.weights)
        if self.directions is not None:
            return np.asarray(found @ self.directions.T, dtype=np.float32)
        return found.toarray().astype(np.float32)

    @property
    def width(self) -> int:
        return self.words.size if self.directions is None else self.directions.shape[0]

    def columns(self) -> list[str] | None:
        """The names of the columns; directions have none."""
        return self.words.tolist() if self.directions is None else None

    def told(self, n_texts: int, of_seen: bool) -> str:
        """What it makes of texts, in words."""
        texts = counted(n_texts, "seen text" if of_seen else "text")
        ways = "" if self.directions is None else f", in {counted(self.width, 'direction')}"
        return f"encoded by TF-IDF of {counted(self.words.size, 'word')} of {texts}{ways}"

    def why_nothing(self) -> str:
        """What is wrong with a text that becomes zeros, and the way out."""
        some = self.words[np.argsort(self.weights, kind="stable")[:3]].tolist()
        return (
            "has no word of those that tell the known classes apart; describe it in words that "
            f"they have too, such as {', '.join(some)}"
        )

    def check(self) -> None:
        """An error unless the parts, which may come from a file, fit together."""
        words, size = self.words, np.size(self.words)
        is_list = isinstance(words, np.ndarray) and words.dtype.kind == "U" and words.ndim == 1
        if not is_list or not size or not (np.sort(words) == words).all():
            raise InputError("the words of its texts are not a sorted list")
        if np.unique(words).size < size:
            raise InputError("the words of its texts are not a sorted list")
        if not is_float_array(self.weights, 1) or self.weights.shape != (size,):
            raise InputError("the words of its texts and their weights do not fit together")
        if not (self.weights > 0).all():
            raise InputError("a word of its texts has no positive weight")
        V = self.directions
        if V is not None and not (is_float_array(V, 2) and V.shape[0] and V.shape[1] == size):
            raise InputError("the words of its texts and their directions do not fit together")


def learn_tfidf(texts: Sequence[str], n_columns: int | None = None) -> Tfidf:
    """Learn words, their weights and, if need be, directions.

    n_columns : how many directions; None takes the words themselves up to 1,000 of them, and beyond
        that as many directions as there are texts, in which nothing of these texts is lost.
    """
    counter = _counter(stop_words=_IDLE.split())
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # no word at all
        counts = None
    if counts is None:
        raise InputError("the texts hold no words that describe anything, and no numbers")
    if counts.shape[0] == 1:
        raise InputError(
            "there is one text alone, and words are weighed by which texts have them and which do "
            "not: give the texts of two classes or more"
        )
    widespread = np.asarray((counts > 0).sum(axis=0)).ravel()
    # A word of one text alone stays: a text that comes later may hold it too.
    kept = np.flatnonzero(widespread < counts.shape[0])
    if not kept.size:
        raise InputError("the texts all hold the same words: nothing tells one from the other")
    if kept.size > MOST_WORDS:
        most = np.argsort(-widespread[kept], kind="stable")[:MOST_WORDS]
        kept = np.sort(kept[most])
    words = np.asarray(counter.get_feature_names_out(), dtype=str)[kept]
    weights = 1 + np.log((1 + counts.shape[0]) / (1 + widespread[kept]))
    found = Tfidf(words, weights)
    if n_columns is None and words.size <= MOST_COLUMNS:
        return found
    return Tfidf(words, weights, _directions(_weighed(counts[:, kept], weights), n_columns))


def words_of(texts: Iterable[str]) -> set[str]:
    """The words that describe something."""
    words = _counter(stop_words=_IDLE.split()).build_analyzer()
    return {word for text in texts for word in words(text)}


def _counter(**given: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(lowercase=True, strip_accents="unicode", token_pattern=TOKEN, **given)


def _weighed(counts: Any, weights: np.ndarray) -> Any:
    """Counts (a sparse matrix) to weights, each row of length one."""
    from sklearn.preprocessing import normalize

    found = counts.astype(np.float64).tocsr()
    found.data = 1 + np.log(found.data)
    return normalize(found.multiply(weights[None, :]).tocsr())


def _directions(A: Any, n_columns: int | None) -> np.ndarray:
    """The first right singular vectors of A, as rows; the largest entry of each is positive."""
    most = min(A.shape) if n_columns is None else min(n_columns, *A.shape)
    if A.shape[0] <= _EXACT:
        squares, left = np.linalg.eigh((A @ A.T).toarray())
        sizes = np.sqrt(np.maximum(squares[::-1], 0))
        kept = np.flatnonzero(sizes > _LEAST * sizes[0])[:most]
        V = np.asarray(A.T @ left[:, ::-1][:, kept] / sizes[kept]).T
    else:
        from sklearn.decomposition import TruncatedSVD

        most = min(most, 300, min(A.shape) - 1)
        found: Any = TruncatedSVD(most, algorithm="arpack", random_state=0).fit(A)
        V = found.components_
    largest = np.take_along_axis(V, np.abs(V).argmax(axis=1)[:, None], axis=1)
    return np.ascontiguousarray(V * np.sign(largest), dtype=np.float32)
