"""Commands that make or measure a model: fit, evaluate, tune."""

from __future__ import annotations

import ast
import shlex
import time
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

import numpy as np
import typer

from unseen.apps.cli import options, paths
from unseen.apps.cli.compare import AutoBudget, MethodOrAuto, check_auto, recommended
from unseen.apps.cli.output import say, show, show_json, working
from unseen.apps.cli.paths import open_data
from unseen.apps.report.page import percent
from unseen.apps.report.results import class_table, results_table
from unseen.classes.splits import n_held_out
from unseen.datasets import ZeroShotDataset
from unseen.datasets.encoder_file import check_encoder
from unseen.distributed.cluster import on_cluster
from unseen.errors import InputError, counted
from unseen.estimators import DEFAULT_METHOD, ZeroShotClassifier, method
from unseen.estimators.base import ResumableClassifier
from unseen.evaluation import protocols, tuning
from unseen.evaluation.tuning import PROTOCOLS, Protocol, Trial, Tuning
from unseen.evaluation.tuning.settings import grid_of
from unseen.storage import checkpoint as checkpoints
from unseen.support.parameters import built, plain, plain_parameters

# So many settings have room side by side.
_SHOWN = 6


def fit(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    method_name: MethodOrAuto = DEFAULT_METHOD,
    set_: options.Set = None,
    split: options.Split = "",
    text: options.Text = "tfidf",
    missing: options.Missing = "error",
    budget: AutoBudget = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Learn what seen classes lose when they compete with unseen ones, and how scores "
            "become probabilities, by a second training without some classes.",
        ),
    ] = False,
    checkpoint: options.Checkpoint = None,
    json: options.Json = False,
) -> None:
    """Train a model on the seen classes of a data set and save it.

    Example: unseen fit birds/ --set misfit=0.05 --out birds.unseen
    """
    paths.check_model_out(out, checkpoint)
    dataset = None
    if method_name.casefold() == "auto":
        check_auto(set_, checkpoint)
        dataset = open_data(data, split, encoder=text, missing=missing)
        method_name = recommended(dataset, budget)
    elif budget is not None:
        raise InputError("--budget is for --method auto, which compares methods first")
    kind = method(method_name)
    if checkpoint is not None and not issubclass(kind, ResumableClassifier):
        raise InputError(f"--checkpoint does not apply to {method_name}, which is fitted in one go")
    model = built(kind, parameters(kind, set_))
    if dataset is None:
        dataset = open_data(data, split, encoder=text, missing=missing)
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
    say(f"{method_name} trained on {rows} in {seconds:.2f} s: {out}")
    say(
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
    model, names = paths.load_model(model_file)
    check_encoder(model, data, model_file)
    dataset = open_data(data, split, like=model.class_table_)
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


def tune(
    data: options.Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the model, fitted on all rows.")
    ] = None,
    method_name: options.Method = DEFAULT_METHOD,
    set_: options.Set = None,
    split: options.Split = "",
    text: options.Text = "tfidf",
    missing: options.Missing = "error",
    protocol: Annotated[
        Literal["default", "paper"],
        typer.Option(help="default: a fifth of the classes held out; paper: two of them."),
    ] = "default",
    strategy: Annotated[
        Literal["halving", "grid"],
        typer.Option(
            help="halving: after each split the better half of the settings stays in; grid: all do."
        ),
    ] = "halving",
    budget: options.Budget = None,
    settings: Annotated[
        int | None, typer.Option(min=1, help="How many settings to try, drawn at random.")
    ] = None,
    hold_out: Annotated[
        float | None, typer.Option(help="Classes held out each time: a number, or a share below 1.")
    ] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, help="How many times classes are held out.")
    ] = None,
    scoring: Annotated[
        Literal["per_class_accuracy", "mean_average_precision"],
        typer.Option(help="per_class_accuracy or mean_average_precision"),
    ] = "per_class_accuracy",
    jobs: Annotated[int, typer.Option(help="Fits made at once; -1 for all cores.")] = 1,
    dask: options.Dask = None,
    checkpoint: options.Checkpoint = None,
    json: options.Json = False,
) -> None:
    """Choose parameters by holding out seen classes.

    The unseen classes take no part. The defaults, with what --set says, are kept unless a setting
    beats them clearly.

    Example: unseen tune birds/ --budget 600 --out birds.unseen
    """
    paths.check_model_out(out, checkpoint)
    kind, preset = method(method_name), PROTOCOLS[protocol]
    fixed = parameters(kind, set_)
    dataset = open_data(data, split, encoder=text, missing=missing)
    model = built(kind, fixed)
    grid = {k: v for k, v in grid_of(model).items() if k not in fixed}
    hold_out = preset.n_classes if hold_out is None else hold_out
    n_held_out(hold_out, dataset.seen.size, "--hold-out")
    X, y = dataset.training_set()
    n_splits = preset.n_splits if splits is None else splits
    search: Any = {"budget": budget, "n_jobs": jobs if dask is None else None}
    search["protocol"] = Protocol(hold_out, n_splits, strategy, settings, scoring)
    with on_cluster(dask), paths.telling_how_to_resume(checkpoint), working("Tuning"):
        found = tuning.tune(model, X, y, dataset.classes, grid, checkpoint=checkpoint, **search)
    if out is not None:
        save(found.estimator, dataset, out)
    if json:
        show_json(_facts(found) | {"out": out})
    else:
        _show_best(found, method_name)
        say(_spent(found))
        say(_compared(found))
        chosen = plain(fixed if found.kept_default else fixed | found.best_parameters)
        set_ = [f" --set {shlex.quote(f'{k}={v}')}" for k, v in chosen.items()]
        read = paths.table_options(text, missing)
        kept = f"{paths.as_argument(data)}{read} --method {method_name}{''.join(set_)}"
        say(f"Kept: unseen fit {kept} --out FILE")
        saved = f"Saved the model, fitted on all {y.size:,} rows: {out}"
        say(saved if out else "Nothing was saved; --out FILE saves the model.")
    if checkpoint is not None and found.finished:
        checkpoints.remove(checkpoint)
    elif checkpoint is not None and not json:
        say(f"With a larger --budget the same command resumes from {checkpoint}.")


