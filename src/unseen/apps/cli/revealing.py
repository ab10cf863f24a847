"""The command that teaches a model further classes: reveal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from unseen.apps.cli import paths
from unseen.apps.cli.options import Json, Model
from unseen.apps.cli.output import say, show_json
from unseen.apps.cli.pictures import new_classes
from unseen.errors import counted, listed


def reveal(
    model_file: Model,
    classes: Annotated[
        Path, typer.Option("--classes", help="A table that describes the further classes.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    json: Json = False,
) -> None:
    """Add described classes to a model and save it.

    No rows and no training are needed.

    Example: unseen reveal birds.unseen --classes more.csv --out birds-and-more.unseen
    """
    paths.check_model_out(out, None)
    model, names = paths.load_model(model_file)
    if names is not None:
        vars(model)["feature_names_in_"] = np.array(names, dtype=object)
    table = new_classes(model, classes)
    more = [name for name in table.names.tolist() if name not in model.class_table_]
    wider = model.reveal(table)
    paths.save_model(wider, out)
    if json:
        show_json({"out": str(out), "new": more, "classes": wider.class_table_.n_classes})
        return
    if not more:
        say(f"{classes} describes no class that the model did not know; saved as it was: {out}")
        return
    say(f"{counted(len(more), 'class')} more ({listed(more)}): {out}")
    say(f"It now chooses among {counted(wider.classes_.size, 'class')} that it has never seen.")
