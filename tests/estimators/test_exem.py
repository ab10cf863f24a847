"""EXEM against PCA of scikit-learn and a general solver, and numbers worked by hand."""

from __future__ import annotations

from typing import Any, cast

import clarabel as _clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge

from tests.common.scalers import AS_GIVEN
from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators import EXEM
from unseen.estimators.exem import principal, regress
from unseen.rows.scaling import RowScaling
from unseen.support.work import listening

clarabel: Any = _clarabel  # compiled, and without type stubs
PLAIN = RowScaling(False, None)


class Problem:
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.S = rng.standard_normal((11, 3))
        self.y = np.repeat(np.arange(8), [5, 9, 14, 8, 20, 4, 6, 10])
        noise = rng.standard_normal((76, 6)) * np.arange(1, 7)
        self.X = 3 * self.S[self.y] @ rng.standard_normal((3, 6)) + noise + 5
        self.test = 5 + 3 * rng.standard_normal((7, 6))
        self.table = ClassTable(range(11), self.S)

    def model(self, **parameters: Any) -> EXEM:
        return EXEM(**parameters, **AS_GIVEN).fit(self.X, self.y, classes=self.table)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem()


def nu_svr(K: np.ndarray, t: np.ndarray, cost: float, nu: float) -> tuple[np.ndarray, float]:
    """α and b of the primal, by an interior-point solver.

    min α'Kα/2 + C (ν n ε + Σ ξ_i)   under |t_i - (Kα)_i - b| <= ε + ξ_i,  ξ >= 0,  ε >= 0
    """
    n = len(t)
    one, eye, none = np.ones((n, 1)), np.eye(n), np.zeros((n, n))
    P = sparse.block_diag([K, sparse.csc_matrix((n + 2, n + 2))])
    q = np.concatenate([np.zeros(n + 1), [cost * nu * n], np.full(n, cost)])
    A = np.vstack([
        np.hstack([-K, -one, -one, -eye]),
        np.hstack([K, one, -one, -eye]),
        np.hstack([none, 0 * one, 0 * one, -eye]),
        np.r_[np.zeros(n + 1), -1.0, np.zeros(n)][None],
    ])  # fmt: skip
    right = np.concatenate([-t, t, np.zeros(n + 1)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    upper, cones = sparse.csc_matrix(sparse.triu(P)), [clarabel.NonnegativeConeT(len(right))]
    found = clarabel.DefaultSolver(upper, q, sparse.csc_matrix(A), right, cones, settings).solve()
    assert "Solved" in str(found.status), found.status
    return np.array(found.x[:n]), found.x[n]


@pytest.mark.parametrize("standardized", [True, False])
def test_equals_the_method_step_by_step(problem: Problem, standardized: bool) -> None:
    cost, nu, width, h = 1.5, 0.6, 0.8, 4
    model = problem.model(n_components=h, cost=cost, nu=nu, width=width, standardized=standardized)
    pca = PCA(h, svd_solver="full").fit(problem.X)
    Z, test = pca.transform(problem.X), pca.transform(problem.test)
    groups = [Z[problem.y == c] for c in range(8)]
    exemplars = np.array([g.mean(axis=0) for g in groups])
    spread = np.mean([g.std(axis=0) for g in groups], axis=0) if standardized else np.ones(h)
    seen, unseen = problem.S[:8], problem.S[8:]
    pairs = [np.sum((a - b) ** 2) for k, a in enumerate(seen) for b in seen[:k]]

    def kernel(S: np.ndarray) -> np.ndarray:
        squares = np.array([[np.sum((a - b) ** 2) for b in seen] for a in S])
        return np.exp(-squares / (2 * width**2 * np.median(pairs)))

    predicted = np.empty((3, h))
    for k in range(h):
        size = exemplars[:, k].std()
        alpha, bias = nu_svr(kernel(seen), exemplars[:, k] / size, cost, nu)
        predicted[:, k] = size * (kernel(unseen) @ alpha + bias)
    distances = np.array([[np.sum(((z - p) / spread) ** 2) for p in predicted] for z in test])
    expected = np.sum((test / spread) ** 2, axis=1)[:, None] - distances
    found = model.similarities(problem.test)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.ptp(expected))
    np.testing.assert_array_equal(model.predict(problem.test), 8 + distances.argmin(axis=1))


def test_components_are_those_of_scikit_learn(problem: Problem) -> None:
    M, center = principal(problem.X, PLAIN, 3)
    pca: Any = PCA(3, svd_solver="full").fit(problem.X)
    np.testing.assert_allclose(np.abs(M.T @ pca.components_.T), np.eye(3), atol=1e-8)
    np.testing.assert_allclose(problem.X.mean(axis=0) @ M, center, rtol=1e-8)


def test_components_of_fewer_rows_than_columns() -> None:
    X = np.random.default_rng(1).standard_normal((6, 20))
    M, center = principal(X, PLAIN, 500)
    assert M.shape == (20, 5)
    np.testing.assert_allclose(M.T @ M, np.eye(5), atol=1e-8)
    np.testing.assert_allclose((X @ M - center) @ M.T, X - X.mean(axis=0), atol=1e-8)


def test_the_sign_of_components_does_not_depend_on_the_order_of_rows(problem: Problem) -> None:
    M, _ = principal(problem.X, PLAIN, 6)
    turned, _ = principal(problem.X[::-1], PLAIN, 6)
    np.testing.assert_allclose(turned, M, atol=1e-8)


def test_regression_worked_by_hand() -> None:
    """Two targets ±1 far apart, K = I: α = ±1 fits them, a cost below one cuts it off."""
    targets = np.array([[1.0], [-1.0]])
    weights, bias = regress(np.eye(2), targets, 0.25, 1.0)
    np.testing.assert_allclose(weights, [[0.25], [-0.25]], atol=1e-6)
    np.testing.assert_allclose(bias, [0.0], atol=1e-6)
    same = np.full((3, 1), 7.0)
    weights, bias = regress(np.eye(3), same, 1.0, 0.5)
    assert (weights == 0).all()
    np.testing.assert_array_equal(bias, [7.0])


@pytest.mark.parametrize("seed", range(12))
def test_the_bias_is_the_middle_of_those_that_are_optimal(seed: int) -> None:
    """Given α, a linear program: min ν n ε + Σ ξ_i under |r_i - b| <= ε + ξ_i, over b, ε, ξ."""
    rng = np.random.default_rng(seed)
    S, t, cost, nu, n = rng.standard_normal((8, 2)), rng.standard_normal((8, 1)), 0.7, 0.5, 8
    K = np.exp(-((S[:, None] - S) ** 2).sum(axis=2))
    (alpha,), (b,) = (np.atleast_2d(found.T) for found in regress(K, t, cost, nu))
    r = t[:, 0] - K @ alpha
    one, eye = np.ones((n, 1)), np.eye(n)
    within = np.vstack([np.hstack([-one, -one, -eye]), np.hstack([one, -one, -eye])])
    bounds = [(None, None)] + [(0, None)] * (n + 1)
    price = np.concatenate([[0.0, nu * n], np.ones(n)])
    given: Any = {"A_ub": within, "b_ub": np.concatenate([-r, r]), "bounds": bounds}
    best = linprog(price, **given).fun
    given |= {"A_ub": np.vstack([within, price]), "b_ub": np.append(given["b_ub"], best + 1e-5)}
    ends = [sign * linprog([sign, *np.zeros(n + 1)], **given).fun for sign in (1, -1)]
    assert b == pytest.approx(np.mean(ends), abs=1e-3)


def test_ridge_is_that_of_scikit_learn(problem: Problem) -> None:
    model = problem.model(regression="ridge", cost=2.0, width=0.7, standardized=False)
    seen, unseen = problem.S[:8], problem.S[8:]
    pairs = [np.sum((a - b) ** 2) for k, a in enumerate(seen) for b in seen[:k]]
    machine = cast(Any, KernelRidge)(
        alpha=0.25, kernel="rbf", gamma=1 / (2 * 0.7**2 * np.median(pairs))
    )
    average = model.exemplars_.mean(axis=0)
    expected = machine.fit(seen, model.exemplars_ - average).predict(unseen) + average
    np.testing.assert_allclose(model.transform_classes(), expected, rtol=1e-8)


def test_the_unit_of_the_rows_does_not_matter(problem: Problem) -> None:
    other = EXEM(**AS_GIVEN).fit(100 * problem.X, problem.y, classes=problem.table)
    np.testing.assert_allclose(
        other.similarities(100 * problem.test),
        problem.model().similarities(problem.test),
        rtol=1e-5,
        atol=1e-5,
    )


def test_seen_classes_have_their_own_exemplars(problem: Problem) -> None:
    model = problem.model(standardized=False)
    codes = model.transform(problem.X)
    means = [codes[problem.y == c].mean(axis=0) for c in range(8)]
    np.testing.assert_allclose(model.transform_classes("seen"), means, atol=1e-8)


def test_the_distance_is_obeyed_without_a_new_fit(problem: Problem) -> None:
    model, other = problem.model(), problem.model(standardized=False)
    assert model.test_time_parameters == {"standardized"}
    model.set_params(standardized=False)
    np.testing.assert_array_equal(
        model.similarities(problem.test), other.similarities(problem.test)
    )


def test_one_row_per_class(problem: Problem) -> None:
    rows = [int(np.flatnonzero(problem.y == c)[0]) for c in range(8)]
    model = EXEM(**AS_GIVEN).fit(problem.X[rows], problem.y[rows], classes=problem.table)
    assert np.isfinite(model.similarities(problem.test, "all")).all()
    np.testing.assert_array_equal(model.predict(problem.X[rows], "seen"), range(8))


def test_rows_that_are_all_alike_are_refused(problem: Problem) -> None:
    with pytest.raises(InputError, match="all rows are the same"):
        EXEM().fit(np.ones((76, 3)), problem.y, classes=problem.table)


def test_says_how_far_it_is(problem: Problem) -> None:
    steps: list[str] = []
    with listening(steps.append):
        problem.model()
    assert steps == ["component 1 of 6"]


def test_recognises_unseen_classes() -> None:
    data = make_zero_shot(n_seen=40)
    model = EXEM().fit(*data.training_set(), classes=data.classes)
    assert model.score(*data.unseen_set()) > 0.8
    assert model.components_.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("n_components", 0, "a whole number of at least 1"),
        ("cost", 0, "a positive number"),
        ("nu", 1.5, "a number"),
        ("regression", "forest", "'svr' or 'ridge'"),
        ("width", None, "a positive number"),
        ("standardized", "yes", "True or False"),
    ],
)
def test_refuses_bad_parameters(name: str, bad: object, message: str) -> None:
    data = make_zero_shot(n_seen=4, n_unseen=2, rows_per_class=5)
    with pytest.raises(InputError, match=f"{name} must be {message}"):
        EXEM().set_params(**{name: bad}).fit(*data.training_set(), classes=data.classes)
