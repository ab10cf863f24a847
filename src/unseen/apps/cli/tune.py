"""The command that chooses parameters."""

from __future__ import annotations

import shlex
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from unseen.apps.cli.checkpoint import (
    CheckpointFile,
    check_checkpoint,
    remove,
    telling_how_to_resume,
)
from unseen.apps.cli.config import Config
from unseen.apps.cli.models import check_model_out, parameters, save
from unseen.apps.cli.options import DEFAULT_METHOD, Data, Json, Method, Set, Split, open_data
from unseen.apps.cli.output import say, show, show_json, working
from unseen.apps.report.page import percent
from unseen.classes.splits import n_held_out
from unseen.errors import InputError, counted, listed
from unseen.estimators import method
from unseen.evaluation import tuning
from unseen.evaluation.tuning import PROTOCOLS, SCORINGS, STRATEGIES, Protocol, Trial, Tuning
from unseen.evaluation.tuning.settings import grid_of
from unseen.support.parameters import Composite, built, plain

# So many settings have room side by side.
_SHOWN = 6


def tune(
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the model, fitted on all rows.")
    ] = None,
    method_name: Method = DEFAULT_METHOD,
    set_: Set = None,
    split: Split = "",
    protocol: Annotated[
        str,
        typer.Option(help="default: a fifth of the classes held out; paper: two of them."),
    ] = "default",
    strategy: Annotated[
        str | None,
        typer.Option(
            help="halving: after each split the better half of the settings stays in; grid: all do."
        ),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Begin no fit of the search after that.")
    ] = None,
    settings: Annotated[
        int | None, typer.Option(min=1, help="How many settings to try, drawn at random.")
    ] = None,
    hold_out: Annotated[
        float | None, typer.Option(help="Classes held out each time: a number, or a share below 1.")
    ] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, help="How many times classes are held out.")
    ] = None,
    scoring: Annotated[str, typer.Option(help=" or ".join(SCORINGS))] = SCORINGS[0],
    jobs: Annotated[int, typer.Option(help="Fits made at once; -1 for all cores.")] = 1,
    checkpoint: CheckpointFile = None,
    json: Json = False,
    config: Config = None,
) -> None:
    """Choose parameters by holding out seen classes.

    The unseen classes take no part. The defaults, with what --set says, are kept unless a setting
    beats them clearly.

    Example: unseen tune birds/ --budget 600 --out birds.unseen
    """
    check_model_out(out)
    check_checkpoint(checkpoint, out)
    _check_choices(protocol, strategy)
    dataset = open_data(data, split)
    kind, preset = method(method_name), PROTOCOLS[protocol]
    fixed = parameters(kind, set_)
    model = built(kind, fixed)
    grid = {k: v for k, v in grid_of(model).items() if k not in fixed}
    hold_out = preset.n_classes if hold_out is None else hold_out
    n_held_out(hold_out, dataset.seen.size, "--hold-out")
    X, y = dataset.training_set()
    n_splits = preset.n_splits if splits is None else splits
    search: Any = {"budget": budget, "n_jobs": jobs}
    search["protocol"] = Protocol(
        hold_out, n_splits, strategy or preset.strategy, settings, scoring
    )
    with telling_how_to_resume(checkpoint), working("Tuning"):
        found = tuning.tune(model, X, y, dataset.classes, grid, checkpoint=checkpoint, **search)
    if out is not None:
        save(found.estimator, dataset, out)
    if json:
        show_json(_facts(found) | {"out": None if out is None else str(out)})
    else:
        _show_best(found, method_name)
        say(_spent(found))
        say(_compared(found))
        chosen = _options(fixed if found.kept_default else {**fixed, **found.best_parameters})
        say(f"Kept: unseen fit {shlex.quote(data)} --method {method_name}{chosen} --out FILE")
        saved = f"Saved the model, fitted on all {y.size:,} rows: {out}"
        say(saved if out else "Nothing was saved; --out FILE saves the model.")
    if found.finished:
        remove(checkpoint)
    elif checkpoint is not None and not json:
        say(f"With a larger --budget the same command resumes from {checkpoint}.")


def _check_choices(protocol: str, strategy: str | None) -> None:
    """Said by the names of the options, and before the data are read."""
    if protocol not in PROTOCOLS:
        raise InputError(f"--protocol must be one of {listed(PROTOCOLS)}, not {protocol!r}")
    if strategy is not None and strategy not in STRATEGIES:
        raise InputError(f"--strategy must be one of {listed(STRATEGIES)}, not {strategy!r}")


def _facts(found: Tuning) -> dict[str, Any]:
    """The search for a program."""
    protocol, choice = found.protocol, found.choice
    facts = {name: getattr(protocol, name) for name in ("scoring", "strategy", "n_splits")}
    names = ("n_fits", "budget", "spent", "finished", "kept_default")
    facts |= {name: getattr(found, name) for name in names}
    return facts | {
        "gain": choice.gain,
        "gain_error": choice.error,
        "best": plain(found.best_parameters),
        "default": _trial(found.default),
        "trials": [_trial(trial) for trial in found.trials],
    }


def _trial(t: Trial) -> dict[str, Any]:
    facts = {"parameters": plain(t.parameters), "mean": t.mean, "scores": t.scores}
    return facts | {"seconds": t.seconds, "splits": t.n_splits, "error": t.error}


def _show_best(found: Tuning, name: str) -> None:
    """The best settings and the default side by side."""
    best = found.trials[:_SHOWN]
    columns = {str(k): trial for k, trial in enumerate(best, start=1)} | {"default": found.default}
    rows = [
        [parameter, *(_text(t.parameters.get(parameter, "")) for t in columns.values())]
        for parameter in sorted({name for trial in found.trials for name in trial.parameters})
    ]
    results = zip(*map(_cells, columns.values()), strict=True)
    measures = (found.protocol.scoring, "sd", "splits", "seconds")
    rows += [[what, *cells] for what, cells in zip(measures, results, strict=True)]
    title = f"{name}: best {len(best)} of {len(found.trials)} settings on held-out seen classes"
    show(title, ["place", *columns], rows)


def _text(value: Any) -> Any:
    """A value as `--set` takes it, a part by the name of its class."""
    return type(value).__name__ if isinstance(value, Composite) else value


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
    n_all = sum(t.n_splits == found.protocol.n_splits for t in found.trials)
    fits, strategy = counted(found.n_fits, "fit"), found.protocol.strategy
    line = f"Strategy {strategy}: {fits} in {found.spent:.1f} s; "
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


def _options(chosen: dict[str, Any]) -> str:
    """Parameters as options of 'unseen fit'."""
    return "".join(f" --set {shlex.quote(f'{k}={v}')}" for k, v in plain(chosen).items())
