"""L-BFGS asks the same questions again, and need not be answered by work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from unseen.training.logistic import lbfgs

START = np.array([[-1.2, 1.0], [0.7, -0.4]])


class Rosenbrock:
    """The test function, its gradient in the shape of the start, and how often it was asked."""

    def __init__(self, dtype: Any = np.float64) -> None:
        self.n_asked, self.dtype = 0, dtype

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        self.n_asked += 1
        return float(rosen(point)), rosen_der(point).reshape(START.shape).astype(self.dtype)


def test_it_is_what_scipy_finds() -> None:
    found = lbfgs(Rosenbrock(), START, maxiter=15, maxcor=4)
    options = {"maxiter": 15, "maxcor": 4}
    theirs: Any = minimize(rosen, START.ravel(), jac=rosen_der, method="L-BFGS-B", options=options)
    assert found.x.tobytes() == theirs.x.tobytes()
    assert (found.nit, found.nfev) == (theirs.nit, theirs.nfev)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_stopped_anywhere_it_goes_on_to_the_same_end(dtype: Any) -> None:
    states: list[Any] = []
    whole = Rosenbrock(dtype)
    end = lbfgs(whole, START, None, states.append, maxiter=20)
    assert len(states) == whole.n_asked > 20
    for known, state in enumerate(states, 1):
        rest = Rosenbrock(dtype)
        values, gradients = state
        again = lbfgs(rest, START, [values[:], gradients[:]], [].append, maxiter=20)
        assert again.x.tobytes() == end.x.tobytes()
        assert rest.n_asked == whole.n_asked - known


def test_without_a_place_for_it_nothing_is_kept() -> None:
    found: list[Any] = [[], []]
    lbfgs(Rosenbrock(), START, found, None, maxiter=5)
    assert found == [[], []]
