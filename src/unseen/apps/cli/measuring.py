"""Jobs of a benchmark from the command line: log, progress, results, and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from unseen.apps.bench.jobs import Job
from unseen.apps.bench.log import Log
from unseen.apps.bench.run import run
from unseen.apps.cli import paths
from unseen.apps.cli.output import progress, show_json
from unseen.datasets import check_exists
from unseen.errors import InputError


def log_of(data: Sequence[str], out: Path) -> Log:
    """The log of a run, once its data and its folder can be used."""
    for name in data:
        check_exists(name)
    paths.check_pages_out(out / "tables.md", out / "tables.html")
    return Log(out / "results.jsonl")


def run_jobs(
    jobs: Sequence[Job], log: Log, quiet: bool
) -> tuple[list[dict[str, Any]], dict[Job, str]]:
    """The results of the jobs, those that the log has included, and what failed with its reason."""
    advance = progress(len(jobs), quiet=quiet)
    with paths.telling_how_to_resume(log.path):
        failed = run(jobs, log, lambda job, done: advance(_described(job), done))
    done = (job for job in jobs if job not in failed)
    return log.records(job.key(label) for job in done for label in job.labels), failed


def show_results(
    records: Sequence[dict[str, Any]], failed: Mapping[Job, str], **facts: Any
) -> None:
    """Results for a program."""
    shown = {_described(job): reason for job, reason in failed.items()}
    show_json({"results": records, "failed": shown, **facts})


def check_failed(failed: Mapping[Job, str], n_jobs: int, json: bool) -> None:
    """An error if a job came to no result; the results, if they were printed as JSON, name it."""
    if not failed:
        return
    job, reason = next(iter(failed.items()))
    text = f"{len(failed)} of {n_jobs} runs failed, first {_described(job)}: {reason}"
    if not json:
        raise InputError(text)
    typer.echo(f"Error: {text}", err=True)
    raise typer.Exit(1)


def _described(job: Job) -> str:
    where = f"{job.data}, {job.split}" if job.split else job.data
    return f"{where}, {job.method}, {'split' if job.inside else 'trial'} {job.trial + 1}"
