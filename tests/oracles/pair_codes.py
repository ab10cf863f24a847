"""Both codes of one pair by a general solver with many starts, in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize


class Pair(NamedTuple):
    """One pair: data, dictionaries, similarity, λ1s, λ2s, λ1t, λ2t, sign, weight and loss."""

    x_s: np.ndarray
    x_t: np.ndarray
    B: np.ndarray
    D: np.ndarray
    W: np.ndarray
    b: float
    lambdas: tuple[float, float, float, float]
    y: int
    omega: float
    loss: str

    def fit(self, z_s: np.ndarray, z_t: np.ndarray) -> float:
        l1s, l2s, l1t, l2t = self.lambdas
        source = l1s * z_s @ z_s + l2s * np.sum((self.x_s - self.B @ z_s) ** 2)
        target = l1t * z_t @ z_t + l2t * np.sum((self.x_t - self.D @ z_t) ** 2)
        return 0.5 * float(source + target)

    def slack(self, z_s: np.ndarray, z_t: np.ndarray) -> float:
        return max(0.0, 1 - self.y * float(z_s @ self.W @ z_t + self.b))

    def value(self, z_s: np.ndarray, z_t: np.ndarray) -> float:
        power = 2 if self.loss == "squared_hinge" else 1
        return self.fit(z_s, z_t) + abs(self.y) * self.omega * self.slack(z_s, z_t) ** power


def minimum(pair: Pair, which: str, n_starts: int, seed: int, first: Any = None) -> float:
    """The least value over random starts (and `first`), each to a local minimum by SLSQP."""
    rng = np.random.default_rng(seed)
    h, n = pair.W.shape[0], sum(pair.W.shape)
    power = 2 if pair.loss == "squared_hinge" else 1
    bounds = [(0 if which == "simplex" else None, None)] * h + [(None, None)] * (n - h)

    def minus(v: np.ndarray) -> float:
        return pair.fit(v[:h], v[h:n]) + abs(pair.y) * pair.omega * v[n] ** power

    held: list[Any] = [
        {
            "type": "ineq",
            "fun": lambda v: v[n] - 1 + pair.y * (v[:h] @ pair.W @ v[h:n] + pair.b),
        }
    ]
    if which != "free":
        held.append({"type": "eq", "fun": lambda v: v[:h].sum() - 1})
    starts = [np.r_[rng.dirichlet(np.ones(h)), rng.standard_normal(n - h)] for _ in range(n_starts)]
    starts += [] if first is None else [np.concatenate(first)]
    best = np.inf
    for start in starts:
        found: Any = minimize(
            minus,
            np.append(start, pair.slack(start[:h], start[h:])),
            method="SLSQP",
            bounds=[*bounds, (0, None)],
            constraints=held,
            options={"ftol": 1e-12, "maxiter": 300},
        )
        if found.success and held[0]["fun"](found.x) > -1e-7:
            best = min(best, found.fun)
    return best
