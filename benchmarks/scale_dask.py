"""The same rows by one process and by two of a cluster on this machine: ratios in the same run.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.scale_dask     (10^6 x 512 float32, 2 GB on disk)

No speed-up is claimed for one machine: the ratio shows what Dask costs. Rows lie in shards; workers
read them, and only sums, codes of classes and the best rows travel.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import least, opened, write
from unseen import GaussianMatch
from unseen.apps.cli.output import show
from unseen.estimators import ESZSL, EXEM, GFZSL, SAE


def compare(folder: Path, tries: int, quick: bool) -> list[list[str]]:
    """Seconds here and on the cluster of the current client, and whether results are the same."""
    data = opened(folder)
    X, y = data.training_set()
    there = X.to_dask()
    lines = []

    def add(what: str, here: Callable[[], Any], away: Callable[[], Any], same: str) -> None:
        a, b = least(here, tries), least(away, tries)
        lines.append([what, f"{a:.2f}", f"{b:.2f}", f"{b / a:.2f}", same])

    kinds = [GaussianMatch] if quick else [GaussianMatch, GFZSL, ESZSL, SAE, EXEM]
    for kind in kinds:
        made: dict[str, Any] = {}

        def fit(rows: Any, where: str, kind: Any = kind, made: dict[str, Any] = made) -> None:
            made[where] = kind().fit(rows, y, classes=data.classes)

        add(
            f"fit {kind.__name__}",
            lambda fit=fit: fit(X, "here"),
            lambda fit=fit: fit(there, "there"),
            "",
        )
        some = X[np.arange(0, X.shape[0], max(1, X.shape[0] // 1000))]
        scores = [made[where].similarities(some) for where in ("here", "there")]
        lines[-1][-1] = f"{np.abs(scores[0] - scores[1]).max() / np.std(scores[0]):.0e}"
    model: Any = GaussianMatch().fit(there, y, classes=data.classes)
    found: dict[str, Any] = {}
    add(
        "predict all rows",
        lambda: found.update(a=model.predict(X)),
        lambda: found.update(b=model.predict(there).compute()),
        "",
    )
    lines[-1][-1] = f"{np.mean(found['a'] != found['b']):.0e}"
    name = model.classes_[0]
    add(
        "rank, first 100",
        lambda: model.rank(name, X, 100),
        lambda: model.rank(name, there, 100),
        "",
    )
    same = model.rank(name, X, 100).rows == model.rank(name, there, 100).rows
    lines[-1][-1] = f"{np.mean(~same):.0e}"
    return lines


def main() -> None:
    from dask.distributed import Client, LocalCluster

    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="GaussianMatch alone")
    parser.add_argument("--folder", default=None, help="where the rows go; by default TMPDIR")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        write(Path(made), given.rows, given.columns)
        cluster = LocalCluster(
            n_workers=given.workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        )
        with cluster, Client(cluster):
            lines = compare(Path(made), given.tries, given.quick)
    title = f"{given.rows:,} x {given.columns} float32 in shards, {given.workers} processes"
    head = ["what", "one process, s", "cluster, s", "cluster / one", "differs by"]
    show(f"{title} (aim 1.2 for the fit of GaussianMatch)", head, lines)


if __name__ == "__main__":
    main()
