"""Pairs of a class and a row: their labels y, their weights ω, and the pair loss of J.

    Σ_ij ω_ij [1 - y_ij s_ij]_+        "hinge", -log p_W of Eq. (pw)
    Σ_ij ω_ij [1 - y_ij s_ij]_+²       "squared_hinge"

Neither Y nor ω is ever stored where labels are class numbers. The duals of the loss are kept with
their sign, a_ij = y_ij α_ij, in the shape of the scores: one row per instance.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from unseen.errors import InputError
from unseen.rows.blocks import chunks, is_dask

LOSSES = ("hinge", "squared_hinge")


def pair_loss(margin: np.ndarray, loss: str) -> np.ndarray:
    """[1 - m]_+ (Eq. pw) or its square, for m = y_ij s_ij, element by element."""
    slack = np.subtract(1, margin)
    np.maximum(slack, 0, out=slack)
    return np.multiply(slack, slack, out=slack) if is_squared(loss) else slack


def is_squared(loss: str) -> bool:
    """Is it the squared hinge? An error for a loss that there is not."""
    if loss not in LOSSES:
        raise InputError(f"loss must be one of {LOSSES}, not {loss!r}")
    return loss == "squared_hinge"


class Omega(NamedTuple):
    """ω of a pair of a row with its own class (y = +1), and of any other pair (y = -1)."""

    positive: float
    negative: float


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of N rows with C classes.

    Parameters
    ----------
    labels : N class numbers, where -1 is a row of none of the classes: y_ij is +1 at i = labels[j]
        and -1 elsewhere. Or N x C signs, int8 or float: 0 is a pair of unknown label, whose ω is 0,
        and |y_ij| multiplies ω_ij.
    n_classes : C.
    omega : the two weights.
    loss : "hinge" or "squared_hinge".
    """

    labels: np.ndarray
    n_classes: int
    omega: Omega
    loss: str = "hinge"

    def __post_init__(self) -> None:
        object.__setattr__(self, "omega", Omega(*map(float, self.omega)))
        is_squared(self.loss)
        if is_dask(self.labels):  # of rows elsewhere, where blocks have their own
            return
        y = np.asarray(self.labels)
        kept = y.ndim == 2 and y.dtype in (np.int8, np.float32)
        dtype = y.dtype if kept else np.int64 if y.ndim == 1 else np.float64
        object.__setattr__(self, "labels", np.ascontiguousarray(y, dtype))

    @classmethod
    def weighted(
        cls, labels: np.ndarray, n_classes: int, positive_weight: str | float, loss: str = "hinge"
    ) -> Self:
        """Pairs with Σ_ij ω_ij = 1.

        "uniform" is ω = 1/(CN), the paper; "balanced" gives the positive pairs half of the mass; a
        number makes a positive pair weigh so many times what a negative one does.
        """
        if labels.ndim == 2:
            positive = float(np.sum(labels, where=labels > 0, dtype=np.float64))
            negative = -float(np.sum(labels, where=labels < 0, dtype=np.float64))
        else:
            positive, negative = float(len(labels)), float(len(labels) * (n_classes - 1))
        known: dict[Any, float] = {"uniform": 1.0, "balanced": (negative or positive) / positive}
        ratio = float(known.get(positive_weight, positive_weight))
        mass = ratio * positive + negative
        return cls(labels, n_classes, Omega(ratio / mass, 1.0 / mass), loss)

    @classmethod
    def negative(cls, n_rows: int, n_classes: int, omega: float, loss: str = "hinge") -> Self:
        """Pairs of rows that belong to none of the classes (Algorithm 4)."""
        return cls(np.full(n_rows, -1), n_classes, Omega(omega, omega), loss)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: slice | np.ndarray) -> Pairs:
        """The pairs of some of the rows."""
        return self._part(self.labels[rows], self.n_classes)

    def of_classes(self, classes: np.ndarray) -> Pairs:
        """The pairs of some of the classes: rows of the others then belong to none."""
        if len(classes) == self.n_classes:
            return self
        if self.labels.ndim == 2:
            return self._part(self.labels[:, classes], len(classes))
        place = np.full(self.n_classes + 1, -1)
        place[classes] = np.arange(len(classes))
        return self._part(place[self.labels], len(classes))

    def _part(self, labels: np.ndarray, n_classes: int) -> Pairs:
        part = copy.copy(self)
        object.__setattr__(part, "labels", labels)
        object.__setattr__(part, "n_classes", n_classes)
        return part

    @property
    def is_squared(self) -> bool:
        return self.loss == "squared_hinge"

    def signed_omega(self, dtype: Any = np.float64) -> np.ndarray:
        """y_ij ω_ij, rows x C."""
        y, omega = self.labels, self.omega
        if y.ndim == 2:
            return (np.where(y > 0, omega.positive, omega.negative) * y).astype(dtype, copy=False)
        V, own = np.full((len(y), self.n_classes), -omega.negative, dtype), np.flatnonzero(y >= 0)
        V[own, y[own]] = omega.positive
        return V

    def row_losses(self, S: np.ndarray) -> np.ndarray:
        """Σ_i ω_ij loss(y_ij s_ij) of every row j, in float64; S holds the scores, rows x C."""
        L, factor, own = self._losses(S)
        out = factor * (L @ np.ones(L.shape[1], L.dtype)).astype(np.float64)
        return out if own is None else out + own

    def class_losses(self, S: np.ndarray) -> np.ndarray:
        """Σ_j ω_ij loss(y_ij s_ij) of every class i, in float64."""
        L, factor, own = self._losses(S)
        out = (factor * (np.ones(len(L), L.dtype) @ L)).astype(np.float64)
        if own is not None:
            out += np.bincount(np.maximum(self.labels, 0), own, minlength=len(out))
        return out

    def total_loss(self, S: np.ndarray) -> float:
        """Σ_ij ω_ij loss(y_ij s_ij), added up in float64."""
        y, omega = self.labels, self.omega
        if y.ndim == 2:
            return float(self._losses(S)[0].sum())
        rows, known, L = np.arange(len(y)), y >= 0, pair_loss(-S, self.loss)
        own = omega.positive * pair_loss(S[rows, y], self.loss) * known
        others = L.sum(axis=1, dtype=np.float64) - L[rows, y] * known
        return float(np.sum(own + omega.negative * others))

    def _losses(self, S: np.ndarray) -> tuple[np.ndarray, float, np.ndarray | None]:
        """Losses as (L, f, own): f L, and `own` in addition for the pair of a row with its class.

        One pass over S as if all pairs were negative, and one number more per row.
        """
        y, omega = self.labels, self.omega
        if y.ndim == 2:
            weights = np.abs(np.where(y > 0, omega.positive, omega.negative) * y)
            return pair_loss(np.sign(y) * S, self.loss) * weights, 1.0, None
        L, rows, label = pair_loss(-S, self.loss), np.arange(len(y)), np.maximum(y, 0)
        own = omega.positive * pair_loss(S[rows, label].astype(np.float64), self.loss)
        own -= omega.negative * L[rows, label]
        return L, omega.negative, np.where(y >= 0, own, 0.0)

    def row_dual_terms(self, A: np.ndarray) -> np.ndarray:
        """Σ_i α_ij (- α_ij² / 4 ω_ij for the squared hinge) of every row j, in float64."""
        out = np.empty(len(A))
        for rows in chunks(len(A)):
            out[rows] = np.abs(A[rows]).sum(axis=1, dtype=np.float64)
            if self.is_squared:
                out[rows] -= self[rows]._bends(A[rows]).sum(axis=1)
        return out

    def class_dual_terms(self, A: np.ndarray) -> np.ndarray:
        """Σ_j α_ij (- α_ij² / 4 ω_ij) of every class i; A is C x rows."""
        out = np.zeros(len(A))
        for rows in chunks(A.shape[1]):
            out += np.abs(A[:, rows]).sum(axis=1, dtype=np.float64)
            if self.is_squared:
                out -= self[rows]._bends(A[:, rows].T).sum(axis=0)
        return out

    def _bends(self, A: np.ndarray) -> np.ndarray:
        """α_ij² / 4 ω_ij, 0 where there is no weight."""
        size = 4 * np.abs(self.signed_omega(A.dtype).astype(np.float64))
        bends = np.zeros(A.shape)
        return np.divide(np.square(A, dtype=np.float64), size, out=bends, where=size > 0)

    def clip(self, A: np.ndarray) -> None:
        """Duals (rows x C) of other pairs moved into the box of these, in place."""
        for rows in chunks(len(A)):
            V = self[rows].signed_omega(A.dtype)
            if self.is_squared:
                V[V > 0], V[V < 0] = np.inf, -np.inf
            A[rows] = np.clip(A[rows], np.minimum(V, 0), np.maximum(V, 0))
