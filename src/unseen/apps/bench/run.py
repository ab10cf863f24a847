"""Run the jobs of a benchmark, each in a process of its own, and keep what is done."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from unseen.apps.bench.jobs import Job, opened, seeded
from unseen.apps.bench.log import Log
from unseen.apps.bench.paper import LABELS
from unseen.apps.bench.tuned import tuned_parameters
from unseen.apps.report.provenance import provenance, sources
from unseen.datasets import open_dataset
from unseen.errors import InputError
from unseen.estimators import ZeroShotClassifier, method
from unseen.evaluation.protocols import evaluate
from unseen.evaluation.tuning.run import TrainingData
from unseen.storage import checkpoint
from unseen.support.memory import with_peak
from unseen.support.parameters import changed_parameters, plain_parameters, without


def run(
    jobs: Sequence[Job], log: Log, progress: Callable[[Job, int], None] = lambda job, done: None
) -> dict[Job, str]:
    """Run the jobs whose results the log does not have yet; what failed, with its reason.

    A result of data whose files have changed since is no result: its job is run again.

    A process of its own gives each job a fresh memory, so that its peak is that of its method
    alone; methods on the same random split of a suite share one, which would else spend most of its
    time on starting. A job that fails does not stop the others, and is tried again by the next run.
    The search for parameters of a job that was stopped resumes from a file beside the log.
    """
    with Workers() as workers:
        return _run(jobs, log, progress, workers)


def _run(
    jobs: Sequence[Job], log: Log, progress: Callable[[Job, int], None], workers: Workers
) -> dict[Job, str]:
    failed = {}
    present = functools.cache(_present_sources)
    for number, job in enumerate(jobs):
        keys = [job.key(label) for label in job.labels]
        state = log.path.parent / f"{keys[0]}.checkpoint"
        known = len(log.records(keys)) == len(keys)
        if known and all(
            log.holds(key, present(job.data, job.split, *job.table.items())) for key in keys
        ):
            checkpoint.remove(state)
            continue
        progress(job, number)
        try:
            log.append(_in_own_process(job, state, workers))
            checkpoint.remove(state)
        except JobError as error:
            failed[job] = str(error)
    return failed


def _present_sources(data: str, split: str, *table: tuple[str, str]) -> dict[str, str] | None:
    """Checksums of a data set as it is now, None if it cannot be read: its job will say why."""
    try:
        return sources(open_dataset(data, split or None, **dict(table)))
    except Exception:
        return None


class JobError(RuntimeError):
    """A job came to no result."""


def _in_own_process(job: Job, state: Path, workers: Workers) -> list[dict[str, Any]]:
    outcome = workers.ask(job, state)
    if isinstance(outcome, str):
        raise JobError(outcome)
    return outcome


class Workers:
    """Processes that do jobs, one at a time: a new one for each job, but those that share one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._place: Any = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._end(self._process)

    def ask(self, job: Job, state: Path) -> list[dict[str, Any]] | str:
        """The results of a job, or one sentence on why there are none."""
        place = job._replace(method="") if job.inside else None
        if self._process is not None and (place is None or place != self._place):
            self._end(self._process)
        self._process, self._place = self._process or _started(), place
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # It is dead, which the empty answer says.
            self._process.stdin.write(json.dumps([job, str(state)]).encode() + b"\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            code = self._end(self._process)
            raise JobError(f"its process ended with code {code}, as it does when memory runs out")
        return json.loads(answer)

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """Close a process, which ends when its input does; returns its code."""
        self._process = None
        with process, suppress(BrokenPipeError):
            assert process.stdin is not None
            process.stdin.close()
        return process.returncode


def _started() -> subprocess.Popen[bytes]:
    # In a session of its own it is not reached by the Ctrl-C of our terminal, which is for us.
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def _work(job: Job, state: Path) -> list[dict[str, Any]] | str:
    """The results of a job, or one sentence on why there are none."""
    try:
        return run_job(job, state)
    except InputError as error:
        return str(error)
    except Exception as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"


def _serve() -> None:
    """Do the jobs that come in by standard input, a line each, and answer each by a line.

    A parent that was killed says nothing, but its end of the pipe closes, which ends us at once.
    """
    jobs: SimpleQueue[str] = SimpleQueue()
    answers = sys.stdout

    def listen() -> None:
        for line in sys.stdin:
            jobs.put(line)
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        fields, place = json.loads(jobs.get())
        with redirect_stdout(sys.stderr):
            outcome = _work(Job(*fields), Path(place))
        answers.write(json.dumps(outcome) + "\n")
        answers.flush()


def run_job(job: Job, state: Path | None = None) -> list[dict[str, Any]]:
    """The results of one job, ready for the log; nothing of the unseen rows is used in training.

    Methods of the job that differ only at test time share a fit, its time and its memory. Where
    seen and unseen classes compete, what seen ones lose is learned after the fit. The search for
    parameters keeps its state in a file.
    """
    data = opened(job)
    X, y = data.training_set()
    training = TrainingData.of(X, y, data.classes)
    limits = (job.trial, job.budget or None, state)
    chosen, seconds = tuned_parameters(job.labels, job.tuning, training, *limits)
    split = "random" if job.random_classes or job.inside else data.split
    facts = {"training_rows": int(y.size), "X_mb": X.nbytes / 2**20, **provenance(data)}
    fits: dict[str, tuple[ZeroShotClassifier, dict[str, Any]]] = {}
    results = []
    for label, parameters in chosen.items():
        model = seeded(method("jlse" if label in LABELS else label), job.trial, parameters)
        # Fits differ in all parameters but those of test time.
        bound = without(plain_parameters(model), model.test_time_parameters)
        key = json.dumps(bound, default=str)
        if key not in fits:
            start = time.perf_counter()
            _, memory = with_peak(lambda model=model: model.fit(X, y, classes=data.classes))
            cost = {"fit_seconds": time.perf_counter() - start, "peak_memory_mb": memory}
            fits[key] = model, cost
        fitted, cost = fits[key]
        fitted.set_params(**model.get_params(deep=False))
        if job.generalized and fitted.needs_calibration:
            start = time.perf_counter()
            fitted.calibrate_seen(X, y, job.trial)
            spent = time.perf_counter() - start
            cost = cost | {"calibrate_seconds": spent, "seen_penalty": fitted.seen_penalty_}
        results.append(
            {"key": job.key(label), **job._asdict(), "method": label, "split": split}
            | {"parameters": changed_parameters(model), "tune_seconds": seconds / len(chosen)}
            | {**evaluate(fitted, data).as_dict(), **cost, **facts}
        )
    return results


if __name__ == "__main__":
    _serve()
