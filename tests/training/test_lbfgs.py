"""L-BFGS on arrays of any shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize, rosen, rosen_der

from unseen.training.logistic import lbfgs

START = np.array([[-1.2, 1.0], [0.7, -0.4]])


def rosenbrock(point: np.ndarray) -> tuple[float, np.ndarray]:
    return float(rosen(point)), rosen_der(point).reshape(START.shape)


def test_it_is_what_scipy_finds() -> None:
    found = lbfgs(rosenbrock, START, maxiter=15, maxcor=4)
    options = {"maxiter": 15, "maxcor": 4}
    theirs: Any = minimize(rosen, START.ravel(), jac=rosen_der, method="L-BFGS-B", options=options)
    assert found.x.tobytes() == theirs.x.tobytes()
    assert (found.nit, found.nfev) == (theirs.nit, theirs.nfev)
