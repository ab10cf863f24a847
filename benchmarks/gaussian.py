"""Cost of `GaussianMatch` beside one product X'X of the same rows.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.gaussian

Seconds are those of the processor, the least of five. Memory is what a fit takes above X; the
second table has that of rows in a memory map, once and ten times over.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import load
from unseen.apps.cli.output import show
from unseen.estimators import GaussianMatch
from unseen.support.memory import resident, with_peak


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def line(name: str) -> list[str]:
    data = load(name)
    X, y = data.training_set()
    X, T = np.asarray(X, np.float32), np.asarray(data.unseen_set()[0], np.float32)
    model = GaussianMatch().fit(X, y, classes=data.classes)
    product = seconds(lambda: X.T @ X)
    fit = seconds(lambda: GaussianMatch().fit(X, y, classes=data.classes))
    _, memory = with_peak(lambda: GaussianMatch().fit(X, y, classes=data.classes))
    model.predict(T)
    rows = len(T) / seconds(lambda: model.predict(T))
    one = seconds(lambda: [model.predict(T[:1]) for _ in range(100)]) / 100
    return [
        name,
        f"{len(X):,} x {X.shape[1]:,}",
        f"{product:.2f}",
        f"{fit:.2f} ({fit / product:.1f})",
        f"{memory:.0f} ({8 * X.shape[1] ** 2 / 2**20 + 50:.0f})",
        f"{rows:,.0f}",
        f"{1000 * one:.2f}",
    ]


class Anonymous:
    """The peak of memory that is not a file, in MB above what there was, seen by a thread."""

    def __enter__(self) -> Anonymous:
        with_peak(lambda: None)  # gives back what earlier work has freed
        self.before = self.peak = resident("RssAnon") or 0.0
        self._is_over = threading.Event()
        self._watch = threading.Thread(target=self._look)
        self._watch.start()
        return self

    def _look(self) -> None:
        while not self._is_over.wait(0.002):
            self.peak = max(self.peak, resident("RssAnon") or 0.0)

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._watch.join()
        self.taken = self.peak - self.before


def mapped(folder: Path) -> list[list[str]]:
    """Memory of fits on memory maps of CUB's rows, once and ten times over."""
    data = load("CUB efflite0")
    X, y = data.training_set()
    lines = []
    for times in (1, 10):
        path = folder / f"{times}.npy"
        rows = np.lib.format.open_memmap(path, "w+", np.float32, (times * len(X), X.shape[1]))
        for k in range(times):
            rows[k * len(X) : (k + 1) * len(X)] = X
        rows.flush()
        rows, labels = np.load(path, mmap_mode="r"), np.tile(y, times)
        with Anonymous() as memory:
            GaussianMatch().fit(rows, labels, data.classes)
        lines.append([f"{len(rows):,}", f"{rows.nbytes / 2**20:.0f}", f"{memory.taken:.0f}"])
    return lines


if __name__ == "__main__":
    columns = ["data", "rows", "X'X, s", "fit, s (times X'X, aim 3)", "MB above X (aim)"]
    columns += ["predicted rows per s (aim 100,000)", "one row, ms (aim 1)"]
    show("GaussianMatch", columns, [line(name) for name in ("CUB efflite0", "CUB vgg_fc7")])
    with tempfile.TemporaryDirectory() as made:
        show("Rows in a memory map", ["rows", "MB of rows", "MB taken"], mapped(Path(made)))
