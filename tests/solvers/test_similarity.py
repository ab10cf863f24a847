# Problems are plain dicts of mixed values, which the type checker cannot follow.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOperatorIssue=false
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from tests.oracles.pairs import explicit_pairs, loss_value, similarity_minimum
from tests.solvers.problems import random_problem, seeds, signed_problem
from unseen.solvers.ascent import ascend_rows
from unseen.solvers.similarity import block_loss, dual_product, fit_similarity


def solve(p, **more):
    options = dict(
        lam=p["lam"],
        w_pos=p["w_pos"],
        w_neg=p["w_neg"],
        row_scale=p["scale"],
        loss=p["loss"],
        bias=p["b"],
        tol=1e-6,
        max_epochs=20000,
    )
    return fit_similarity(p["Zs"], p["Zt"], p["y"], **(options | more))


def value_at(p, W, b, kappa=None):
    Y, omega = explicit_pairs(p["y"], len(p["Zs"]), p["w_pos"], p["w_neg"], p["scale"])
    loss = loss_value(Y * (p["Zs"] @ W @ p["Zt"].T + b), omega, p["loss"])
    return loss + 0.5 * p["lam"] * (np.sum(W**2) + (0.0 if kappa is None else (b / kappa) ** 2))


@pytest.mark.parametrize("seed", seeds(240))
def test_minimum_matches_a_general_qp_solver(seed):
    p = random_problem(seed)
    solution = solve(p)
    expected = similarity_minimum(
        p["Zs"], p["Zt"], p["y"], p["lam"], p["w_pos"], p["w_neg"], p["scale"], p["loss"], p["b"]
    )
    assert solution.objective == pytest.approx(value_at(p, *solution.value), rel=1e-9, abs=1e-12)
    assert solution.objective == pytest.approx(expected, rel=1e-4, abs=1e-8)
    assert solution.objective * (1 - solution.optimality) <= expected + 1e-7


@pytest.mark.parametrize("seed", seeds(120, quick=30))
def test_minimum_of_signs_matches_a_general_qp_solver(seed):
    p = signed_problem(seed)
    kappa = (None, 1.0)[seed % 4 == 3]
    p = p if kappa is None else p | {"b": 0.0}
    solution = solve(p, fit_bias=kappa is not None, bias_scale=kappa or 1.0)
    expected = similarity_minimum(
        p["Zs"],
        p["Zt"],
        p["y"],
        p["lam"],
        p["w_pos"],
        p["w_neg"],
        p["scale"],
        p["loss"],
        p["b"],
        kappa,
    )
    value = value_at(p, *solution.value, kappa)
    assert solution.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert solution.objective == pytest.approx(expected, rel=1e-4, abs=1e-8)
    assert solution.objective * (1 - solution.optimality) <= expected + 1e-7


@pytest.mark.parametrize("seed", range(0, 40, 3))
def test_class_numbers_equal_their_signs(seed):
    p = random_problem(seed)
    signs = np.where(np.arange(len(p["Zs"])) == p["y"][:, None], 1, -1)
    numbers = solve(p)
    for form in (signs.astype(np.int8), signs.astype(float)):
        found = solve(p | {"y": form})
        assert found.objective == pytest.approx(numbers.objective, rel=1e-6, abs=1e-12)
        np.testing.assert_allclose(found.value.W, numbers.value.W, atol=1e-2)


