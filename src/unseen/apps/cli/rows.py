"""Commands that use a model on rows: predict, retrieve, explain."""

from __future__ import annotations

import csv
import os
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unseen.apps.cli import paths
from unseen.apps.cli.options import Features, Json, Model, NewClasses, Table
from unseen.apps.cli.output import note, say, show, show_json, working
from unseen.apps.cli.pictures import Images, is_pictures, new_classes, picture_rows
from unseen.datasets import is_store, open_dataset, open_rows
from unseen.datasets.bare_rows import is_bare
from unseen.datasets.encoder_file import check_encoder
from unseen.datasets.row_files import Rows, read_rows, with_images
from unseen.datasets.stores import rows_beside
from unseen.errors import InputError, counted, listed, nearest
from unseen.estimators import ZeroShotClassifier
from unseen.files.writing import writing
from unseen.rows.blocks import array_blocks
from unseen.rows.store import RowStore
from unseen.storage.models import KIND, tensors

# Columns of a result.
_RESULT = ("place", "row", "image", "label", "probability", "class", "score")
# What stands for the class of a row that is rejected.
_NONE = "none of these"
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
# How many lines of a result are shown where it is not written to a file.
_SHOWN = 20


def predict(
    model_file: Model,
    features: Features,
    out: Table = None,
    top: Annotated[int, typer.Option(min=1, help="How many candidates to name for a row.")] = 1,
    candidates: Annotated[
        str,
        typer.Option(
            help="Classes to choose among: unseen, seen, all, or names separated by commas "
            "(a name with a comma in quotation marks). By default the unseen ones, if the "
            "model knows any."
        ),
    ] = "",
    classes: NewClasses = None,
    reject: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0,
            max=1,
            help=f"Answer '{_NONE}' where the best class has a smaller probability than this.",
        ),
    ] = None,
    images: Images = "",
    json: Json = False,
) -> None:
    """Name the class of each row, among classes that had no training rows.

    Example: unseen predict birds.unseen new_features.npy --top 3 --out predictions.csv
    """
    paths.check_table_out(out)
    model, rows = model_and_rows(model_file, features, classes, images)
    among = candidate_names(candidates, model)
    if top > len(among):
        raise InputError(f"--top {top} is more than the {counted(len(among), 'candidate')}")
    beside, n_rows = beside_rows(rows), rows.X.shape[0]
    wanted = n_rows if out is not None or json else min(n_rows, _SHOWN)
    with working(f"predicting {n_rows:,} rows"):
        X = rows.X if wanted == n_rows else rows.X[:wanted]
        best = model.top_k(X, top, among)
        if reject is not None:
            beside["probability"] = _best_probability(model, X, among)
    known = [column[:wanted].tolist() for column in beside.values()]
    found = zip(best.names.tolist(), best.scores.tolist(), *known, strict=True)
    lines = [
        [row, *cells, *chain.from_iterable(zip(names, scores, strict=True))]
        for row, (names, scores, *cells) in enumerate(found)
    ]
    if reject is not None:
        first, p = len(beside) + 1, len(beside)
        for line in lines:
            if line[p] < reject:
                line[first : first + 2] = [None, None] if json and out is None else [_NONE, ""]
    places = [f" {k}" for k in range(1, top + 1)] if top > 1 else [""]
    header = ["row", *beside, *(f"{word}{k}" for k in places for word in ("class", "score"))]
    deliver(f"Predictions among {_among(among, model)}", header, lines, n_rows, out, json)


def _best_probability(model: ZeroShotClassifier, X: Any, among: list[Any]) -> np.ndarray:
    """The probability of the best candidate of each row."""
    blocks = array_blocks(X)
    return np.concatenate([model.predict_proba(X[rows], among).max(axis=1) for rows in blocks])


def _among(names: list[Any], model: ZeroShotClassifier) -> str:
    """The candidates in words, and how to have more of them."""
    n_seen = int(np.isin(names, model.seen_classes_).sum())
    kind = {0: "unseen ", len(names): "seen "}.get(n_seen, "")
    n_known = model.class_table_.n_classes
    more = "" if len(names) == n_known else f" (--candidates all for all {n_known})"
    return counted(len(names), f"{kind}class") + more


def explain(
    model_file: Model,
    features: Features,
    row: Annotated[int, typer.Option("--row", "-r", min=0, help="Which row, from 0.")] = 0,
    name: Annotated[
        str, typer.Option("--class", "-c", help="Which class; by default the one predicted.")
    ] = "",
    top: Annotated[int, typer.Option(min=1, help="How many reasons of each kind.")] = 5,
    classes: NewClasses = None,
    images: Images = "",
    json: Json = False,
) -> None:
    """Say why a row is, or is not, of a class.

    Example: unseen explain birds.unseen new.npy --row 3 --class "Indigo Bunting"
    """
    model, (X, labels, pictures, *_) = model_and_rows(model_file, features, classes, images)
    if row >= X.shape[0]:
        raise InputError(
            f"--row {row}: {features} has {counted(X.shape[0], 'row')}, counted from 0"
        )
    x = X[row : row + 1]
    named = model.predict(x)[0]
    found = model.explain(x, class_name(name, model) if name else named, top)
    label = {} if labels is None else {"label": labels[row]}
    image = {} if pictures is None else {"image": pictures[row]}
    if json:
        show_json({"row": row, **image, "named": named, **label, **asdict(found)})
        return
    labelled = "".join(f", labelled {str(label)!r}," for label in label.values())
    shown = "".join(f" ({path})" for path in image.values() if path)
    (_, columns, lines), *reasons = found.tables()
    show(f"Row {row}{shown}{labelled} is named {str(named)!r}", columns, lines)
    for table in reasons:
        show(*table)


