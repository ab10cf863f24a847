"""The command that makes a page of tables and figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from unseen.apps.bench.page import write_run_report
from unseen.apps.cli import paths
from unseen.apps.cli.options import Folder, Json, Split
from unseen.apps.cli.output import progress, show, show_json
from unseen.apps.report.measure import labels_of, measure
from unseen.apps.report.model_page import SECTIONS, write_model_report
from unseen.apps.report.results import results_table
from unseen.datasets import ZeroShotDataset
from unseen.errors import InputError, require


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
    out: Folder = Path("report"),
    explain: Annotated[
        list[str] | None,
        typer.Option(metavar="CLASS", help="Draw the latent links of this class; repeatable."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=20, help="Rows shown of each class.")] = 5,
    tsne_rows: Annotated[
        int, typer.Option(min=0, help="Rows that t-SNE places at most; 0 leaves it out.")
    ] = 1500,
    split: Split = "",
    json: Json = False,
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
    dataset = _with_common_columns(paths.open_data(data, split), opened)
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
        print(f"The page: {page}" + (f"; its figures as files: {folder}" if figures else ""))


def _with_common_columns(dataset: ZeroShotDataset, opened: Sequence[Any]) -> ZeroShotDataset:
    """The data with the columns of the models (file, model, names of columns), which must agree."""
    first = opened[0][2] or dataset.feature_names
    for file, _, columns in opened:
        if dataset.feature_names is not None and (columns or dataset.feature_names) != first:
            raise InputError(
                f"{file} was trained on other columns, or another order, than {opened[0][0]}: "
                "report on one at a time"
            )
    all_alike = [paths.with_columns(dataset, model, columns) for _, model, columns in opened]
    return all_alike[0]
