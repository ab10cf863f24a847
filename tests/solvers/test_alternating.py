# Problems are plain dicts of mixed values, which the type checker cannot follow.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOperatorIssue=false
"""All blocks in turn with warm starts, as in Alg. 2: J never rises, however loose or hasty the
blocks are.
"""

import itertools
import warnings

import numpy as np
import pytest

from tests.solvers.oracles import joint_value
from unseen.pairs import pair_weights
from unseen.solvers.dictionary import fit_source_dictionary, fit_target_dictionary
from unseen.solvers.similarity import fit_similarity
from unseen.solvers.source_codes import fit_source_codes, fit_source_codes_with_pairs
from unseen.solvers.target_codes import fit_target_codes, ridge_target_codes


def make(seed, dtype):
    rng = np.random.default_rng(seed)
    C, ds, dt, per = 8, 10, 14, 12
    S = rng.random((C, ds))
    S[-1] = S[0] if seed % 3 == 0 else S[-1]
    y = np.repeat(np.arange(C), per)
    X = (S @ rng.standard_normal((ds, dt)))[y] + 0.7 * rng.standard_normal((C * per, dt))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return S.astype(dtype), X.astype(dtype), y


def alternate(S, X, y, p, which, h, rounds, tol, limit, seen):
    """Alg. 2; `seen` gets J after every block."""
    C, N = len(S), len(X)
    pairs = dict(w_pos=p["w_pos"], w_neg=p["w_neg"], loss=p["loss"])
    B, D = S.T.copy(), np.linalg.svd(X, full_matrices=False)[2][:h].T.copy()
    Zs = fit_source_codes(S @ B, B.T @ B, lam1=p["l1s"], lam2=p["l2s"], which=which).value
    Zt = ridge_target_codes(X @ D, D.T @ D, lam1=p["l1t"], lam2=p["l2t"]).value
    W, b, states = None, 0.0, dict(w=None, s=None, t=None)

    def record(block):
        args = [np.asarray(v, np.float64) for v in (Zs, Zt, B, D, W)]
        seen.append((block, joint_value(S.astype(float), X.astype(float), y, *args, b, p)))

    def step_w():
        fitted = fit_similarity(
            Zs,
            Zt,
            y,
            lam=p["lam"],
            fit_bias=p["kappa"] is not None,
            bias_scale=p["kappa"] or 1.0,
            tol=tol,
            max_epochs=limit,
            state=states["w"],
            **pairs,
        )
        states["w"] = fitted.state
        return fitted.value

    W, b = step_w()
    record("W")
    for _ in range(rounds):
        s = fit_source_codes_with_pairs(
            S @ B,
            B.T @ B,
            W,
            Zt,
            y,
            lam1=p["l1s"],
            lam2=p["l2s"],
            which=which,
            bias=b,
            tol=tol,
            max_rounds=limit,
            state=states["s"] or _codes_only("s", Zs, N),
            **pairs,
        )
        Zs, states["s"] = s.value, s.state
        record("Zs")
        t = fit_target_codes(
            X @ D,
            D.T @ D,
            Zs @ W,
            y,
            lam1=p["l1t"],
            lam2=p["l2t"],
            bias=b,
            tol=tol,
            max_sweeps=limit,
            state=states["t"] or _codes_only("t", Zt, C),
            **pairs,
        )
        Zt, states["t"] = t.value, t.state
        record("Zt")
        B = fit_source_dictionary(Zs.T @ Zs, S.T @ Zs, B=B, data_sq=np.sum(S**2)).value
        record("B")
        D = fit_target_dictionary(
            Zt.T @ Zt, X.T @ Zt, D=D, data_sq=np.sum(X**2), tol=tol, max_sweeps=limit
        ).value
        record("D")
        W, b = step_w()
        record("W")


def _codes_only(block, Z, n):
    """A state with an incumbent and no duals, for the first round."""
    from unseen.solvers.source_codes import SourceState
    from unseen.solvers.target_codes import TargetState

    if block == "s":
        return SourceState(np.zeros((len(Z), n), Z.dtype), np.zeros_like(Z), Z)
    return TargetState(np.zeros((len(Z), n), Z.dtype), Z)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("which", ["simplex", "affine", "free"])
@pytest.mark.parametrize(("tol", "limit"), [(1e-4, 1000), (1e-2, 1)])
def test_joint_objective_never_rises(dtype, loss, which, tol, limit):
    for seed in range(3):
        S, X, y = make(seed, dtype)
        w = pair_weights(len(y), len(S), "balanced" if seed else "uniform")
        p = dict(
            l1s=0.1,
            l2s=0.7,
            l1t=0.3,
            l2t=2.0,
            lam=1e-3,
            w_pos=w.pos,
            w_neg=w.neg,
            loss=loss,
            kappa=1.0 if seed == 1 else None,
        )
        seen = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alternate(S, X, y, p, which, 6, 4, tol, limit, seen)
        for (_, before), (block, after) in itertools.pairwise(seen):
            assert after <= before * (1 + 1e-6), f"{block} raised J from {before} to {after}"
        assert seen[-1][1] < seen[0][1]