def candidate_names(text: str, model: ZeroShotClassifier) -> list[Any]:
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
    # A name may hold a comma itself; among others it stands in quotation marks.
    parts = chain.from_iterable(csv.reader(text.splitlines(), skipinitialspace=True))
    names = (
        [text]
        if text in map(str, model.class_table_.names.tolist())
        else [part.strip() for part in parts]
    )
    return [class_name(name, model) for name in names]


def class_name(text: str, model: ZeroShotClassifier) -> Any:
    """The class that a user names on the command line; a model may have numbers for names."""
    names = {str(name): name for name in model.class_table_.names.tolist()}
    if text not in names:
        cut = [name for name in names if "," in name and name.partition(",")[0].strip() == text]
        marks = f"; a name with a comma needs quotation marks: '\"{cut[0]}\"'" if cut else ""
        raise InputError(
            f"no class {text!r} is known to the model{nearest(text, names)}; it knows "
            f"{listed(names)}{marks}; --classes FILE adds new ones"
        )
    return names[text]


def model_and_rows(
    model_file: Path, features: str, classes: Path | None, images: str = ""
) -> tuple[ZeroShotClassifier, Rows]:
    """The model, and the rows to use as it knows them, with what their file has beside."""
    if KIND in tensors.kind_of(features) and KIND not in tensors.kind_of(model_file):
        raise InputError(
            f"{features} is a model file and {model_file} is not: the model comes first, then the "
            "features"
        )
    model, names = paths.load_model(model_file)
    if classes is not None:
        model = model.reveal(new_classes(model, classes))
    if is_store(features):
        return model, _stored(features, model, names)
    if is_pictures(features):
        return model, picture_rows(model, model_file, features, images)
    if is_bare(features):  # of kinds that do not go together, which opening them says
        return model, _stored(features, model, names)
    check_encoder(model, features, model_file)
    if not os.path.exists(features):
        dataset = paths.with_columns(open_dataset(features), model, names)
        return model, Rows(dataset.X, dataset.y, dataset.image_paths)
    rows = read_rows(features, model.n_features_in_, names)
    if names is None and rows.columns is not None:
        paths.note_order()
    if rows.unused:
        note(f"the model was not trained on column {listed(rows.unused)}: left out")
    return model, rows


def _stored(features: str, model: ZeroShotClassifier, names: tuple[str, ...] | None) -> Rows:
    """Rows that are read block by block."""
    store = open_rows(features)
    if names is not None and store.columns is not None:
        store = store.with_columns(names)
    if store.shape[1] != model.n_features_in_:
        raise InputError(
            f"{features} has {store.shape[1]} columns, but the model was trained on "
            f"{model.n_features_in_}"
        )
    return with_images(Rows(store, store.labels), Path(features))


def beside_rows(rows: Rows) -> dict[str, np.ndarray]:
    """Columns that tell a user which row is which, under names that the result has no use for."""
    # Read here, where they are shown: an index has no use for the names of its rows.
    stored = rows_beside(rows.X) if isinstance(rows.X, RowStore) else rows
    beside, images = stored.beside, rows.image_paths
    images = stored.image_paths if images is None else images
    named = {f"{c} (given)" if c in _RESULT else c or "name": cells for c, cells in beside.items()}
    known = {"image": images, "label": rows.labels}
    return named | {c: cells for c, cells in known.items() if cells is not None}


def deliver(
    title: str,
    header: list[str],
    lines: list[list[Any]],
    n_lines: int,
    out: Path | None,
    json: bool,
) -> None:
    """Write lines to a file, print them as JSON, or show the first of them."""
    if out is not None:
        with writing(out) as made, made.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(map(_cell, header))
            writer.writerows(map(_cell, line) for line in lines)
        if json:
            show_json({"lines": n_lines, "out": str(out)})
        else:
            say(f"{title}: {counted(n_lines, 'line')} in {out}")
    elif json:
        show_json([dict(zip(header, line, strict=True)) for line in lines])
    else:
        _show_lines(title, header, lines)
        if n_lines > _SHOWN:
            say(f"... and {n_lines - _SHOWN:,} more; --out FILE.csv writes all of them.")


def _cell(value: Any) -> Any:
    """A cell of a .csv file; a spreadsheet would take a name that begins like this for a formula,
    which it is not after an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _digits(value: float) -> str:
    """Four digits in every line, so that scores below each other compare at a glance."""
    return f"{value:#.4g}".removesuffix(".")


def _show_lines(title: str, header: list[str], lines: list[list[Any]]) -> None:
    """The first lines; many candidates go into one cell, as so many columns have no room."""
    rows = [[_digits(c) if isinstance(c, float) else str(c) for c in x] for x in lines[:_SHOWN]]
    if "class 1" in header:
        first = header.index("class 1")
        header = [*header[:first], "classes and scores, best first"]
        for cells in rows:
            pairs = zip(cells[first::2], cells[first + 1 :: 2], strict=True)
            # Without a score it is that none of them fits, whatever comes next.
            named = [f"{name} {score}" for name, score in pairs]
            cells[first:] = ["; ".join(named) if cells[first + 1] else cells[first]]
    show(title, header, rows)
