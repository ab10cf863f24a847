"""The command that chooses parameters."""

from __future__ import annotations

import shlex
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

import typer

from unseen.apps.cli import options, paths
from unseen.apps.cli.models import parameters, save
from unseen.apps.cli.output import show, show_json
from unseen.apps.cli.paths import open_data
from unseen.apps.report.page import percent
from unseen.classes.splits import ClassHoldout, n_held_out
from unseen.errors import counted
from unseen.estimators import method
from unseen.evaluation import tuning
from unseen.evaluation.tuning import PROTOCOLS, Trial, Tuning
from unseen.evaluation.tuning.run import grid_of
from unseen.storage import checkpoint as checkpoints
from unseen.support.parameters import built, plain

# So many settings have room side by side.
_SHOWN = 6


def tune(
    data: options.Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the model, fitted on all rows.")
    ] = None,
    method_name: options.Method = options.DEFAULT_METHOD,
    set_: options.Set = None,
    split: options.Split = "",
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
        typer.Option(help="What the best setting is best in."),
    ] = "per_class_accuracy",
    jobs: Annotated[int, typer.Option(help="Fits made at once; -1 for all cores.")] = 1,
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
    dataset = open_data(data, split)
    model = built(kind, fixed)
    grid = {k: v for k, v in grid_of(model, preset.grid).items() if k not in fixed}
    hold_out = preset.n_classes if hold_out is None else hold_out
    n_held_out(hold_out, dataset.seen.size, "--hold-out")
    X, y = dataset.training_set()
    cv = ClassHoldout(hold_out, preset.n_splits if splits is None else splits)
    search = {"protocol": protocol, "strategy": strategy, "budget": budget, "scoring": scoring}
    search |= {"n_settings": settings, "n_jobs": jobs, "progress": not json, "cv": cv}
    with paths.telling_how_to_resume(checkpoint):
        found = tuning.tune(model, X, y, dataset.classes, grid, checkpoint=checkpoint, **search)
    if out is not None:
        save(found.estimator, dataset, out)
    if json:
        show_json(_facts(found) | {"out": out})
    else:
        _show_best(found, method_name)
        print(_spent(found))
        print(_compared(found))
        chosen = plain(fixed if found.kept_default else fixed | found.best_parameters)
        set_ = [f" --set {shlex.quote(f'{k}={v}')}" for k, v in chosen.items()]
        kept = f"{shlex.quote(data)} --method {method_name}{''.join(set_)}"
        print(f"Kept: unseen fit {kept} --out FILE")
        saved = f"Saved the model, fitted on all {y.size:,} rows: {out}"
        print(saved if out else "Nothing was saved; --out FILE saves the model.")
    if checkpoint is not None and found.finished:
        checkpoints.remove(checkpoint)
    elif checkpoint is not None and not json:
        print(f"With a larger --budget the same command resumes from {checkpoint}.")


def _facts(found: Tuning) -> dict[str, Any]:
    """The search for a program."""
    names = "scoring strategy n_splits n_fits budget spent finished kept_default gain gain_error"
    return {name: getattr(found, name) for name in names.split()} | {
        "best": plain(found.best_parameters),
        "default": _trial(found.default),
        "trials": [_trial(trial) for trial in found.trials],
    }


def _trial(t: Trial) -> dict[str, Any]:
    facts = {"parameters": plain(t.parameters), "mean": t.mean, "scores": t.scores}
    return facts | {"seconds": t.seconds, "splits": t.n_splits, "error": t.error}


def _show_best(found: Tuning, method_name: str) -> None:
    """The best settings and the default side by side."""
    best = found.trials[:_SHOWN]
    columns = {str(k): trial for k, trial in enumerate(best, start=1)} | {"default": found.default}
    tried = [plain(trial.parameters) for trial in columns.values()]
    names = sorted({name for trial in found.trials for name in trial.parameters})
    rows = [[name, *(chosen.get(name, "") for chosen in tried)] for name in names]
    results = zip(*map(_cells, columns.values()), strict=True)
    measures = (found.scoring, "sd", "splits", "seconds")
    rows += [[what, *cells] for what, cells in zip(measures, results, strict=True)]
    title = (
        f"{method_name}: best {len(best)} of {len(found.trials)} settings on held-out seen classes"
    )
    show(title, ["place", *columns], rows)


def _cells(trial: Trial) -> list[str]:
    """The result of one setting; seconds are those of a split."""
    if trial.error is not None:
        return [trial.error, "-", str(trial.n_splits), "-"]
    if not trial.scores:
        return ["not tried", "-", "0", "-"]
    seconds = sum(trial.seconds) / len(trial.seconds)
    spread = percent(trial.deviation) if trial.n_splits > 1 else "-"
    return [percent(trial.mean), spread, str(trial.n_splits), f"{seconds:.2g}"]


def _spent(found: Tuning) -> str:
    """What the search cost, and honestly what it left undone."""
    n_all = sum(t.n_splits == found.n_splits for t in found.trials)
    line = f"Strategy {found.strategy}: {counted(found.n_fits, 'fit')} in {found.spent:.1f} s; "
    if not found.finished:
        line += f"the budget ended the search after {counted(found.n_tried, 'setting')}; "
    return f"{line}{n_all} of {len(found.trials)} settings were scored on all splits."


def _compared(found: Tuning) -> str:
    """The default beside the winner, and which of the two is kept."""
    default, winner, gain, error, n_splits, kept_default = found.choice
    if winner is default:
        return "No other setting could be compared with the default, which is kept."
    if default.error is not None:
        return "The default failed; the best other setting is kept."
    here = [percent(fmean(t.scores[:n_splits])) for t in (default, winner)]
    line = f"Default {here[0]}, best other setting {here[1]} on {counted(n_splits, 'split')}"
    if n_splits > 1:
        line += f": {100 * gain:+.1f} ± {100 * error:.1f} points (standard error)"
    beaten = "is kept, as it is not" if kept_default else "is given up, as it is"
    return f"{line}; the default {beaten} beaten by two standard errors."
