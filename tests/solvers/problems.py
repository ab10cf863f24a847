"""Random block problems, ordinary and degenerate."""

from typing import Any

import numpy as np
import pytest

KINDS = (
    "plain",
    "one class",
    "duplicate classes",
    "constant rows",
    "zero rows",
    "rank deficient",
    "no class",
    "row scale",
)


def random_problem(seed) -> dict[str, Any]:
    """Codes, labels, weights: small enough for explicit Kronecker products."""
    rng = np.random.default_rng(seed)
    kind, loss = KINDS[seed % len(KINDS)], ("hinge", "squared_hinge")[(seed // len(KINDS)) % 2]
    C, N = int(rng.integers(2, 6)), int(rng.integers(1, 12))
    hs, ht = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    C = 1 if kind == "one class" else C
    Zs, Zt = rng.standard_normal((C, hs)), rng.standard_normal((N, ht))
    y, scale = rng.integers(0, C, N), None
    if kind == "duplicate classes":
        Zs[-1] = Zs[0]
    elif kind == "constant rows":
        Zt[:] = Zt[0]
    elif kind == "zero rows":
        Zt[: N // 2 + 1] = 0.0
        Zs[0] = 0.0
    elif kind == "rank deficient":
        Zs[:], Zt[:] = np.outer(Zs[:, 0], Zs[0]), np.outer(Zt[:, 0], Zt[0])
    elif kind == "no class":
        y = np.full(N, -1)
    elif kind == "row scale":
        scale = rng.random(N) * (rng.random(N) > 0.2)
    balanced = bool(rng.integers(2))
    n_pos = int((y >= 0).sum())
    n_neg = C * N - n_pos
    w_pos = (0.5 / max(n_pos, 1)) if balanced else 1.0 / (C * N)
    w_neg = (0.5 / max(n_neg, 1)) if balanced else 1.0 / (C * N)
    lam = float(10.0 ** rng.uniform(-4, 0))
    b = float(rng.standard_normal()) if rng.random() < 0.3 else 0.0
    return dict(
        rng=rng,
        kind=kind,
        loss=loss,
        Zs=Zs,
        Zt=Zt,
        y=y,
        scale=scale,
        w_pos=w_pos,
        w_neg=w_neg,
        lam=lam,
        b=b,
    )


def signed_problem(seed) -> dict[str, Any]:
    """The same with a matrix of signs, some unknown, for labels; every second one with weights."""
    p = random_problem(seed)
    rng, shape = np.random.default_rng([seed, 1]), (len(p["Zt"]), len(p["Zs"]))
    signs = rng.choice([-1, 0, 1], shape, p=[0.5, 0.3, 0.2]).astype(np.int8)
    if seed % 3 == 0:
        signs[0] = 0
        signs[:, -1] = 0
    return p | {"y": signs * rng.uniform(0.2, 3.0, shape) if seed % 2 else signs}


def seeds(n, quick=40):
    """Seeds 0 .. n - 1; all but the first few are for the slow run."""
    slow = (pytest.param(k, marks=pytest.mark.slow) for k in range(quick, n))
    return [*range(quick), *slow]
