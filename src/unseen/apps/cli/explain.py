"""The command that says why a row scores as it does with a class."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from unseen.apps.cli.config import Config
from unseen.apps.cli.options import Features, Json, Model, NewClasses
from unseen.apps.cli.output import show, show_json
from unseen.apps.cli.rows import class_name, model_and_rows
from unseen.errors import InputError, counted, listed
from unseen.estimators import METHODS
from unseen.estimators.explanation import Explanation


def explain(
    model_file: Model,
    features: Features,
    row: Annotated[int, typer.Option("--row", "-r", min=0, help="Which row, from 0.")] = 0,
    name: Annotated[
        str, typer.Option("--class", "-c", help="Which class; by default the one it is named.")
    ] = "",
    top: Annotated[int, typer.Option(min=1, help="How many reasons of each kind.")] = 5,
    classes: NewClasses = None,
    json: Json = False,
    config: Config = None,
) -> None:
    """Say why a row is, or is not, of a class.

    Example: unseen explain birds.unseen new.npy --row 3 --class "Indigo Bunting"
    """
    model, (X, labels, *_) = model_and_rows(model_file, features, classes)
    reasons = getattr(model, "explain", None)
    if reasons is None:
        able = [name for name, kind in METHODS.items() if hasattr(kind, "explain")]
        raise InputError(
            f"{model_file} is of {type(model).__name__}; only {listed(able)} give reasons"
        )
    if row >= X.shape[0]:
        raise InputError(
            f"--row {row}: {features} has {counted(X.shape[0], 'row')}, counted from 0"
        )
    x = X[row : row + 1]
    named = model.predict(x)[0]
    found: Explanation = reasons(x, class_name(name, model) if name else named, top)
    about = {"row": row, "named": named}
    if labels is not None:
        about["label"] = labels[row]
    if json:
        show_json(about | asdict(found))
    else:
        _show(found, about)


def _show(found: Explanation, about: dict[str, Any]) -> None:
    parts = [f"{found.match:+.3f}", f"{found.score - found.match:+.3f}"]
    label = f", labelled {str(about['label'])!r}," if "label" in about else ""
    show(
        f"Row {about['row']}{label} is named {str(about['named'])!r}",
        ["with class", "similarity", "score", "for the similarity", "for the class as a whole"],
        [[found.name, f"{found.similarity:.3f}", f"{found.score:.3f}", *parts]],
    )
    show(
        "Attributes that speak for it (+) and against it (-)",
        ["attribute", "the class has", "support"],
        [
            [a.attribute, "more than most" if a.is_above else "less than most", f"{a.support:+.3f}"]
            for a in found.attributes
        ],
    )
    show(
        "Known classes that the evidence comes through",
        ["source atom", "adds"],
        [[a.source_atom, f"{a.contribution:+.3f}"] for a in found.atoms],
    )
    show(
        "Strongest latent links",
        ["source atom", "target atom", "adds"],
        [[a.source_atom, str(a.target_atom), f"{a.contribution:+.3f}"] for a in found.links],
    )
