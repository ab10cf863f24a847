"""Commands that make or measure a model: fit, evaluate."""

from __future__ import annotations

import ast
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unseen.apps.cli import options, paths
from unseen.apps.cli.output import show, show_json, working
from unseen.apps.cli.paths import open_data
from unseen.apps.report.results import class_table, results_table
from unseen.datasets import ZeroShotDataset
from unseen.errors import InputError, counted, listed
from unseen.estimators import METHODS, ZeroShotClassifier, method
from unseen.estimators.resumable import ResumableClassifier
from unseen.evaluation import protocols
from unseen.storage import checkpoint as checkpoints
from unseen.support.parameters import built, plain_parameters


def fit(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    method_name: options.Method = options.DEFAULT_METHOD,
    set_: options.Set = None,
    split: options.Split = "",
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Learn what seen classes lose when they compete with unseen ones, by a second "
            "training without some classes.",
        ),
    ] = False,
    checkpoint: options.Checkpoint = None,
    json: options.Json = False,
) -> None:
    """Train a model on the seen classes of a data set and save it.

    Example: unseen fit birds/ --set n_target_atoms=400 --out birds.unseen
    """
    paths.check_model_out(out, checkpoint)
    kind = method(method_name)
    if checkpoint is not None and not issubclass(kind, ResumableClassifier):
        names = [name for name, k in METHODS.items() if not issubclass(k, ResumableClassifier)]
        raise InputError(f"--checkpoint is not for {listed(names)}, which are fitted in one go")
    model = built(kind, parameters(kind, set_))
    dataset = open_data(data, split)
    X, y = dataset.training_set()
    start = time.perf_counter()
    kept = {} if checkpoint is None else {"checkpoint": checkpoint}
    work = working(f"fitting {method_name} on {y.size:,} rows")
    with paths.telling_how_to_resume(checkpoint), work:
        model.fit(X, y, classes=dataset.classes, **kept)
    if calibrate:
        with working("calibrating seen against unseen classes"):
            model.calibrate_seen(X, y)
    seconds = time.perf_counter() - start
    save(model, dataset, out)
    if checkpoint is not None:
        checkpoints.remove(checkpoint)
    n_seen, n_unseen = model.seen_classes_.size, model.unseen_classes_.size
    if json:
        facts = {"method": method_name, "parameters": plain_parameters(model), "rows": y.size}
        facts |= {"seen": n_seen, "unseen": n_unseen, "seconds": seconds, "out": str(out)}
        show_json(facts)
        return
    rows = f"{y.size:,} rows of {n_seen} classes"
    print(f"{method_name} trained on {rows} in {seconds:.2f} s: {out}")
    print(
        f"It can now recognise {counted(n_unseen, 'class')} it has never seen."
        if n_unseen
        else "Every class of the table has rows. Give new classes to 'predict' with --classes."
    )


def evaluate(
    model_file: options.Model,
    data: options.Data,
    split: options.Split = "",
    json: options.Json = False,
) -> None:
    """Measure a model on the unseen classes of a data set.

    Example: unseen evaluate birds.unseen birds/
    """
    (model, names), dataset = paths.load_model(model_file), open_data(data, split)
    dataset = paths.with_columns(dataset, model, names)
    with working(f"evaluating on {dataset.unseen_rows.size:,} rows"):
        result = protocols.evaluate(model, dataset)
    if json:
        show_json(result.as_dict())
        return
    label = type(model).__name__
    show(*results_table(f"{label} on {dataset.name}", {label: result}))
    show(*class_table({label: result}, {}))
    if len(result.by_class) == 1:
        print("Note: there is only one class to choose, so every prediction is right.")


def parameters(kind: type[ZeroShotClassifier], settings: list[str] | None) -> dict[str, Any]:
    """Plain parameters from NAME=VALUE; a part is named by its class."""
    given: dict[str, Any] = {}
    for setting in settings or []:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: write NAME=VALUE")
        given[name] = _literal(text)
    built(kind, given)._check_parameters()
    return given


def _literal(text: str) -> Any:
    """A Python literal, else a string."""
    try:
        return ast.literal_eval(text.title() if text.casefold() in ("true", "false") else text)
    except (ValueError, SyntaxError):
        return text


def save(model: ZeroShotClassifier, dataset: ZeroShotDataset, out: Path) -> None:
    """Save a model with the names of its feature columns, where scikit-learn keeps them, and with
    the name and the files of its data set."""
    about = {"name": dataset.name, "files": dict(dataset.sources)}
    model.training_data_ = model.training_data_ | about
    if dataset.feature_names is not None:
        model.feature_names_in_ = np.array(dataset.feature_names, dtype=object)
    model.save(out)
