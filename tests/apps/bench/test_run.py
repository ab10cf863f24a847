"""Jobs in processes of their own: what comes back when one fails or dies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unseen.apps.bench.jobs import Job
from unseen.apps.bench.log import Log
from unseen.apps.bench.run import run, run_job


def test_a_job_that_fails_says_why_and_leaves_the_others_alone(tmp_path: Path) -> None:
    log, told = Log(tmp_path / "results.jsonl"), []
    jobs = [Job("nosuch", method="eszsl"), Job("synthetic", method="eszsl")]
    assert run(jobs, log, lambda job, number: told.append((job, number))) == {
        jobs[0]: "nosuch does not exist; the data sets that come with unseen are 'digits', "
        "'synthetic', and 'unseen datasets' lists the published ones that it reads"
    }
    assert told == [(jobs[0], 0), (jobs[1], 1)]
    (found,) = log.records(job.key("eszsl") for job in jobs)
    (here,) = run_job(jobs[1])
    assert found["by_class"] == list(here["by_class"])
    assert found["peak_memory_mb"] is None or found["peak_memory_mb"] > 0


def test_a_process_that_dies_is_a_failure_of_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = tmp_path / "python"
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(killed))
    (reason,) = run([Job("digits")], Log(tmp_path / "results.jsonl")).values()
    assert reason == "its process ended with code -9, as it does when memory runs out"
