"""Cold-start splits: nothing of what is tested was met in training, and every one has its turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen import InputError
from unseen.pairs.splits import KINDS, cold_start_splits

Y = np.random.default_rng(0).choice([-1, 0, 1], (30, 12))


@pytest.mark.parametrize("new", KINDS)
def test_what_is_new_was_never_met(new: str) -> None:
    splits = list(cold_start_splits(Y, new, 4))
    assert len(splits) == 4
    for split in splits:
        met_sources = set(split.train_sources) & set(split.test_sources)
        met_targets = set(split.train_targets) & set(split.test_targets)
        assert bool(met_sources) == (new == "targets")
        assert bool(met_targets) == (new == "sources")
        used = np.zeros(Y.shape, int)
        for part in (split.train, split.test):
            assert {-1, 1} <= set(Y[part].ravel())
            used[part] += 1
        assert used.max() == 1


@pytest.mark.parametrize("new", KINDS)
def test_every_target_or_source_is_new_once(new: str) -> None:
    splits = list(cold_start_splits(Y, new, 4))
    if new != "sources":
        assert sorted(np.concatenate([s.test_targets for s in splits])) == list(range(30))
    if new != "targets":
        assert sorted(np.concatenate([s.test_sources for s in splits])) == list(range(12))
    if new != "both":
        times = np.zeros(Y.shape, int)
        for split in splits:
            times[split.test] += 1
        assert (times == 1).all()


def test_the_seed_decides() -> None:
    def drawn(seed: int) -> list[list[int]]:
        return [s.test_targets.tolist() for s in cold_start_splits(Y, "targets", 3, seed)]

    assert drawn(1) == drawn(1) != drawn(2)


def test_folds_are_drawn_until_both_signs_are_everywhere() -> None:
    rare = -np.ones((20, 3), dtype=int)
    rare[[0, 1]] = 1
    for seed in range(5):
        for split in cold_start_splits(rare, "targets", 2, seed):
            assert (rare[split.test] > 0).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"new": "rows"}, "new must be one of"),
        ({"n_splits": 1}, "from 2 to 30, the number of targets, not 1"),
        ({"new": "both", "n_splits": 13}, "from 2 to 12, the number of sources or targets"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        next(cold_start_splits(Y, **options))


def test_too_few_labels_are_named() -> None:
    rare = -np.ones((20, 3), dtype=int)
    rare[0] = 1
    with pytest.raises(InputError, match="take fewer splits or label more pairs"):
        next(cold_start_splits(rare, "targets", 3))
