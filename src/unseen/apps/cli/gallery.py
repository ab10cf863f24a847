"""The command that makes an index of rows for retrieval."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from unseen.apps.cli.options import Features, Json, Model
from unseen.apps.cli.output import show_json, working
from unseen.apps.cli.rows import model_and_rows
from unseen.errors import InputError, counted
from unseen.estimators import ZeroShotClassifier, gallery, open_index


def index(
    model_file: Model,
    features: Features,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the index.")],
    add: Annotated[
        bool, typer.Option("--add", help="Add the rows to the index that is there.")
    ] = False,
    approximate: Annotated[
        bool | None,
        typer.Option(
            help="Search a compressed copy of the codes first, or never. By default from ten "
            "million rows on. Needs the extra ann."
        ),
    ] = None,
    recall: Annotated[
        float, typer.Option(help="The share of the best 100 rows that such a search must find.")
    ] = 0.95,
    json: Json = False,
) -> None:
    """Embed many rows once, so that retrieving from them is fast.

    Classes that are revealed later need no new index: a class is only a query.

    Example: unseen index birds.unseen "shards/*.npy" --out birds.index
    """
    model, rows = model_and_rows(model_file, features, None)
    start = time.perf_counter()
    with working(f"indexing {counted(rows.X.shape[0], 'row')}"):
        if add:
            made = open_index(out)
            if not _is_same(model, made.model, np.asarray(rows.X[:4])):
                raise InputError(f"{out} was made by another model than {model_file}")
            made.add(rows.X)
        else:
            made = gallery.index(model, rows.X, out, approximate, recall)
    seconds = time.perf_counter() - start
    if json:
        reached = {"recall": made.recall_, "recall_asked": made._asked}
        facts = {"rows": made.n_rows, **reached, "seconds": seconds}
        show_json(facts | {"out": str(out)})
        return
    print(f"{out}: {counted(made.n_rows, 'row')}, {seconds:.2f} s")
    if made.recall_ is not None:
        asked = "" if made._asked is None else f"; asked for were {made._asked:.1%}"
        found = f"{made.recall_:.1%} of the best rows (held-out queries)"
        print(f"Approximate search finds {found}{asked}.")
    print(f"Now: unseen retrieve --index {shlex.quote(str(out))} --class NAME")


def _is_same(one: ZeroShotClassifier, other: ZeroShotClassifier, rows: np.ndarray) -> bool:
    """Whether two models give rows the same codes."""
    if type(one) is not type(other) or one.n_features_in_ != other.n_features_in_:
        return False
    return np.array_equal(one._gallery_codes(rows), other._gallery_codes(rows))
