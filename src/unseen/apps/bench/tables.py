"""Tables of a benchmark: from the records of its log to the screen, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unseen.apps.bench import paper
from unseen.apps.bench.paper import LABELS, described
from unseen.apps.report import page
from unseen.apps.report.page import Table
from unseen.apps.report.publish import write, write_page
from unseen.estimators import METHODS

Record = dict[str, Any]
# As their authors write them, where it is not the name of the class.
NAMES = {"sse-int": "SSE-INT", "sse-relu": "SSE-ReLU", "deep": "deep embedding"}
# Where a record has the interval of an accuracy.
_INTERVALS = {
    "per_class_accuracy": "per_class_interval",
    "seen": "seen_interval",
    "unseen": "unseen_interval",
    "harmonic_mean": "harmonic_interval",
}
_BRACKETS = "In brackets: 95 % intervals by a bootstrap over classes and their rows."


def all_tables(records: Sequence[Record]) -> list[Table]:
    """Every table that the records have something for."""
    if not records:
        return []
    recognition = "Recognition: per-class top-1 accuracy on unseen classes (%)"
    retrieval = "Retrieval: mean average precision (%)"
    relative = "Retrieval against the other unseen classes: mean average precision (%)"
    tables = [
        measure_table(recognition, records, "per_class_accuracy", paper.RECOGNITION),
        measure_table(retrieval, records, "mean_average_precision", paper.RETRIEVAL),
        measure_table(relative, records, "relative_mean_average_precision", {}),
    ]
    if any(r["generalized"] for r in records):
        tables.append(_generalized([r for r in records if r["generalized"]]))
    tables += [_by_class(_of(records, data=data)) for data in _few_classes(records)]
    tables.append(cost_table(records))
    return tables


def distinct(records: Sequence[Record], field: str) -> list[Any]:
    """The values of a field, in the order they came in."""
    return list(dict.fromkeys(r[field] for r in records))


def _of(records: Sequence[Record], **fields: str) -> list[Record]:
    return [r for r in records if all(r[name] == value for name, value in fields.items())]


def methods_of(records: Sequence[Record]) -> list[str]:
    """Methods in the order they came in, the paper's variants last and in their own order."""
    names = distinct(records, "method")
    return sorted(names, key=lambda n: (n in LABELS, LABELS.index(n) if n in LABELS else 0))


