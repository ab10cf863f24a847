"""Commands that make or use a model: fit, tune, predict, retrieve, evaluate."""

from __future__ import annotations

import ast
import csv
import math
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from safetensors import SafetensorError, safe_open

from unseen import files, protocols, selection
from unseen.classes import ClassTable
from unseen.cli.output import percent, say, show, show_evaluation, show_json, working
from unseen.datasets import ZeroShotDataset, open_dataset, read_rows
from unseen.errors import InputError, counted, listed, nearest
from unseen.estimators import ZeroShotClassifier, method
from unseen.storage import load

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A data set: a folder, a .npz file, or the name of an embedded one."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file made by 'unseen fit'.")]
Rows = Annotated[
    str,
    typer.Argument(metavar="FEATURES", help="A feature file, or a data set whose rows to use."),
]
Method = Annotated[
    str, typer.Option("--method", "-m", help="The method; 'unseen methods' lists them.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program, not tables.")]
Candidates = Annotated[
    str,
    typer.Option(
        help="Classes to choose among: unseen, seen, all, or names separated by commas. "
        "By default the unseen ones, if the model knows any."
    ),
]
NewClasses = Annotated[
    Path | None,
    typer.Option("--classes", help="A class table with further classes that the model may name."),
]


def fit(
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    method_name: Method = "eszsl",
    set_: Set = None,
    json: Json = False,
) -> None:
    """Train a model on the seen classes of a data set and save it.

    Example: unseen fit birds/ --method eszsl --set row_penalty=0.01 --out birds.unseen
    """
    _check_model_out(out)
    dataset = open_dataset(data)
    model = method(method_name)(**_parameters(method(method_name), set_))
    X, y = dataset.training_set()
    start = time.perf_counter()
    with working(f"fitting {method_name} on {y.size:,} rows"):
        model.fit(X, y, classes=dataset.classes)
    seconds = time.perf_counter() - start
    _save(model, dataset, out)
    _report_fit(model, method_name, y.size, seconds, out, json)


def _report_fit(
    model: ZeroShotClassifier, name: str, n_rows: int, seconds: float, out: Path, json: bool
) -> None:
    n_seen, n_unseen = model.seen_classes_.size, model.unseen_classes_.size
    if json:
        facts = {"method": name, "parameters": model.get_params(), "rows": n_rows}
        show_json(facts | {"seen": n_seen, "unseen": n_unseen, "seconds": seconds, "out": str(out)})
        return
    say(f"{name} trained on {n_rows:,} rows of {n_seen} classes in {seconds:.2f} s: {out}")
    if n_unseen:
        say(f"It can now recognise {counted(n_unseen, 'class')} it has never seen.")
    else:
        say("Every class of the table has rows. Give new classes to 'predict' with --classes.")


def tune(
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the best model, fitted on all rows.")
    ] = None,
    method_name: Method = "eszsl",
    set_: Set = None,
    hold_out: Annotated[
        float, typer.Option(help="Classes held out each time: a number, or a share below 1.")
    ] = 0.2,
    splits: Annotated[int, typer.Option(min=1, help="How many times classes are held out.")] = 3,
    scoring: Annotated[
        str, typer.Option(help=" or ".join(selection.SCORINGS))
    ] = "per_class_accuracy",
    jobs: Annotated[int, typer.Option(help="Settings tried at once; -1 for all cores.")] = 1,
    json: Json = False,
) -> None:
    """Choose parameters by holding out seen classes; the unseen ones take no part.

    Example: unseen tune birds/ --out birds.unseen
    """
    _check_model_out(out)
    dataset = open_dataset(data)
    kind = method(method_name)
    fixed = _parameters(kind, set_)
    grid = {k: v for k, v in kind.default_grid().items() if k not in fixed}
    X, y = dataset.training_set()
    selection.n_held_out(hold_out, dataset.seen.size, "--hold-out")
    tuning = selection.tune(
        kind(**fixed), X, y, dataset.classes, grid,
        cv=selection.ClassHoldout(hold_out, splits),
        scoring=scoring, n_jobs=jobs, progress=not json,
    )  # fmt: skip
    if out is not None:
        _save(tuning.estimator, dataset, out)
    if json:
        trials = [
            {"parameters": t.parameters, "mean": t.mean, "scores": t.scores, "error": t.error}
            for t in tuning.trials
        ]
        facts = {"scoring": scoring, "best": tuning.best_parameters, "trials": trials}
        show_json(facts | {"out": None if out is None else str(out)})
        return
    _show_tuning(tuning, method_name)
    say(f"Saved the best model, fitted on all {y.size:,} rows: {out}" if out else
        "Nothing was saved; --out FILE saves the best model.")  # fmt: skip


