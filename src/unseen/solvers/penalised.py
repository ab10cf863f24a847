"""Linear systems that a penalty keeps from being singular."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from unseen.errors import InputError


def solve_penalised(system: np.ndarray, right: np.ndarray, penalty: float, of: str) -> np.ndarray:
    """system^-1 right by Cholesky, for a symmetric `system` that holds its penalty already and is
    overwritten; an error that names the penalty, and what it is too small for, where it is
    singular."""
    try:
        factor = scipy.linalg.cho_factor(system, overwrite_a=True)
    except np.linalg.LinAlgError as error:
        raise InputError(
            f"the penalty {penalty:g} is too small for these {of}: the system is singular"
        ) from error
    return scipy.linalg.cho_solve(factor, right)
