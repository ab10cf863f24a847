"""Commands that measure methods on data sets: bench and sweep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from unseen.apps.bench import tables
from unseen.apps.bench.jobs import Job, plan
from unseen.apps.bench.log import Log
from unseen.apps.bench.run import run
from unseen.apps.bench.sweep import SIDES, Sweep, planned, run_sweep, sweep_shown, sweep_table
from unseen.apps.bench.tuned import TUNING
from unseen.apps.cli.checkpoint import telling_how_to_resume
from unseen.apps.cli.completion import data_names, method_names
from unseen.apps.cli.config import Config
from unseen.apps.cli.models import parameters
from unseen.apps.cli.options import (
    DEFAULT_METHOD,
    Json,
    Method,
    Set,
    Split,
    check_page_out,
    command_line,
)
from unseen.apps.cli.output import progress, say, show_json, show_table
from unseen.apps.report.publish import publish
from unseen.datasets import CATALOGUE, check_exists
from unseen.datasets.catalogue import entries, has_features
from unseen.errors import InputError, listed
from unseen.estimators import available, method

DataSets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATA]...",
        help="Data sets: names of 'unseen datasets', or paths.",
        autocompletion=data_names,
    ),
]
Trials = Annotated[int, typer.Option(min=1, help="How many times each method is run.")]
Results = Annotated[
    Path, typer.Option("--out", "-o", help="Folder of the results; a run there is resumed.")
]


def bench(
    data: DataSets = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="A method, repeatable; 'variants' are the paper's (i) to (viii), 'algorithm-3' "
            "is Algorithm 3 with both decisions. Without it, every method that is installed.",
            autocompletion=method_names,
        ),
    ] = None,
    trials: Trials = 3,
    tuning: Annotated[
        str, typer.Option(help=f"How parameters are chosen: {', '.join(TUNING)}.")
    ] = "default",
    budget: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds after which the tuning of a method begins no fit; 0 for no limit."
        ),
    ] = 0,
    split: Split = "",
    generalized: Annotated[
        bool, typer.Option("--generalized", help="Let seen and unseen classes compete too.")
    ] = False,
    random_classes: Annotated[
        int, typer.Option(min=0, help="Draw so many unseen classes anew in each trial.")
    ] = 0,
    paper: Annotated[
        bool, typer.Option("--paper", help="All tables of the paper, on the data sets at hand.")
    ] = False,
    out: Results = Path("bench-results"),
    json: Json = False,
    config: Config = None,
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
    jobs = plan(
        names,
        methods or available(),
        trials,
        split=split,
        tuning=tuning,
        budget=budget,
        generalized=generalized,
        random_classes=random_classes,
    )
    log = _log(names, out)
    before = log.records(_keys(jobs))
    with telling_how_to_resume(log.path), progress(len(jobs), quiet=json) as advance:
        failed = run(jobs, log, lambda job, done: advance(_described(job), done))
    records = log.records(_keys(job for job in jobs if job not in failed))
    made = tables.all_tables(records)
    tables.write_tables(out, made, command_line())
    if json:
        show_json({"results": records, "failed": {_described(j): e for j, e in failed.items()}})
    else:
        for table in made:
            show_table(table)
            say()
        if n_known := sum(any(record is known for known in before) for record in records):
            say(f"{n_known} of {len(_keys(jobs))} results were in {log.path} already.")
        say(f"Written: {log.path}, {out / 'tables.md'}, {out / 'tables.html'}")
    if failed:
        job, reason = next(iter(failed.items()))
        raise InputError(
            f"{len(failed)} of {len(jobs)} runs failed, first {_described(job)}: {reason}"
        )


def _log(data: Sequence[str], out: Path) -> Log:
    """The log of a run, once its data and its folder can be used."""
    for name in data:
        check_exists(name)
    check_page_out(out / "tables.md", out / "tables.html")
    return Log(out / "results.jsonl")


def _keys(jobs: Iterable[Job]) -> list[str]:
    return [job.key(label) for job in jobs for label in job.labels]


def sweep(
    parameter: Annotated[str, typer.Argument(help="The parameter to vary.")],
    data: DataSets = None,
    values: Annotated[str, typer.Option(help="Values, separated by commas.")] = "",
    method_name: Method = DEFAULT_METHOD,
    set_: Set = None,
    trials: Trials = 3,
    on: Annotated[
        str, typer.Option(help=f"Classes to measure on: {' or '.join(SIDES)}.")
    ] = "held-out",
    split: Split = "",
    out: Results = Path("sweep-results"),
    json: Json = False,
    config: Config = None,
) -> None:
    """Accuracy against one parameter, as numbers and as a picture.

    Example: unseen sweep n_target_atoms digits synthetic --values 10,20,40
    """
    if not data:
        raise InputError("name a data set, as in 'unseen sweep n_target_atoms digits'")
    tried = tuple(_values(values, parameter, method_name, set_))
    fixed = parameters(method(method_name), set_)
    chosen = planned(Sweep(method_name, parameter, tried, fixed, split, trials, on))
    log = _log(data, out)
    total = len(data) * trials * len(chosen.values)
    with telling_how_to_resume(log.path), progress(total, quiet=json) as advance:
        records = run_sweep(chosen, data, log, advance)
    table = sweep_table(chosen, records)
    picture = publish(sweep_shown(chosen, records), out)
    tables.write_tables(out, [table], command_line(), picture)
    if json:
        show_json({"results": records})
        return
    show_table(table)
    say(f"Written: {log.path}, {out / 'tables.md'}, {out / 'tables.html'}, {out / 'sweep.png'}")


def _values(text: str, parameter: str, method_name: str, settings: list[str] | None) -> list[Any]:
    """The values to try, each as `--set` would take it."""
    words = filter(None, (part.strip() for part in text.split(",")))
    kind, settings = method(method_name), settings or []
    return [parameters(kind, [*settings, f"{parameter}={w}"])[parameter] for w in words]


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
        say(f"Not on this machine: {listed(missing)}; 'unseen datasets' says where to get them.")
    if not present:
        raise InputError(
            "none of the paper's data sets is on this machine; 'unseen datasets' says "
            "where to get them, UNSEEN_DATA where they lie"
        )
    return present


def _described(job: Job) -> str:
    return f"{job.data}, {job.method}, trial {job.trial + 1}"
