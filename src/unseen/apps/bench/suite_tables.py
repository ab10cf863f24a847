"""Tables and picture of a suite: means by data set, ranks, paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from unseen.apps.bench import tables
from unseen.apps.bench.statistics import LEVEL, Comparison, Estimate
from unseen.apps.bench.tables import Record, Table, distinct, method_name
from unseen.apps.plots.ranks import suite_figure
from unseen.apps.report.publish import Shown
from unseen.errors import counted

MEASURES = {"per_class_accuracy": "top-1", "mean_average_precision": "mAP"}
_TITLES = {
    "per_class_accuracy": "per-class top-1 accuracy on held-out classes (%)",
    "mean_average_precision": "retrieval mAP on held-out classes (%)",
}
_INTERVAL = f"{LEVEL:.0%} interval".replace("%", " %")


def suite_tables(records: Sequence[Record]) -> list[Table]:
    """What a person wants to see of a suite; `further_tables` has the rest."""
    made = []
    drawn = [r for r in records if r["inside"]]
    found = compared(drawn)
    if found:
        made += [_means(measure, it, drawn) for measure, it in found.items()]
        if len(next(iter(found.values())).methods) > 1:
            made.append(_ranks(found))
            made += [_differences(measure, it) for measure, it in found.items()]
    published = tables.named_by_split([r for r in records if not r["inside"]])
    return [*made, *(_published(measure, published) for measure in MEASURES if published)]


def _published(measure: str, records: Sequence[Record]) -> Table:
    """A measure on the splits that come with the data, which take no part in means and ranks."""
    title = f"Published splits: {MEASURES[measure]} on their unseen classes (%)"
    table = tables.measure_table(title, records, measure, {})
    words = ["Not to choose anything by", *_most_rows(records)]
    return table._replace(notes=[*table.notes, "; ".join(words) + "."])


def _most_rows(records: Sequence[Record]) -> list[str]:
    return [f"at most {n} rows per class" for n in distinct(records, "most_rows") if n]


def further_tables(records: Sequence[Record]) -> list[Table]:
    """Every split, and what the methods cost."""
    drawn = [r for r in records if r["inside"]]
    return [_every_split(drawn), tables.cost_table(drawn)] if drawn else []


def compared(records: Sequence[Record]) -> dict[str, Comparison]:
    """The measures over the random splits on which every method has a result; {} if there is none.

    A method that is missing somewhere would else be compared on easier or harder classes. One that
    is missing on more than half of the splits takes no part, as it would leave little of them.
    """
    by_split: dict[tuple[str, int], dict[str, Record]] = {}
    for r in records:
        by_split.setdefault((r["data"], r["trial"]), {})[r["method"]] = r
    methods = [
        method
        for method in tables.methods_of(records)
        if 2 * sum(method in found for found in by_split.values()) >= len(by_split)
    ]
    whole = {place: found for place, found in by_split.items() if set(methods) <= found.keys()}
    scores: dict[str, dict[str, Any]] = {measure: {} for measure in MEASURES}
    for data, trial in sorted(whole, key=lambda place: place[1]):
        for measure, of_data in scores.items():
            values = [whole[data, trial][method][measure] for method in methods]
            of_data.setdefault(data, []).append(values)
    if not whole or not methods:
        return {}
    names = [name for name in distinct(records, "data") if name in next(iter(scores.values()))]
    return {
        measure: Comparison(tuple(methods), {name: np.array(of_data[name]) for name in names})
        for measure, of_data in scores.items()
    }


def _means(measure: str, found: Comparison, records: Sequence[Record]) -> Table:
    """Methods down, data sets across, and the mean over data sets."""
    means, errors, average = 100 * found.means(), 100 * found.errors(), found.average()
    columns = ["method", *found.scores]
    rows = []
    for k, method in enumerate(found.methods):
        row = [_with_error(m, e) for m, e in zip(means[:, k], errors[:, k], strict=True)]
        if len(found.scores) > 1:
            row.append(_with_error(100 * average.mean[k], 100 * average.error[k]))
        rows.append([method_name(method), *row])
    if len(found.scores) > 1:
        columns.append("average")
    return Table(f"Suite: {_TITLES[measure]}", columns, rows, _notes(found, records))


def _notes(found: Comparison, records: Sequence[Record]) -> list[str]:
    numbers = sorted({len(of_data) for of_data in found.scores.values()})
    splits = counted(numbers[-1], "random class split")
    splits = splits if len(numbers) == 1 else f"{numbers[0]} to {splits}"
    words = [f"Mean ± standard error over {splits}, a fifth of the classes held out"]
    sides = {"seen": "drawn among classes that no split of the data set keeps as unseen"}
    sides["all"] = "drawn among all classes: to be looked at, not to choose anything by"
    words += [sides[inside] for inside in distinct(records, "inside")]
    words += _most_rows(records)
    words.append(f"tuning {' and '.join(distinct(records, 'tuning'))}")
    notes = ["; ".join(words) + "."]
    n_drawn = len({(r["data"], r["trial"]) for r in records})
    if left_out := n_drawn - sum(map(len, found.scores.values())):
        lacking = "as some method has no result on them"
        notes.append(f"Left out, {lacking}: {counted(left_out, 'split')}.")
    missing = [method_name(m) for m in distinct(records, "method") if m not in found.methods]
    if missing:
        notes.append(f"Left out, without a result on most splits: {', '.join(missing)}.")
    return notes


def _ranks(found: dict[str, Comparison]) -> Table:
    """Mean ranks by either measure, the best first."""
    columns, estimates = ["method"], [it.ranks().average() for it in found.values()]
    for word in MEASURES.values():
        columns += [f"mean rank, {word}", _INTERVAL]
    first = next(iter(found.values()))
    rows = []
    for k in np.argsort(estimates[0].mean, kind="stable"):
        row = [method_name(first.methods[k])]
        for it in estimates:
            row += [f"{it.mean[k]:.2f}", f"{it.low[k]:.1f} to {it.high[k]:.1f}"]
        rows.append(row)
    n_splits = sum(map(len, first.scores.values()))
    note = (
        f"Over {counted(n_splits, 'split')} of {counted(len(first.scores), 'data set')}; 1 is the "
        f"best of {len(first.methods)}. Intervals by bootstrap of data sets and, in each, splits."
    )
    return Table("Suite: mean rank", columns, rows, [note])


def _differences(measure: str, found: Comparison) -> Table:
    """What the other methods have more than the first, on the same splits."""
    against = found.to_first()
    means, errors, average = 100 * against.means(), 100 * against.errors(), against.average()
    first = method_name(found.methods[0])
    several = len(found.scores) > 1
    columns = ["method", *found.scores, *(["average"] if several else []), _INTERVAL, "ahead on"]
    rows = []
    for k, method in list(enumerate(found.methods))[1:]:
        row = [_with_error(m, e, "+") for m, e in zip(means[:, k], errors[:, k], strict=True)]
        if several:
            row.append(_with_error(100 * average.mean[k], 100 * average.error[k], "+"))
        row.append(f"{100 * average.low[k]:+.1f} to {100 * average.high[k]:+.1f}")
        ahead = f"{int((means[:, k] > 0).sum())} of {len(means)}"
        rows.append([method_name(method), *row, ahead])
    note = (
        f"Paired by split, mean ± standard error; below zero is behind {first}. The interval is "
        "of the average, by bootstrap of data sets and of splits; ahead on so many data sets."
    )
    title = f"Suite: {MEASURES[measure]} against {first} (points)"
    return Table(title, columns, rows, [note])


def _with_error(value: float, error: float, sign: str = "") -> str:
    text = f"{value:{sign}.1f}"
    return text if np.isnan(error) else f"{text} ± {error:.1f}"


def _every_split(drawn: Sequence[Record]) -> Table:
    """Data sets and random splits down, accuracy and mAP of each method across."""
    methods = tables.methods_of(drawn)
    cells = {
        (r["data"], r["trial"], r["method"]): " / ".join(f"{100 * r[m]:.1f}" for m in MEASURES)
        for r in drawn
    }
    lines = [(d, t) for d in distinct(drawn, "data") for t in sorted(distinct(drawn, "trial"))]
    rows = [
        [data, trial + 1, *(cells.get((data, trial, m), "-") for m in methods)]
        for data, trial in lines
        if any((data, trial, m) in cells for m in methods)
    ]
    columns = ["data", "split", *map(method_name, methods)]
    return Table(f"Suite: every split, {' / '.join(MEASURES.values())} (%)", columns, rows)


def suite_shown(records: Sequence[Record], name: str = "suite") -> Shown | None:
    """Ranks and accuracies as a figure; None where there are no two methods to compare."""
    found = compared([r for r in records if r["inside"]])
    if not found or len(next(iter(found.values())).methods) < 2:
        return None
    ranks = {}
    for word, it in zip(MEASURES.values(), found.values(), strict=True):
        mean, _, low, high = it.ranks().average()
        ranks[word] = np.array([mean, low, high])
    first = next(iter(found.values()))
    names = [method_name(m) for m in first.methods]
    caption = (
        f"Left, the mean rank of each method over data sets and splits, 1 the best, with its "
        f"{_INTERVAL}. Right, the accuracy on each data set: faint marks are splits, full ones "
        "their mean."
    )
    draw = partial(suite_figure, names, ranks, first.scores)
    return Shown(name, "mean ranks and accuracies of the methods of a suite", caption, draw)


def suite_facts(records: Sequence[Record]) -> dict[str, Any]:
    """What the tables say, for a program: shares, not percent."""
    facts: dict[str, Any] = {}
    for measure, found in compared([r for r in records if r["inside"]]).items():
        by_data = zip(found.scores, found.means(), found.errors(), strict=True)
        facts[measure] = {
            "data": {
                name: {m: _fact(mean[k], error[k]) for k, m in enumerate(found.methods)}
                for name, mean, error in by_data
            },
            "average": _by_method(found.methods, found.average()),
            "rank": _by_method(found.methods, found.ranks().average()),
            "against_first": _by_method(found.methods, found.to_first().average()),
        }
    return facts


def _by_method(methods: Sequence[str], found: Estimate) -> dict[str, Any]:
    ends = zip(found.low, found.high, strict=True)
    return {
        method: _fact(found.mean[k], found.error[k]) | {"interval": [float(low), float(high)]}
        for k, (method, (low, high)) in enumerate(zip(methods, ends, strict=True))
    }


def _fact(mean: float, error: float) -> dict[str, Any]:
    return {"mean": float(mean), "standard_error": None if np.isnan(error) else float(error)}