def test_rows_of_unknown_pairs_do_not_matter():
    rng = np.random.default_rng(4)
    Zs, Zt = rng.standard_normal((5, 4)), rng.standard_normal((30, 3))
    signs = rng.choice([-1, 0, 1], (30, 5)).astype(np.int8)
    signs[10:20] = 0
    options = dict(lam=1e-2, w_pos=0.02, w_neg=0.01, tol=1e-8, max_epochs=20000)
    found = fit_similarity(Zs, Zt, signs, **options)
    Zt[10:20] = 1e3 * rng.standard_normal((10, 3))
    other = fit_similarity(Zs, Zt, signs, **options)
    kept = np.delete(np.arange(30), np.s_[10:20])
    fewer = fit_similarity(Zs, Zt[kept], signs[kept], **options)
    for solution in (other, fewer):
        assert solution.objective == pytest.approx(found.objective, rel=1e-7)
        np.testing.assert_allclose(solution.value.W, found.value.W, atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_weight_of_two_is_the_same_pair_twice(loss):
    """Rows that come twice, against their pairs with twice the weight."""
    rng = np.random.default_rng(5)
    Zs, Zt = rng.standard_normal((4, 3)), rng.standard_normal((12, 3))
    signs = rng.choice([-1, 1], (12, 4))
    options = dict(lam=1e-2, w_pos=0.02, w_neg=0.01, tol=1e-8, max_epochs=20000, loss=loss)
    often = rng.integers(1, 4, 12)
    weighted = fit_similarity(Zs, Zt, signs * often[:, None].astype(float), **options)
    repeated = np.repeat(np.arange(12), often)
    twice = fit_similarity(Zs, Zt[repeated], signs[repeated].astype(np.int8), **options)
    assert weighted.objective == pytest.approx(twice.objective, rel=1e-7)
    np.testing.assert_allclose(weighted.value.W, twice.value.W, atol=1e-3)


@pytest.mark.parametrize("seed", range(60))
def test_learned_bias_matches_a_general_qp_solver(seed):
    p = random_problem(seed) | {"b": 0.0}
    kappa = (0.3, 1.0, 3.0)[seed % 3]
    solution = solve(p, fit_bias=True, bias_scale=kappa)
    expected = similarity_minimum(
        p["Zs"],
        p["Zt"],
        p["y"],
        p["lam"],
        p["w_pos"],
        p["w_neg"],
        p["scale"],
        p["loss"],
        0.0,
        kappa,
    )
    assert solution.objective == pytest.approx(
        value_at(p, *solution.value, kappa), rel=1e-9, abs=1e-12
    )
    assert solution.objective == pytest.approx(expected, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("seed", seeds(280))
def test_never_above_linear_svc_on_explicit_products(seed):
    p = random_problem(seed) | {"b": 0.0}
    Y, omega = explicit_pairs(p["y"], len(p["Zs"]), p["w_pos"], p["w_neg"], p["scale"])
    if len(np.unique(Y)) < 2:
        pytest.skip("LinearSVC needs two labels")
    F = np.einsum("ia,jb->ijab", p["Zs"], p["Zt"]).reshape(Y.size, -1)
    svc = LinearSVC(
        loss=p["loss"],
        C=1 / p["lam"],
        fit_intercept=False,
        dual=True,
        tol=1e-10,
        max_iter=100000,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        svc.fit(F, Y.ravel(), sample_weight=omega.ravel())
    reference = value_at(p, svc.coef_.reshape(p["Zs"].shape[1], -1), 0.0)
    solution = solve(p)
    assert solution.objective <= reference * (1 + 1e-4) + 1e-10
    assert reference >= solution.objective * (1 - solution.optimality) - 1e-10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_and_certificate_holds(dtype):
    rng = np.random.default_rng(0)
    Zs, Zt = rng.dirichlet(np.ones(6), 9).astype(dtype), rng.standard_normal((400, 8)).astype(dtype)
    y = rng.integers(0, 9, 400)
    loose = fit_similarity(Zs, Zt, y, lam=1e-3, w_pos=0.5 / 400, w_neg=0.5 / 3200, tol=1e-2)
    tight = fit_similarity(
        Zs.astype(float), Zt.astype(float), y, lam=1e-3, w_pos=0.5 / 400, w_neg=0.5 / 3200, tol=1e-6
    )
    assert loose.value.W.dtype == dtype
    assert loose.status == "converged"
    assert loose.optimality <= 1e-2
    assert tight.objective * (1 - 1e-6) <= loose.objective <= tight.objective * (1 + 1.1e-2)


def test_warm_start_is_never_worse_and_saves_epochs():
    rng = np.random.default_rng(1)
    Zs, Zt = rng.dirichlet(np.ones(10), 12), rng.standard_normal((600, 10))
    y, options = (
        rng.integers(0, 12, 600),
        dict(lam=1e-4, w_pos=0.5 / 600, w_neg=0.5 / 6600, tol=1e-3),
    )
    cold = fit_similarity(Zs, Zt, y, **options)
    moved = Zt + 0.01 * rng.standard_normal(Zt.shape)
    warm = fit_similarity(Zs, moved, y, state=cold.state, **options)
    again = fit_similarity(Zs, moved, y, **options)
    assert warm.n_iter < again.n_iter
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        hasty = fit_similarity(
            Zs, moved, y, state=again.state, **(options | dict(tol=0.0, max_epochs=1))
        )
    assert hasty.status == "stopped short"
    assert hasty.objective <= again.objective * (1 + 1e-12)


def test_lambda_zero_is_refused():
    with pytest.raises(ValueError, match="lambda_W must be positive"):
        fit_similarity(np.eye(2), np.ones((3, 1)), [0, 1, 0], lam=0.0, w_pos=1.0, w_neg=1.0)


def test_row_blocks_on_a_memory_map_reach_the_same_minimum(tmp_path):
    """The pieces alone, driven block by block: ascent given P, A'Z and the loss as sums over
    blocks.
    """
    rng = np.random.default_rng(2)
    C, N, lam, w_pos, w_neg = 7, 210, 1e-2, 0.5 / 210, 0.5 / 210 / 6
    Zs, y = rng.dirichlet(np.ones(5), C), rng.integers(0, C, N)
    path, scale = tmp_path / "Zt.npy", np.ones(N)
    np.save(path, rng.standard_normal((N, 6)))
    Zt = np.load(path, mmap_mode="r")
    A, gaps, P, gram = np.zeros((N, C)), np.zeros(N), np.zeros((6, C)), Zs @ Zs.T
    blocks = [slice(0, 100), slice(100, 150), slice(150, N)]
    for _ in range(200):
        for rows in blocks:
            part = np.array(Zt[rows])
            order = rng.permutation(len(part))
            ascend_rows(
                part,
                y[rows],
                order,
                A[rows],
                P,
                0.0,
                gram,
                lam,
                0.0,
                w_pos,
                w_neg,
                scale[rows],
                False,
                16,
                2,
                gaps[rows],
            )
    W = Zs.T @ sum(dual_product(Zt[rows], A[rows]) for rows in blocks) / lam
    np.testing.assert_allclose(P, (Zs @ W).T, atol=1e-8)
    loss = sum(
        block_loss(Zt[rows], y[rows], P, 0.0, w_pos, w_neg, scale[rows], False) for rows in blocks
    )
    whole = fit_similarity(Zs, np.array(Zt), y, lam=lam, w_pos=w_pos, w_neg=w_neg, tol=1e-6)
    assert loss + 0.5 * lam * np.sum(W**2) == pytest.approx(whole.objective, rel=1e-4)
