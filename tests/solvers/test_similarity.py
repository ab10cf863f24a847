"""The W block against a general QP solver and LinearSVC on explicit products."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from tests.oracles.pairs import explicit_pairs, loss_value, similarity_minimum
from tests.solvers.problems import Problem, random_problem, seeds, signed_problem
from unseen.pairs.loss import Omega, Pairs
from unseen.solvers.block import Effort, Solution
from unseen.solvers.similarity import fit_similarity

EXACT = Effort(1e-6, 20000)


def solve(p: Problem, effort: Effort = EXACT) -> Solution:
    return fit_similarity(p.Zs, p.Zt, p.pairs, p.lambda_W, effort)


def value_at(p: Problem, W: np.ndarray) -> float:
    Y, omega = explicit_pairs(p.pairs)
    loss = loss_value(Y * (p.Zs @ W @ p.Zt.T), omega, p.pairs.loss)
    return loss + 0.5 * p.lambda_W * float(np.sum(W**2))


@pytest.mark.parametrize("make", [random_problem, signed_problem])
@pytest.mark.parametrize("seed", seeds(200))
def test_minimum_matches_a_general_qp_solver(seed: int, make: Any) -> None:
    p = make(seed)
    solution = solve(p)
    expected = similarity_minimum(p.Zs, p.Zt, p.pairs, p.lambda_W)
    assert solution.objective == pytest.approx(value_at(p, solution.value), rel=1e-9, abs=1e-12)
    assert solution.objective == pytest.approx(expected, rel=1e-4, abs=1e-8)
    assert solution.objective * (1 - solution.optimality) <= expected + 1e-7


@pytest.mark.parametrize("seed", range(0, 14, 3))
def test_class_numbers_equal_their_signs(seed: int) -> None:
    p = random_problem(seed)
    signs = np.where(np.arange(len(p.Zs)) == p.pairs.labels[:, None], 1, -1)
    numbers = solve(p)
    for form in (signs.astype(np.int8), signs.astype(float)):
        found = solve(p.with_labels(form))
        assert found.objective == pytest.approx(numbers.objective, rel=1e-6, abs=1e-12)
        np.testing.assert_allclose(found.value, numbers.value, atol=1e-2)


def test_rows_of_unknown_pairs_do_not_matter() -> None:
    rng = np.random.default_rng(4)
    Zs, Zt = rng.standard_normal((5, 4)), rng.standard_normal((30, 3))
    signs = rng.choice([-1, 0, 1], (30, 5)).astype(np.int8)
    signs[10:20] = 0
    pairs, effort = Pairs(signs, 5, Omega(0.02, 0.01)), Effort(1e-8, 20000)
    found = fit_similarity(Zs, Zt, pairs, 1e-2, effort)
    Zt[10:20] = 1e3 * rng.standard_normal((10, 3))
    other = fit_similarity(Zs, Zt, pairs, 1e-2, effort)
    kept = np.delete(np.arange(30), np.s_[10:20])
    fewer = fit_similarity(Zs, Zt[kept], pairs[kept], 1e-2, effort)
    for solution in (other, fewer):
        assert solution.objective == pytest.approx(found.objective, rel=1e-7)
        np.testing.assert_allclose(solution.value, found.value, atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_weight_of_two_is_the_same_pair_twice(loss: str) -> None:
    """Rows that come twice, against their pairs with twice the weight."""
    rng = np.random.default_rng(5)
    Zs, Zt = rng.standard_normal((4, 3)), rng.standard_normal((12, 3))
    signs, often = rng.choice([-1, 1], (12, 4)), rng.integers(1, 4, 12)
    repeated = np.repeat(np.arange(12), often)
    omega, effort = Omega(0.02, 0.01), Effort(1e-8, 20000)
    once = Pairs(signs * often[:, None].astype(float), 4, omega, loss)
    many = Pairs(signs[repeated].astype(np.int8), 4, omega, loss)
    weighted = fit_similarity(Zs, Zt, once, 1e-2, effort)
    twice = fit_similarity(Zs, Zt[repeated], many, 1e-2, effort)
    assert weighted.objective == pytest.approx(twice.objective, rel=1e-7)
    np.testing.assert_allclose(weighted.value, twice.value, atol=1e-3)


@pytest.mark.parametrize("seed", seeds(210))
def test_never_above_linear_svc_on_explicit_products(seed: int) -> None:
    p = random_problem(seed)
    Y, omega = explicit_pairs(p.pairs)
    if len(np.unique(Y)) < 2:
        return  # LinearSVC needs two labels
    F = np.einsum("ia,jb->ijab", p.Zs, p.Zt).reshape(Y.size, -1)
    svc = LinearSVC(
        loss=p.pairs.loss,
        C=1 / p.lambda_W,
        fit_intercept=False,
        dual=True,  # pyright: ignore[reportArgumentType]
        tol=1e-10,
        max_iter=100000,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        svc.fit(F, Y.ravel(), sample_weight=omega.ravel())
    reference = value_at(p, svc.coef_.reshape(p.Zs.shape[1], -1))
    solution = solve(p)
    assert solution.objective <= reference * (1 + 1e-4) + 1e-10
    assert reference >= solution.objective * (1 - solution.optimality) - 1e-10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_and_certificate_holds(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    Zs, Zt = rng.dirichlet(np.ones(6), 9).astype(dtype), rng.standard_normal((400, 8)).astype(dtype)
    pairs = Pairs.weighted(rng.integers(0, 9, 400), 9, "balanced")
    loose = fit_similarity(Zs, Zt, pairs, 1e-3, Effort(1e-2))
    tight = fit_similarity(Zs.astype(float), Zt.astype(float), pairs, 1e-3, Effort(1e-6))
    assert loose.value.dtype == dtype
    assert loose.status == "converged"
    assert loose.optimality <= 1e-2
    assert tight.objective * (1 - 1e-6) <= loose.objective <= tight.objective * (1 + 1.1e-2)


def test_warm_start_is_never_worse_and_saves_epochs() -> None:
    rng = np.random.default_rng(1)
    Zs, Zt = rng.dirichlet(np.ones(10), 12), rng.standard_normal((600, 10))
    pairs = Pairs.weighted(rng.integers(0, 12, 600), 12, "balanced")
    cold = fit_similarity(Zs, Zt, pairs, 1e-4)
    moved = Zt + 0.01 * rng.standard_normal(Zt.shape)
    warm = fit_similarity(Zs, moved, pairs, 1e-4, state=cold.state)
    again = fit_similarity(Zs, moved, pairs, 1e-4)
    assert warm.n_iter < again.n_iter
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        hasty = fit_similarity(Zs, moved, pairs, 1e-4, Effort(0.0, 1), again.state)
    assert hasty.status == "stopped short"
    assert hasty.objective <= again.objective * (1 + 1e-12)
