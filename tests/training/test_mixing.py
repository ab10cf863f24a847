"""Weights of models that are mixed: against a general solver, and cases worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp

from unseen.training import mixing
from unseen.training.mixing import Scored, best_weights, mixing_weights


def problem(seed: int, quality: list[float], n_classes: int = 5, n_rows: int = 300) -> Scored:
    """Models whose scores are the truth, more or less, and noise."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n_rows) % n_classes)
    right = np.eye(n_classes)[truth]
    noise = rng.normal(size=(len(quality), n_rows, n_classes))
    return Scored(np.array(quality)[:, None, None] * right + noise, truth)


def loss_of(v: np.ndarray, splits: list[Scored]) -> float:
    """The loss in words: the mean over splits and classes of the mean over rows."""
    found = []
    for scores, truth in splits:
        for c in np.unique(truth):
            rows = truth == c
            mixed = np.einsum("m,mic->ic", v, scores[:, rows])
            found.append(np.mean(logsumexp(mixed, axis=1) - mixed[:, c]))
    return float(np.mean(found))


def test_weights_are_those_of_a_general_solver() -> None:
    splits = [problem(0, [1.0, 0.5, 0.2]), problem(1, [0.8, 0.6, -0.3])]
    start, bounds = np.ones(3), [(0, None)] * 3
    options = {"maxiter": 500, "ftol": 1e-12}
    expected = minimize(
        loss_of, start, args=(splits,), method="SLSQP", bounds=bounds, options=options
    ).x
    np.testing.assert_allclose(best_weights(splits), expected / expected.sum(), atol=2e-3)


def test_the_slope_is_that_of_the_loss() -> None:
    splits = [problem(2, [1.0, 0.3]), problem(3, [0.2, 0.4])]
    v = np.array([0.7, 0.4])
    loss, slope = mixing._loss(v, [mixing._balanced(split) for split in splits])
    assert loss == pytest.approx(loss_of(v, splits))
    expected: Any = approx_fprime(v, loss_of, 1e-7, splits)
    np.testing.assert_allclose(slope, expected, atol=1e-5)


def test_a_model_that_misleads_gets_nothing_and_twins_share() -> None:
    good, bad = problem(4, [1.5]), problem(4, [-1.5])
    weights = best_weights([Scored(np.concatenate([good.scores, bad.scores]), good.truth)])
    np.testing.assert_allclose(weights, [1.0, 0.0], atol=1e-6)
    twins = best_weights([Scored(np.repeat(good.scores, 2, axis=0), good.truth)])
    np.testing.assert_allclose(twins, [0.5, 0.5], atol=1e-6)


def test_where_nothing_is_known_all_count_alike() -> None:
    useless = problem(5, [-2.0, -2.0, -2.0])
    np.testing.assert_allclose(best_weights([useless]), 1 / 3)


def test_few_classes_speak_softly() -> None:
    """Five classes count a fifth, as twenty more are imagined that find both models alike."""
    split = problem(6, [2.0, -2.0])
    np.testing.assert_allclose(best_weights([split]), [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(mixing_weights([split]), [0.6, 0.4], atol=1e-6)


def test_every_class_counts_alike_however_many_rows_it_has() -> None:
    split = problem(7, [1.0, 0.4])
    more = np.concatenate([np.arange(split.truth.size), *3 * [np.flatnonzero(split.truth == 0)]])
    again = Scored(split.scores[:, more], split.truth[more])
    np.testing.assert_allclose(best_weights([again]), best_weights([split]), atol=1e-3)
