"""The same rows by one process and by two of a cluster on this machine: ratios in the same run.

    export OPENBLAS_NUM_THREADS=1
    python -m benchmarks.scale_dask                               (10^6 x 512 float32, 2 GB on disk)
    python -m benchmarks.scale_dask --methods gaussian-match jlse (those with an aim)

No speed-up is claimed for one machine: the ratio shows what Dask costs, by the clock and in seconds
of all processors, which other work on the machine changes little. Rows lie in shards; workers
read them, and only sums, codes of classes and the best rows travel.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scale import opened, write
from unseen import GaussianMatch
from unseen.apps.cli.output import show
from unseen.estimators import method

_METHODS = ["gaussian-match", "gfzsl", "eszsl", "sae", "exem", "jlse"]


class Timed(NamedTuple):
    """Seconds of the clock, and those that all processes together computed."""

    clock: float
    work: float


def timed(work: Callable[[], Any], client: Any, tries: int) -> Timed:
    """The least of the tries."""

    def computed() -> float:
        return time.process_time() + sum(client.run(time.process_time).values())

    found = []
    for _ in range(tries):
        start, before = time.perf_counter(), computed()
        work()
        found.append((time.perf_counter() - start, computed() - before))
    return Timed(*np.min(found, axis=0).tolist())


def compare(folder: Path, client: Any, tries: int, methods: list[str]) -> list[list[str]]:
    """Seconds here and on the cluster, and how far the results are apart."""
    data = opened(folder)
    X, y = data.training_set()
    there, lines = X.to_dask(), []

    def add(what: str, work: Callable[[Any], Any], apart: Callable[[Any, Any], float]) -> None:
        made: list[Any] = [None, None]

        def keep(place: int, rows: Any) -> None:
            made[place] = work(rows)

        times = 1 if "JLSE" in what else tries
        here = timed(lambda: keep(0, X), client, times)
        away = timed(lambda: keep(1, there), client, times)
        ratios = [f"{away.clock / here.clock:.2f}", f"{away.work / here.work:.2f}"]
        lines.append([what, f"{here.clock:.2f}", f"{away.clock:.2f}", *ratios])
        lines[-1].append(f"{apart(*made):.0e}")

    some = X[np.arange(0, X.shape[0], max(1, X.shape[0] // 1000))]

    def scores_apart(one: Any, other: Any) -> float:
        a, b = one.similarities(some), other.similarities(some)
        return float(np.abs(a - b).max() / np.std(a))

    for kind in map(method, methods):
        fit = partial(fitted, kind, y, data.classes)
        add(f"fit {kind.__name__}", fit, scores_apart)
    model: Any = fitted(GaussianMatch, y, data.classes, there)
    name = model.classes_[0]
    add("predict all rows", lambda rows: np.asarray(model.predict(rows)), share_apart)
    add("rank, first 100", lambda rows: model.rank(name, rows, 100).rows, share_apart)
    return lines


def fitted(kind: Any, y: np.ndarray, classes: Any, rows: Any) -> Any:
    return kind().fit(rows, y, classes=classes)


def share_apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.mean(one != other))


def main() -> None:
    from dask.distributed import Client, LocalCluster

    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=_METHODS)
    parser.add_argument("--folder", default=None, help="where the rows go; by default TMPDIR")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        write(Path(made), given.rows, given.columns)
        cluster = LocalCluster(
            n_workers=given.workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        )
        with cluster, Client(cluster) as client:
            lines = compare(Path(made), client, given.tries, given.methods)
    title = f"{given.rows:,} x {given.columns} float32 in shards, {given.workers} processes"
    head = ["what", "one process, s", "cluster, s", "ratio", "ratio of CPU", "differs by"]
    show(f"{title} (aims: 1.2 for the fit of GaussianMatch, 1.5 for that of JLSE)", head, lines)


if __name__ == "__main__":
    main()
