"""Codes of rows, with and without pairs, against a general QP solver and least squares."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.oracles.pairs import explicit_pairs, hinge_qp, loss_value
from tests.solvers.problems import Problem, random_problem, seeds, signed_problem
from unseen.pairs.loss import Omega, Pairs
from unseen.solvers.block import Effort, Ridge, Solution
from unseen.solvers.target_codes import TargetSolver


@dataclass
class TargetProblem(Problem):
    X: np.ndarray
    D: np.ndarray
    Q: np.ndarray
    lambdas: tuple[float, float]

    def ridge(self, phi: float = 1.0) -> Ridge:
        return Ridge(self.D.T @ self.D, *self.lambdas, phi)

    def solve(self, effort: Effort = Effort(1e-6, 200000), state: Any = None) -> Solution:  # noqa: B008
        solver = TargetSolver(self.ridge(1 / len(self.X)), self.Q, self.b, effort)
        found = solver.solve(self.X @ self.D, self.pairs, state)
        constant = 0.5 * self.lambdas[1] * np.sum(self.X**2) / len(self.X)
        return replace(found, objective=found.objective + constant)

    def value_at(self, Z: np.ndarray) -> float:
        (Y, omega), (l1, l2) = explicit_pairs(self.pairs), self.lambdas
        fit = 0.5 * l1 * np.sum(Z**2) + 0.5 * l2 * np.sum((self.X - Z @ self.D.T) ** 2)
        return fit / len(Z) + loss_value(Y * (self.Q @ Z.T + self.b), omega, self.pairs.loss)


def target_problem(seed: int, make: Any = random_problem) -> TargetProblem:
    """X, D and λ to go with a random problem; some D'D singular, some λ1t zero where that is
    defined."""
    p = make(seed)
    rng, (N, h) = p.rng, p.Zt.shape
    d = int(rng.integers(h, 7))
    D, X = rng.standard_normal((d, h)), rng.standard_normal((N, d))
    if p.kind == "constant rows":
        X[:] = X[0]
    if p.kind == "rank deficient":
        D[:, -1] = D[:, 0]
    lambda1, lambda2 = float(10.0 ** rng.uniform(-2, 1)), float(10.0 ** rng.uniform(-1, 1))
    if seed % 5 == 0 and p.kind != "rank deficient":
        lambda1 = 0.0
    Q = p.Zs @ rng.standard_normal((p.Zs.shape[1], h))
    return TargetProblem(**vars(p), X=X, D=D, Q=Q, lambdas=(lambda1, lambda2))


@pytest.mark.parametrize("make", [random_problem, signed_problem])
@pytest.mark.parametrize("seed", seeds(210))
def test_minimum_matches_a_general_qp_solver(seed: int, make: Any) -> None:
    p = target_problem(seed, make)
    solution, (Y, omega) = p.solve(), explicit_pairs(p.pairs)
    N, H, l2 = len(p.X), p.ridge().H, p.lambdas[1]
    expected = sum(
        hinge_qp(H / N, l2 * p.D.T @ x / N, p.Q, Y[:, j], omega[:, j], p.b, p.pairs.loss)
        + 0.5 * l2 * x @ x / N
        for j, x in enumerate(p.X)
    )
    assert solution.objective == pytest.approx(p.value_at(solution.value), rel=1e-8)
    assert solution.objective == pytest.approx(expected, rel=1e-4, abs=1e-8)


def test_a_row_of_unknown_pairs_keeps_the_code_of_its_features() -> None:
    p = target_problem(16, signed_problem)
    labels = p.pairs.labels.copy()
    labels[0] = 0
    found = replace(p, pairs=replace(p.pairs, labels=labels)).solve().value
    np.testing.assert_allclose(found[0], p.ridge().codes(p.X @ p.D)[0], atol=1e-9)


@pytest.mark.parametrize("seed", seeds(40))
def test_ridge_codes_are_least_squares(seed: int) -> None:
    p = target_problem(seed)
    (N, h), (root1, root2) = p.Zt.shape, np.sqrt(p.lambdas)
    stacked = np.vstack([root2 * p.D, root1 * np.eye(h)])
    rhs = np.vstack([root2 * p.X.T, np.zeros((h, N))])
    expected = np.linalg.lstsq(stacked, rhs, rcond=1e-9)[0]
    np.testing.assert_allclose(p.ridge().codes(p.X @ p.D).T, expected, atol=1e-6)


def test_float32_warm_start_and_stopping_short() -> None:
    rng = np.random.default_rng(0)
    N, h, C = 300, 12, 15
    X, D, Q = (rng.standard_normal(shape) for shape in ((N, 20), (20, h), (C, h)))
    pairs = Pairs(rng.integers(0, C, N), C, Omega(5.0 / N, 5.0 / N))
    ridge, XD = Ridge(D.T @ D, 0.01, 0.1, 1 / N), X @ D
    assert TargetSolver(ridge, Q).solve(XD.astype(np.float32), pairs).value.dtype == np.float32
    exact, hurried = Effort(1e-7, 10000), Effort(1e-7, 1)
    solver = TargetSolver(ridge, Q, effort=exact)
    good = solver.solve(XD, pairs)
    assert solver.solve(XD, pairs, state=good.state).n_iter < good.n_iter
    with pytest.warns(ConvergenceWarning, match="target-code"):
        short = TargetSolver(ridge, 0.3 * Q, effort=hurried).solve(XD, pairs)
    state = good.state._replace(duals=short.state.duals)
    with pytest.warns(ConvergenceWarning):
        hasty = TargetSolver(ridge, Q, effort=hurried).solve(XD, pairs, state=state)
    assert hasty.objective <= good.objective + 1e-12 * abs(good.objective)


def test_undefined_problem_is_refused() -> None:
    with pytest.raises(ValueError, match="full column rank"):
        TargetSolver(Ridge(np.ones((2, 2)), 0.0, 1.0), np.eye(2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_prepared_solver_gives_row_by_row_what_all_rows_give(loss: str, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    D, Q, X = (rng.standard_normal(s).astype(dtype) for s in ((20, 12), (15, 12), (40, 20)))
    XD, pairs = X @ D, Pairs(rng.integers(-1, 15, 40), 15, Omega(0.3, 0.1), loss)
    solver = TargetSolver(Ridge(D.T @ D, 0.1, 1.0, 0.05), Q, 0.2, Effort(1e-8))
    together = solver.solve(XD, pairs).value
    assert together.dtype == dtype
    rows = [slice(j, j + 1) for j in range(40)]
    alone = np.vstack([solver.solve(XD[row], pairs[row]).value for row in rows])
    np.testing.assert_allclose(alone, together, atol=1e-3 if dtype is np.float32 else 1e-6)


def test_rows_that_keep_their_margins_need_no_sweep() -> None:
    rng = np.random.default_rng(4)
    D, Q, X = rng.standard_normal((9, 5)), rng.standard_normal((4, 5)), rng.standard_normal((6, 9))
    ridge = Ridge(D.T @ D, 0.1, 1.0)
    solution = TargetSolver(ridge, Q, -50.0).solve(X @ D, Pairs.negative(6, 4, 1.0))
    assert (solution.n_iter, solution.optimality) == (0, 0.0)
    np.testing.assert_array_equal(solution.value, ridge.codes(X @ D))


@pytest.mark.parametrize("seed", seeds(40))
def test_the_better_of_two_codes_is_kept(seed: int) -> None:
    """Whatever the incumbents are: near the minimum, far from it, or better than what was found."""
    p = target_problem(seed)
    rng, best = np.random.default_rng(seed), p.solve(Effort(1e-9, 200000))
    noise = rng.standard_normal(best.value.shape) * 10.0 ** rng.uniform(-8, 1, (len(best.value), 1))
    incumbent = best.value + noise
    duals = rng.standard_normal((len(incumbent), len(p.Q)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = p.solve(Effort(1e-12, 1), best.state._replace(duals=duals, Z=incumbent))
    before, after = p.value_at(incumbent), p.value_at(found.value)
    assert after <= before * (1 + 1e-12) + 1e-14
    assert found.objective == pytest.approx(after, rel=1e-8)
    assert after * (1 - found.optimality) <= best.objective + 1e-8 * abs(best.objective)
