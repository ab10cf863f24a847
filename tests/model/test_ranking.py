"""Ranking losses against numbers worked by hand, plain loops and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unseen.model.ranking import Ranking, sum_of_hinges, weighted_ranking, worst_hinge

LOSSES: list[Ranking] = [sum_of_hinges, worst_hinge, weighted_ranking]

# The own class scores 2. With a margin of 1 the slacks of the others are 1.5, 0, 0.25 and 0.
SCORES = np.array([[2.5, 2.0, 0.5, 1.25, -3.0]])
OWN = np.array([1])


@pytest.mark.parametrize(
    ("loss", "value", "gradient"),
    [
        (sum_of_hinges, 1.75, [1, -2, 0, 1, 0]),
        (worst_hinge, 1.5, [1, -1, 0, 0, 0]),
        # Two classes come too near, l_2 / 2 = (1 + 1/2) / 2 = 0.75.
        (weighted_ranking, 1.3125, [0.75, -1.5, 0, 0.75, 0]),
    ],
)
def test_a_row_worked_by_hand(loss: Ranking, value: float, gradient: list[float]) -> None:
    found = loss(SCORES, OWN)
    assert found.values.tolist() == [value]
    assert found.gradient.tolist() == [gradient]


def by_loops(kind: Ranking, scores: np.ndarray, labels: np.ndarray, margin: float) -> list[float]:
    """The losses as their papers write them, a row and a class at a time."""
    values = []
    for row, own in zip(scores.tolist(), labels.tolist(), strict=True):
        hinges = [max(0.0, margin + s - row[own]) for c, s in enumerate(row) if c != own]
        rank = sum(h > 0 for h in hinges)
        harmonic = sum(1 / i for i in range(1, rank + 1))
        values.append(
            {
                "sum_of_hinges": sum(hinges),
                "worst_hinge": max(hinges),
                "weighted_ranking": harmonic / rank * sum(hinges) if rank else 0.0,
            }[kind.__name__]  # pyright: ignore[reportAttributeAccessIssue]
        )
    return values


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 9),
    margin=st.sampled_from([0.1, 1.0, 3.0]),
)
@pytest.mark.parametrize("loss", LOSSES)
def test_equals_the_loops_and_finite_differences(
    loss: Ranking, seed: int, n_classes: int, margin: float
) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.standard_normal((6, n_classes)), rng.integers(0, n_classes, 6)
    own = scores[np.arange(6), labels] - margin
    apart = np.diff(np.sort(np.c_[scores, own], axis=1), axis=1)
    assume(apart.min() > 1e-5)  # no kink within the step below
    found = loss(scores, labels, margin)  # pyright: ignore[reportCallIssue]
    np.testing.assert_allclose(found.values, by_loops(loss, scores, labels, margin))
    step = 1e-7 * rng.standard_normal(scores.shape)
    ahead, behind = (
        np.array(by_loops(loss, scores + sign * step, labels, margin)) for sign in (1, -1)
    )
    slope = np.sum(found.gradient * step, axis=1)
    np.testing.assert_allclose(ahead - behind, 2 * slope, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_ahead_by_the_margin_costs_nothing(loss: Ranking) -> None:
    found = loss(np.array([[3.0, 2.0, -1.0]]), np.array([0]))
    assert not found.values.any()
    assert not found.gradient.any()


@pytest.mark.parametrize("loss", LOSSES)
def test_float32_stays_and_scores_are_left_alone(loss: Ranking) -> None:
    scores = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    before = scores.copy()
    found = loss(scores, np.array([0, 1, 2, 3]))
    assert found.values.dtype == found.gradient.dtype == np.float32
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_the_same_for_all_classes_does_not_matter(loss: Ranking) -> None:
    scores = np.random.default_rng(1).standard_normal((4, 5))
    labels = np.array([0, 1, 2, 3])
    np.testing.assert_allclose(loss(scores + 7, labels).values, loss(scores, labels).values)
    np.testing.assert_allclose(loss(scores, labels).gradient.sum(axis=1), 0, atol=1e-12)


def test_the_sum_of_hinges_is_the_largest() -> None:
    """No loss is above the sum."""
    rng = np.random.default_rng(2)
    scores, labels = rng.standard_normal((50, 8)), rng.integers(0, 8, 50)
    worst, ranked, every = (
        loss(scores, labels).values for loss in (worst_hinge, weighted_ranking, sum_of_hinges)
    )
    assert (worst <= every).all()
    assert (ranked <= every + 1e-12).all()
    assert (ranked < every).any()
