# Problems are plain dicts of mixed values, which the type checker cannot follow.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOperatorIssue=false, reportIndexIssue=false
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.oracles.pairs import explicit_pairs, hinge_qp, loss_value
from tests.solvers.problems import random_problem, seeds, signed_problem
from unseen.solvers.source_codes import SETS, fit_source_codes, fit_source_codes_with_pairs


def fit_part(seed, make=random_problem):
    """S, B, W and lambdas to go with random_problem(seed); every second simplex problem has l1s = 0
    or singular B'B.
    """
    p = make(seed)
    rng, (C, h), ht = p["rng"], p["Zs"].shape, p["Zt"].shape[1]
    which = SETS[seed % 3]
    d = int(rng.integers(max(1, h - 2), 7)) if which == "simplex" else int(rng.integers(h, 8))
    B, S = rng.standard_normal((d, h)), rng.standard_normal((C, d))
    lam1, lam2 = float(10.0 ** rng.uniform(-2, 0.5)), float(10.0 ** rng.uniform(-1, 1))
    if p["kind"] == "duplicate classes":
        S[-1] = S[0]
        if which == "simplex":
            B[:, -1] = B[:, 0]
    if which == "simplex" and seed % 2:
        lam1 = 0.0
    return p | dict(S=S, B=B, W=rng.standard_normal((h, ht)), lam1=lam1, lam2=lam2, which=which)


def quadratic(p):
    return p["lam1"] * np.eye(p["B"].shape[1]) + p["lam2"] * p["B"].T @ p["B"]


def solve(p, **more):
    options = dict(
        lam1=p["lam1"],
        lam2=p["lam2"],
        w_pos=p["w_pos"],
        w_neg=p["w_neg"],
        which=p["which"],
        row_scale=p["scale"],
        loss=p["loss"],
        bias=p["b"],
        s_sq=np.sum(p["S"] ** 2, axis=1),
        tol=1e-6,
        max_rounds=3000,
    )
    return fit_source_codes_with_pairs(
        p["S"] @ p["B"], p["B"].T @ p["B"], p["W"], p["Zt"], p["y"], **(options | more)
    )


def assert_feasible(Z, which, atol=1e-9):
    if which != "free":
        np.testing.assert_allclose(Z.sum(axis=1), 1.0, atol=atol)
    if which == "simplex":
        assert Z.min() >= 0


@pytest.mark.parametrize("make", [random_problem, signed_problem])
@pytest.mark.parametrize("seed", seeds(240))
def test_minimum_with_pairs_matches_a_general_qp_solver(seed, make):
    p = fit_part(seed, make)
    solution = solve(p)
    Y, omega = explicit_pairs(p["y"], len(p["S"]), p["w_pos"], p["w_neg"], p["scale"])
    C, H, F = len(p["S"]), quadratic(p), p["Zt"] @ p["W"].T
    expected = sum(
        hinge_qp(
            H / C, p["lam2"] * p["B"].T @ s / C, F, Y[i], omega[i], p["b"], p["loss"], p["which"]
        )
        + 0.5 * p["lam2"] * s @ s / C
        for i, s in enumerate(p["S"])
    )
    Z = solution.value
    assert_feasible(Z, p["which"])
    fit = 0.5 * p["lam1"] * np.sum(Z**2) + 0.5 * p["lam2"] * np.sum((p["S"] - Z @ p["B"].T) ** 2)
    assert solution.objective == pytest.approx(
        fit / C + loss_value(Y * (Z @ F.T + p["b"]), omega, p["loss"]), rel=1e-8
    )
    assert solution.objective == pytest.approx(expected, rel=1e-4, abs=1e-8)


def test_a_class_of_unknown_pairs_keeps_the_code_of_its_description():
    p = fit_part(16, signed_problem) | {"which": "free"}
    p["y"][:, 0] = 0
    alone = fit_source_codes(
        p["S"] @ p["B"], p["B"].T @ p["B"], lam1=p["lam1"], lam2=p["lam2"], which="free"
    )
    np.testing.assert_allclose(solve(p).value[0], alone.value[0], atol=1e-6)


@pytest.mark.parametrize("seed", seeds(240))
def test_codes_without_pairs_are_exact(seed):
    p = fit_part(seed)
    solution = fit_source_codes(
        p["S"] @ p["B"],
        p["B"].T @ p["B"],
        lam1=p["lam1"],
        lam2=p["lam2"],
        which=p["which"],
        s_sq=np.sum(p["S"] ** 2, axis=1),
    )
    assert_feasible(solution.value, p["which"])
    none = np.zeros((0, p["B"].shape[1]))
    expected = sum(
        hinge_qp(
            quadratic(p), p["lam2"] * p["B"].T @ s, none, np.zeros(0), np.zeros(0), which=p["which"]
        )
        + 0.5 * p["lam2"] * s @ s
        for s in p["S"]
    )
    assert solution.status == "converged"
    assert solution.objective == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_large_simplex_problem_has_a_tiny_frank_wolfe_gap_and_a_warm_start():
    rng = np.random.default_rng(0)
    S = rng.random((80, 60))
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    cold = fit_source_codes(S @ S.T, S @ S.T, lam1=0.01, lam2=1.0)
    warm = fit_source_codes(S @ S.T, S @ S.T, lam1=0.01, lam2=1.0, Z=cold.value)
    assert cold.optimality < 1e-10
    assert warm.n_iter <= 1
    np.testing.assert_allclose(warm.value, cold.value, atol=1e-8)


def test_float32_warm_start_and_stopping_short():
    rng = np.random.default_rng(1)
    C, N, h, ht = 12, 300, 10, 8
    S, B, W, Zt = (
        rng.random((C, 15)),
        rng.random((15, h)),
        rng.standard_normal((h, ht)),
        rng.standard_normal((N, ht)),
    )
    y, options = (
        rng.integers(0, C, N),
        dict(lam1=0.1, lam2=1.0, w_pos=0.5 / N, w_neg=0.5 / N / (C - 1), tol=1e-4),
    )
    options["s_sq"] = np.sum(S**2, axis=1)
    good = fit_source_codes_with_pairs(S @ B, B.T @ B, W, Zt.astype(np.float32), y, **options)
    assert good.value.dtype == np.float32
    assert good.status == "converged"
    again = fit_source_codes_with_pairs(
        S @ B, B.T @ B, W, Zt.astype(np.float32), y, state=good.state, **options
    )
    assert again.n_iter < good.n_iter
    assert again.objective <= good.objective * (1 + 1e-6)
    empty = good.state._replace(
        duals=np.zeros_like(good.state.duals), bounds=np.zeros_like(good.state.bounds)
    )
    with pytest.warns(ConvergenceWarning, match="source-code"):
        hasty = fit_source_codes_with_pairs(
            S @ B,
            B.T @ B,
            W,
            Zt.astype(np.float32),
            y,
            state=empty,
            **(options | dict(tol=1e-9, max_rounds=1)),
        )
    assert hasty.objective <= good.objective * (1 + 1e-6)
