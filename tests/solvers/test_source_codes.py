"""Codes of classes, with and without pairs, against a general QP solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.oracles.pairs import explicit_pairs, hinge_qp, loss_value
from tests.solvers.problems import Problem, random_problem, seeds, signed_problem
from unseen.pairs.loss import Pairs
from unseen.solvers.block import Effort, Ridge, Solution
from unseen.solvers.simplex import SETS, fit_source_codes
from unseen.solvers.source_codes import fit_source_codes_with_pairs


@dataclass
class SourceProblem(Problem):
    S: np.ndarray
    B: np.ndarray
    W: np.ndarray
    lambdas: tuple[float, float]
    code_set: str

    def ridge(self, phi: float = 1.0) -> Ridge:
        return Ridge(self.B.T @ self.B, *self.lambdas, phi)

    def solve(self) -> Solution:
        return fit_source_codes_with_pairs(
            self.S @ self.B,
            self.ridge(1 / len(self.S)),
            self.Zt @ self.W.T,
            self.pairs,
            self.code_set,
            bias=self.b,
            s_sq=np.sum(self.S**2, axis=1),
            effort=Effort(1e-6, 3000),
        )


def source_problem(seed: int, make: Any = random_problem) -> SourceProblem:
    """S, B, W and λ to go with a random problem; every second simplex problem has λ1s = 0 or
    singular B'B."""
    p = make(seed)
    rng, (C, h), ht = p.rng, p.Zs.shape, p.Zt.shape[1]
    code_set = SETS[seed % 3]
    d = int(rng.integers(max(1, h - 2), 7)) if code_set == "simplex" else int(rng.integers(h, 8))
    B, S = rng.standard_normal((d, h)), rng.standard_normal((C, d))
    lambda1, lambda2 = float(10.0 ** rng.uniform(-2, 0.5)), float(10.0 ** rng.uniform(-1, 1))
    if p.kind == "duplicate classes":
        S[-1] = S[0]
        if code_set == "simplex":
            B[:, -1] = B[:, 0]
    if code_set == "simplex" and seed % 2:
        lambda1 = 0.0
    W = rng.standard_normal((h, ht))
    return SourceProblem(**vars(p), S=S, B=B, W=W, lambdas=(lambda1, lambda2), code_set=code_set)


def assert_feasible(Z: np.ndarray, code_set: str, atol: float = 1e-9) -> None:
    if code_set != "free":
        np.testing.assert_allclose(Z.sum(axis=1), 1.0, atol=atol)
    if code_set == "simplex":
        assert Z.min() >= 0


@pytest.mark.parametrize("make", [random_problem, signed_problem])
@pytest.mark.parametrize("seed", seeds(210, quick=21))
def test_minimum_with_pairs_matches_a_general_qp_solver(seed: int, make: Any) -> None:
    p = source_problem(seed, make)
    solution, (Y, omega) = p.solve(), explicit_pairs(p.pairs)
    (l1, l2), C, F = p.lambdas, len(p.S), p.Zt @ p.W.T
    expected = sum(
        hinge_qp(
            p.ridge().H / C, l2 * p.B.T @ s / C, F, Y[i], omega[i], p.b, p.pairs.loss, p.code_set
        )
        + 0.5 * l2 * s @ s / C
        for i, s in enumerate(p.S)
    )
    Z = solution.value
    assert_feasible(Z, p.code_set)
    fit = 0.5 * l1 * np.sum(Z**2) + 0.5 * l2 * np.sum((p.S - Z @ p.B.T) ** 2)
    loss = loss_value(Y * (Z @ F.T + p.b), omega, p.pairs.loss)
    assert solution.objective == pytest.approx(fit / C + loss, rel=1e-8)
    assert solution.objective == pytest.approx(expected, rel=1e-4, abs=1e-8)


def test_a_class_of_unknown_pairs_keeps_the_code_of_its_description() -> None:
    p = source_problem(16, signed_problem)
    labels = p.pairs.labels.copy()
    labels[:, 0] = 0
    p = replace(p, code_set="free", pairs=replace(p.pairs, labels=labels))
    alone = fit_source_codes(p.S @ p.B, p.ridge(), "free")
    np.testing.assert_allclose(p.solve().value[0], alone.value[0], atol=1e-6)


@pytest.mark.parametrize("seed", seeds(210, quick=21))
def test_codes_without_pairs_are_exact(seed: int) -> None:
    p = source_problem(seed)
    solution = fit_source_codes(p.S @ p.B, p.ridge(), p.code_set)
    assert_feasible(solution.value, p.code_set)
    none, l2 = (np.zeros((0, p.B.shape[1])), np.zeros(0), np.zeros(0)), p.lambdas[1]
    expected = sum(hinge_qp(p.ridge().H, l2 * p.B.T @ s, *none, code_set=p.code_set) for s in p.S)
    assert solution.status == "converged"
    assert solution.objective == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_large_simplex_problem_has_a_tiny_frank_wolfe_gap() -> None:
    S = np.random.default_rng(0).random((80, 60))
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    assert fit_source_codes(S @ S.T, Ridge(S @ S.T, 0.01, 1.0)).optimality < 1e-10


def test_float32_warm_start_and_stopping_short() -> None:
    rng = np.random.default_rng(1)
    C, N, h, ht = 12, 300, 10, 8
    S, B = rng.random((C, 15)), rng.random((15, h))
    W, Zt = rng.standard_normal((h, ht)), rng.standard_normal((N, ht))
    pairs = Pairs.weighted(rng.integers(0, C, N), C, "balanced")
    problem = S @ B, Ridge(B.T @ B, 0.1, 1.0, 1 / C), (Zt @ W.T).astype(np.float32), pairs
    s_sq = np.sum(S**2, axis=1)

    def solve(state: Any = None, effort: Effort = Effort(1e-4)) -> Solution:  # noqa: B008
        return fit_source_codes_with_pairs(*problem, s_sq=s_sq, effort=effort, state=state)

    good = solve()
    assert good.value.dtype == np.float32
    assert good.status == "converged"
    again = solve(good.state)
    assert again.n_iter < good.n_iter
    assert again.objective <= good.objective * (1 + 1e-6)
    zeros = {name: np.zeros_like(getattr(good.state, name)) for name in ("duals", "bounds")}
    with pytest.warns(ConvergenceWarning, match="source-code"):
        hasty = solve(good.state._replace(**zeros), Effort(1e-9, 1))
    assert hasty.objective <= good.objective * (1 + 1e-6)
