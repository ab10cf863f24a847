# Problems are plain dicts of mixed values, which the type checker cannot follow.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOperatorIssue=false, reportIndexIssue=false
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.oracles.pairs import explicit_pairs, hinge_qp, loss_value
from tests.solvers.problems import random_problem, seeds, signed_problem
from unseen.solvers.target_codes import (
    RidgeSolver,
    TargetSolver,
    fit_target_codes,
    ridge_target_codes,
)


def fit_part(seed, make=random_problem):
    """X, D and lambdas to go with random_problem(seed); some D'D singular, some l1t zero where that
    is defined.
    """
    p = make(seed)
    rng, (N, h) = p["rng"], p["Zt"].shape
    d = int(rng.integers(h, 7))
    D, X = rng.standard_normal((d, h)), rng.standard_normal((N, d))
    if p["kind"] == "constant rows":
        X[:] = X[0]
    if p["kind"] == "rank deficient":
        D[:, -1] = D[:, 0]
    lam1, lam2 = float(10.0 ** rng.uniform(-2, 1)), float(10.0 ** rng.uniform(-1, 1))
    if seed % 5 == 0 and p["kind"] != "rank deficient":
        lam1 = 0.0
    Q = p["Zs"] @ rng.standard_normal((p["Zs"].shape[1], h))
    return p | dict(X=X, D=D, lam1=lam1, lam2=lam2, Q=Q)


def solve(p, **more):
    options = dict(
        lam1=p["lam1"],
        lam2=p["lam2"],
        w_pos=p["w_pos"],
        w_neg=p["w_neg"],
        row_scale=p["scale"],
        loss=p["loss"],
        bias=p["b"],
        x_sq=np.sum(p["X"] ** 2, axis=1),
        tol=1e-6,
        max_sweeps=200000,
    )
    return fit_target_codes(p["X"] @ p["D"], p["D"].T @ p["D"], p["Q"], p["y"], **(options | more))


def value_at(p, Z):
    Y, omega = explicit_pairs(p["y"], len(p["Q"]), p["w_pos"], p["w_neg"], p["scale"])
    fit = 0.5 * p["lam1"] * np.sum(Z**2) + 0.5 * p["lam2"] * np.sum((p["X"] - Z @ p["D"].T) ** 2)
    return fit / len(Z) + loss_value(Y * (p["Q"] @ Z.T + p["b"]), omega, p["loss"])


@pytest.mark.parametrize("make", [random_problem, signed_problem])
@pytest.mark.parametrize("seed", seeds(240))
def test_minimum_matches_a_general_qp_solver(seed, make):
    p = fit_part(seed, make)
    solution = solve(p)
    Y, omega = explicit_pairs(p["y"], len(p["Q"]), p["w_pos"], p["w_neg"], p["scale"])
    N, H = len(p["X"]), p["lam1"] * np.eye(len(p["D"].T)) + p["lam2"] * p["D"].T @ p["D"]
    expected = sum(
        hinge_qp(
            H / N, p["lam2"] * p["D"].T @ x / N, p["Q"], Y[:, j], omega[:, j], p["b"], p["loss"]
        )
        + 0.5 * p["lam2"] * x @ x / N
        for j, x in enumerate(p["X"])
    )
    assert solution.objective == pytest.approx(value_at(p, solution.value), rel=1e-8)
    assert solution.objective == pytest.approx(expected, rel=1e-4, abs=1e-8)


