"""Accuracy against one parameter, as in the paper's implementation figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unseen.apps.bench.jobs import Job, key_of, opened, seeded
from unseen.apps.bench.log import Log
from unseen.apps.bench.tables import Table, deviation, distinct, over_trials, spread
from unseen.apps.plots.curves import sweep_figure
from unseen.apps.report.provenance import provenance
from unseen.apps.report.publish import Shown
from unseen.classes.splits import ClassHoldout
from unseen.datasets import ZeroShotDataset
from unseen.errors import InputError
from unseen.estimators import method
from unseen.evaluation.protocols import evaluate
from unseen.evaluation.tuning.settings import is_range
from unseen.support.parameters import built, check_names, plain_parameters

_MEASURES = {"per_class_accuracy": "top-1", "mean_average_precision": "mAP"}


class Sweep(NamedTuple):
    """One parameter of one method, its values, and what is varied with it.

    on : "held-out" for seen classes held out of training, "unseen" for the unseen ones themselves,
        which shows what the paper shows but must not be used to choose the value.
    """

    method: str
    parameter: str
    values: tuple[Any, ...]
    fixed: dict[str, Any]
    split: str
    trials: int
    on: str

    def key(self, data: str, value: Any, trial: int) -> str:
        return key_of(
            [self.method, self.parameter, value, self.fixed, self.split, self.on, data, trial]
        )


def planned(sweep: Sweep) -> Sweep:
    """The sweep, checked; without values it takes what a search would try, five of a range."""
    model = built(method(sweep.method), sweep.fixed)
    check_names([sweep.parameter], plain_parameters(model), sweep.method)
    values: Any = sweep.values or model.default_grid().get(sweep.parameter)
    if values is None:
        raise InputError(f"say which values of {sweep.parameter} to try, as in --values 0.1,1,10")
    if is_range(values):
        values = [float(f"{v:.2g}") for v in values.ppf(np.linspace(0, 1, 5))]
    return sweep._replace(values=tuple(values))


def run_sweep(
    sweep: Sweep, data: Sequence[str], log: Log, progress: Callable[[str, int], None]
) -> list[dict[str, Any]]:
    """Measure every value on every data set and trial, but for what the log has of these data."""
    keys = []
    for name in data:
        dataset = opened(Job(name, sweep.split))
        facts = provenance(dataset)
        for trial, divided in enumerate(_divided(sweep, dataset)):
            for value in sweep.values:
                keys.append(sweep.key(name, value, trial))
                if log.holds(keys[-1], facts["sources"]):
                    continue
                progress(f"{name}, {sweep.parameter} = {value}", len(keys) - 1)
                chosen = {**sweep.fixed, sweep.parameter: value}
                model = seeded(method(sweep.method), trial, chosen)
                result = evaluate(model.fit(*divided.training_set(), divided.classes), divided)
                found = {measure: getattr(result, measure) for measure in _MEASURES}
                place = {"key": keys[-1], "data": name, "trial": trial, "value": value}
                log.append([{**place, **sweep._asdict(), **found, **facts}])
    return log.records(keys)


def _divided(sweep: Sweep, dataset: ZeroShotDataset) -> Iterator[ZeroShotDataset]:
    """The data of each trial: as they are, or with seen classes in the place of the unseen ones."""
    if sweep.on == "unseen":
        yield from [dataset] * sweep.trials
        return
    X, y = dataset.training_set()
    table = dataset.classes.select(dataset.seen)
    for _, held_out in ClassHoldout(0.2, sweep.trials, 0).split(X, y):
        yield ZeroShotDataset(dataset.name, X, y, table, unseen=np.unique(y[held_out]))


def _found(records: Sequence[dict[str, Any]], measure: str, data: str, value: Any) -> list[float]:
    """A measure over the trials of one value on a data set."""
    return [r[measure] for r in records if (r["data"], r["value"]) == (data, value)]


def sweep_table(sweep: Sweep, records: Sequence[dict[str, Any]]) -> Table:
    """Values down; accuracy and mAP of each data set across."""
    data = distinct(records, "data")
    rows = [
        [str(value), *(spread(_found(records, m, name, value)) for name in data for m in _MEASURES)]
        for value in sweep.values
    ]
    columns = [sweep.parameter, *(f"{d}, {word}" for d in data for word in _MEASURES.values())]
    side = "unseen classes" if sweep.on == "unseen" else "held-out seen classes"
    title = f"{sweep.method.upper()} against {sweep.parameter}, on {side} (%)"
    notes = [f"{over_trials(sweep.trials)}."]
    if sweep.on == "unseen":
        notes.append("Measured on the unseen classes: to be looked at, not to choose a value by.")
    return Table(title, columns, rows, notes)


def sweep_shown(sweep: Sweep, records: Sequence[dict[str, Any]], name: str = "sweep") -> Shown:
    """The table as a figure: a line per data set."""
    lines = {}
    for data in distinct(records, "data"):
        found = {v: _found(records, "per_class_accuracy", data, v) for v in sweep.values}
        shares = {value: trials for value, trials in found.items() if trials}
        means, spreads = map(np.mean, shares.values()), map(deviation, shares.values())
        lines[data] = (list(shares), list(means), list(spreads))
    caption = "Lines are means over the trials, bands one standard deviation."
    draw = partial(sweep_figure, sweep.parameter, lines)
    return Shown(name, sweep_table(sweep, records).title, caption, draw)
