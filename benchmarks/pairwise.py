"""Speed and memory of the fully coupled algorithms, where every pair has codes of its own.

    python -m benchmarks.pairwise [inference] [training]

Compilation is not counted: everything runs once on a few rows first. Seconds of the processor are
beside those of the clock, for machines that have other work.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.data import load
from unseen import JLSE, KernelJLSE, make_zero_shot
from unseen.apps.cli.output import show
from unseen.inference.pairwise import Algorithm3
from unseen.model.objective import Lambdas
from unseen.pairs.loss import LOSSES, Pairs
from unseen.rows.blocks import TrainingRows
from unseen.rows.scaling import RowScaler
from unseen.solvers.block import Effort
from unseen.solvers.dictionary import initial_source_dictionary, initial_target_dictionary
from unseen.support.memory import with_peak
from unseen.training import pairwise
from unseen.training.alternating import Algorithm2, Data, Training
from unseen.training.pairwise import KEPT_BYTES, PairwiseTraining


def timed(run: Callable[[], Any]) -> tuple[float, float, float, Any]:
    """Seconds of the clock, of the processor, rise of peak memory in MB, and the result."""
    clock, processor = time.perf_counter(), time.process_time()
    result, memory = with_peak(run)
    wall, used = time.perf_counter() - clock, time.process_time() - processor
    return wall, used, float("nan") if memory is None else memory, result


def inference() -> None:
    """Algorithm 3 at the size of CUB: 50 unseen classes, 2,967 rows, h_s 150, h_t 300."""
    data = load("CUB vgg_fc7")
    X, y = data.training_set()
    rows = data.unseen_set()[0]
    lines = []
    for kind in (JLSE, KernelJLSE):
        model = kind(300, training=Algorithm2(0), testing=Algorithm3())
        model.fit(X, y, classes=data.classes)
        model.predict(rows[:2])
        wall, used, memory, _ = timed(lambda model=model: model.predict(rows))
        each = 1e6 * used / (50 * len(rows))
        name = f"{kind.__name__}, {model.latent_.loss.replace('_', ' ')}"
        lines.append([name, f"{wall:.1f} s", f"{used:.1f} s", f"{each:.0f} µs", f"{memory:.0f} MB"])
    columns = ["method, loss", "clock (aim 60 s)", "processor", "a pair", "peak memory"]
    show("Algorithm 3: CUB vgg_fc7, 50 classes x 2,967 rows, 150 x 300", columns, lines)


def _start(n_rows: int, loss: str) -> Training:
    data = make_zero_shot(40, 0, n_rows // 40, 512, 60, 20, noise=1.0, table_noise=0.1)
    X, y = data.training_set()
    X, labels = X.astype(np.float32), np.unique(y, return_inverse=True)[1]
    S = data.classes.vectors.astype(np.float32)
    S -= S.mean(axis=0)
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    rows = TrainingRows(X, RowScaler(True, True).learn(X, True))
    data = Data(S, rows, Pairs.weighted(labels, 40, 5.0, loss))
    B, D = initial_source_dictionary(S, None, 0), initial_target_dictionary(rows, 300, 0)
    training = Training(data, Lambdas(0.2, 0.2, 40.0, 2000.0, 1.0), Effort(1e-2), B, D)
    training.set_penalty(4e-3)
    training.fit_similarity()
    return training


def training() -> None:
    """One round of Algorithm 1 on 40 classes and 2,000 rows, on twice the rows, and with codes
    found anew in every pass, which needs the least memory and the most time."""
    lines = []
    for loss in LOSSES:
        _one_round(_start(80, loss), KEPT_BYTES)
        for n_rows, kept in ((2000, KEPT_BYTES), (4000, KEPT_BYTES), (1000, 0)):
            start = _start(n_rows, loss)
            wall, used, memory, found = timed(lambda s=start, k=kept: _one_round(s, k))
            before, after = (parts.total for parts in found.history)
            passes = "codes anew" if kept == 0 else "codes kept"
            times = [f"{wall:.1f} s", f"{used:.1f} s", f"{memory:.0f} MB"]
            values = [f"{value:.4f}" for value in (start.objective().total, before, after)]
            lines.append([loss.replace("_", " "), f"{n_rows:,}", passes, *times, *values])
    columns = ["loss", "rows", "passes", "clock (aim 60 s)", "processor", "peak memory"]
    columns += ["J", "G before", "G after"]
    show("Algorithm 1, one round: 40 classes, 40 x 300", columns, lines)


def _one_round(start: Training, kept_bytes: int) -> PairwiseTraining:
    with mock.patch.object(pairwise, "KEPT_BYTES", kept_bytes):
        found = PairwiseTraining(start)
        found.run_round()
    return found


def main() -> None:
    parts = {f.__name__: f for f in (inference, training)}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
