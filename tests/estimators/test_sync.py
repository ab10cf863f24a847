"""SynC against liblinear and a general solver, its joint problem, and numbers worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.svm import LinearSVC

from tests.common.scalers import AS_GIVEN
from unseen import ClassTable, InputError, make_zero_shot
from unseen.errors import TrustWarning
from unseen.estimators import SynC
from unseen.estimators.sync import similarities
from unseen.rows.scaling import RowScaling
from unseen.training.hinge import fit_squared_hinge, squared_hinge_loss


class Problem:
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.S = rng.standard_normal((7, 4))
        self.y = np.arange(60) % 5
        self.X = 2 * self.S[self.y] @ rng.standard_normal((4, 6)) + rng.standard_normal((60, 6))
        self.X += 3
        self.test = rng.standard_normal((9, 6))
        self.table = ClassTable(range(7), self.S)

    def model(self, **parameters: float) -> SynC:
        return SynC(**parameters, **AS_GIVEN).fit(self.X, self.y, classes=self.table)

    def strength(self, penalty: float) -> float:
        """λ in plain units."""
        return penalty * float(np.mean(np.sum((self.X - self.X.mean(axis=0)) ** 2, axis=1)))


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem()


def phantoms(S: np.ndarray, B: np.ndarray, width: float) -> np.ndarray:
    """s_cr one by one, as the paper prints it."""
    pairs = [np.sum((a - b) ** 2) for k, a in enumerate(B) for b in B[:k]]
    square = width**2 * np.median(pairs)
    found = np.array([[np.exp(-np.sum((a - b) ** 2) / 2 / square) for b in B] for a in S])
    return found / found.sum(axis=1, keepdims=True)


def test_classifiers_of_seen_classes_are_those_of_liblinear(problem: Problem) -> None:
    model, lam = problem.model(penalty=0.01), problem.strength(0.01)
    # liblinear penalises the bias too, as the weight of a constant: a large one makes that little.
    options: Any = {"intercept_scaling": 1e3, "tol": 1e-10, "max_iter": 100_000, "dual": False}
    svm = LinearSVC(C=1 / lam / 60, **options)
    svm.fit(problem.X, problem.y)
    np.testing.assert_allclose(model.weights_, svm.coef_.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.bias_, svm.intercept_, rtol=1e-4)


def test_equals_the_joint_problem_in_the_base_classifiers(problem: Problem) -> None:
    """Over V, with W = S V formed in every step; then Σ_r s_r(a) v_r for unseen classes."""
    width, lam = 0.4, problem.strength(0.02)
    model = problem.model(width=width, penalty=0.02)
    S = phantoms(problem.S[:5], problem.S[:5], width)
    signs = np.where(problem.y[:, None] == np.arange(5), 1.0, -1.0)
    rows = np.hstack([problem.X, np.ones((60, 1))])

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        V = flat.reshape(5, 7)
        W = S @ V
        slack = np.maximum(1 - signs * (rows @ W.T), 0)
        weights = np.hstack([W[:, :6], np.zeros((5, 1))])
        value = np.sum(slack**2) / 60 + lam / 2 * np.sum(weights**2)
        slope = -2 / 60 * (signs * slack).T @ rows + lam * weights
        return float(value), (S.T @ slope).ravel()

    found = minimize(
        objective, np.zeros(35), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    )
    V = found.x.reshape(5, 7)
    unseen = phantoms(problem.S[5:], problem.S[:5], width) @ V
    expected = np.hstack([problem.test, np.ones((9, 1))]) @ unseen.T
    scores = model.similarities(problem.test, "unseen")
    np.testing.assert_allclose(scores, expected, atol=1e-4 * np.ptp(expected))


def test_gradient_of_the_loss() -> None:
    rng = np.random.default_rng(1)
    labels = np.array([0, 2, 1, 2])
    scores = 2 * rng.standard_normal((4, 3))
    numeric: Any = approx_fprime(
        scores.ravel(), lambda f: squared_hinge_loss(f.reshape(4, 3).copy(), labels)[0], 1e-7
    )
    gradient = squared_hinge_loss(scores.copy(), labels)[1]
    np.testing.assert_allclose(gradient.ravel(), numeric, atol=1e-5)


def test_loss_worked_by_hand() -> None:
    """Own class at 0.5 lacks a half; another at -3 lacks nothing, at 0 one."""
    value, gradient = squared_hinge_loss(np.array([[0.5, -3.0, 0.0]]), np.array([0]))
    assert value == pytest.approx(1.25)
    np.testing.assert_allclose(gradient, [[-1.0, 0.0, 2.0]])


def test_fewer_rows_than_columns() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((12, 30)), np.arange(12) % 3
    plain = RowScaling(False, None)
    found = fit_squared_hinge(X, plain, y, 3, 0.1)
    lam = 0.1 * float(np.sum((X - X.mean(axis=0)) ** 2)) / 12
    scores = X @ found.weights + found.bias
    slope = squared_hinge_loss(scores, y)[1]
    np.testing.assert_allclose(X.T @ slope + lam * found.weights, 0, atol=1e-6)
    np.testing.assert_allclose(slope.sum(axis=0), 0, atol=1e-6)


def test_similarities_worked_by_hand() -> None:
    """Distances 0 and 2 with σ² = 1: 1 and exp(-2)."""
    found = similarities(np.array([[0.0]]), np.array([[0.0], [2.0]]), 1.0)
    np.testing.assert_allclose(found, [[1 / (1 + np.exp(-2)), np.exp(-2) / (1 + np.exp(-2))]])


def test_seen_classes_keep_their_classifiers(problem: Problem) -> None:
    model = problem.model(width=0.5)
    np.testing.assert_allclose(model.transform_classes("seen"), np.eye(5), atol=1e-8)
    np.testing.assert_allclose(model.transform_classes().sum(axis=1), 1)


def test_a_narrow_width_takes_the_classifier_of_the_nearest_class(problem: Problem) -> None:
    model = problem.model(width=0.02)
    near = {"near": problem.S[3] + 0.01}
    np.testing.assert_allclose(model.transform_classes(near), np.eye(5)[[3]], atol=1e-6)


def test_width_is_obeyed_without_a_new_fit(problem: Problem) -> None:
    model, other = problem.model(width=0.3), problem.model(width=0.6)
    assert model.test_time_parameters == {"width"}
    before = model.similarities(problem.test)
    model.set_params(width=0.6)
    np.testing.assert_array_equal(
        model.similarities(problem.test), other.similarities(problem.test)
    )
    assert not np.allclose(before, model.similarities(problem.test))


def test_two_classes_with_one_description_share_a_phantom(problem: Problem) -> None:
    S = problem.S.copy()
    S[1] = S[0]
    with pytest.warns(TrustWarning, match="0 and 1 have the same description"):
        model = SynC(**AS_GIVEN).fit(problem.X, problem.y, classes=ClassTable(range(7), S))
    codes = model.transform_classes("seen")
    np.testing.assert_allclose(codes[0], [0.5, 0.5, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(codes[0], codes[1])


def test_recognises_unseen_classes() -> None:
    data = make_zero_shot(n_seen=40)
    model = SynC().fit(*data.training_set(), classes=data.classes)
    assert model.score(*data.unseen_set()) > 0.8
    assert model.weights_.dtype == np.float32


@pytest.mark.parametrize("bad", [0, -1, float("nan"), "abc", None, True])
@pytest.mark.parametrize("name", ["width", "penalty"])
def test_refuses_bad_parameters(name: str, bad: object) -> None:
    data = make_zero_shot(n_seen=4, n_unseen=2, rows_per_class=5)
    with pytest.raises(InputError, match=f"{name} must be a positive number"):
        SynC().set_params(**{name: bad}).fit(*data.training_set(), classes=data.classes)
