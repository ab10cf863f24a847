"""Intervals of accuracies against draws made row by row."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from scipy.stats import binomtest

from unseen.metrics.intervals import Interval, accuracy_draws


def ends(draws: np.ndarray) -> tuple[float, float]:
    return astuple(Interval.of(draws, draws.mean()))


def test_they_are_those_of_a_bootstrap_made_row_by_row() -> None:
    rng = np.random.default_rng(4)
    sizes, shares = [5, 40, 12, 90], [0.2, 0.9, 0.5, 0.7]
    y = np.repeat(np.arange(4), sizes)
    hit = np.concatenate([np.arange(n) < a * n for n, a in zip(sizes, shares, strict=True)])
    found = accuracy_draws(y, np.where(hit, y, 9))
    per_class, per_image = [], []
    for _ in range(3000):
        rows = [rng.choice(np.flatnonzero(y == c), sizes[c]) for c in rng.integers(4, size=4)]
        per_class.append(np.mean([hit[r].mean() for r in rows]))
        per_image.append(hit[np.concatenate(rows)].mean())
    assert ends(found.per_class) == pytest.approx(ends(np.array(per_class)), abs=0.03)
    assert ends(found.per_image) == pytest.approx(ends(np.array(per_image)), abs=0.03)


def test_the_ends_hold_the_accuracy_and_are_the_same_each_time() -> None:
    y = np.repeat(["a", "b", "c"], 10)
    predicted = np.where(np.arange(30) % 3 > 0, y, "a")
    low, high = ends(accuracy_draws(y, predicted).per_class)
    assert low < np.mean(predicted == y) < high
    assert ends(accuracy_draws(y, predicted).per_class) == (low, high)


@pytest.mark.parametrize("right", [True, False])
def test_results_without_an_error_are_not_certain(right: bool) -> None:
    """The exact binomial interval of 30 rows; unequal classes count as fewer."""
    y = np.repeat(["a", "b", "c"], 10)
    draws = accuracy_draws(y, y if right else np.roll(y, 10))
    exact = binomtest(30 if right else 0, 30).proportion_ci(0.95)
    for found in draws:
        assert astuple(Interval.of(found, float(right))) == pytest.approx(tuple(exact), abs=1e-3)
    y = np.repeat(["a", "b", "c"], [1, 14, 15])
    uneven = accuracy_draws(y, y)
    assert Interval.of(uneven.per_class, 1.0).low < Interval.of(uneven.per_image, 1.0).low - 0.2


def test_they_hold_the_truth_as_often_as_they_say() -> None:
    """Classes of an unlimited world, each with its own share."""
    rng, held = np.random.default_rng(0), 0
    for trial in range(200):
        y = np.repeat(np.arange(40), 20)
        share = rng.beta(4, 2, size=40)
        hit = rng.random(800) < share[y]
        low, high = ends(accuracy_draws(y, np.where(hit, y, 99), trial).per_class)
        held += low <= 4 / 6 <= high
    assert held >= 0.92 * 200
