"""The general model with codes that move, by plain alternation: an oracle for Algorithm 3.

    F = max over z_s, z_t of log p_B(z_s | x_s) + log p_D(z_t | x_t) - loss(z_s' W z_t + b)

In the arrays below the last axis holds a vector; the two before it run over rows and classes and
are 1 where something is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unseen.model.objective import minus_log_p
from unseen.pairs.loss import is_squared, pair_loss
from unseen.solvers.block import Ridge
from unseen.solvers.simplex import fit_source_codes

_MOST_ROUNDS = 200
_MOST_HALVINGS = 100


class Dictionary:
    """log p(z | x) = -λ1/2 |z|² - λ2/2 |x - A z|² (Eq. pb and pd); codes on the set `code_set`."""

    def __init__(
        self, atoms: np.ndarray, shrink: float, fit: float, code_set: str = "free"
    ) -> None:
        self.atoms, self.shrink, self.fit, self.code_set = atoms, shrink, fit, code_set
        self._ridge = Ridge(atoms.T @ atoms, shrink, fit)

    def best(self, x: np.ndarray, pull: np.ndarray | float = 0.0) -> np.ndarray:
        """argmax over codes z of log p(z | x) + <pull, z>."""
        # A pull is a change of the data: λ2 A'x + pull = λ2 (A'x + pull / λ2).
        target = x @ self.atoms + pull / self.fit
        flat = target.reshape(-1, target.shape[-1])
        return fit_source_codes(flat, self._ridge, self.code_set).value.reshape(target.shape)

    def log_p(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return -minus_log_p(x, z, self.atoms, self.shrink, self.fit)


class Hinge(NamedTuple):
    """log p_W = -loss(z_s' W z_t + b)."""

    W: np.ndarray
    bias: float = 0.0
    loss: str = "hinge"

    def log_p(self, z_s: np.ndarray, z_t: np.ndarray) -> np.ndarray:
        return -pair_loss(_inner(z_s, z_t @ self.W.T) + self.bias, self.loss)

    def best(self, respond: Callable, pull: np.ndarray) -> np.ndarray:
        """The code z(α) = respond(α · pull) whose α is minus the slope of the loss at s(z(α)).

        s(z(α)) rises with α and the slope falls with s, so there is one such α. On free and affine
        codes s is linear in α and the first chord hits it.
        """
        squared = is_squared(self.loss)

        def gap(alpha: np.ndarray) -> np.ndarray:
            """s(z(α)) minus the s at which the slope is α."""
            s = _inner(respond(alpha[..., None] * pull), pull) + self.bias
            return s - (1 - alpha / 2 if squared else 1.0)

        at_zero = gap(np.zeros(pull.shape[:-1]))
        most = np.maximum(-2 * at_zero, 0) if squared else np.ones_like(at_zero)
        return respond(_root(gap, at_zero, most)[..., None] * pull)


class Maximum(NamedTuple):
    """F of every pair (N x C), and the codes it is reached at (N x C x h)."""

    value: np.ndarray
    source: np.ndarray
    target: np.ndarray


def maximise(
    source: Dictionary, target: Dictionary, similarity: Hinge,
    S: np.ndarray, X: np.ndarray, tol: float = 1e-10,
) -> Maximum:  # fmt: skip
    """F of every row of X with every description of S, each code in turn from the best without the
    similarity; it ends where neither alone can climb: a local maximum, or the knee of the hinge."""
    x_s, x_t, W = S[None], X[:, None], similarity.W

    def value() -> np.ndarray:
        return source.log_p(x_s, z_s) + target.log_p(x_t, z_t) + similarity.log_p(z_s, z_t)

    z_s, z_t = source.best(x_s), target.best(x_t)
    now = value()
    for _ in range(_MOST_ROUNDS):
        z_s = similarity.best(lambda pull: source.best(x_s, pull), z_t @ W.T)
        z_t = similarity.best(lambda pull: target.best(x_t, pull), z_s @ W)
        before, now = now, value()
        if (now - before).max() <= tol:
            break
    return Maximum(now, z_s, z_t)


def _root(
    gap: Callable[[np.ndarray], np.ndarray], at_low: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """The α in [0, most] where a rising function is zero, the nearer end where it has no zero.

    False position with the Illinois rule, element by element; `at_low` is the value at 0.
    """
    low, high = np.zeros_like(most), most
    at_high = gap(high)
    alpha = np.where(at_low >= 0, low, high)
    is_open = (at_low < 0) & (at_high > 0)
    scale = np.abs(at_low) + np.abs(at_high)
    for _ in range(_MOST_HALVINGS):
        if not is_open.any():
            break
        rise = np.where(is_open, at_high - at_low, 1)
        alpha = np.where(is_open, low - at_low * (high - low) / rise, alpha)
        here = gap(alpha)
        is_below = here < 0
        low, high = np.where(is_below, alpha, low), np.where(is_below, high, alpha)
        # The end that stays counts for half, so that it does not stay for ever.
        at_low = np.where(is_below, here, at_low / 2)
        at_high = np.where(is_below, at_high / 2, here)
        is_open &= np.abs(here) > 1e-13 * scale
    return alpha


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("...h,...h->...", a, b)
