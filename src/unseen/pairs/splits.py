"""Splits of pairs that keep whole sources or whole targets out of training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unseen.errors import InputError

KINDS = ("sources", "targets", "both")
_TRIES = 50


class PairSplit(NamedTuple):
    """Numbers of the sources and targets to train on, and of those whose pairs are to test on.

    Training must see nothing of the others, not even their vectors: `fit_pairs(S[train_sources],
    X[train_targets], Y[split.train])`.
    """

    train_sources: np.ndarray
    train_targets: np.ndarray
    test_sources: np.ndarray
    test_targets: np.ndarray

    @property
    def train(self) -> tuple[np.ndarray, ...]:
        """The index of the labels to train on in Y, N x C."""
        return np.ix_(self.train_targets, self.train_sources)

    @property
    def test(self) -> tuple[np.ndarray, ...]:
        """The index of the labels to test on."""
        return np.ix_(self.test_targets, self.test_sources)


def cold_start_splits(
    signs: np.ndarray, new: str = "targets", n_splits: int = 5, random_state: int = 0
) -> Iterator[PairSplit]:
    """Cold-start splits of an N x C matrix of labels (+1, -1, 0 = unknown), targets down.

    new : what training has never met in a pair to test on: "targets" (with all the sources, which
        are known), "sources" (with all the targets) or "both", in which pairs of a new with a known
        one take no part at all.
    n_splits : folds; each target or source is new in one of them.

    Folds are drawn until each has known pairs of both signs to train and to test on.
    """
    if new not in KINDS:
        raise InputError(f"new must be one of {KINDS}, not {new!r}")
    n_targets, n_sources = signs.shape
    fewest = min([n for n, k in ((n_targets, "sources"), (n_sources, "targets")) if new != k])
    if not 2 <= n_splits <= fewest:
        raise InputError(
            f"n_splits must be a whole number from 2 to {fewest}, the number of "
            f"{'sources or targets' if new == 'both' else new}, not {n_splits}"
        )
    rng = np.random.default_rng(random_state)
    for _ in range(_TRIES):
        splits = _folds(rng, signs.shape, new, n_splits)
        parts = [signs[part] for split in splits for part in (split.train, split.test)]
        if all((part > 0).any() and (part < 0).any() for part in parts):
            yield from splits
            return
    raise InputError(
        f"{n_splits} splits with new {new} leave one without known pairs of both signs; take "
        "fewer splits or label more pairs"
    )


def _folds(
    rng: np.random.Generator, shape: tuple[int, ...], new: str, n_splits: int
) -> list[PairSplit]:
    every = [np.arange(n) for n in shape]
    folds = [np.array_split(rng.permutation(n), n_splits) for n in shape]
    splits = []
    for parts in zip(*folds, strict=True):
        held = [np.sort(part) for part in parts]
        kept = [np.setdiff1d(all_, part) for all_, part in zip(every, held, strict=True)]
        for side, others in enumerate(("sources", "targets")):
            if new == others:
                held[side] = kept[side] = every[side]
        splits.append(PairSplit(kept[1], kept[0], held[1], held[0]))
    return splits
