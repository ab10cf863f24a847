"""The command that makes a page of tables and figures."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unseen.apps.cli.config import Config
from unseen.apps.cli.options import (
    Json,
    Split,
    check_columns,
    check_page_out,
    load_model,
    open_data,
    with_columns,
)
from unseen.apps.cli.output import percent, say, show, show_json
from unseen.apps.cli.progress import progress
from unseen.datasets import ZeroShotDataset
from unseen.errors import InputError, require
from unseen.estimators import ZeroShotClassifier
from unseen.files import read_lines

_TSNE_ROWS = 1500


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
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")] = Path("report"),
    images: Annotated[
        Path | None,
        typer.Option(help="A text file with the path of each row's picture, one a line."),
    ] = None,
    explain: Annotated[
        list[str] | None,
        typer.Option(metavar="CLASS", help="Draw the latent links of this class; repeatable."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=20, help="Rows shown of each class.")] = 5,
    tsne_rows: Annotated[
        int, typer.Option(min=0, help="Rows that t-SNE places at most; 0 leaves it out.")
    ] = _TSNE_ROWS,
    split: Split = "",
    json: Json = False,
    config: Config = None,
) -> None:
    """Write one page with tables and figures of a model on a data set, or of a benchmark.

    The page holds all it shows; the figures are beside it as files too.

    Example: unseen report birds.unseen birds/ --against other.unseen --out birds-report
    """
    require("matplotlib", "report", "a report")
    check_page_out(out / "index.html")
    if os.path.isdir(source):
        _check_run_options(source, data, against, images, explain)
        _report_run(source, out, json)
        return
    if data is None:
        raise InputError(
            f"name the data set to test {source} on, as in 'unseen report {source} DATA'; a "
            "report without one is of a folder that 'unseen bench' wrote"
        )
    models = [_opened(path) for path in (source, *(against or []))]
    dataset = _with_images(open_data(data, split), images)
    _report_models(models, dataset, data, out, explain or [], top, tsne_rows, json)


def _check_run_options(source: Path, data: str | None, *others: Any) -> None:
    if data is not None or any(others):
        raise InputError(
            f"{source} is a folder of results, which takes no data set nor options of models; to "
            "report on a model give its file first"
        )


def _opened(path: Path) -> tuple[str, ZeroShotClassifier, tuple[str, ...] | None]:
    model, columns = load_model(path)
    return str(path), model, columns


def _with_images(dataset: ZeroShotDataset, images: Path | None) -> ZeroShotDataset:
    """The data set with pictures from a list of paths, which count from the folder of the list."""
    if images is None:
        return dataset
    lines = read_lines(images)
    if len(lines) != dataset.y.size:
        raise InputError(
            f"{images} has {len(lines):,} lines, the data set {dataset.y.size:,} rows: give the "
            "path of each row's picture, one a line, and an empty line where there is none"
        )
    paths = [str(images.parent / line) if line else "" for line in lines]
    if not any(os.path.exists(path) for path in paths if path):
        raise InputError(
            f"{images}: none of its pictures is there, as in {paths[0]!r}; paths count from the "
            "folder of the list"
        )
    return replace(dataset, image_paths=np.array(paths), images=None)


def _report_models(
    models: list[tuple[str, ZeroShotClassifier, tuple[str, ...] | None]],
    dataset: ZeroShotDataset,
    data: str,
    out: Path,
    explain: list[str],
    top: int,
    tsne_rows: int,
    json: bool,
) -> None:
    from unseen.apps.report.measure import measure, subjects_of
    from unseen.apps.report.model_page import SECTIONS, write_model_report

    names = dataset.feature_names
    orders = [columns or names for *_, columns in models]
    for (file, model, columns), order in zip(models, orders, strict=True):
        if names is not None and order != orders[0]:
            raise InputError(f"{file} was trained on other columns, or another order, than "
                             f"{models[0][0]}: report on one at a time")  # fmt: skip
        check_columns(model, dataset.with_columns(columns))
    dataset = with_columns(dataset, models[0][1], models[0][2])
    subjects = subjects_of([(file, model) for file, model, _ in models])
    top = min(top, dataset.unseen_rows.size) or top
    total = len(subjects) * (2 if tsne_rows else 1) + SECTIONS
    with progress(total, quiet=json) as advance:
        steps = iter(range(total))
        tell = lambda what: advance(what, next(steps, total - 1))  # noqa: E731
        found = measure(subjects, dataset, tsne_rows, tell)
        page = write_model_report(found, out, _command(), data, explain, top, tell)
    if json:
        results = {m.label: m.evaluation.as_dict() for m in found.methods}
        show_json({"page": str(page), "files": _files(out), "results": results})
        return
    show(
        f"{dataset.name}: {found.y.size:,} rows of {found.names.size} unseen classes",
        ["method", "per-class top-1", "mAP", "chance"],
        [
            [m.label, percent(m.evaluation.per_class_accuracy),
             percent(m.evaluation.mean_average_precision), percent(m.evaluation.chance)]
            for m in found.methods
        ],
    )  # fmt: skip
    _tell_where(out, page)


def _report_run(run: Path, out: Path, json: bool) -> None:
    from unseen.apps.report.run_page import write_run_report

    page = write_run_report(run, out)
    if json:
        show_json({"page": str(page), "files": _files(out)})
    else:
        _tell_where(out, page)


def _tell_where(out: Path, page: Path) -> None:
    n_files = len(_files(out))
    say(f"The page: {page}" + (f"; its figures as files: {out / 'figures'}" if n_files else ""))


def _files(out: Path) -> list[str]:
    return sorted(str(path) for path in (out / "figures").glob("*"))


def _command() -> str:
    return shlex.join(["unseen", *sys.argv[1:]])
