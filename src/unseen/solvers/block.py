"""What solvers of the blocks of J are given, and what they return: a value with its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from unseen.errors import warn_user

_SINGULAR = 1e-12


@dataclass(frozen=True, eq=False)
class Ridge:
    """φ (λ1/2 |z|² + λ2/2 |x - A z|²): p_B or p_D of J, what the data alone ask of a code.

    gram : A'A (h x h) for the dictionary A, which is B or D.
    phi : 1/C or 1/N in J.
    """

    gram: np.ndarray = field(repr=False)
    lambda1: float
    lambda2: float
    phi: float = 1.0

    @cached_property
    def H(self) -> np.ndarray:
        """λ1 I + λ2 A'A in float64."""
        gram = np.asarray(self.gram, np.float64)
        return self.lambda1 * np.eye(len(gram)) + self.lambda2 * gram

    @cached_property
    def _inverse(self) -> tuple[np.ndarray, bool]:
        if self.lambda1 > 1e-8 * np.trace(self.H):
            factor = scipy.linalg.cho_factor(self.H)
            return scipy.linalg.cho_solve(factor, np.eye(len(self.H))), False
        values, vectors = np.linalg.eigh(self.H)
        keep = values > _SINGULAR * max(values[-1], 0.0)
        return (vectors[:, keep] / values[keep]) @ vectors[:, keep].T, not keep.all()

    @property
    def inverse(self) -> np.ndarray:
        """H^-1; of a singular H the pseudo-inverse, which gives codes of least norm."""
        return self._inverse[0]

    @property
    def is_singular(self) -> bool:
        return self._inverse[1]

    def codes(self, XA: np.ndarray) -> np.ndarray:
        """argmin over z for all rows, given as X A: λ2 X A H^-1."""
        return XA @ (self.lambda2 * self.inverse).astype(XA.dtype)


class Effort(NamedTuple):
    """How far a solver goes.

    tol : relative duality gap at which it has converged.
    max_iter : the most epochs, sweeps or rounds, see the solver; None for its own limit.
    random_state : seed of the order in which it visits rows.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    random_state: int = 0

    def limit(self, usual: int) -> int:
        """The most iterations of a solver whose own limit is `usual`."""
        return usual if self.max_iter is None else self.max_iter


EFFORT = Effort()


@dataclass(frozen=True)
class Solution:
    """Result of one block problem.

    value : what was asked for.
    status : "converged" or "stopped short".
    n_iter : epochs, sweeps or pivots, see the solver.
    history : one entry per check, (iteration, objective, certificate), oldest first.
    optimality : an upper bound on (objective - minimum) / |objective| at the returned value.
    objective : the block objective at the returned value.
    state : what the same solver needs for a warm start.
    """

    value: Any
    status: str
    n_iter: int
    history: tuple = ()
    optimality: float = float("nan")
    objective: float = float("nan")
    state: Any = field(default=None, repr=False)


def relative(gap: float, objective: float) -> float:
    """A gap in units of the objective, never negative: max(gap, 0) / |objective|."""
    return max(float(gap), 0.0) / max(abs(float(objective)), 1e-300)


def finish(
    problem: str,
    value: Any,
    history: Sequence[tuple[int, float, float]],
    tol: float,
    *,
    optimality: float | None = None,
    n_iter: int | None = None,
    state: Any = None,
) -> Solution:
    """The Solution at the end of its history; a warning where the certificate misses `tol`.

    The certificate is `optimality`, or the last gap of the history in units of the objective.
    """
    last, objective, gap = history[-1]
    n_iter = int(last if n_iter is None else n_iter)
    optimality = relative(gap, objective) if optimality is None else float(optimality)
    converged = optimality <= tol
    if not converged:
        warn_user(
            f"{problem} stopped after {n_iter} iterations with a certificate of {optimality:.1e}, "
            f"asked for {tol:.1e}; allow more iterations, a larger tolerance or more "
            "regularisation",
            ConvergenceWarning,
        )
    status = "converged" if converged else "stopped short"
    return Solution(value, status, n_iter, tuple(history), optimality, float(objective), state)