def _show_tuning(tuning: selection.Tuning, name: str) -> None:
    names = sorted({k for t in tuning.trials for k in t.parameters})
    rows = [
        [*(t.parameters.get(k, "") for k in names), t.error or f"{percent(t.mean)}",
         "-" if t.error else percent(t.deviation)]
        for t in tuning.trials[:10]
    ]  # fmt: skip
    title = f"{name}: best {len(rows)} of {len(tuning.trials)} settings on held-out seen classes"
    show(title, [*names, tuning.scoring, "sd"], rows)


def predict(
    model_file: Model,
    features: Rows,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all predictions to this .csv file.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many candidates to name for a row.")] = 1,
    candidates: Candidates = "",
    classes: NewClasses = None,
    json: Json = False,
) -> None:
    """Name the class of each row, among classes that had no training rows.

    Example: unseen predict birds.unseen new_features.npy --top 3 --out predictions.csv
    """
    _check_csv(out, features, classes)
    model, X, labels = _model_and_rows(model_file, features, classes)
    among = _candidate_names(candidates, model)
    if top > len(among):
        raise InputError(f"--top {top} is more than the {counted(len(among), 'candidate')}")
    with working(f"predicting {X.shape[0]:,} rows"):
        best = model.top_k(X, top, among)
    header = ["class", "score"]
    if top > 1:
        header = [f"{word} {k}" for k in range(1, top + 1) for word in header]
    known = [] if labels is None else [labels.tolist()]
    lines = (
        [row, *label, *(cell for pair in zip(names, scores, strict=True) for cell in pair)]
        for row, (names, scores, *label) in enumerate(
            zip(best.names.tolist(), best.scores.tolist(), *known, strict=True)
        )
    )
    header = ["row", *(["label"] if known else []), *header]
    title = f"Predictions among {_among(among, model)}"
    _deliver(header, lines, X.shape[0], out, json, title, _note(labels, among))


def _among(names: list[Any], model: ZeroShotClassifier) -> str:
    """The candidates in words, and how to have more of them."""
    n_seen = int(np.isin(names, model.seen_classes_).sum())
    kind = {0: "unseen ", len(names): "seen "}.get(n_seen, "")
    n_known = model.class_table_.n_classes
    more = "" if len(names) == n_known else f" (--candidates all for all {n_known})"
    return counted(len(names), f"{kind}class") + more


def _note(labels: np.ndarray | None, names: list[Any]) -> str:
    """Rows whose own class is no candidate cannot be named right, which a user may overlook."""
    n_lost = 0 if labels is None else int((~np.isin(labels, np.array(names, str))).sum())
    if not n_lost:
        return ""
    rows = "1 row belongs" if n_lost == 1 else f"{n_lost:,} rows belong"
    return f"{rows} to a class that is not among the candidates and cannot be named right."


