"""Commands that use a model on rows: predict, retrieve."""

from __future__ import annotations

import contextlib
import csv
import os
import re
from collections.abc import Generator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unseen.apps.cli.config import Config
from unseen.apps.cli.options import (
    Candidates,
    Features,
    Json,
    Model,
    NewClasses,
    check_out,
    load_model,
    note_order,
    with_columns,
)
from unseen.apps.cli.output import note, say, show, show_json, working
from unseen.classes import ClassTable
from unseen.datasets import open_dataset
from unseen.datasets.row_files import Rows, read_rows
from unseen.errors import InputError, counted, listed, nearest
from unseen.estimators import ZeroShotClassifier
from unseen.files.writing import writing
from unseen.rows.blocks import row_blocks
from unseen.storage.models import KIND, tensors

# Tables of a data set, and columns of a result.
_PARTS = ("features", "labels", "classes")
_RESULT = ("place", "row", "image", "label", "class", "score")


def predict(
    model_file: Model,
    features: Features,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all predictions to this .csv file.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many candidates to name for a row.")] = 1,
    candidates: Candidates = "",
    classes: NewClasses = None,
    json: Json = False,
    config: Config = None,
) -> None:
    """Name the class of each row, among classes that had no training rows.

    Example: unseen predict birds.unseen new_features.npy --top 3 --out predictions.csv
    """
    _check_csv(out, features, classes)
    model, rows = model_and_rows(model_file, features, classes)
    beside = _beside(rows)
    among = _candidate_names(candidates, model)
    if top > len(among):
        raise InputError(f"--top {top} is more than the {counted(len(among), 'candidate')}")
    header = ["class", "score"]
    if top > 1:
        header = [f"{word} {k}" for k in range(1, top + 1) for word in header]
    header = ["row", *beside, *header]
    title = f"Predictions among {_among(among, model)}"
    lines = _predicted(model, rows.X, list(beside.values()), top, among)
    _deliver(title, header, lines, rows.X.shape[0], out, json)


def _predicted(
    model: ZeroShotClassifier,
    X: np.ndarray,
    beside: list[np.ndarray],
    top: int,
    among: list[Any],
) -> Generator[list[Any], None, None]:
    """One line per row, in the blocks in which the model itself would visit the rows: only one
    block is in memory, and a table of the first lines costs no more than the first block."""
    itemsize = 4 if X.dtype in (np.float16, np.float32) else 8
    with working(f"predicting {X.shape[0]:,} rows"):
        for rows in row_blocks(X.shape[0], X.shape[1] * itemsize):
            best = model.top_k(X[rows], top, among)
            known = [column[rows].tolist() for column in beside]
            found = zip(best.names.tolist(), best.scores.tolist(), *known, strict=True)
            for row, (names, scores, *cells) in enumerate(found, start=rows.start):
                pairs = zip(names, scores, strict=True)
                yield [row, *cells, *(cell for pair in pairs for cell in pair)]


def _among(names: list[Any], model: ZeroShotClassifier) -> str:
    """The candidates in words, and how to have more of them."""
    n_seen = int(np.isin(names, model.seen_classes_).sum())
    kind = {0: "unseen ", len(names): "seen "}.get(n_seen, "")
    n_known = model.class_table_.n_classes
    more = "" if len(names) == n_known else f" (--candidates all for all {n_known})"
    return counted(len(names), f"{kind}class") + more


def retrieve(
    model_file: Model,
    features: Features,
    name: Annotated[str, typer.Option("--class", "-c", help="The class to look for.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many rows to return.")] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the ranking to this .csv file.")
    ] = None,
    classes: NewClasses = None,
    against: Annotated[
        str,
        typer.Option(
            help="Classes that compete for the rows: unseen, seen, all, or names separated by "
            "commas. Finds more where classes are alike."
        ),
    ] = "",
    json: Json = False,
    config: Config = None,
) -> None:
    """Find the rows that fit the description of a class best.

    Example: unseen retrieve birds.unseen features.npy --class "Indigo Bunting" -k 10
    """
    _check_csv(out, features, classes)
    model, rows = model_and_rows(model_file, features, classes)
    wanted, n_rows = class_name(name, model), rows.X.shape[0]
    with working(f"ranking {n_rows:,} rows"):
        rivals = _candidate_names(against, model) if against else None
        ranking = model.rank(wanted, rows.X, min(k, n_rows), rivals)
    beside = _beside(rows)
    known = [column[ranking.rows].tolist() for column in beside.values()]
    lines = (
        [place, *found]
        for place, found in enumerate(
            zip(ranking.rows.tolist(), *known, ranking.scores.tolist(), strict=True), start=1
        )
    )
    header = ["place", "row", *beside, "score"]
    title = f"Rows that fit {name!r} best, among {counted(n_rows, 'row')}"
    _deliver(title, header, lines, ranking.rows.size, out, json)


