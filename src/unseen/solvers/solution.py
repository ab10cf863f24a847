"""What every block solver of the joint objective J returns: a value with its certificate, never a
bare array.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

from sklearn.exceptions import ConvergenceWarning

CONVERGED = "converged"
STOPPED_SHORT = "stopped short"


@dataclass(frozen=True)
class Solution:
    """Result of one block problem.

    value : what was asked for (an array, or a named tuple of arrays).
    status : "converged" or "stopped short".
    n_iter : epochs, sweeps or pivots, see the solver.
    history : one entry a check, (iteration, objective, certificate), oldest first.
    optimality : an upper bound on (objective - minimum) / max(|objective|, tiny) of the returned
    value. objective : the block objective at the returned value.
    state : what the same solver needs for a warm start.
    """

    value: Any
    status: str
    n_iter: int
    history: tuple = ()
    optimality: float = float("nan")
    objective: float = float("nan")
    state: Any = field(default=None, repr=False)


def relative(gap, objective):
    """Certificate in relative terms, never negative: max(gap, 0) / |objective|."""
    return max(float(gap), 0.0) / max(abs(float(objective)), 1e-300)


def finish(problem, *, value, n_iter, history, optimality, tol, objective, state=None):
    """Build the Solution and warn when the certificate misses `tol`."""
    converged = optimality <= tol
    if not converged:
        warnings.warn(
            f"{problem} stopped after {n_iter} iterations with a certificate of {optimality:.1e}, "
            f"asked for {tol:.1e}; allow more iterations, a larger tolerance or more "
            "regularisation",
            ConvergenceWarning,
            stacklevel=3,
        )
    status = CONVERGED if converged else STOPPED_SHORT
    return Solution(
        value, status, int(n_iter), tuple(history), float(optimality), float(objective), state
    )
