"""Commands that make or measure a model: fit, evaluate."""

from __future__ import annotations

import ast
import math
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unseen.apps.cli.checkpoint import (
    CheckpointFile,
    check_checkpoint,
    remove,
    telling_how_to_resume,
)
from unseen.apps.cli.config import Config
from unseen.apps.cli.options import (
    DEFAULT_METHOD,
    Data,
    Json,
    Method,
    Model,
    Set,
    Split,
    check_out,
    load_model,
    open_data,
    with_columns,
)
from unseen.apps.cli.output import say, show_json, show_table, working
from unseen.apps.report.results import class_table, results_table
from unseen.datasets import ZeroShotDataset
from unseen.errors import InputError, counted, listed
from unseen.estimators import METHODS, ZeroShotClassifier, method
from unseen.estimators.resumable import ResumableClassifier
from unseen.evaluation import protocols
from unseen.storage.models import check_replaceable
from unseen.support.parameters import built, check_names, plain_parameters


def fit(
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    method_name: Method = DEFAULT_METHOD,
    set_: Set = None,
    split: Split = "",
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Learn what seen classes lose when they compete with unseen ones, by a second "
            "training without some classes.",
        ),
    ] = False,
    checkpoint: CheckpointFile = None,
    json: Json = False,
    config: Config = None,
) -> None:
    """Train a model on the seen classes of a data set and save it.

    Example: unseen fit birds/ --set n_target_atoms=400 --out birds.unseen
    """
    check_model_out(out)
    kind = method(method_name)
    _check_able(kind, checkpoint)
    check_checkpoint(checkpoint, out)
    model = built(kind, parameters(kind, set_))
    dataset = open_data(data, split)
    X, y = dataset.training_set()
    start = time.perf_counter()
    kept = {} if checkpoint is None else {"checkpoint": checkpoint}
    with telling_how_to_resume(checkpoint), working(f"fitting {method_name} on {y.size:,} rows"):
        model.fit(X, y, classes=dataset.classes, **kept)
    if calibrate:
        with working("calibrating seen against unseen classes"):
            model.calibrate_seen(X, y)
    seconds = time.perf_counter() - start
    save(model, dataset, out)
    remove(checkpoint)
    n_seen, n_unseen = model.seen_classes_.size, model.unseen_classes_.size
    if json:
        facts = {"method": method_name, "parameters": plain_parameters(model), "rows": y.size}
        facts |= {"seen": n_seen, "unseen": n_unseen, "seconds": seconds, "out": str(out)}
        show_json(facts)
    else:
        rows = f"{y.size:,} rows of {n_seen} classes"
        say(f"{method_name} trained on {rows} in {seconds:.2f} s: {out}")
        say(
            f"It can now recognise {counted(n_unseen, 'class')} it has never seen."
            if n_unseen
            else "Every class of the table has rows. Give new classes to 'predict' with --classes."
        )


def _check_able(kind: type[ZeroShotClassifier], checkpoint: Path | None) -> None:
    """A method with a closed form has no state on the way."""
    if checkpoint is not None and not issubclass(kind, ResumableClassifier):
        names = [name for name, k in METHODS.items() if not issubclass(k, ResumableClassifier)]
        raise InputError(f"--checkpoint is not for {listed(names)}, which are fitted in one go")


def evaluate(
    model_file: Model, data: Data, split: Split = "", json: Json = False, config: Config = None
) -> None:
    """Measure a model on the unseen classes of a data set.

    Example: unseen evaluate birds.unseen birds/
    """
    (model, names), dataset = load_model(model_file), open_data(data, split)
    dataset = with_columns(dataset, model, names)
    with working(f"evaluating on {dataset.unseen_rows.size:,} rows"):
        result = protocols.evaluate(model, dataset)
    if json:
        show_json(result.as_dict())
    else:
        label = type(model).__name__
        show_table(results_table(f"{label} on {dataset.name}", {label: result}))
        show_table(class_table({label: result}, {}))
        if len(result.by_class) == 1:
            say("Note: there is only one class to choose, so every prediction is right.")


def parameters(kind: type[ZeroShotClassifier], settings: list[str] | None) -> dict[str, Any]:
    """Plain parameters from NAME=VALUE; a part is named by its class, or given as a table."""
    given: dict[str, str] = {}
    for setting in settings or []:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: write NAME=VALUE")
        table = _literal(text) if name in kind._parts else None
        nested = table if isinstance(table, dict) else {}
        given |= {f"{name}__{k}": str(v) for k, v in nested.items()} if nested else {name: text}
    parts = {name: text for name, text in given.items() if name in kind._parts}
    known = plain_parameters(built(kind, parts))
    check_names(given, known, kind.__name__)
    return parts | {k: _value(k, v, known[k]) for k, v in given.items() if k not in parts}


def _literal(text: str) -> Any:
    """A Python literal, else a string."""
    try:
        return ast.literal_eval(text.title() if text.casefold() in ("true", "false") else text)
    except (ValueError, SyntaxError):
        return text


def _value(name: str, text: str, default: Any) -> Any:
    """A Python literal, else a string; where the default is a number or a switch, one like it."""
    value = _literal(text)
    is_switch = isinstance(value, bool)
    if isinstance(default, bool) and not is_switch:
        raise InputError(f"{name} is True or False, not {text!r}")
    is_number = isinstance(value, (int, float)) and not is_switch and math.isfinite(value)
    if isinstance(default, (int, float)) and not isinstance(default, bool) and not is_number:
        raise InputError(f"{name} takes a number such as {default}, not {text!r}")
    return value


def check_model_out(out: Path | None) -> None:
    """Say before the work that a model cannot be written there."""
    check_out(out)
    if out is not None:
        check_replaceable(out)


def save(model: ZeroShotClassifier, dataset: ZeroShotDataset, out: Path) -> None:
    """Save a model with the names of its feature columns, where scikit-learn keeps them, and with
    the name and the files of its data set."""
    about = {"name": dataset.name, "files": dict(dataset.sources)}
    model.training_data_ = model.training_data_ | about
    if dataset.feature_names is not None:
        model.feature_names_in_ = np.array(dataset.feature_names, dtype=object)
    model.save(out)
