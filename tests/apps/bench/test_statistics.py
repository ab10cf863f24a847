"""Statistics of a suite against scipy, and against formulas worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from unseen.apps.bench.statistics import Comparison, interval, places, standard_error


def lines(seed: int, n: int = 12, n_methods: int = 3, shift: float = 0.0) -> np.ndarray:
    return shift + np.random.default_rng(seed).normal(size=(n, n_methods))


def test_places_are_scipys_ranks_of_the_highest_first() -> None:
    scores = np.array([[0.5, 0.7, 0.5, 0.1], [0.3, 0.3, 0.3, 0.3]])
    assert places(scores).tolist() == [[2.5, 1, 2.5, 4], [2.5, 2.5, 2.5, 2.5]]
    many = np.random.default_rng(0).integers(0, 4, size=(30, 6)) / 4
    for given, found in zip(many, places(many), strict=True):
        assert found.tolist() == (7 - stats.rankdata(given)).tolist()


def test_scores_that_differ_by_rounding_share_their_place() -> None:
    assert places(np.array([[0.1 + 0.2, 0.3]])).tolist() == [[1.5, 1.5]]


def test_standard_errors_are_scipys() -> None:
    values = lines(1)
    assert standard_error(values) == pytest.approx(stats.sem(values))
    assert np.isnan(standard_error(values[:1])).all()


def test_the_paired_difference_has_the_error_of_the_paired_t_test() -> None:
    scores = lines(2)
    found = Comparison(("a", "b", "c"), {"birds": scores}).to_first()
    for k in (1, 2):
        statistic = stats.ttest_rel(scores[:, k], scores[:, 0]).statistic
        assert found.means()[0, k] / found.errors()[0, k] == pytest.approx(statistic)
    assert found.means()[0, 0] == found.errors()[0, 0] == 0


def test_every_data_set_counts_the_same() -> None:
    few, many = np.array([[0.2, 0.4], [0.4, 0.4]]), np.array([[0.8, 0.0]] * 50)
    found = Comparison(("a", "b"), {"few": few, "many": many}).average()
    assert found.mean == pytest.approx([0.55, 0.2])
    assert found.error == pytest.approx([stats.sem(few[:, 0]) / 2, 0])


def test_mean_ranks_worked_by_hand() -> None:
    scores = {"x": np.array([[0.9, 0.5, 0.1], [0.5, 0.5, 0.1]]), "y": np.array([[0.1, 0.2, 0.3]])}
    found = Comparison(("a", "b", "c"), scores).ranks().average()
    assert found.mean == pytest.approx([(1.25 + 3) / 2, (1.75 + 2) / 2, (3 + 1) / 2])
    assert (found.low <= found.mean).all()
    assert (found.mean <= found.high).all()


def test_the_interval_of_one_data_set_is_scipys_bootstrap() -> None:
    values = lines(3, n=25)
    low, high = interval([values], draws=9999)
    once: Any = stats.bootstrap((values,), np.mean, n_resamples=9999, method="percentile", rng=1)
    expected = once.confidence_interval
    assert low == pytest.approx(expected.low, abs=0.03)
    assert high == pytest.approx(expected.high, abs=0.03)


def test_the_interval_has_the_spread_of_data_sets_and_of_splits() -> None:
    """The variance of a mean that is drawn in two steps, by the law of total variance."""
    groups = [lines(k, n=20, n_methods=1, shift=k % 4) for k in range(40)]
    between = np.var([g.mean() for g in groups])
    within = np.mean([g.var() / len(g) for g in groups])
    low, high = interval(groups, draws=20_000)
    spread = 2 * stats.norm.ppf(0.975) * np.sqrt((between + within) / len(groups))
    assert high[0] - low[0] == pytest.approx(spread, rel=0.03)
    splits_alone = interval([np.concatenate(groups)])
    assert splits_alone[1][0] - splits_alone[0][0] < (high[0] - low[0]) / 2


def test_an_interval_can_be_repeated() -> None:
    groups = [lines(4), lines(5)]
    assert np.array_equal(interval(groups), interval(groups))