def _groups(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """The trials of each method on each data set, and a name for them."""
    for data in distinct(records, "data"):
        for method in methods_of(records):
            if found := _of(records, data=data, method=method):
                yield f"{data}, {method_name(method)}", found


def named_by_split(records: Sequence[Record]) -> list[Record]:
    """The records, in which a data set with results of several splits goes by its name and split:
    these are no trials of one thing."""
    splits: dict[str, set[str]] = {}
    for r in records:
        splits.setdefault(r["data"], set()).add(r["split"])
    return [
        r | {"data": f"{r['data']}, {r['split']}"} if len(splits[r["data"]]) > 1 else r
        for r in records
    ]


def method_name(name: str) -> str:
    if name in LABELS:
        return f"JLSE {described(name)}"
    return NAMES.get(name) or (METHODS[name].__name__ if name in METHODS else name)


def measure_table(
    title: str, records: Sequence[Record], field: str, reported: paper.PaperTable
) -> Table:
    """Mean ± deviation over trials, methods down, data sets across, then the paper's numbers."""
    data, methods = distinct(records, "data"), methods_of(records)
    in_paper = list(dict.fromkeys(filter(None, map(paper.benchmark, data)))) if reported else []
    columns = ["method", *data, *(["average"] if len(data) > 1 else [])]
    rows = []
    for method in methods:
        values = [[r[field] for r in _of(records, method=method, data=name)] for name in data]
        found = [_of(records, method=method, data=name) for name in data]
        sure = [[r.get(_INTERVALS.get(field, "")) for r in known] for known in found]
        row = [method_name(method), *map(_with_interval, values, found, sure)]
        if len(data) > 1:
            row.append(f"{100 * np.mean([np.mean(v) for v in values]):.1f}" if all(values) else "-")
        rows.append([*row, *(paper.paper_value(reported, method, name) for name in in_paper)])
    heads = [f"paper: {name}" for name in in_paper]
    told = [k for k, _ in enumerate(heads, len(columns)) if any(row[k] != "-" for row in rows)]
    kept = [*range(len(columns)), *told]
    rows = [[row[k] for k in kept] for row in rows]
    notes = _notes(records, bool(told))
    if field == "per_class_accuracy" and any("(" in cell for row in rows for cell in row[1:]):
        notes.append(_BRACKETS)
    return Table(title, [([*columns, *heads])[k] for k in kept], rows, notes)


def _with_interval(
    shares: Sequence[float], records: Sequence[Record], intervals: Sequence[Any]
) -> str:
    """Mean ± deviation; where trials have the same classes, with the interval over classes and
    rows, whose ends are means over the trials."""
    cell = spread(shares)
    ends = [_ends(interval) for interval in intervals]
    drawn_anew = any(record.get("random_classes") for record in records)
    if drawn_anew or not ends or not all(ends):
        return cell
    low, high = 100 * np.mean(ends, axis=0)
    return f"{cell} ({low:.1f} to {high:.1f})"


def _ends(interval: Any) -> list[float]:
    """The ends of an interval; none where a stranger's file holds something else in its place."""
    known: dict[str, Any] = interval if isinstance(interval, dict) else {}
    ends = [end for end in map(known.get, ("low", "high")) if isinstance(end, float)]
    return ends if len(ends) == 2 else []


def _notes(records: Sequence[Record], beside_paper: bool) -> list[str]:
    splits = {r["data"]: f"{r['data']}: {r['split'] or 'its only'} split" for r in records}
    tuning = " and ".join(distinct(records, "tuning"))
    trials = over_trials(len(distinct(records, "trial")))
    notes = [f"{trials}; tuning {tuning}; {'; '.join(splits.values())}."]
    if beside_paper:
        notes.append("The paper's numbers are with VGG-19 features, its splits and tuning.")
    if all("generalized" in r and not r["generalized"] for r in records):
        notes.append(
            "Trained on all rows of seen classes, as in the paper; 'unseen fit' leaves out those "
            "that a data set keeps for testing."
        )
    if any(r.get("generalized") for r in records):
        notes.append(
            "Trained without the rows of seen classes that a data set keeps for testing, or, where "
            "it keeps none, without every fifth, which 'unseen fit' trains on."
        )
    return notes


def over_trials(number: int) -> str:
    return f"Mean ± standard deviation over {number} trials" if number > 1 else "One trial"


def spread(shares: Sequence[float]) -> str:
    """Mean ± standard deviation of shares, in percent."""
    if not shares:
        return "-"
    mean, error = f"{100 * np.mean(shares):.1f}", 100 * deviation(shares)
    # Trials of a method without chance in it are one trial, but for the order of sums in threads.
    if error < 0.005:
        return mean
    return f"{mean} ± {error:.1f}" if error >= 0.05 else f"{mean} ± {error:.2f}"


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; of one value, 0."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _generalized(records: Sequence[Record]) -> Table:
    rows = []
    for name, found in _groups(records):
        parts = [r["generalized"] for r in found]
        cells = (
            _with_interval(
                [p[f] for p in parts], found, [p.get(_INTERVALS.get(f, "")) for p in parts]
            )
            for f in ("seen", "unseen", "harmonic_mean", "ausuc")
        )
        rows.append([name, *cells])
    note = (
        "What seen classes lose is learned from training rows alone, as 'unseen fit --calibrate' "
        "does, for each method that needs it. AUSUC is over all penalties."
    )
    columns = ["data and method", "seen", "unseen", "harmonic mean", "AUSUC"]
    notes = [note, *[_BRACKETS] * any("(" in cell for row in rows for cell in row[1:])]
    return Table("Generalised: seen and unseen classes compete (%)", columns, rows, notes)


def _few_classes(records: Sequence[Record]) -> list[str]:
    """Data sets with few enough unseen classes for a table of each, the same in all trials."""
    names = {}
    for r in records:
        names.setdefault(r["data"], set()).add(tuple(c["name"] for c in r["by_class"]))
    return [d for d, sets in names.items() if len(sets) == 1 and len(next(iter(sets))) <= 12]


def _by_class(records: Sequence[Record]) -> Table:
    """Average precision of each class of a data set, as the paper has it for AwA."""
    data, methods = records[0]["data"], methods_of(records)
    reported = paper.AWA_BY_CLASS if data.upper().startswith("AWA1") else {}
    rows = []
    for k, entry in enumerate(records[0]["by_class"]):
        row = [entry["name"]]
        for method in methods:
            mine = _of(records, method=method)
            row.append(spread([r["by_class"][k]["average_precision"] for r in mine]))
        if reported:
            row.append(f"{reported[entry['name']]:.1f}" if entry["name"] in reported else "-")
        rows.append(row)
    titles = [m if m in LABELS else method_name(m) for m in methods]
    columns = ["class", *titles, *(["paper"] if reported else [])]
    return Table(f"{data}: average precision of each unseen class (%)", columns, rows)


def cost_table(records: Sequence[Record]) -> Table:
    seconds = {"tune s": "tune_seconds", "fit s": "fit_seconds"}
    if any("calibrate_seconds" in r for r in records):
        seconds["calibrate s"] = "calibrate_seconds"
    rows = []
    for name, found in _groups(records):
        memory = [r["peak_memory_mb"] for r in found if r["peak_memory_mb"] is not None]
        shares = _mean(found, "per_class_accuracy"), _mean(found, "mean_average_precision")
        row = [name, *(f"{100 * share:.1f}" for share in shares)]
        row += [f"{_mean(found, f):.1f}" for f in seconds.values()]
        row += [f"{_mean(found, 'seconds'):.2f}", f"{max(memory):.0f}" if memory else "-"]
        rows.append([*row, f"{found[0]['X_mb']:.0f}"])
    columns = ["data and method", "top-1 %", "mAP %", *seconds, "predict s", "peak MB above X"]
    notes = ["Tuning is shared by the variants; its time is divided among them."]
    return Table("What it reaches and what it costs", [*columns, "X MB"], rows, notes)


def _mean(records: Sequence[Record], field: str) -> float:
    return float(np.mean([r.get(field, 0.0) for r in records]))


def write_tables(folder: Path, tables: Sequence[Table], command: str, picture: str = "") -> None:
    """All tables, under the command that made them, as Markdown and as one page that needs no
    network; `picture` is a part of the page."""
    text = f"Made by `{command}`.\n\n" + "\n".join(table.markdown() for table in tables)
    write(folder / "tables.md", text.encode())
    body = page.paragraph("Made by") + page.code(command) + picture
    body += "".join(table.html() for table in tables)
    write_page(folder / "tables.html", "Benchmark", body)
