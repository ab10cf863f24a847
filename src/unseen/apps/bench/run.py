"""Run the jobs of a benchmark, each in a process of its own, and keep what is done."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from unseen.apps.bench.jobs import Job, run_job, sources
from unseen.apps.bench.log import Log
from unseen.datasets import open_dataset
from unseen.errors import InputError
from unseen.storage import checkpoint

Progress = Callable[[Job, int, int], None]


def run(jobs: Sequence[Job], log: Log, progress: Progress | None = None) -> dict[Job, str]:
    """Run the jobs whose results the log does not have yet; what failed, with its reason.

    A result of data whose files have changed since is no result: its job is run again.

    A process of its own gives each job a fresh memory, so that its peak is that of its method
    alone. A job that fails does not stop the others, and is tried again by the next run. The search
    for parameters of a job that was stopped goes on from a file beside the log.
    """
    failed = {}
    known = _Known(log)
    for number, job in enumerate(jobs):
        state = log.folder() / f"{job.key(job.labels[0])}.checkpoint"
        if known.has_results(job):
            checkpoint.remove(state)
            continue
        if progress is not None:
            progress(job, number, len(jobs))
        try:
            log.append(_in_own_process(job, state))
            checkpoint.remove(state)
        except JobError as error:
            failed[job] = str(error)
    return failed


class _Known:
    """Which results are in the log and of the data as they are now; each data set is read once."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._sources: dict[tuple[str, str], dict[str, str]] = {}

    def has_results(self, job: Job) -> bool:
        keys = [job.key(label) for label in job.labels]
        if not all(key in self._log for key in keys):
            return False
        try:
            found = self._of(job)
        except Exception:  # the job will say what is wrong
            return False
        return all(self._log.holds(key, found) for key in keys)

    def _of(self, job: Job) -> dict[str, str]:
        place = job.data, job.split
        if place not in self._sources:
            self._sources[place] = sources(open_dataset(job.data, job.split or None))
        return self._sources[place]


class JobError(RuntimeError):
    """A job came to no result."""


def _in_own_process(job: Job, state: Path) -> list[dict[str, Any]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    watched, kept = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(job, state, theirs, watched), daemon=True)
    try:
        with holding_interrupts():
            worker.start()
        theirs.close()
        watched.close()
        outcome = ours.recv()
    except EOFError:
        worker.join()
        raise JobError(
            f"its process ended with code {worker.exitcode}, as it does when memory runs out"
        ) from None
    except BaseException:
        if worker.is_alive():
            worker.terminate()
        raise
    finally:
        ours.close()
        kept.close()
    worker.join()
    if isinstance(outcome, str):
        raise JobError(outcome)
    return outcome


@contextmanager
def holding_interrupts() -> Iterator[None]:
    """Ctrl-C in here waits for the end, and never comes to a process that is started in here.

    It reaches every process of a terminal. A worker inherits the mask and so leaves it to us; we
    must not lose it meanwhile, whichever of our threads it comes to.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would lift the mask
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if held:
            signal.raise_signal(signal.SIGINT)


def _work(job: Job, state: Path, connection: Connection, watched: Connection) -> None:
    """The results of a job, or one sentence on why there are none."""
    threading.Thread(target=_end_with_parent, args=(watched,), daemon=True).start()
    try:
        connection.send(run_job(job, state))
    except InputError as error:
        connection.send(str(error))
    except Exception as error:
        traceback.print_exc()
        connection.send(f"{type(error).__name__}: {error}")


def _end_with_parent(watched: Connection) -> None:
    """A parent that was killed says nothing, but its end of the pipe closes."""
    try:
        watched.recv()
    except (EOFError, OSError):
        os._exit(1)