def _facts(found: Tuning) -> dict[str, Any]:
    """The search for a program."""
    facts = {name: getattr(found.protocol, name) for name in ("scoring", "strategy", "n_splits")}
    names = ("n_fits", "budget", "spent", "finished", "kept_default")
    facts |= {name: getattr(found, name) for name in names}
    return facts | {
        "gain": found.choice.gain.mean,
        "gain_error": found.choice.gain.error,
        "best": plain(found.best_parameters),
        "default": _trial(found.default),
        "trials": [_trial(trial) for trial in found.trials],
    }


def _trial(t: Trial) -> dict[str, Any]:
    return vars(t) | {"parameters": plain(t.parameters), "mean": t.mean, "splits": t.n_splits}


def _show_best(found: Tuning, method_name: str) -> None:
    """The best settings and the default side by side; those without a result have no place."""
    best = [trial for trial in found.trials if trial.scores or trial.error is not None][:_SHOWN]
    columns = {str(k): trial for k, trial in enumerate(best, start=1)} | {"default": found.default}
    tried = [plain(trial.parameters) for trial in columns.values()]
    names = sorted({name for trial in found.trials for name in trial.parameters})
    rows = [[name, *(chosen.get(name, "") for chosen in tried)] for name in names]
    results = zip(*map(_cells, columns.values()), strict=True)
    measures = (found.protocol.scoring, "sd", "splits", "seconds")
    rows += [[what, *cells] for what, cells in zip(measures, results, strict=True)]
    title = (
        f"{method_name}: best {len(best)} of {len(found.trials)} settings on held-out seen classes"
    )
    show(title, ["place", *columns], rows)


def _cells(trial: Trial) -> list[str]:
    """The result of one setting; seconds are those of a split."""
    if trial.error is not None:
        return [trial.error, "-", str(trial.n_splits), "-"]
    seconds = sum(trial.seconds) / len(trial.seconds)
    spread = percent(trial.deviation) if trial.n_splits > 1 else "-"
    return [percent(trial.mean), spread, str(trial.n_splits), f"{seconds:.2g}"]


def _spent(found: Tuning) -> str:
    """What the search cost, and honestly what it left undone."""
    n_all = sum(t.n_splits == found.protocol.n_splits for t in found.trials)
    fits, strategy = counted(found.n_fits, "fit"), found.protocol.strategy
    line = f"Strategy {strategy}: {fits} in {found.spent:.1f} s; "
    if not found.finished:
        line += f"the budget ended the search after {counted(found.n_tried, 'setting')}; "
    was = "was" if n_all == 1 else "were"
    return f"{line}{n_all} of {len(found.trials)} settings {was} scored on all splits."


def _compared(found: Tuning) -> str:
    """The default beside the winner, and which of the two is kept."""
    default, winner, gain, n_splits, kept_default = found.choice
    if winner is default:
        return "No other setting could be compared with the default, which is kept."
    if default.error is not None:
        return "The default failed; the best other setting is kept."
    here = [percent(fmean(t.scores[:n_splits])) for t in (default, winner)]
    line = f"Default {here[0]}, best other setting {here[1]} on {counted(n_splits, 'split')}"
    if n_splits > 1:
        line += f": {100 * gain.mean:+.1f} ± {100 * gain.error:.1f} points (standard error)"
    beaten = "kept, as that is not" if kept_default else "given up, as that is"
    return f"{line}; the default is {beaten} a clear difference."


def parameters(kind: type[ZeroShotClassifier], settings: list[str] | None) -> dict[str, Any]:
    """Plain parameters from NAME=VALUE; a part is named by its class, or given as a table."""
    given: dict[str, Any] = {}
    for setting in settings or []:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: write NAME=VALUE")
        try:  # a Python literal, else a string
            words = ("true", "false")
            value = ast.literal_eval(text.title() if text.casefold() in words else text)
        except (ValueError, SyntaxError):
            value = text
        if name in kind._parts and isinstance(value, dict):
            given |= {f"{name}__{k}": v for k, v in value.items()}
        else:
            given[name] = value
    built(kind, given)._check_parameters()
    return given


def save(model: ZeroShotClassifier, dataset: ZeroShotDataset, out: Path) -> None:
    """Save a model with the names of its feature columns, where scikit-learn keeps them, and with
    the name and the files of its data set."""
    about: dict[str, Any] = {"name": dataset.name, "files": dict(dataset.sources)}
    if dataset.encoder is not None:
        about["encoder"] = dict(dataset.encoder)
    model.training_data_ = model.training_data_ | about
    if dataset.feature_names is not None:
        model.feature_names_in_ = np.array(dataset.feature_names, dtype=object)
    paths.save_model(model, out)
