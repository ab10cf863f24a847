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
    X[train_targets], Y[np.ix_(train_targets, train_sources)])`. `shape` is that of Y, N x C.
    """

    train_sources: np.ndarray
    train_targets: np.ndarray
    test_sources: np.ndarray
    test_targets: np.ndarray
    shape: tuple[int, int]

    @property
    def train(self) -> np.ndarray:
        """Marks the pairs to train on, N x C."""
        return self._mask(self.train_targets, self.train_sources)

    @property
    def test(self) -> np.ndarray:
        """Marks the pairs to test on, N x C."""
        return self._mask(self.test_targets, self.test_sources)

    def _mask(self, targets: np.ndarray, sources: np.ndarray) -> np.ndarray:
        mask = np.zeros(self.shape, dtype=bool)
        mask[np.ix_(targets, sources)] = True
        return mask


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
        splits = _folds(rng, (n_targets, n_sources), new, n_splits)
        if all(_has_both(signs, s) for s in splits):
            yield from splits
            return
    raise InputError(
        f"{n_splits} splits with new {new} leave one without known pairs of both signs; take "
        "fewer splits or label more pairs"
    )


def _folds(
    rng: np.random.Generator, shape: tuple[int, int], new: str, n_splits: int
) -> list[PairSplit]:
    n_targets, n_sources = shape
    all_targets, all_sources = np.arange(n_targets), np.arange(n_sources)
    targets = np.array_split(rng.permutation(n_targets), n_splits)
    sources = np.array_split(rng.permutation(n_sources), n_splits)
    splits = []
    for k in range(n_splits):
        held_t = all_targets if new == "sources" else np.sort(targets[k])
        held_s = all_sources if new == "targets" else np.sort(sources[k])
        kept_t = all_targets if new == "sources" else np.setdiff1d(all_targets, held_t)
        kept_s = all_sources if new == "targets" else np.setdiff1d(all_sources, held_s)
        splits.append(PairSplit(kept_s, kept_t, held_s, held_t, shape))
    return splits


def _has_both(signs: np.ndarray, split: PairSplit) -> bool:
    parts = (
        signs[np.ix_(split.train_targets, split.train_sources)],
        signs[np.ix_(split.test_targets, split.test_sources)],
    )
    return all((part > 0).any() and (part < 0).any() for part in parts)
