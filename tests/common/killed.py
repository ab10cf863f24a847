"""Fits a model again and again in processes that are killed: what comes out must not change.

    NUMBA_THREADING_LAYER=workqueue NUMBA_NUM_THREADS=1 \\
        python -m tests.common.killed FOLDER METHOD KILLS N

prints as JSON, for the random seed N, how many processes were killed, how many of them had gone on
from a checkpoint, how many fits were finished, and whether each gave the same file as an
undisturbed one. Processes are forked from this one, which has fitted once itself: all of their time
is that of the fit. The threading layer must be one that bears this.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from unseen.apps.cli import main
from unseen.datasets import make_zero_shot

SETTINGS = {
    "jlse": "n_target_atoms=12 training__max_iter=20 training__block_tol=0.05 "
    "similarity_penalty=0.01",
    "latem": "max_iter=80 tol=0",
    "sse-int": "n_rounds=20",
}


def options(method: str) -> list[str]:
    """The method and its parameters, for the command."""
    words = [word for setting in SETTINGS[method].split() for word in ("--set", setting)]
    return ["--method", method, *words]


def write_data(path: Path) -> None:
    data = make_zero_shot(8, 3, rows_per_class=30, n_features=20, n_attributes=8, n_factors=5)
    names, vectors = data.classes.names, data.classes.vectors
    np.savez(
        path, features=data.X, labels=data.y, unseen=data.unseen, class_names=names,
        class_vectors=vectors,
    )  # fmt: skip


def start_fit(folder: Path, method: str, name: str, checkpoint: bool) -> int:
    """The id of a new process that runs the command."""
    process = os.fork()
    if process:
        return process
    try:
        os._exit(fit(folder, method, name, checkpoint))
    finally:
        os._exit(1)


def fit(folder: Path, method: str, name: str, checkpoint: bool) -> int:
    """Runs the command, silently; its exit code."""
    sys.argv = ["unseen", "fit", str(folder / "data.npz"), "-o", str(folder / name)]
    sys.argv += options(method)
    sys.argv += ["--checkpoint", str(folder / "checkpoint")] if checkpoint else []
    with open(os.devnull, "w") as null, redirect_stdout(null), redirect_stderr(null):
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def wait(process: int, seconds: float, progress: Path | None = None) -> bool:
    """Whether a process ends well by itself; after so many seconds it is killed.

    The seconds begin at once, or when the process has written the file `progress`.
    """
    before, start = written(progress), time.monotonic()
    is_counting = progress is None
    while not is_counting or time.monotonic() < start + seconds:
        if not is_counting and written(progress) != before:
            is_counting, start = True, time.monotonic()
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, "the command failed"
            return True
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return False


def written(path: Path | None) -> float | None:
    return path.stat().st_mtime_ns if path is not None and path.exists() else None


def run(folder: Path, method: str, n_kills: int, seed: int) -> dict[str, object]:
    write_data(folder / "data.npz")
    fit(folder, method, "warm", False)
    start = time.monotonic()
    wait(start_fit(folder, method, "whole", False), 600)
    seconds = time.monotonic() - start
    whole = (folder / "whole").read_bytes()
    rng, killed, resumed, same = np.random.default_rng(seed), 0, 0, []
    is_last = False
    while not is_last:
        found, is_last = (folder / "checkpoint").exists(), killed == n_kills
        limit = 600.0 if is_last else float(seconds * rng.random())
        # Every second process comes far enough to leave something.
        progress = folder / "checkpoint" if killed % 2 == 0 and not is_last else None
        if wait(
            start_fit(folder, method, "broken", True), limit / (4 if progress else 1), progress
        ):
            same.append((folder / "broken").read_bytes() == whole)
            (folder / "broken").unlink()
        else:
            killed, resumed = killed + 1, resumed + found
    left = sorted(path.name for path in folder.iterdir())
    return {"killed": killed, "resumed": resumed, "finished": len(same), "same": all(same),
            "left": left, "seconds": seconds}  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