def retrieve(
    model_file: Model,
    features: Rows,
    name: Annotated[str, typer.Option("--class", "-c", help="The class to look for.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many rows to return.")] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the ranking to this .csv file.")
    ] = None,
    classes: NewClasses = None,
    json: Json = False,
) -> None:
    """Find the rows that fit the description of a class best.

    Example: unseen retrieve birds.unseen features.npy --class "Indigo Bunting" -k 10
    """
    _check_csv(out, features, classes)
    model, X, labels = _model_and_rows(model_file, features, classes)
    wanted = _class_name(name, model)
    with working(f"ranking {X.shape[0]:,} rows"):
        ranking = model.rank(wanted, X, min(k, X.shape[0]))
    known = [] if labels is None else [labels[ranking.rows].tolist()]
    lines = (
        [place, *found]
        for place, found in enumerate(
            zip(ranking.rows.tolist(), *known, ranking.scores.tolist(), strict=True), start=1
        )
    )
    header = ["place", "row", *(["label"] if known else []), "score"]
    title = f"Rows that fit {name!r} best, among {counted(X.shape[0], 'row')}"
    _deliver(header, lines, ranking.rows.size, out, json, title)


def evaluate(model_file: Model, data: Data, json: Json = False) -> None:
    """Measure a model on the unseen classes of a data set: recognition and retrieval.

    Example: unseen evaluate birds.unseen birds/
    """
    (model, names), dataset = _load(model_file), open_dataset(data)
    _check_columns(model, dataset)
    X = _in_order(dataset.X, dataset.feature_names, names, data)
    dataset = replace(dataset, X=X)
    with working(f"evaluating on {dataset.unseen_rows.size:,} rows"):
        result = protocols.evaluate(model, dataset)
    if json:
        show_json(result.as_dict())
    else:
        show_evaluation(f"{type(model).__name__} on {dataset.name}", result)


# -- shared -------------------------------------------------------------------------------------


def _parameters(kind: type[ZeroShotClassifier], settings: list[str] | None) -> dict[str, Any]:
    """Parameters from NAME=VALUE."""
    known = kind().get_params()
    parameters = {}
    for setting in settings or []:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: write NAME=VALUE")
        if name not in known:
            raise InputError(
                f"{kind.__name__} has no parameter {name!r}{nearest(name, known)}; "
                f"it has {listed(known, len(known))}"
            )
        parameters[name] = _value(name, text, known[name])
    return parameters


def _value(name: str, text: str, default: Any) -> Any:
    """A Python literal, else a string; where the default is a number or a switch, one like it."""
    try:
        value = ast.literal_eval(text.title() if text.casefold() in ("true", "false") else text)
    except (ValueError, SyntaxError):
        value = text
    is_switch = isinstance(value, bool)
    if isinstance(default, bool) and not is_switch:
        raise InputError(f"{name} is True or False, not {text!r}")
    is_number = isinstance(value, (int, float)) and not is_switch and math.isfinite(value)
    if isinstance(default, (int, float)) and not isinstance(default, bool) and not is_number:
        raise InputError(f"{name} takes a number such as {default}, not {text!r}")
    return value


def check_out(out: Path | None) -> None:
    """Say before the work, not after it, that a file cannot be written."""
    if out is None:
        return
    folder = next(p for p in out.absolute().parents if os.path.exists(p))
    if not folder.is_dir():
        raise InputError(f"cannot write {out}: {folder} is not a folder")
    if out.is_dir():
        raise InputError(f"cannot write {out}: it is a folder")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {out}: permission denied in {folder}")


def _check_model_out(out: Path | None) -> None:
    """A model may replace a model, but no other file of the user's."""
    check_out(out)
    if out is None or not os.path.exists(out):
        return
    try:
        with safe_open(out, framework="numpy") as file:
            is_model = "unseen" in (file.metadata() or {})
    except (SafetensorError, OSError):
        is_model = False
    if not is_model:
        raise InputError(
            f"cannot write {out}: the file is there already and is not a model of unseen; choose "
            "another name or remove it first"
        )


def _check_csv(out: Path | None, features: str, classes: Path | None) -> None:
    """Predictions go to a .csv file, and replace nothing that they are made from."""
    if out is None:
        return
    if out.suffix != ".csv":
        raise InputError(f"{out}: predictions are written as .csv")
    check_out(out)
    sources = {Path(source).resolve() for source in (features, classes) if source is not None}
    data = {s if s.is_dir() else s.parent for s in sources if _is_of_dataset(s)}
    place = out.resolve()
    if os.path.exists(out) and (place in sources or data & set(place.parents)):
        raise InputError(
            f"cannot write {out}: the file is there already and lies in the data that are read; "
            "choose another name or remove it first"
        )


