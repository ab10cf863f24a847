"""Splits that hold out whole classes, as the paper chooses its parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.classes.checks import names_of_rows
from unseen.errors import InputError


@dataclass(eq=False)
class ClassHoldout:
    """Splits that hold out whole classes: no class is on both sides of a split.

    Works as `cv` of scikit-learn's searches. Pass them the class table of the *seen* classes only,
    so that descriptions of unseen classes take no part; `tune` does it for you.

    Parameters
    ----------
    n_classes : how many classes to hold out, or a share between 0 and 1; the paper takes 2.
    n_splits : how many times.
    random_state : seed of the choice.
    """

    n_classes: float = 2
    n_splits: int = 5
    random_state: int | None = 0

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Row numbers to train on and to test on; y holds the class of each row."""
        if y is None:
            raise InputError("ClassHoldout needs y: it holds out whole classes")
        labels = names_of_rows(y)
        for names in self._choices(np.unique(labels)):
            held = np.isin(labels, names)
            yield np.flatnonzero(~held), np.flatnonzero(held)

    def _choices(self, names: np.ndarray) -> Iterator[list[Any]]:
        """Classes to hold out; no choice is repeated before every other one has been made."""
        from sklearn.utils import check_random_state

        n_held = n_held_out(self.n_classes, names.size)
        n_choices = math.comb(names.size, n_held)
        rng = check_random_state(self.random_state)
        made: set[tuple[int, ...]] = set()
        for _ in range(self.get_n_splits()):
            if len(made) == n_choices:
                made.clear()
            choice = None
            while choice is None or choice in made:
                choice = tuple(sorted(rng.choice(names.size, n_held, replace=False).tolist()))
            made.add(choice)
            yield names[list(choice)].tolist()

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        if self.n_splits < 1:
            raise InputError(f"n_splits must be at least 1, not {self.n_splits}")
        return self.n_splits


def n_held_out(number: float, n_classes: int, word: str = "n_classes") -> int:
    """How many of the classes to hold out; `word` is what the user calls that number.

    At least two, since every prediction among one class is right, and two remain for training.
    """
    most = n_classes - 2
    if most < 2:
        raise InputError(
            "tuning needs at least 4 seen classes, two to hold out and two to train on, but there "
            f"are {n_classes}; use 'fit' instead"
        )
    is_share = 0 < number < 1
    if not is_share and (not number >= 2 or number % 1 != 0):
        raise InputError(
            f"{word} must be a whole number from 2 to {most} (every prediction among one class is "
            f"right) or a share between 0 and 1, not {number}"
        )
    n_held = max(2, round(number * n_classes)) if is_share else int(number)
    if n_held > most:
        raise InputError(
            f"{word}={number} holds out {n_held} of {n_classes} seen classes and leaves fewer than "
            f"two to train on: at most {most} can be held out"
        )
    return n_held
