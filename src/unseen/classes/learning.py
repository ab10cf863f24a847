"""Learning a recipe: words of texts and means of numbers, from seen classes where known."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from unseen.classes.recipe import Description, Given, Recipe, encoded, with_gaps
from unseen.encoders.text import text_encoder
from unseen.errors import InputError, counted, naming
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
    chosen = np.ones(given.names.size, bool)
    if seen is not None:
        chosen = np.isin(given.names, list(seen))
        chosen = chosen if chosen.any() else ~chosen
    numbers, told, notes, minus_one = given.numbers, [], [], False
    if has_minus_ones(numbers):
        minus_one = missing != "error"
        n_cells = int((numbers == -1).sum())
        notes.append(_told_minus_one(n_cells, minus_one))
        numbers = with_gaps(numbers) if minus_one else numbers
    parts = {}
    if numbers.shape[1]:
        columns = None if given.columns is None else list(given.columns)
        part = Description(columns, numbers.shape[1])
        name = _NUMBERS if _NUMBERS not in given.texts else "columns of numbers"
        parts[name] = _filled(part, numbers, chosen, missing, notes)
    for column, texts in given.texts.items():
        known = chosen & (texts != "")
        if not known.any():
            raise InputError(f"column {column!r} holds no text of a seen class: leave it out")
        with naming(f"column {column!r}"):
            encoding = text_encoder(encoder).fit(texts[known].tolist()).encoding_
        part = Description([column], encoding.width, encoding)
        values = encoded(encoding, given.names, texts, column)
        parts[column] = _filled(part, values, chosen, missing, notes)
        about = encoding.told(int(known.sum()), seen is not None)
        told.append(f"class table: text in column {column!r}, {about}")
    is_plain = not given.texts and missing == "error" and not np.isnan(numbers).any()
    return Learned(None if is_plain else Recipe(parts, minus_one), told, notes)


def _filled(
    part: Description, values: np.ndarray, chosen: np.ndarray, missing: str, notes: list[str]
) -> Description:
    """A part that knows what stands for missing values, if they may miss."""
    if missing == "error":
        return part
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
        notes.append(
            f"class table: {what} of {rows} missing{where}; the mean of the seen classes "
            f"instead{added}"
        )
    return Description(part.columns, part.width, part.encoding, fill, marked)


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