def test_a_row_of_unknown_pairs_keeps_the_code_of_its_features():
    p = fit_part(16, signed_problem)
    p["y"][0] = 0
    gram = p["D"].T @ p["D"]
    alone = ridge_target_codes(p["X"] @ p["D"], gram, lam1=p["lam1"], lam2=p["lam2"]).value
    np.testing.assert_allclose(solve(p).value[0], alone[0], atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_ridge_codes_are_least_squares(seed):
    p = fit_part(seed)
    N, h = p["Zt"].shape
    solution = ridge_target_codes(
        p["X"] @ p["D"], p["D"].T @ p["D"], lam1=p["lam1"], lam2=p["lam2"]
    )
    stacked = np.vstack([np.sqrt(p["lam2"]) * p["D"], np.sqrt(p["lam1"]) * np.eye(h)])
    rhs = np.vstack([np.sqrt(p["lam2"]) * p["X"].T, np.zeros((h, N))])
    np.testing.assert_allclose(
        solution.value.T, np.linalg.lstsq(stacked, rhs, rcond=1e-9)[0], atol=1e-6
    )


def test_float32_warm_start_and_stopping_short():
    p = fit_part(16)
    single = {
        k: v.astype(np.float32) if isinstance(v, np.ndarray) and v.dtype == float else v
        for k, v in p.items()
    }
    assert solve(single, tol=1e-3).value.dtype == np.float32
    rng = np.random.default_rng(0)
    N, h, C = 300, 12, 15
    X, D, Q, y = (
        rng.standard_normal((N, 20)),
        rng.standard_normal((20, h)),
        rng.standard_normal((C, h)),
        rng.integers(0, C, N),
    )
    options = dict(lam1=0.01, lam2=0.1, w_pos=5.0 / N, w_neg=5.0 / N, tol=1e-7, max_sweeps=10000)
    good = fit_target_codes(X @ D, D.T @ D, Q, y, **options)
    assert fit_target_codes(X @ D, D.T @ D, Q, y, state=good.state, **options).n_iter < good.n_iter
    with pytest.warns(ConvergenceWarning, match="target-code"):
        short = fit_target_codes(X @ D, D.T @ D, 0.3 * Q, y, **(options | dict(max_sweeps=1)))
    with pytest.warns(ConvergenceWarning):
        hasty = fit_target_codes(
            X @ D,
            D.T @ D,
            Q,
            y,
            state=good.state._replace(duals=short.state.duals),
            **(options | dict(max_sweeps=1)),
        )
    assert hasty.objective <= good.objective + 1e-12 * abs(good.objective)


def test_undefined_problem_is_refused():
    with pytest.raises(ValueError, match="full column rank"):
        fit_target_codes(
            np.ones((2, 2)),
            np.ones((2, 2)),
            np.eye(2),
            [0, 1],
            lam1=0.0,
            lam2=1.0,
            w_pos=1.0,
            w_neg=1.0,
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_prepared_solver_gives_row_by_row_what_all_rows_give(loss, dtype):
    rng = np.random.default_rng(3)
    D, Q, X = (rng.standard_normal(s).astype(dtype) for s in ((20, 12), (15, 12), (40, 20)))
    XD, gram, y = X @ D, D.T @ D, rng.integers(-1, 15, 40)
    options = dict(lam1=0.1, lam2=1.0, w_pos=0.3, w_neg=0.1, fit_weight=0.05, loss=loss, tol=1e-8)
    solver = TargetSolver(gram, Q, **options, bias=0.2)
    expected = fit_target_codes(XD, gram, Q, y, **options, bias=0.2).value
    assert solver(XD, y).dtype == dtype
    together, tolerance = solver(XD, y), 1e-3 if dtype is np.float32 else 1e-6
    np.testing.assert_allclose(together, expected, atol=tolerance)
    alone = np.vstack([solver(XD[j : j + 1], y[j : j + 1]) for j in range(40)])
    np.testing.assert_allclose(alone, together, atol=tolerance)
    np.testing.assert_allclose(solver(XD), solver(XD, np.full(40, -1)))
    prepared = RidgeSolver(gram, lam1=0.1, lam2=1.0)
    np.testing.assert_array_equal(
        prepared(XD), ridge_target_codes(XD, gram, lam1=0.1, lam2=1.0).value
    )


def test_rows_that_keep_their_margins_need_no_sweep():
    rng = np.random.default_rng(4)
    D, Q, X = rng.standard_normal((9, 5)), rng.standard_normal((4, 5)), rng.standard_normal((6, 9))
    solver = TargetSolver(D.T @ D, Q, lam1=0.1, lam2=1.0, w_pos=1.0, w_neg=1.0, bias=-50.0)
    solution = solver.solve(X @ D)
    assert (solution.n_iter, solution.optimality) == (0, 0.0)
    np.testing.assert_array_equal(
        solution.value, ridge_target_codes(X @ D, D.T @ D, lam1=0.1, lam2=1.0).value
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_better_of_two_codes_is_kept(seed):
    """Whatever the incumbents are: near the minimum, far from it, or better than what was found."""
    p = fit_part(seed)
    rng, best = np.random.default_rng(seed), solve(p, tol=1e-9)
    noise = rng.standard_normal(best.value.shape) * 10.0 ** rng.uniform(-8, 1, (len(best.value), 1))
    incumbent = best.value + noise
    duals = rng.standard_normal((len(incumbent), len(p["Q"])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        state = best.state._replace(duals=duals, Z=incumbent)
        found = solve(p, state=state, max_sweeps=1, tol=1e-12)
    before, after = value_at(p, incumbent), value_at(p, found.value)
    assert after <= before * (1 + 1e-12) + 1e-14
    assert found.objective == pytest.approx(after, rel=1e-8)
    assert after * (1 - found.optimality) <= best.objective + 1e-8 * abs(best.objective)