def _candidate_names(text: str, model: ZeroShotClassifier) -> list[Any]:
    """The classes to choose among, by name."""
    groups = {
        "": model.classes_,
        "all": np.sort(model.class_table_.names),
        "seen": model.seen_classes_,
        "unseen": model.unseen_classes_,
    }
    if text in groups:
        if groups[text].size == 0:
            raise InputError("the model knows no unseen classes; --classes FILE adds some")
        return groups[text].tolist()
    # A name may hold a comma itself.
    names = {str(name): name for name in model.class_table_.names.tolist()}
    if text in names:
        return [names[text]]
    parts = [part.strip() for part in text.split(",")]
    if not all(part in names for part in parts):
        with contextlib.suppress(csv.Error):
            (parts,) = csv.reader([text], skipinitialspace=True)
    return [class_name(part.strip(), model) for part in parts]


def class_name(text: str, model: ZeroShotClassifier) -> Any:
    """The class that a user names on the command line; a model may have numbers for names."""
    names = {str(name): name for name in model.class_table_.names.tolist()}
    if text not in names:
        raise InputError(
            f"no class {text!r} is known to the model{nearest(text, names)}; it knows "
            f"{listed(names)}; --classes FILE adds new ones"
        )
    return names[text]


def model_and_rows(
    model_file: Path, features: str, classes: Path | None
) -> tuple[ZeroShotClassifier, Rows]:
    """The model, and the rows to use as it knows them, with what their file has beside."""
    _check_not_swapped(model_file, features)
    model, names = load_model(model_file)
    if classes is not None:
        model = model.reveal(ClassTable.read(classes))
    if os.path.exists(features):
        rows = read_rows(features, model.n_features_in_, names)
        if names is None and rows.columns is not None:
            note_order()
        if rows.unused:
            note(f"the model was not trained on column {listed(rows.unused)}: left out")
        return model, rows
    dataset = with_columns(open_dataset(features), model, names)
    return model, Rows(dataset.X, dataset.y, dataset.image_paths)


def _check_not_swapped(model_file: Path, features: str) -> None:
    if KIND in tensors.kind_of(features) and KIND not in tensors.kind_of(model_file):
        raise InputError(
            f"{features} is a model file and {model_file} is none: the model comes first, then the "
            "features"
        )


def _beside(rows: Rows) -> dict[str, np.ndarray]:
    """Columns that tell a user which row is which, under names that the result has no use for."""
    labels = {} if rows.labels is None else {"label": rows.labels}
    images = {} if rows.image_paths is None else {"image": rows.image_paths}
    named = {
        f"{c} (given)" if c in _RESULT else c or "name": cells for c, cells in rows.beside.items()
    }
    return {**named, **images, **labels}


def _check_csv(out: Path | None, features: str, classes: Path | None) -> None:
    """Predictions go to a .csv file, and replace predictions alone."""
    if out is None:
        return
    if out.suffix != ".csv":
        raise InputError(f"{out}: predictions are written as .csv")
    check_out(out)
    sources = [Path(source).resolve() for source in (features, classes) if source is not None]
    read = [*sources, *(s / f"{part}.csv" for s in sources for part in _PARTS)]
    is_read = out.resolve() in read
    if os.path.exists(out) and (is_read or not _is_result(out)):
        raise InputError(
            f"cannot write {out}: the file is there already and holds no predictions; choose "
            "another name or remove it first"
        )


def _is_result(path: Path) -> bool:
    """Whether a file was written by one of these commands, or is empty."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        header = next(csv.reader([file.readline(100_000)]), [])
    predicted = header[:1] == ["row"] and re.fullmatch(
        r"class( ?\d*),score\1", ",".join(header[-2:])
    )
    ranked = header[:2] == ["place", "row"] and header[-1] == "score"
    return bool(predicted or ranked or not path.stat().st_size)


def _deliver(
    title: str,
    header: list[str],
    lines: Generator[list[Any], None, None],
    n_lines: int,
    out: Path | None,
    json: bool,
) -> None:
    """Write lines to a file, print them as JSON, or show the first of them."""
    if out is not None:
        with (
            writing(out) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(lines)
        if json:
            show_json({"lines": n_lines, "out": str(out)})
        else:
            say(f"{title}: {counted(n_lines, 'line')} in {out}")
    elif json:
        show_json([dict(zip(header, line, strict=True)) for line in lines])
    else:
        first = header.index("class 1") if "class 1" in header else None
        rows = [_readable(line, first) for line in islice(lines, 20)]
        lines.close()
        columns = header if first is None else [*header[:first], "classes and scores, best first"]
        show(title, columns, rows)
        if n_lines > 20:
            say(f"... and {n_lines - 20:,} more; --out FILE.csv writes all of them.")


def _readable(line: list[Any], first: int | None) -> list[str]:
    """A line for a person; many candidates (from cell `first` on) go into one cell, as so many
    columns have no room."""
    cells = [f"{c:.4g}" if isinstance(c, float) else str(c) for c in line]
    if first is None:
        return cells
    pairs = zip(cells[first::2], cells[first + 1 :: 2], strict=True)
    return [*cells[:first], "; ".join(f"{name} {score}" for name, score in pairs)]
