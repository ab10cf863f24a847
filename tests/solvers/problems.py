"""Random block problems, ordinary and degenerate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from unseen.pairs.loss import Omega, Pairs

KINDS = (
    "plain",
    "one class",
    "duplicate classes",
    "constant rows",
    "zero rows",
    "rank deficient",
    "no class",
)


@dataclass
class Problem:
    """Codes and pairs, small enough for explicit Kronecker products; λ_W and b."""

    rng: np.random.Generator
    kind: str
    Zs: np.ndarray
    Zt: np.ndarray
    pairs: Pairs
    lambda_W: float
    b: float

    def with_labels(self, labels: Any) -> Problem:
        pairs = Pairs(labels, self.pairs.n_classes, self.pairs.omega, self.pairs.loss)
        return replace(self, pairs=pairs)


def random_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    kind, loss = KINDS[seed % len(KINDS)], ("hinge", "squared_hinge")[(seed // len(KINDS)) % 2]
    C, N = int(rng.integers(2, 6)), int(rng.integers(1, 12))
    hs, ht = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    C = 1 if kind == "one class" else C
    Zs, Zt = rng.standard_normal((C, hs)), rng.standard_normal((N, ht))
    y = rng.integers(0, C, N)
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
    n_positive = int((y >= 0).sum())
    omega = Omega(1.0 / (C * N), 1.0 / (C * N))
    if rng.integers(2):
        omega = Omega(0.5 / max(n_positive, 1), 0.5 / max(C * N - n_positive, 1))
    lambda_W = float(10.0 ** rng.uniform(-4, 0))
    b = float(rng.standard_normal()) if rng.random() < 0.3 else 0.0
    return Problem(rng, kind, Zs, Zt, Pairs(y, C, omega, loss), lambda_W, b)


def signed_problem(seed: int) -> Problem:
    """The same with a matrix of signs, some unknown, for labels; every second one with weights."""
    p = random_problem(seed)
    rng, shape = np.random.default_rng([seed, 1]), (len(p.Zt), len(p.Zs))
    signs = rng.choice([-1, 0, 1], shape, p=[0.5, 0.3, 0.2]).astype(np.int8)
    if seed % 3 == 0:
        signs[0] = 0
        signs[:, -1] = 0
    return p.with_labels(signs * rng.uniform(0.2, 3.0, shape) if seed % 2 else signs)


def seeds(n: int, quick: int = 2 * len(KINDS)) -> list[Any]:
    """Seeds 0 .. n - 1; all but the first few, which have every kind and loss, are for the slow
    run."""
    slow = (pytest.param(k, marks=pytest.mark.slow) for k in range(quick, n))
    return [*range(quick), *slow]
