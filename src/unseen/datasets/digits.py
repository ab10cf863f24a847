"""Handwritten digits described by the segments of a seven-segment display."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

from unseen.classes import ClassTable
from unseen.classes.checks import as_names
from unseen.datasets.dataset import ZeroShotDataset

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SEGMENTS = ("top", "upper right", "lower right", "bottom", "lower left", "upper left", "middle")
# Which of the segments, in the order above, are on when a display shows 0, 1, ... 9.
_CODES = "1111110 0110000 1101101 1111001 0110011 1011011 1011111 1110000 1111111 1111011"


def seven_segments() -> ClassTable:
    """The ten digits, each described by 14 columns: segment on, segment off."""
    on = np.array([[int(bit) for bit in code] for code in _CODES.split()], dtype=np.float64)
    attributes = [f"{s} {state}" for state in ("on", "off") for s in SEGMENTS]
    return ClassTable(DIGITS, np.hstack([on, 1 - on]), attributes)


def draw_segments(code: np.ndarray) -> np.ndarray:
    """A picture (13 x 9, grey from 0 to 1) of a display whose seven segments are lit as given."""
    picture = np.zeros((13, 9))
    wide, above, below = slice(2, 7), slice(1, 6), slice(7, 12)
    places = (
        (0, wide),
        (above, 7),
        (below, 7),
        (12, wide),
        (below, 1),
        (above, 1),
        (6, wide),
    )
    for lit, place in zip(code, places, strict=False):
        picture[place] = 1.0 if lit else 0.12
    return picture


def digit_splits() -> list[tuple[str, str, str]]:
    """All 120 ways to keep three of the ten digits as unseen."""
    return list(combinations(DIGITS, 3))


def load_digits_zero_shot(unseen: Iterable[str] = ("one", "two", "five")) -> ZeroShotDataset:
    """The 1,797 handwritten digits that ship inside scikit-learn, as a zero-shot data set.

    Rows are the 64 grey values of an 8 x 8 image, kept in `images` too.

    Parameters
    ----------
    unseen : the digits, by name, that take no part in training; `digit_splits` lists all triples.
        The default are the three whose codes differ most from each other.
    """
    from sklearn.datasets import load_digits

    source: Any = load_digits()
    pixels, digits = source.data, source.target
    return ZeroShotDataset(
        name="digits",
        X=pixels,
        y=np.array(DIGITS)[digits],
        classes=seven_segments(),
        unseen=as_names(unseen, "unseen classes"),
        images=pixels.reshape(-1, 8, 8),
        notes=("handwritten digits of scikit-learn, described by seven-segment codes",),
    )
