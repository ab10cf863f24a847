"""Logistic regression against scikit-learn, finite differences and a case worked by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from unseen.rows.blocks import TrainingRows
from unseen.rows.scaling import RowScaler, RowScaling
from unseen.training.logistic import (
    _Problem,
    binary_loss,
    fit_binary,
    fit_multinomial,
    multinomial_loss,
)

PLAIN = RowScaling(False, None)
SHAPES = [(60, 7), (25, 40), (12, 12)]
TARGETS = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0]])


def problem(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of four classes that overlap, far from the origin and with columns of unequal size."""
    rng = np.random.default_rng(seed)
    labels = np.r_[np.arange(4), rng.integers(0, 4, n - 4)]
    centres = rng.standard_normal((4, d))
    X = (centres[labels] + rng.standard_normal((n, d))) * np.geomspace(3, 0.1, d) + 5
    return X, labels


def reference(X: np.ndarray, y: np.ndarray, penalty: float) -> LogisticRegression:
    spread = np.sum((X - X.mean(axis=0)) ** 2) / len(X)
    strength = 1 / (len(X) * penalty * spread)
    return LogisticRegression(C=strength, tol=1e-9, max_iter=20_000).fit(X, y)


@pytest.mark.parametrize("penalty", [1e-3, 1e-1])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_multinomial_equals_scikit_learn(n: int, d: int, penalty: float) -> None:
    X, labels = problem(n, d)
    found = fit_multinomial(X, PLAIN, labels, 4, penalty)
    expected = reference(X, labels, penalty)
    np.testing.assert_allclose(
        softmax(X @ found.weights + found.bias, axis=1), expected.predict_proba(X), atol=2e-5
    )
    np.testing.assert_allclose(
        found.weights, expected.coef_.T, atol=1e-4 * np.abs(expected.coef_).max()
    )


@pytest.mark.parametrize("penalty", [1e-3, 1e-1])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_binary_equals_scikit_learn_column_by_column(n: int, d: int, penalty: float) -> None:
    X, labels = problem(n, d)
    found = fit_binary(X, PLAIN, labels, TARGETS, penalty)
    for k in range(TARGETS.shape[1]):
        expected = reference(X, TARGETS[labels, k], penalty)
        np.testing.assert_allclose(
            found.weights[:, k], expected.coef_[0], atol=1e-4 * np.abs(expected.coef_).max()
        )
        np.testing.assert_allclose(
            X @ found.weights[:, k] + found.bias[k], expected.decision_function(X), atol=1e-3
        )


def test_two_rows_worked_by_hand() -> None:
    """Rows -1 and 1, one of each class. By symmetry W = (-u, u), b = 0 and the objective is
    log(1 + exp -2u) + λ u², least where λ = 1 / (u (1 + exp 2u)): u = 1 for λ = 1 / (1 + e²)."""
    X, labels = np.array([[-1.0], [1.0]]), np.array([0, 1])
    found = fit_multinomial(X, PLAIN, labels, 2, 1 / (1 + np.exp(2)))
    np.testing.assert_allclose(found.weights, [[-1, 1]], atol=1e-6)
    np.testing.assert_allclose(found.bias, [0, 0], atol=1e-6)
    # One classifier alone: log(1 + exp -u) + λ/2 u², least where λ = 1 / (u (1 + exp u)).
    alone = fit_binary(X, PLAIN, labels, np.array([[0], [1]]), 1 / (1 + np.e))
    np.testing.assert_allclose(alone.weights, [[1]], atol=1e-6)


ALL = slice(None)


def losses() -> dict[str, Callable[..., tuple[float, np.ndarray]]]:
    labels = problem(12, 3)[1]
    targets = np.eye(4)[labels]
    return {
        "multinomial": lambda scores, rows=ALL: multinomial_loss(scores, labels[rows]),
        "binary": lambda scores, rows=ALL: binary_loss(scores, targets[rows]),
    }


