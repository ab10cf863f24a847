"""Accuracy against one parameter, as in the paper's implementation figure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

import unseen
from unseen.apps.bench.jobs import Job, opened, provenance
from unseen.apps.bench.log import Log
from unseen.apps.bench.tables import Table, deviation, spread
from unseen.apps.plots.canvas import LIGHT, Look
from unseen.apps.plots.curves import sweep_figure
from unseen.classes import ClassTable
from unseen.classes.splits import ClassHoldout
from unseen.errors import InputError, listed
from unseen.estimators import method
from unseen.metrics import mean_average_precision, per_class_accuracy
from unseen.support.parts import built, check_names, plain_parameters

# What the paper varies, and what is worth varying beside it.
VALUES: dict[str, tuple[Any, ...]] = {
    "n_target_atoms": (25, 50, 100, 200, 400, 800),
    "n_source_atoms": (10, 20, 40, 80, 150),
    "source_shrinkage": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    "target_shrinkage": (0.001, 0.01, 0.02, 0.1, 1.0),
    "source_fit": (1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
    "target_fit": (10.0, 30.0, 100.0, 300.0, 1000.0),
    "similarity_penalty": (3e-4, 1e-3, 3e-3, 1e-2, 3e-2),
    "positive_weight": ("uniform", 3.0, 10.0, "balanced"),
    "training__max_iter": (0, 1, 2, 3, 5),
    "testing": ("DataFit", "Algorithm4", "Algorithm3"),
    "decision": (1, 2),
    "kernel_width": (0.3, 0.5, 0.7, 1.0, 1.5, 2.0),
    "row_penalty": (1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
    "class_penalty": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0),
}
# Symbols of the paper for what it varies.
SYMBOLS = {
    "n_target_atoms": "size of D",
    "n_source_atoms": "size of B",
    "source_shrinkage": "λ1s / λ2s",
    "target_shrinkage": "λ1t / λ2t",
    "source_fit": "λ2s",
    "target_fit": "λ2t",
    "similarity_penalty": "λ_W",
    "training__max_iter": "rounds of Algorithm 2",
}
SIDES = ("held-out", "unseen")


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
        parts = [self.method, self.parameter, value, self.fixed, self.split, self.on, data, trial]
        text = json.dumps([*parts, unseen.__version__], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def planned(
    parameter: str,
    values: Sequence[Any] | None = None,
    *,
    method_name: str = "jlse",
    fixed: dict[str, Any] | None = None,
    split: str = "",
    trials: int = 3,
    on: str = "held-out",
) -> Sweep:
    """A checked sweep; without `values` those of `VALUES`."""
    model = built(method(method_name), fixed or {})
    check_names([parameter], plain_parameters(model), method_name)
    if on not in SIDES:
        raise InputError(f"a sweep is on {listed(SIDES)} classes, not {on!r}")
    chosen = tuple(values) if values else VALUES.get(parameter)
    if chosen is None:
        raise InputError(f"say which values of {parameter} to try, as in --values 0.1,1,10")
    return Sweep(method_name, parameter, chosen, fixed or {}, split, trials, on)


def run_sweep(
    sweep: Sweep,
    data: Sequence[str],
    log: Log,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Measure every value on every data set and trial, but for what the log has of these data."""
    total = len(data) * sweep.trials * len(sweep.values)
    keys = []
    for name in data:
        dataset = opened(Job(name, sweep.split, sweep.method, 0, "default", 0, False, 0))
        facts = provenance(dataset)
        for trial, sets in enumerate(_sets(sweep, dataset)):
            for value in sweep.values:
                keys.append(sweep.key(name, value, trial))
                if log.holds(keys[-1], facts["sources"]):
                    continue
                if progress is not None:
                    progress(f"{name}, {sweep.parameter} = {value}", len(keys) - 1, total)
                found = _measured(sweep, value, trial, *sets)
                place = {"key": keys[-1], "data": name, "trial": trial, "value": value}
                log.append([{**place, **sweep._asdict(), **found, **facts}])
    return log.records(keys)


def _sets(sweep: Sweep, dataset: Any) -> Iterator[tuple[Any, ...]]:
    """Training rows and labels, test rows and labels, and the class table, for each trial."""
    X, y = dataset.training_set()
    if sweep.on == "unseen":
        for _ in range(sweep.trials):
            yield X, y, *dataset.unseen_set(), dataset.classes
        return
    table: ClassTable = dataset.classes.select(dataset.seen)
    for train, test in ClassHoldout(0.2, sweep.trials, 0).split(X, y):
        yield _safe_indexing(X, train), y[train], _safe_indexing(X, test), y[test], table


def _measured(
    sweep: Sweep, value: Any, trial: int, X: Any, y: Any, X_test: Any, y_test: Any, table: Any
) -> dict[str, float]:
    kind = method(sweep.method)
    known = kind().get_params()
    fixed: dict[str, Any] = {"random_state": trial} if "random_state" in known else {}
    model = built(kind, {**fixed, **sweep.fixed, sweep.parameter: value})
    model.fit(X, y, classes=table)
    names = np.unique(y_test)
    scores = model.similarities(X_test, names)
    return {
        "per_class_accuracy": per_class_accuracy(y_test, names[scores.argmax(axis=1)]),
        "mean_average_precision": mean_average_precision(y_test, scores, names),
    }


def sweep_table(sweep: Sweep, records: Sequence[dict[str, Any]]) -> Table:
    """Values down; accuracy and mAP of each data set across."""
    data = list(dict.fromkeys(r["data"] for r in records))
    measures = {"per_class_accuracy": "top-1", "mean_average_precision": "mAP"}
    rows = []
    for value in sweep.values:
        row = [str(value)]
        for name in data:
            mine = [r for r in records if r["data"] == name and r["value"] == value]
            row += [spread([r[m] for r in mine]) for m in measures]
        rows.append(tuple(row))
    columns = (sweep.parameter, *(f"{d}, {word}" for d in data for word in measures.values()))
    side = "unseen classes" if sweep.on == "unseen" else "held-out seen classes"
    title = f"{sweep.method.upper()} against {sweep.parameter}, on {side} (%)"
    several = f"Mean ± standard deviation over {sweep.trials} trials."
    notes = [several if sweep.trials > 1 else "One trial."]
    if sweep.on == "unseen":
        notes.append("Measured on the unseen classes: to be looked at, not to choose a value by.")
    return Table(title, columns, tuple(rows), tuple(notes))


def sweep_picture(sweep: Sweep, records: Sequence[dict[str, Any]], look: Look = LIGHT) -> Any:
    """The table as a figure: a line a data set, with the paper's symbol of the parameter."""
    lines = {}
    for name in dict.fromkeys(r["data"] for r in records):
        mine = {
            value: [
                r["per_class_accuracy"] for r in records if (r["data"], r["value"]) == (name, value)
            ]
            for value in sweep.values
        }
        shares = {value: found for value, found in mine.items() if found}
        means, spreads = map(np.mean, shares.values()), map(deviation, shares.values())
        lines[name] = (list(shares), list(means), list(spreads))
    name, symbol = (
        sweep.parameter.replace("__", "_").replace("_", " "),
        SYMBOLS.get(sweep.parameter),
    )
    return sweep_figure(f"{name}, {symbol}" if symbol else name, lines, look)
