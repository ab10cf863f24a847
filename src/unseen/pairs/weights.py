"""Weights of pairs of a source and a target: by class labels, never stored, or by any signs."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from unseen.errors import InputError


class PairWeights(NamedTuple):
    """ω_ij = rows[j] · (`pos` for the pair of a row with its own class, `neg` for any other pair).

    `rows` (N) has a mean of one; None is one for every row. Where labels are a matrix of signs, the
    size of an entry is a factor too.
    """

    pos: float
    neg: float
    rows: np.ndarray | None = None


def pair_weights(
    n_rows: int, n_classes: int, kind: str | float, rows: np.ndarray | None = None
) -> PairWeights:
    """ω_ij with Σ_ij ω_ij = 1 over C classes and N rows.

    "uniform" is 1/(CN), the paper; "balanced" gives the N positive pairs half of the mass; a
    number κ makes a positive pair weigh κ times a negative one.
    """
    ratio = _ratio(kind, float(max(n_classes - 1, 1)))
    mass = (ratio + n_classes - 1) * n_rows
    return PairWeights(ratio / mass, 1.0 / mass, rows)


def sign_weights(signs: np.ndarray, kind: str | float) -> PairWeights:
    """ω_ij = |y_ij| · (`pos` where y_ij > 0, `neg` where y_ij < 0) with Σ_ij ω_ij = 1.

    `kind` as in `pair_weights`: "uniform" makes ω_ij ∝ |y_ij|, "balanced" gives the positive pairs
    half of the mass. Signs of class labels get the weights of `pair_weights`.
    """
    positive = float(np.sum(signs, where=signs > 0, dtype=np.float64))
    negative = -float(np.sum(signs, where=signs < 0, dtype=np.float64))
    ratio = _ratio(kind, negative / positive)
    mass = ratio * positive + negative
    return PairWeights(ratio / mass, 1.0 / mass)


def label_weights(
    labels: np.ndarray, n_classes: int, kind: str | float, balance: float
) -> PairWeights:
    """ω_ij of class numbers (N), whose rows `balance` weighs, or of a matrix of signs (N x C)."""
    if labels.ndim == 2:
        return sign_weights(labels, kind)
    return pair_weights(labels.size, n_classes, kind, row_weights(labels, balance))


def _ratio(kind: str | float, balanced: float) -> float:
    """How much a positive pair weighs in units of a negative one."""
    ratio: Any = {"uniform": 1.0, "balanced": balanced}.get(str(kind), kind)
    if not isinstance(ratio, Real) or isinstance(ratio, bool) or not 0 < float(ratio) < np.inf:
        raise InputError(
            f"positive_weight must be 'uniform', 'balanced' or a positive number, not {kind!r}"
        )
    return float(ratio)


def row_weights(labels: np.ndarray, balance: float) -> np.ndarray | None:
    """N weights of mean one, each ∝ n_c^-balance for a row of a class with n_c rows.

    0 counts every row alike (None), 1 every class.
    """
    if balance == 0:
        return None
    weights = np.bincount(labels)[labels] ** -float(balance)
    return weights / weights.mean()