@pytest.mark.parametrize("kind", ["multinomial", "binary"])
def test_gradient_of_a_loss_is_its_finite_difference(kind: str) -> None:
    loss = losses()[kind]
    scores = 3 * np.random.default_rng(1).standard_normal((12, 4))
    numeric: Any = approx_fprime(scores.ravel(), lambda f: loss(f.reshape(12, 4).copy())[0], 1e-6)
    np.testing.assert_allclose(loss(scores.copy())[1].ravel(), numeric, atol=1e-6)


@pytest.mark.parametrize("kind", ["multinomial", "binary"])
def test_gradient_of_the_objective_is_its_finite_difference(kind: str) -> None:
    X, _ = problem(12, 3)
    objective = _Problem(TrainingRows(X, PLAIN), losses()[kind], 0.2, 0.05, 4)
    v = np.random.default_rng(2).standard_normal(16)
    numeric: Any = approx_fprime(v, lambda u: objective.value_and_gradient(u)[0], 1e-6)
    np.testing.assert_allclose(objective.value_and_gradient(v)[1].ravel(), numeric, atol=2e-5)


@pytest.mark.parametrize("kind", ["multinomial", "binary"])
def test_losses_of_huge_scores_are_finite(kind: str) -> None:
    for dtype in (np.float32, np.float64):
        scores = np.array([[1e4, -1e4, 0, 0]] * 12, dtype=dtype)
        value, gradient = losses()[kind](scores)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert gradient.dtype == dtype


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_moving_all_rows_changes_the_bias_alone(n: int, d: int) -> None:
    X, labels = problem(n, d)
    here = fit_multinomial(X, PLAIN, labels, 4, 1e-2)
    there = fit_multinomial(X - 11, PLAIN, labels, 4, 1e-2)
    np.testing.assert_allclose(there.weights, here.weights, atol=1e-5)
    np.testing.assert_allclose(
        there.bias, here.bias + 11 * here.weights.sum(axis=0), atol=1e-4, rtol=1e-5
    )


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_scaling_equals_rows_scaled_before(n: int, d: int) -> None:
    X, labels = problem(n, d)
    scaling = RowScaler(True, True).learn(X)
    here = fit_binary(X, scaling, labels, TARGETS, 1e-3)
    before = fit_binary(scaling(X), PLAIN, labels, TARGETS, 1e-3)
    np.testing.assert_allclose(
        here.weights, before.weights, atol=1e-5 * np.abs(before.weights).max()
    )


@pytest.mark.parametrize("fit", [fit_multinomial, fit_binary])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_float32_stays_float32_and_is_close(fit: Any, n: int, d: int) -> None:
    X, labels = problem(n, d)
    second = 4 if fit is fit_multinomial else TARGETS
    double = fit(X, PLAIN, labels, second, 1e-2)
    single = fit(X.astype(np.float32), PLAIN, labels, second, 1e-2)
    assert single.weights.dtype == single.bias.dtype == np.float32
    np.testing.assert_allclose(
        single.weights, double.weights, atol=5e-3 * np.abs(double.weights).max()
    )


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X, labels = problem(60, 7)
    whole = fit_multinomial(X, PLAIN, labels, 4, 1e-2)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (9 * X.shape[1] * 8,))
    blocked = fit_multinomial(X, PLAIN, labels, 4, 1e-2)
    np.testing.assert_allclose(blocked.weights, whole.weights, atol=1e-6)


def test_unsolvable_within_the_steps_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unseen.training.logistic._MAX_ITER", 2)
    X, labels = problem(60, 7)
    with pytest.warns(ConvergenceWarning, match="larger penalty"):
        fit_multinomial(X, PLAIN, labels, 4, 1e-6)


def test_degenerate_problems_have_a_finite_solution() -> None:
    X, labels = problem(30, 5)
    agreed = fit_binary(X, PLAIN, labels, np.ones((4, 1)), 1e-2)
    assert np.isfinite(agreed.weights).all()
    assert ((X @ agreed.weights + agreed.bias) > 2).all()
    same = fit_multinomial(np.ones((30, 5)), PLAIN, labels, 4, 1e-2)
    found = softmax(np.ones(5) @ same.weights + same.bias)
    np.testing.assert_allclose(found, np.bincount(labels) / 30, atol=1e-6)
