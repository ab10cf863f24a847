"""The W step on many workers: ascent that is handed on, against L-BFGS that is added up.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.similarity_parallel

Dual ascent visits one block of rows after the other, so it takes as long on a hundred workers as on
one. L-BFGS on a smoothed hinge takes two products with all codes for each step, which workers can
share. Both run here in one process until the true objective is within the tolerance of the lower
bound that ascent has found; the table shows how many workers L-BFGS would need, if sending cost
nothing, to be as fast as ascent.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.scale import draw, table
from unseen.apps.cli.output import show
from unseen.pairs.loss import Pairs
from unseen.rows.scaling import ClassScaler, RowScaler
from unseen.solvers.block import Effort
from unseen.solvers.similarity import fit_similarity


class _EnoughError(Exception):
    pass


def smoothed(S: np.ndarray, V: np.ndarray, delta: float) -> tuple[float, np.ndarray]:
    """Σ |v| h(sign(v) s), h the hinge rounded off over `delta`, and its gradient in S."""
    slack = 1 - np.sign(V) * S
    bent = np.clip(slack / delta, 0, 1)
    value = np.where(slack > delta, slack - delta / 2, bent * np.maximum(slack, 0) / 2)
    return float((np.abs(V) * value).sum(dtype=np.float64)), -V * bent


def by_lbfgs(
    Zs: np.ndarray, Zt: np.ndarray, pairs: Pairs, penalty: float, aim: float
) -> tuple[float, int]:
    """Seconds and passes over the rows until the true objective is below `aim`."""
    V, passes, start = pairs.signed_omega(Zt.dtype), [0], time.process_time()
    shape = Zs.shape[1], Zt.shape[1]

    def objective(flat: np.ndarray, delta: float) -> tuple[float, np.ndarray]:
        W = flat.reshape(shape)
        S = Zt @ (Zs @ W).astype(Zt.dtype).T
        passes[0] += 1
        true = pairs.row_losses(S).sum() + 0.5 * penalty * float(np.sum(W * W))
        if true <= aim:
            raise _EnoughError
        value, slope = smoothed(S, V, delta)
        gradient = Zs.T.astype(np.float64) @ (slope.T @ Zt) + penalty * W
        return value + 0.5 * penalty * float(np.sum(W * W)), gradient.ravel()

    flat: Any = np.zeros(shape).ravel()
    try:
        for delta in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003):
            options = {"maxiter": 500, "maxcor": 20, "ftol": 1e-6}
            flat = minimize(objective, flat, (delta,), "L-BFGS-B", jac=True, options=options).x
    except _EnoughError:
        return time.process_time() - start, passes[0]
    return float("nan"), passes[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--columns", type=int, default=128)
    parser.add_argument("--tol", type=float, default=1e-3)
    given = parser.parse_args()
    lines = []
    S = ClassScaler(center=False).learn(table().vectors)(table().vectors).astype(np.float32)
    for n_rows in given.rows:
        X, labels = draw(n_rows, given.columns, 0)
        Zt = RowScaler().learn(X, unit_scale=True, constant=0.4)(X)
        pairs = Pairs.weighted(labels, len(S), 10.0)
        unit = float(np.mean(np.sum(S**2, axis=1)) * np.mean(np.sum(Zt**2, axis=1))) / len(S)
        for share in (1e-1, 1e-2, 2.5e-3):
            start = time.process_time()
            found = fit_similarity(S, Zt, pairs, share * unit, Effort(given.tol))
            seconds = time.process_time() - start
            lower = found.objective - found.history[-1][2]
            other, passes = by_lbfgs(S, Zt, pairs, share * unit, lower / (1 - given.tol))
            line = [f"{n_rows:,}", f"{share:g}", f"{seconds:.2f}", str(found.n_iter)]
            lines.append([*line, f"{other:.2f}", str(passes), f"{other / seconds:.0f}"])
    head = ["rows", "λ_W", "ascent, s", "epochs", "L-BFGS, s", "passes", "workers to break even"]
    show(f"The W step to a gap of {given.tol:g}, one thread", head, lines)


if __name__ == "__main__":
    main()
