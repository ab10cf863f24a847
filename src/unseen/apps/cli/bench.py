"""Commands that measure methods on data sets and write pages of it: bench, sweep, report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from unseen.apps.bench import tables
from unseen.apps.bench.jobs import plan
from unseen.apps.bench.page import write_run_report
from unseen.apps.bench.sweep import Sweep, planned, run_sweep, sweep_shown, sweep_table
from unseen.apps.cli import options, paths
from unseen.apps.cli.measuring import check_failed, log_of, run_jobs, show_results
from unseen.apps.cli.models import parameters
from unseen.apps.cli.output import note, progress, say, show, show_json
from unseen.apps.cli.suite import bench_suite, check_options
from unseen.apps.report.measure import labels_of, measure
from unseen.apps.report.model_page import SECTIONS, write_model_report
from unseen.apps.report.publish import publish
from unseen.apps.report.results import results_table
from unseen.datasets import CATALOGUE, ZeroShotDataset
from unseen.datasets.catalogue import entries, has_features
from unseen.datasets.encoder_file import check_encoder
from unseen.datasets.findings import missing_pictures
from unseen.distributed.cluster import on_cluster
from unseen.errors import InputError, listed, require
from unseen.estimators import DEFAULT_METHOD, available, method


def bench(
    context: typer.Context,
    data: options.DataSets = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="A method, repeatable; 'variants' are the paper's (i) to (viii), 'algorithm-3' "
            "is Algorithm 3 with both decisions. Without it, every method that is installed, or "
            "with --suite eight quick ones of different kinds.",
        ),
    ] = None,
    trials: options.Trials = 3,
    tuning: Annotated[
        Literal["default", "holdout", "paper"],
        typer.Option(help="How parameters are chosen: default, holdout or paper."),
    ] = "default",
    budget: options.Budget = None,
    split: options.Split = "",
    generalized: Annotated[
        bool, typer.Option("--generalized", help="Let seen and unseen classes compete too.")
    ] = False,
    random_classes: Annotated[
        int, typer.Option(min=0, help="Draw so many unseen classes anew in each trial.")
    ] = 0,
    text: options.Text = "tfidf",
    missing: options.Missing = "error",
    paper: Annotated[
        bool, typer.Option("--paper", help="All tables of the paper, on the data sets at hand.")
    ] = False,
    suite: Annotated[
        bool,
        typer.Option(
            "--suite",
            help="Rank the methods over random class splits of many data sets: those named, or "
            "all at hand.",
        ),
    ] = False,
    splits: Annotated[
        int, typer.Option(min=1, help="Random class splits of each data set of the suite.")
    ] = 10,
    inside: Annotated[
        Literal["seen", "all"],
        typer.Option(
            help="Classes that the suite draws from: seen, those that no split of the data set "
            "keeps as unseen, so that decisions can be made on it; or all, for the end."
        ),
    ] = "seen",
    published: Annotated[
        bool, typer.Option("--published", help="Add the splits that come with the data.")
    ] = False,
    most_rows: Annotated[
        int, typer.Option(min=0, help="Rows of each class in the suite at most; 0 for all.")
    ] = 0,
    dask: options.Dask = None,
    out: options.Results = Path("bench-results"),
    json: options.Json = False,
) -> None:
    """Measure methods on data sets, over several trials.

    Recognition, retrieval, time and memory. Results are kept in results.jsonl as they come; a run
    that was stopped resumes where it was.

    Example: unseen bench digits -m eszsl -m jlse --random-classes 3 --trials 5
    """
    check_options(context, suite)
    names, tuned = list(data or []), {"tuning": tuning, "budget": budget or 0}
    # What is usual is not noted, so that results of before are found again.
    tuned |= {"text": text} if text != "tfidf" else {}
    tuned |= {"missing": missing} if missing != "error" else {}
    if suite:
        chosen = {"splits": splits, "inside": inside, "published": published}
        with on_cluster(dask):
            bench_suite(names, methods or [], out, json, most_rows=most_rows, **chosen, **tuned)
        return
    if paper:
        names += [name for name in _of_the_paper(json) if name not in names]
        methods = methods or [*available(), "variants"]
    if not names:
        raise InputError(
            "name a data set, as in 'unseen bench digits'; 'unseen datasets' lists them, and "
            "--paper takes those of the paper, --suite all that are at hand"
        )
    shared = {"split": split, "generalized": generalized, "random_classes": random_classes}
    jobs = plan(names, methods or available(), trials, **shared, **tuned)
    log = log_of(names, out)
    with on_cluster(dask):
        records, failed = run_jobs(jobs, log, json)
    made = tables.all_tables(records)
    tables.write_tables(out, made, paths.command_line())
    if json:
        show_results(records, failed)
    else:
        for table in made:
            show(*table)
            print()
        say(f"Written: {log.path}, {out / 'tables.md'}, {out / 'tables.html'}")
    check_failed(failed, len(jobs), json)


def sweep(
    parameter: Annotated[str, typer.Argument(help="The parameter to vary.")],
    data: options.DataSets = None,
    values: Annotated[str, typer.Option(help="Values, separated by commas.")] = "",
    method_name: options.Method = DEFAULT_METHOD,
    set_: options.Set = None,
    trials: options.Trials = 3,
    on: Annotated[
        Literal["held-out", "unseen"],
        typer.Option(help="Classes to measure on: held-out or unseen."),
    ] = "held-out",
    split: options.Split = "",
    out: options.Results = Path("sweep-results"),
    json: options.Json = False,
) -> None:
    """Accuracy against one parameter, as numbers and as a picture.

    Example: unseen sweep misfit digits synthetic --values 0.01,0.05,0.2
    """
    if not data:
        raise InputError("name a data set, as in 'unseen sweep misfit digits'")
    kind, fixed = method(method_name), parameters(method(method_name), set_)
    words = filter(None, (part.strip() for part in values.split(",")))
    given = [parameters(kind, [*(set_ or []), f"{parameter}={word}"]) for word in words]
    tried = tuple(each[parameter] for each in given)
    chosen = planned(Sweep(method_name, parameter, tried, fixed, split, trials, on))
    log = log_of(data, out)
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
    say(f"Written: {log.path}, {out / 'tables.md'}, {out / 'tables.html'}, {out / 'sweep.png'}")


def _of_the_paper(quiet: bool) -> list[str]:
    """The data sets of the paper that are on this machine; those that are not are named."""
    here = {benchmark.name: [] for benchmark in CATALOGUE if benchmark.paper is not None}
    for entry in entries():
        if entry.benchmark.paper is not None and has_features(entry):
            here[entry.benchmark.name].append(entry.name)
    missing = [name for name, found in here.items() if not found]
    if len(missing) == len(here):
        raise InputError(
            "none of the paper's data sets is on this machine; 'unseen datasets' says "
            "where to get them, UNSEEN_DATA where they lie"
        )
    if missing and not quiet:
        say(f"Not on this machine: {listed(missing)}; 'unseen datasets' says where to get them.")
    return [name for found in here.values() for name in found]


def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|RUN",
            help="A model file, or a folder that 'unseen bench' or 'unseen sweep' wrote.",
        ),
    ],
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="The data set, with a model file.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", help="Another model to show beside the first; repeatable."),
    ] = None,
    out: options.Folder = Path("report"),
    explain: Annotated[
        list[str] | None,
        typer.Option(metavar="CLASS", help="Draw the latent links of this class; repeatable."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=20, help="Rows shown of each class.")] = 5,
    tsne_rows: Annotated[
        int, typer.Option(min=0, help="Rows that t-SNE places at most; 0 leaves it out.")
    ] = 1500,
    split: options.Split = "",
    pictures: options.Pictures = None,
    json: options.Json = False,
) -> None:
    """Write a page of a model on a data set, or of a benchmark.

    The page holds all it shows; the figures are beside it as files too.

    Example: unseen report birds.unseen birds/ --against other.unseen --out birds-report
    """
    require("matplotlib", "report", "a report")
    paths.check_pages_out(out / "index.html")
    if os.path.isdir(source):
        if data is not None or against or explain:
            raise InputError(
                f"{source} is a folder of results, which takes no data set nor options of models; "
                "to report on a model give its file first"
            )
        _deliver(write_run_report(source, out), json)
        return
    if data is None:
        raise InputError(
            f"name the data set to test {source} on, as in 'unseen report {source} DATA'; a "
            "report without one is of a folder that 'unseen bench' wrote"
        )
    opened = [(str(path), *paths.load_model(path)) for path in (source, *(against or []))]
    for file, model, _ in opened:
        check_encoder(model, data, Path(file))
    known = opened[0][1].class_table_
    dataset = _with_common_columns(
        paths.open_data(data, split, like=known, pictures=pictures), opened
    )
    for text in missing_pictures(dataset):
        note(text)
    labels = labels_of({file: model for file, model, _ in opened})
    models = {labels[file]: model for file, model, _ in opened}
    top = min(top, dataset.unseen_rows.size) or top
    total, steps = len(models) * (2 if tsne_rows else 1) + SECTIONS, count()
    advance = progress(total, quiet=json)
    tell = lambda what: advance(what, min(next(steps), total - 1))  # noqa: E731
    found = measure(models, dataset, tsne_rows, tell)
    files = {label: file for file, label in labels.items()}
    page = write_model_report(found, out, paths.command_line(), explain or [], top, tell, files)
    results = {m.label: m.evaluation for m in found.methods}
    if not json:
        show(*results_table(dataset.name, results))
    _deliver(page, json, results={label: e.as_dict() for label, e in results.items()})


def _deliver(page: Path, json: bool, **facts: Any) -> None:
    """Say where the page and its figures are."""
    folder = page.parent / "figures"
    figures = sorted(str(path) for path in folder.glob("*"))
    if json:
        show_json({"page": str(page), "files": figures, **facts})
    else:
        say(f"The page: {page}" + (f"; its figures as files: {folder}" if figures else ""))


def _with_common_columns(dataset: ZeroShotDataset, opened: Sequence[Any]) -> ZeroShotDataset:
    """The data with the columns of the models (file, model, names of columns), which must agree."""
    (first, _, names), alike = opened[0], dataset
    for file, model, columns in opened:
        if dataset.feature_names is not None and columns != names:
            raise InputError(
                f"{file} was trained on other columns, or another order, than {first}: report on "
                "one at a time"
            )
        alike = paths.with_columns(dataset, model, columns)
    return alike
