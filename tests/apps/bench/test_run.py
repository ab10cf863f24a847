"""Jobs in processes of their own: what comes back when one fails or dies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unseen.apps.bench.jobs import Job
from unseen.apps.bench.log import Log
from unseen.apps.bench.run import run


def test_a_job_that_cannot_be_done_says_why_and_leaves_no_result(tmp_path: Path) -> None:
    log, done = Log(tmp_path / "results.jsonl"), []
    jobs = [Job("nosuch", method="eszsl")]
    assert run(jobs, log, lambda job, number: done.append((job, number))) == {
        jobs[0]: "nosuch does not exist; the data sets that come with unseen are 'digits', "
        "'synthetic', and 'unseen datasets' lists the published ones that it reads"
    }
    assert done == [(jobs[0], 0)]
    assert not log.path.exists()


def test_a_process_that_dies_is_a_failure_of_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = tmp_path / "python"
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(killed))
    (reason,) = run([Job("digits")], Log(tmp_path / "results.jsonl")).values()
    assert reason == "its process ended with code -9, as it does when memory runs out"
