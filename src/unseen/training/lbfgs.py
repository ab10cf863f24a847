"""Resumable L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from unseen.storage.checkpoint import Note

# A point, flat and in float64 -> the value there, and the gradient in any shape and float type
Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


def lbfgs(
    function: Function,
    start: np.ndarray,
    found: list[Any] | None = None,
    note: Note | None = None,
    **options: Any,
) -> Any:
    """What scipy's L-BFGS-B finds from `start`, an array of any shape.

    scipy keeps its state to itself, but given the same answers it asks the same questions: values
    and gradients are noted, and given again when training resumes. With `note` all gradients stay
    in memory.
    """
    values, gradients = ([], []) if found is None else found
    n_asked = 0

    def answer(point: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal n_asked
        n_asked += 1
        if n_asked > len(values):
            value, gradient = function(point)
            if note is not None:
                values.append(value)
                gradients.append(gradient)
                note([values[:], gradients[:]])
        else:
            value, gradient = values[n_asked - 1], gradients[n_asked - 1]
        return value, gradient.ravel().astype(np.float64)

    return minimize(answer, start.ravel(), jac=True, method="L-BFGS-B", options=options)
