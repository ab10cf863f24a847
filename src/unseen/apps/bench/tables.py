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
        row = [method_name(method), *map(_with_interval, values, found, [field] * len(data))]
        if len(data) > 1:
            row.append(f"{100 * np.mean([np.mean(v) for v in values]):.1f}" if all(values) else "-")
        rows.append([*row, *(paper.paper_value(reported, method, name) for name in in_paper)])
    heads = [f"paper: {name}" for name in in_paper]
    told = [k for k, _ in enumerate(heads, len(columns)) if any(row[k] != "-" for row in rows)]
    kept = [*range(len(columns)), *told]
    rows = [[row[k] for k in kept] for row in rows]
    notes = _notes(records, bool(told))
    if field == "per_class_accuracy" and any("(" in cell for row in rows for cell in row[1:]):
        notes.append("In brackets: 95 % intervals by a bootstrap over classes and their rows.")
    return Table(title, [([*columns, *heads])[k] for k in kept], rows, notes)


def _with_interval(shares: Sequence[float], records: Sequence[Record], field: str) -> str:
    """Mean ± deviation; where trials do not differ, with the interval over classes and rows."""
    cell = spread(shares)
    # A stranger's file may hold anything in the place of an interval.
    interval: Any = records[0].get("per_class_interval") if records else None
    ends: list[Any] = []
    if isinstance(interval, dict):
        ends = [interval.get(end) for end in ("low", "high")]
    known = bool(ends) and all(isinstance(end, float) for end in ends)
    if field != "per_class_accuracy" or "±" in cell or not known:
        return cell
    low, high = (100 * float(end) for end in ends)
    return f"{cell} ({low:.1f} to {high:.1f})"


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
    return notes


def over_trials(number: int) -> str:
    return f"Mean ± standard deviation over {number} trials" if number > 1 else "One trial"


def spread(shares: Sequence[float]) -> str:
    """Mean ± standard deviation of shares, in percent."""
    if not shares:
        return "-"
    mean = f"{100 * np.mean(shares):.1f}"
    # Trials of a method without chance in it are one trial.
    same = len(set(shares)) == 1
    return mean if same else f"{mean} ± {100 * deviation(shares):.1f}"


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; of one value, 0."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _generalized(records: Sequence[Record]) -> Table:
    fields = ("seen", "unseen", "harmonic_mean", "ausuc")
    rows = [
        [name, *(spread([r["generalized"][f] for r in found]) for f in fields)]
        for name, found in _groups(records)
    ]
    note = (
        "What seen classes lose is learned from training rows alone, as 'unseen fit --calibrate' "
        "does, for each method that needs it. AUSUC is over all penalties."
    )
    columns = ["data and method", "seen", "unseen", "harmonic mean", "AUSUC"]
    return Table("Generalised: seen and unseen classes compete (%)", columns, rows, [note])


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
