"""The command that finds the rows of a class, and the page it writes."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from unseen.apps.cli import paths
from unseen.apps.cli.options import FEATURES, Json, NewClasses, Pictures, Table
from unseen.apps.cli.output import note, working
from unseen.apps.cli.pictures import Images, new_classes
from unseen.apps.cli.rows import beside_rows, candidate_names, class_name, deliver, model_and_rows
from unseen.datasets.row_files import Rows
from unseen.errors import InputError, counted
from unseen.estimators import ZeroShotClassifier, open_index
from unseen.estimators.scoring import Ranking


def retrieve(
    names: Annotated[
        list[str], typer.Option("--class", "-c", help="The class to look for; repeatable.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many rows to return for a class.")] = 5,
    out: Table = None,
    classes: NewClasses = None,
    against: Annotated[
        str,
        typer.Option(
            help="Classes that compete for the rows: unseen, seen, all, or names separated by "
            "commas. Finds more where classes are alike."
        ),
    ] = "",
    model_file: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="A model file made by 'unseen fit'.")
    ] = None,
    features: Annotated[str | None, typer.Argument(metavar="[FEATURES]", help=FEATURES)] = None,
    index: Annotated[
        Path | None,
        typer.Option(help="An index made by 'unseen index', in place of MODEL and FEATURES."),
    ] = None,
    images: Images = "",
    html: Annotated[
        Path | None, typer.Option(help="Write a page with the pictures to this .html file.")
    ] = None,
    pictures: Pictures = None,
    json: Json = False,
) -> None:
    """Find the rows that fit the description of a class best.

    Example: unseen retrieve birds.unseen features.npy --class "Indigo Bunting" -k 10
    """
    paths.check_table_out(out)
    if html is not None:
        if html.suffix not in (".html", ".htm"):
            raise InputError(f"{html}: the page is written as .html")
        paths.check_pages_out(html)
    gallery = _indexed(index, model_file, classes) if index is not None else None
    gallery = gallery or _given(model_file, features, classes, images)
    if html is not None and (gallery.rows is None or gallery.rows.image_paths is None):
        raise InputError(
            f"--html shows pictures, and {index or features} does not say where any are"
        )
    wanted = {name: class_name(name, gallery.model) for name in names}
    rivals = candidate_names(against, gallery.model) if against else None
    with working(f"ranking {gallery.n_rows:,} rows"):
        first = min(k, gallery.n_rows)
        found = {name: gallery.search(one, first, rivals) for name, one in wanted.items()}
    if html is not None and gallery.rows is not None:
        _write_page(html, found, gallery.rows, features or "", pictures)
    title = " and ".join(map(repr, wanted))
    title = f"Rows that fit {title} best, among {counted(gallery.n_rows, 'row')}"
    header, lines = _lines(found, {} if gallery.rows is None else beside_rows(gallery.rows))
    deliver(title, header, lines, len(lines), out, json)


class _Gallery(NamedTuple):
    """Rows to search: those of an index have nothing beside them."""

    model: ZeroShotClassifier
    n_rows: int
    search: Any
    rows: Rows | None = None


def _indexed(index: Path, model_file: Path | None, classes: Path | None) -> _Gallery:
    if model_file is not None:
        raise InputError("--index has a model and rows of its own: leave out MODEL and FEATURES")
    found = open_index(index)
    if classes is not None:
        found = found.reveal(new_classes(found.model, classes))
    return _Gallery(found.model, found.n_rows, found.rank)


def _given(
    model_file: Path | None, features: str | None, classes: Path | None, images: str
) -> _Gallery:
    if model_file is None or features is None:
        raise InputError("give a model and rows (MODEL FEATURES), or --index with an index of them")
    model, rows = model_and_rows(model_file, features, classes, images)
    return _Gallery(model, rows.X.shape[0], partial(_rank, model, rows.X), rows)


def _rank(model: ZeroShotClassifier, X: Any, name: Any, k: int, against: Any) -> Ranking:
    return model.rank(name, X, k, against)


def _lines(found: dict[str, Ranking], beside: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """The header and the lines of a result; with several classes a column says which."""
    lines = []
    for name, ranking in found.items():
        known = [column[ranking.rows].tolist() for column in beside.values()]
        which = [[name] * ranking.rows.size] if len(found) > 1 else []
        scores, places = ranking.scores.tolist(), range(1, ranking.rows.size + 1)
        lines += zip(places, ranking.rows.tolist(), *known, *which, scores, strict=True)
    column = ["class"] if len(found) > 1 else []
    return ["place", "row", *beside, *column, "score"], list(map(list, lines))


def _write_page(
    path: Path, found: dict[str, Ranking], rows: Rows, features: str, pictures: Path | None
) -> None:
    from unseen.apps.report.gallery_page import Hit, write_gallery

    images, labels = rows.image_paths, rows.labels
    assert images is not None
    folder = Path(features) if os.path.isdir(features) else Path(features).parent
    # A table may name pictures by where it lies; those of a folder come with the folder.
    base = Path() if os.path.isdir(features) else folder
    # Published data sets have been looked at already, and have their pictures anywhere.
    allowed = None if not os.path.exists(features) else [folder, *([pictures] if pictures else [])]
    hits = {
        name: [
            Hit(
                str(base / str(images[row])),
                float(score),
                "" if labels is None else str(labels[row]),
            )
            for row, score in zip(ranking.rows, ranking.scores, strict=True)
        ]
        for name, ranking in found.items()
    }
    n_hidden = write_gallery(path, hits, rows.X.shape[0], paths.command_line(), allowed)
    note(f"a page with the pictures: {path}")
    if n_hidden:
        note(
            f"{counted(n_hidden, 'picture')} outside of {folder} not shown; if their folder is "
            "yours, name it (--pictures FOLDER)"
        )
