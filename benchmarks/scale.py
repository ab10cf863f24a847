"""Rows larger than memory, and retrieval over many rows: ratios to bare work in the same run.

    export OPENBLAS_NUM_THREADS=1
    python -m benchmarks.scale --gigabytes 0.5 --rows 300000   (what docs/scale.md has, minutes)
    python -m benchmarks.scale --gigabytes 12                  (the full size)

Rows are drawn: classes are points, and rows lie around them. Seconds are those of the processor,
the least of the tries; of rows on disk those of the clock, so give the machine nothing else to do.
Approximate retrieval is measured where the extra ann is installed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import unseen
from unseen import JLSE, ClassTable, GaussianMatch, ZeroShotDataset, open_rows
from unseen.apps.cli.output import show
from unseen.estimators import ESZSL, GFZSL, SAE
from unseen.rows.blocks import array_blocks, row_blocks
from unseen.support.memory import resident, with_peak

_CLASSES, _ATTRIBUTES, _UNSEEN = 120, 40, 20
_SHARD_BYTES = 256 * 2**20


def least(
    work: Callable[[], Any], times: int = 3, clock: Callable[[], float] = time.process_time
) -> float:
    found = []
    for _ in range(times):
        start = clock()
        work()
        found.append(clock() - start)
    return min(found)


def table() -> ClassTable:
    vectors = np.random.default_rng(0).standard_normal((_CLASSES, _ATTRIBUTES))
    return ClassTable([f"class {k:03}" for k in range(_CLASSES)], vectors)


def draw(n_rows: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and numbers of classes."""
    fixed, rng = np.random.default_rng(1), np.random.default_rng(seed)
    means = table().vectors @ fixed.standard_normal((_ATTRIBUTES, n_columns))
    labels = rng.integers(0, _CLASSES, n_rows)
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    X *= 8.0
    X += means[labels].astype(np.float32)
    return X, labels


def write(folder: Path, n_rows: int, n_columns: int, dtype: Any = np.float32) -> None:
    """Shards of rows, and their labels."""
    labels = []
    for number, part in enumerate(row_blocks(n_rows, 4 * n_columns, _SHARD_BYTES)):
        X, own = draw(part.stop - part.start, n_columns, number)
        np.save(folder / f"part-{number}.npy", X.astype(dtype))
        labels.append(own)
    np.save(folder / "labels.npy", table().names[np.concatenate(labels)])


def opened(folder: Path) -> ZeroShotDataset:
    store, classes = open_rows(folder), table()
    assert store.labels is not None
    return ZeroShotDataset("scale", store, store.labels, classes, classes.names[-_UNSEEN:])


# -- out of core ----------------------------------------------------------------------------------


def confined(folder: Path, megabytes: int) -> dict[str, float]:
    """What a process with little memory does with rows on disk; it runs in a process of its own."""
    limit = megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    data = opened(folder)
    X, y = data.training_set()

    def bare() -> None:
        product = np.zeros((X.shape[1], X.shape[1]), np.float32)
        for rows in array_blocks(X):
            block = X[rows]
            product += block.T @ block

    found = {"read and X'X": least(bare, 2, time.perf_counter)}
    for kind in (GaussianMatch, ESZSL, SAE, GFZSL, JLSE):
        name, start = kind.__name__, time.perf_counter()
        model: Any = kind().fit(X, y, classes=data.classes)
        found[f"fit {name}"] = time.perf_counter() - start
        print(f"{name} fitted", file=sys.stderr, flush=True)
        if kind not in (GaussianMatch, JLSE):
            continue
        start = time.perf_counter()
        model.predict(data.X, "all")
        found[f"predict all rows by {name}"] = time.perf_counter() - start
        start = time.perf_counter()
        found[f"accuracy of {name}"] = unseen.evaluate(model, data).per_class_accuracy
        found[f"evaluate {name}"] = time.perf_counter() - start
        found[f"MB at the peak, after {name}"] = resident("VmHWM") or 0.0
    return found


