"""Commands that measure methods on data sets: bench and sweep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from unseen.apps.bench import tables
from unseen.apps.bench.jobs import Job, plan
from unseen.apps.bench.log import Log
from unseen.apps.bench.run import run
from unseen.apps.bench.sweep import Sweep, planned, run_sweep, sweep_shown, sweep_table
from unseen.apps.cli import options, paths
from unseen.apps.cli.models import parameters
from unseen.apps.cli.output import progress, show, show_json
from unseen.apps.report.publish import publish
from unseen.datasets import CATALOGUE, check_exists
from unseen.datasets.catalogue import entries, has_features
from unseen.errors import InputError, listed
from unseen.estimators import available, method


def bench(
    data: options.DataSets = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="A method, repeatable; 'variants' are the paper's (i) to (viii), 'algorithm-3' "
            "is Algorithm 3 with both decisions. Without it, every method that is installed.",
        ),
    ] = None,
    trials: options.Trials = 3,
    tuning: Annotated[
        Literal["default", "holdout", "paper"], typer.Option(help="How parameters are chosen.")
    ] = "default",
    budget: options.Budget = None,
    split: options.Split = "",
    generalized: Annotated[
        bool, typer.Option("--generalized", help="Let seen and unseen classes compete too.")
    ] = False,
    random_classes: Annotated[
        int, typer.Option(min=0, help="Draw so many unseen classes anew in each trial.")
    ] = 0,
    paper: Annotated[
        bool, typer.Option("--paper", help="All tables of the paper, on the data sets at hand.")
    ] = False,
    out: options.Results = Path("bench-results"),
    json: options.Json = False,
) -> None:
    """Measure methods on data sets, over several trials.

    Recognition, retrieval, time and memory. Results are kept in results.jsonl as they come; a run
    that was stopped resumes where it was.

    Example: unseen bench digits -m eszsl -m jlse --random-classes 3 --trials 5
    """
    names = list(data or [])
    if paper:
        names += [name for name in _of_the_paper(json) if name not in names]
        methods = methods or [*available(), "variants"]
    if not names:
        raise InputError(
            "name a data set, as in 'unseen bench digits'; 'unseen datasets' lists them, and "
            "--paper takes those of the paper"
        )
    shared = {"split": split, "tuning": tuning, "budget": budget or 0}
    shared |= {"generalized": generalized, "random_classes": random_classes}
    jobs = plan(names, methods or available(), trials, **shared)
    log = _log(names, out)
    before = log.records(_keys(jobs))
    advance = progress(len(jobs), quiet=json)
    with paths.telling_how_to_resume(log.path):
        failed = run(jobs, log, lambda job, done: advance(_described(job), done))
    records = log.records(_keys(job for job in jobs if job not in failed))
    made = tables.all_tables(records)
    tables.write_tables(out, made, paths.command_line())
    if json:
        show_json({"results": records, "failed": {_described(j): e for j, e in failed.items()}})
    else:
        for table in made:
            show(*table)
            print()
        if n_known := sum(any(record is known for known in before) for record in records):
            print(f"{n_known} of {len(_keys(jobs))} results were in {log.path} already.")
        print(f"Written: {log.path}, {out / 'tables.md'}, {out / 'tables.html'}")
    if failed:
        job, reason = next(iter(failed.items()))
        raise InputError(
            f"{len(failed)} of {len(jobs)} runs failed, first {_described(job)}: {reason}"
        )


def _log(data: Sequence[str], out: Path) -> Log:
    """The log of a run, once its data and its folder can be used."""
    for name in data:
        check_exists(name)
    paths.check_pages_out(out / "tables.md", out / "tables.html")
    return Log(out / "results.jsonl")


def _keys(jobs: Iterable[Job]) -> list[str]:
    return [job.key(label) for job in jobs for label in job.labels]


def sweep(
    parameter: Annotated[str, typer.Argument(help="The parameter to vary.")],
    data: options.DataSets = None,
    values: Annotated[str, typer.Option(help="Values, separated by commas.")] = "",
    method_name: options.Method = options.DEFAULT_METHOD,
    set_: options.Set = None,
    trials: options.Trials = 3,
    on: Annotated[
        Literal["held-out", "unseen"], typer.Option(help="Classes to measure on.")
    ] = "held-out",
    split: options.Split = "",
    out: options.Results = Path("sweep-results"),
    json: options.Json = False,
) -> None:
    """Accuracy against one parameter, as numbers and as a picture.

    Example: unseen sweep n_target_atoms digits synthetic --values 10,20,40
    """
    if not data:
        raise InputError("name a data set, as in 'unseen sweep n_target_atoms digits'")
    kind, fixed = method(method_name), parameters(method(method_name), set_)
    words = filter(None, (part.strip() for part in values.split(",")))
    given = [parameters(kind, [*(set_ or []), f"{parameter}={word}"]) for word in words]
    tried = tuple(each[parameter] for each in given)
    chosen = planned(Sweep(method_name, parameter, tried, fixed, split, trials, on))
    log = _log(data, out)
    advance = progress(len(data) * trials * len(chosen.values), quiet=json)
    with paths.telling_how_to_resume(log.path):
        records = run_sweep(chosen, data, log, advance)
    table = sweep_table(chosen, records)
    picture = publish(sweep_shown(chosen, records), out)
    tables.write_tables(out, [table], paths.command_line(), picture)
    if json:
        show_json({"results": records})
        return
    show(*table)
    print(f"Written: {log.path}, {out / 'tables.md'}, {out / 'tables.html'}, {out / 'sweep.png'}")


def _of_the_paper(quiet: bool) -> list[str]:
    """The data sets of the paper that are on this machine; those that are not are named."""
    present, missing = [], []
    for benchmark in CATALOGUE:
        if benchmark.paper is None:
            continue
        here = [e.name for e in entries() if e.benchmark is benchmark and has_features(e)]
        present += here
        if not here:
            missing.append(benchmark.name)
    if missing and not quiet:
        print(f"Not on this machine: {listed(missing)}; 'unseen datasets' says where to get them.")
    if not present:
        raise InputError(
            "none of the paper's data sets is on this machine; 'unseen datasets' says "
            "where to get them, UNSEEN_DATA where they lie"
        )
    return present


def _described(job: Job) -> str:
    return f"{job.data}, {job.method}, trial {job.trial + 1}"
