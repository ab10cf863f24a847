"""Learning a recipe: words of texts and means of numbers, from seen classes where known."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unseen.classes.checks import check_finite
from unseen.classes.recipe import Description, Given, Recipe, encoded, with_gaps
from unseen.encoders.text import TextEncoding, text_encoder
from unseen.encoders.tfidf import Tfidf, words_of
from unseen.errors import InputError, counted, listed, naming
from unseen.support.parameters import Choice, check_values

MISSING = ("error", "mean", "column")
_NUMBERS = "numbers"


class Learned(NamedTuple):
    """A recipe, what it makes of texts in words, and what its user should know."""

    recipe: Recipe | None
    told: list[str]
    odd: list[str]


def learn_recipe(
    given: Given,
    encoder: Any = "tfidf",
    missing: str = "error",
    seen: Collection[Any] | None = None,
) -> Learned:
    """The recipe of descriptions; None for numbers as they are.

    seen : the classes to learn words and means from; None for all.
    """
    check_values({"missing": [Choice(*MISSING)]}, {"missing": missing})
    known = np.where(np.isnan(given.numbers), 0.0, given.numbers)
    check_finite(known, given.names, given.columns)
    chosen, told, odd = _chosen(given.names, seen), [], []
    minus_one = has_minus_ones(given.numbers) and missing != "error"
    if has_minus_ones(given.numbers):
        odd.append(_told_minus_one(int((given.numbers == -1).sum()), minus_one))
    parts: dict[str, Description] = {}
    values: dict[str, np.ndarray] = {}
    if given.numbers.shape[1]:
        name = _NUMBERS if _NUMBERS not in given.texts else f"columns of {_NUMBERS}"
        values[name] = with_gaps(given.numbers) if minus_one else given.numbers
        columns = None if given.columns is None else list(given.columns)
        parts[name] = Description(columns, given.numbers.shape[1])
    for column, texts in given.texts.items():
        encoding, n_texts = _learn_encoding(encoder, column, texts[chosen])
        values[column] = encoded(encoding, given.names, texts, column)
        parts[column] = Description([column], encoding.width, encoding)
        about = encoding.told(n_texts, seen is not None)
        told.append(f"class table: text in column {column!r}, {about}")
        told += _not_known(encoding, texts, chosen, column)
    for name, part in parts.items():
        part = part if missing == "error" else _filled(part, values[name], chosen, missing, odd)
        parts[name] = _scaled(part, values[name], given.names, chosen) if len(parts) > 1 else part
    is_plain = not given.texts and missing == "error" and not np.isnan(given.numbers).any()
    return Learned(None if is_plain else Recipe(parts, minus_one), told, odd)


def _chosen(names: np.ndarray, seen: Collection[Any] | None) -> np.ndarray:
    """Which classes to learn from: the seen ones, or all if none of them is known."""
    chosen = np.ones(names.size, bool) if seen is None else np.isin(names, list(seen))
    return chosen if chosen.any() else ~chosen


def _learn_encoding(encoder: Any, column: str, texts: np.ndarray) -> tuple[TextEncoding, int]:
    """What makes numbers of the texts of a column, and how many texts it has seen."""
    known = texts[texts != ""].tolist()
    if not known:
        raise InputError(f"column {column!r} holds no text of a seen class: leave it out")
    with naming(f"column {column!r}"):
        return text_encoder(encoder).fit(known).encoding_, len(known)


def _not_known(
    encoding: TextEncoding, texts: np.ndarray, chosen: np.ndarray, column: str
) -> list[str]:
    """What is to be said of words that only classes have which nothing was learned from."""
    if not isinstance(encoding, Tfidf):
        return []
    words = sorted(words_of(texts[~chosen]) - words_of(texts[chosen]))
    if not words:
        return []
    found = f"{counted(len(words), 'word')} in column {column!r} that only unseen classes have"
    return [f"class table: {found} cannot count: {listed(words)}"]


def _scaled(
    part: Description, values: np.ndarray, names: np.ndarray, chosen: np.ndarray
) -> Description:
    """A part in units of how far seen classes lie from their mean."""
    spread = np.sqrt(part.vectors(values, names)[chosen].var(axis=0).sum())
    return replace(part, scale=float(spread) or 1.0)


def _filled(
    part: Description, values: np.ndarray, chosen: np.ndarray, missing: str, odd: list[str]
) -> Description:
    """A part that knows what stands for missing values."""
    gaps = np.isnan(values)
    empty = gaps[chosen].all(axis=0)
    if empty.any():
        column = part.columns[int(empty.argmax())] if part.columns else int(empty.argmax())
        raise InputError(f"column {column!r} has no value of a seen class: leave it out")
    known = np.where(gaps, 0, values)[chosen].sum(axis=0, dtype=np.float64)
    fill = known / (~gaps[chosen]).sum(axis=0)
    is_text = part.encoding is not None
    marked: list[int] = []
    if missing == "column":
        marked = np.flatnonzero(gaps[chosen].any(axis=0)).tolist()
        marked = marked[:1] if is_text else marked
    if gaps.any():
        cells = int(gaps.any(axis=1).sum()) if is_text else int(gaps.sum())
        what = counted(cells, "text") if is_text else counted(cells, "value")
        added = f", and {counted(len(marked), 'column')} to mark it" if marked else ""
        where = f" in column {part.columns[0]!r}" if is_text and part.columns else ""
        rows = counted(int(gaps.any(axis=1).sum()), "class")
        odd.append(
            f"class table: {what} of {rows} missing{where}; the mean of the seen classes "
            f"instead{added}"
        )
    return replace(part, fill=fill, marked=marked)


def has_minus_ones(numbers: np.ndarray) -> bool:
    """Does -1 look like AwA's sign for unknown? No other number is negative, and they are not all
    zeros and ones, beside which -1 is a value."""
    others = numbers[np.isfinite(numbers) & (numbers != -1)]
    is_there = bool((numbers == -1).any())
    return is_there and bool((others >= 0).all()) and not bool(np.isin(others, (0, 1)).all())


def _told_minus_one(n_cells: int, is_gap: bool) -> str:
    found = f"class table: {counted(n_cells, 'cell')} of -1 where no other number is negative"
    if is_gap:
        return f"{found}: taken for missing, as in Animals with Attributes"
    return f"{found}: taken as numbers; where -1 means unknown, say missing='mean' (--missing mean)"
