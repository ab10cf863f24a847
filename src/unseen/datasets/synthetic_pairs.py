"""A synthetic problem of pairs with a known ceiling: which sources act on which targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.errors import InputError


@dataclass(frozen=True)
class PairDataset:
    """Sources S (C x d_s), targets X (N x d_t) and labels Y (N x C) of +1, -1 and 0 = unknown.

    `probabilities(S, X)` is what nobody can know of real data: the true p(+1 | x_s, x_t).
    """

    S: np.ndarray
    X: np.ndarray
    Y: np.ndarray
    link: np.ndarray
    offset: float

    def probabilities(self, S: np.ndarray, X: np.ndarray) -> np.ndarray:
        """p(+1 | x_s, x_t) = σ(x_s' G x_t + c) of all pairs, N' x C'.

        No score ranks pairs better than this one, so its measures are the ceiling of all methods.
        """
        from scipy.special import expit

        return expit(X @ (S @ self.link).T + self.offset)


def make_pairs(
    n_sources: int = 60,
    n_targets: int = 300,
    n_source_features: int = 30,
    n_target_features: int = 60,
    n_factors: int = 6,
    *,
    sharpness: float = 4.0,
    positives: float = 0.15,
    known: float = 0.5,
    noise: float = 0.7,
    random_state: int = 0,
) -> PairDataset:
    """Sources and targets that match by chance, the more so the better their factors agree.

        x_s = A'f + σ ε,  x_t = P'g + σ ε'         ε ⊥ A, ε' ⊥ P
        p(y = +1) = σ(α f'M g / std + c)

    with Gaussian f, g, M, ε and ε', and orthonormal A and P. The noise lies across the factors, so
    the vectors tell all there is to know of p, to anyone who finds where to look.

    Parameters
    ----------
    sharpness : α; the larger, the less chance there is in the labels.
    positives : share of pairs that match, which sets c.
    known : share of pairs whose label is given; the others are 0.
    noise : σ.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    sizes = {"n_sources": n_sources, "n_targets": n_targets, "n_factors": n_factors}
    for name, size in sizes.items():
        if size < 1:
            raise InputError(f"{name} must be at least 1, not {size}")
    for name, width in (("source", n_source_features), ("target", n_target_features)):
        if width < n_factors:
            raise InputError(f"n_{name}_features must be at least n_factors, {n_factors}")
    for name, share in (("positives", positives), ("known", known)):
        if not 0 < share <= 1 or (name == "positives" and share == 1):
            raise InputError(f"{name} must be a share between 0 and 1, not {share}")
    rng = np.random.default_rng(random_state)
    A, S = _domain(rng, n_sources, n_source_features, n_factors, noise)
    P, X = _domain(rng, n_targets, n_target_features, n_factors, noise)
    M = rng.standard_normal((n_factors, n_factors))
    strength = X @ (S @ A.T @ M @ P).T
    scale = sharpness / strength.std()
    offset: Any = brentq(lambda c: expit(scale * strength + c).mean() - positives, -1e3, 1e3)
    chances = expit(scale * strength + offset)
    Y = np.where(rng.random(chances.shape) < chances, 1, -1).astype(np.int8)
    Y[rng.random(Y.shape) >= known] = 0
    return PairDataset(S, X, Y, scale * (A.T @ M @ P), float(offset))


def _domain(
    rng: np.random.Generator, n: int, width: int, n_factors: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Directions of the factors (k x d) and vectors (n x d)."""
    A = np.linalg.qr(rng.standard_normal((width, n_factors)))[0].T
    across = noise * rng.standard_normal((n, width))
    across -= (across @ A.T) @ A
    return A, rng.standard_normal((n, n_factors)) @ A + across
