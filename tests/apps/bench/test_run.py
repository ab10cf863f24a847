"""Jobs in processes of their own: what comes back when one fails or dies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from unseen.apps.bench import run as worker
from unseen.apps.bench.jobs import Job
from unseen.apps.bench.log import Log
from unseen.apps.bench.run import run, run_job

DATA = ("nosuch", "synthetic")


def test_a_process_gives_what_the_job_gives_here(tmp_path: Path) -> None:
    log, told, job = Log(tmp_path / "results.jsonl"), [], Job("synthetic", method="eszsl")
    assert run([job], log, lambda job, number: told.append((job, number))) == {}
    assert told == [(job, 0)]
    (found,) = log.records([job.key("eszsl")])
    (here,) = run_job(job)
    assert found["by_class"] == list(here["by_class"])
    assert found["peak_memory_mb"] is None or found["peak_memory_mb"] > 0


def test_a_job_that_fails_says_why_and_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = worker._work(Job("nosuch"), tmp_path / "state")
    assert str(reason).startswith("nosuch does not exist")

    def failing(job: Job, state: Path, workers: worker.Workers) -> list[dict[str, Any]]:
        if job.data == "nosuch":
            raise worker.JobError("nosuch does not exist")
        return run_job(job, state)

    monkeypatch.setattr(worker, "_in_own_process", failing)
    log, jobs = Log(tmp_path / "results.jsonl"), [Job(n, method="eszsl") for n in DATA]
    assert run(jobs, log) == {jobs[0]: "nosuch does not exist"}
    assert [r["data"] for r in log.records(job.key("eszsl") for job in jobs)] == ["synthetic"]


def test_a_process_that_dies_is_a_failure_of_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = tmp_path / "python"
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(killed))
    (reason,) = run([Job("digits")], Log(tmp_path / "results.jsonl")).values()
    assert reason == "its process ended with code -9, as it does when memory runs out"


def test_methods_on_one_random_split_share_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, start = [], worker._started
    monkeypatch.setattr(worker, "_started", lambda folder: started.append(start()) or started[-1])
    jobs = [
        Job("synthetic", method=method, trial=trial, inside="seen", most_rows=10)
        for trial in range(2)
        for method in ("eszsl", "sae")
    ]
    log = Log(tmp_path / "results.jsonl")
    missing = Job("nosuch", inside="seen")
    assert list(run([*jobs, missing], log)) == [missing]
    assert len(started) == 3
    assert all(process.poll() is not None for process in started), "none is left behind"
    for job in jobs:
        (found,), (here,) = log.records([job.key(job.method)]), run_job(job)
        assert found["by_class"] == list(here["by_class"])
        assert found["sources"] == here["sources"]


def test_a_process_that_dies_takes_only_its_job_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next method on the same split gets a new process."""
    killed, python, start = tmp_path / "python", sys.executable, worker._started
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    programs = iter([str(killed), python])

    def started(folder: Path | None) -> Any:
        monkeypatch.setattr(sys, "executable", next(programs))
        return start()

    monkeypatch.setattr(worker, "_started", started)
    jobs = [Job("synthetic", method=m, inside="seen", most_rows=10) for m in ("eszsl", "sae")]
    assert list(run(jobs, Log(tmp_path / "results.jsonl"))) == jobs[:1]