def out_of_core(folder: Path, gigabytes: float, columns: int) -> None:
    n_rows = int(gigabytes * 1e9 / 4 / columns)
    write(folder, n_rows, columns)
    megabytes = max(int(250 * gigabytes), 600)
    command = [sys.executable, "-m", "benchmarks.scale", "--confined", str(folder), str(megabytes)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    bare = found["read and X'X"]
    lines = [
        [what, f"{value:.2f}", "" if what.startswith(_NO_RATIO) else f"{value / bare:.2f}"]
        for what, value in found.items()
    ]
    title = (
        f"{gigabytes:g} GB of float32 on disk ({n_rows:,} x {columns}), {megabytes} MB of memory"
    )
    show(title, ["what", "seconds", "times one read and X'X"], lines)


_NO_RATIO = ("accuracy", "MB at the peak")


# -- growth in N ----------------------------------------------------------------------------------


def growth(folder: Path, sizes: list[int], columns: int = 256) -> None:
    lines, seconds = [], []
    for size in sizes:
        here = folder / str(size)
        here.mkdir()
        write(here, size, columns)
        X, y = opened(here).training_set()
        fit = partial(GaussianMatch().fit, X, y, table())
        taken, peak = with_peak(partial(least, fit))
        seconds.append(taken)
        lines.append([f"{size:,}", f"{taken:.3f}", f"{peak or 0:.0f}"])
    power = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    title = f"GaussianMatch from a store of {columns} columns: time grows as N^{power:.2f}"
    show(title, ["rows", "fit, s", "MB taken"], lines)


# -- model files ----------------------------------------------------------------------------------


def model_files(folder: Path, sizes: list[int], columns: int = 256) -> None:
    """JLSE with and without the codes of its training rows."""
    lines = []
    for size in sizes:
        X, labels = draw(size, columns, 0)
        classes, seen = table(), labels < _CLASSES - _UNSEEN
        model = JLSE(keep_codes=True).fit(X[seen], classes.names[labels[seen]], classes)
        codes = model.latent_
        line = [f"{int(seen.sum()):,}"]
        for latent in (codes, codes.without_codes()):
            model.latent_, path = latent, folder / "model"
            model.save(path)
            first = least(partial(first_prediction, model, X[:1]))
            line += [f"{path.stat().st_size / 1e6:.1f}", f"{first:.2f}"]
        assert model.latent_.pulls is not None
        lines.append([*line, f"{len(model.latent_.pulls.values):,}"])
    head = ["training rows", "MB with codes", "first predict, s", "MB without", "first predict, s"]
    show("Model files of JLSE, keep_codes=True and False", [*head, "rows kept"], lines)


def first_prediction(model: Any, x: np.ndarray) -> None:
    """All candidates are embedded anew."""
    model._kept = {}
    model.predict(x)


# -- retrieval and prediction ---------------------------------------------------------------------


def retrieval(n_rows: int, near: bool) -> None:
    """By a method whose codes have 256 columns."""
    X, labels = draw(n_rows, 256, 0)
    classes = table()
    seen = labels < _CLASSES - _UNSEEN
    few = np.flatnonzero(seen)[:20_000]
    names = classes.names[labels[few]]
    lines = []
    for kind in (SAE, GaussianMatch):
        model = kind().fit(X[few], names, classes=classes)
        index = unseen.index(model, X, approximate=near)
        codes = index._parts[0]
        query = np.ones(codes.shape[1], np.float32)
        wanted = classes.names[-1]

        def bare(codes: np.ndarray = codes, query: np.ndarray = query) -> None:
            scores = codes @ query
            best = np.argpartition(-scores, 100)[:100]
            best[np.argsort(-scores[best])]

        base = least(bare, 5)
        exact = least(lambda i=index, w=wanted: i.rank(w, 100, exact=True), 5)
        line = [f"{kind.__name__}, {codes.shape[1]} columns", f"{base:.3f}", f"{exact / base:.2f}"]
        rank = least(lambda m=model, w=wanted: m.rank(w, X, 100), 1)
        line.append(f"{rank / exact:.1f}")
        if near:
            fast = least(lambda i=index, w=wanted: i.rank(w, 100), 5)
            line += [f"{exact / fast:.1f}", f"{index.recall_:.3f}"]
        lines.append(line)
    head = ["model", "product and top 100, s", "exact, times that", "rank without an index, times"]
    head += ["approximate, times faster than exact", "recall@100 reached"] if near else []
    show(f"Retrieval over {n_rows:,} rows (aims: 1.3; 5 times at 0.95)", head, lines)


def prediction(n_rows: int = 20_000, n_candidates: int = 1000) -> None:
    X, labels = draw(n_rows, 512, 0)
    classes, rng = table(), np.random.default_rng(3)
    many = ClassTable(
        [f"new {k}" for k in range(n_candidates)], rng.standard_normal((n_candidates, _ATTRIBUTES))
    )
    lines = []
    for kind in (GaussianMatch, ESZSL, SAE):
        model = kind().fit(X, classes.names[labels], classes=classes)
        inner, outer = model.transform(X[:1]).shape[1], model.transform_classes(many).T.copy()
        first = rng.standard_normal((512, inner)).astype(np.float32)
        outer = outer[:inner].astype(np.float32)

        def bare(first: np.ndarray = first, outer: np.ndarray = outer) -> None:
            for rows in array_blocks(X):
                ((X[rows] @ first) @ outer).argmax(axis=1)

        base = least(bare)
        taken = least(lambda m=model: m.predict(X, many))
        lines.append([kind.__name__, f"{base:.2f}", f"{taken / base:.2f}"])
    show(
        f"predict {n_rows:,} rows among {n_candidates:,} candidates (aim 2)",
        ["method", "bare products and argmax, s", "predict, times that"],
        lines,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="the largest N elsewhere, at least 100,000"
    )
    parser.add_argument("--folder", default=None, help="where the rows go; by default TMPDIR")
    parser.add_argument("--confined", nargs=2, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rows < 100_000:
        parser.error("growth in N needs two sizes: --rows 100000 or more")
    if given.confined:
        print(json.dumps(confined(Path(given.confined[0]), int(given.confined[1]))))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        out_of_core(Path(made), given.gigabytes, given.columns)
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        growth(Path(made), [n for n in (10_000, 100_000, 1_000_000) if n <= given.rows])
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        model_files(Path(made), [n for n in (10_000, 100_000, 300_000) if n <= given.rows])
    retrieval(given.rows, near=find_spec("faiss") is not None)
    prediction()


if __name__ == "__main__":
    main()