def _is_of_dataset(path: Path) -> bool:
    return path.is_dir() or path.stem in ("features", "classes")


def _model_and_rows(
    model_file: Path, features: str, classes: Path | None
) -> tuple[ZeroShotClassifier, np.ndarray, np.ndarray | None]:
    """The model, the rows to use, and their labels where a data set has them."""
    model, names = _load(model_file)
    if classes is not None:
        model = model.reveal(ClassTable.read(classes))
    if os.path.exists(features):
        rows = read_rows(features, model.n_features_in_)
        return model, _in_order(rows.X, rows.columns, names, features), rows.labels
    dataset = open_dataset(features)
    _check_columns(model, dataset)
    return model, _in_order(dataset.X, dataset.feature_names, names, features), dataset.y


def _save(model: ZeroShotClassifier, dataset: ZeroShotDataset, out: Path) -> None:
    """Save a model with the names of its feature columns, where scikit-learn keeps them."""
    if dataset.feature_names is not None:
        model.feature_names_in_ = np.array(dataset.feature_names, dtype=object)
    model.save(out)


def _load(model_file: Path) -> tuple[ZeroShotClassifier, tuple[str, ...] | None]:
    """A model and the names of its feature columns, taken from it as it is given arrays here."""
    model = load(model_file)
    names = vars(model).pop("feature_names_in_", None)
    return model, None if names is None else tuple(map(str, names))


def _in_order(
    X: np.ndarray, names: tuple[str, ...] | None, wanted: tuple[str, ...] | None, where: str
) -> np.ndarray:
    """Columns in the order of training, by name if both sides have names."""
    if names is None or wanted is None or names == wanted:
        return X
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InputError(
            f"{where} has no column {missing[0]!r}, which the model was trained on"
            f"{nearest(missing[0], names)}; columns are matched by name"
        )
    return np.take(X, [names.index(name) for name in wanted], axis=1)


def _check_columns(model: ZeroShotClassifier, dataset: ZeroShotDataset) -> None:
    if dataset.X.shape[1] != model.n_features_in_:
        raise InputError(
            f"data set {dataset.name!r} has {dataset.X.shape[1]} feature columns, the model was "
            f"trained on {model.n_features_in_}"
        )


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
    return [_class_name(part.strip(), model) for part in text.split(",")]


def _class_name(text: str, model: ZeroShotClassifier) -> Any:
    """The class that a user names on the command line; a model may have numbers for names."""
    names = {str(name): name for name in model.class_table_.names.tolist()}
    if text not in names:
        raise InputError(
            f"no class {text!r} is known to the model{nearest(text, names)}; it knows "
            f"{listed(names)}; --classes FILE adds new ones"
        )
    return names[text]


def _deliver(
    header: list[str],
    lines: Any,
    n_lines: int,
    out: Path | None,
    json: bool,
    title: str,
    note: str = "",
) -> None:
    """Write lines to a file, print them as JSON, or show the first of them."""
    if out is not None:
        with (
            files.writing(out) as temporary,
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
        rows = [_readable(line, first) for line, _ in zip(lines, range(20), strict=False)]
        columns = header if first is None else [*header[:first], "classes and scores, best first"]
        show(title, columns, rows)
        if n_lines > 20:
            say(f"... and {n_lines - 20:,} more; --out FILE.csv writes all of them.")
    if note and not json:
        say(f"Note: {note}")


def _readable(line: list[Any], first: int | None) -> list[str]:
    """A line for a person; many candidates (from cell `first` on) go into one cell, as so many
    columns have no room."""
    cells = [f"{c:.4g}" if isinstance(c, float) else str(c) for c in line]
    if first is None:
        return cells
    pairs = zip(cells[first::2], cells[first + 1 :: 2], strict=True)
    return [*cells[:first], "; ".join(f"{name} {score}" for name, score in pairs)]
