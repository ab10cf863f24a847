"""Pairs of a class and a row: labels +1 at the row's own class, -1 elsewhere, never stored."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from unseen.errors import InputError


class PairWeights(NamedTuple):
    """ω_ij = rows[j] · (`pos` for the pair of a row with its own class, `neg` for any other pair).

    `rows` (N) has a mean of one; None is one for every row.
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
    ratio: Any = {"uniform": 1.0, "balanced": float(max(n_classes - 1, 1))}.get(str(kind), kind)
    if not isinstance(ratio, Real) or isinstance(ratio, bool) or not 0 < float(ratio) < np.inf:
        raise InputError(
            f"positive_weight must be 'uniform', 'balanced' or a positive number, not {kind!r}"
        )
    mass = (float(ratio) + n_classes - 1) * n_rows
    return PairWeights(float(ratio) / mass, 1.0 / mass, rows)


def row_weights(labels: np.ndarray, balance: float) -> np.ndarray | None:
    """N weights of mean one, each ∝ n_c^-balance for a row of a class with n_c rows.

    0 counts every row alike (None), 1 every class.
    """
    if balance == 0:
        return None
    weights = np.bincount(labels)[labels] ** -float(balance)
    return weights / weights.mean()
