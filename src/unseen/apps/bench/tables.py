"""Tables of a benchmark: from the records of its log to the screen, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.apps.bench import published
from unseen.apps.bench.variants import LABELS, NUMERALS, described
from unseen.apps.report import page
from unseen.estimators import METHODS

Record = dict[str, Any]
# As their authors write them, where it is not the name of the class.
NAMES = {"sse-int": "SSE-INT", "sse-relu": "SSE-ReLU", "deep": "deep embedding"}


@dataclass(frozen=True)
class Table:
    """A titled table of text, with notes under it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        lines = [f"### {self.title}", "", _line(self.columns)]
        lines.append(_line(["---", *["---:"] * (len(self.columns) - 1)]))
        lines += [_line(row) for row in self.rows]
        lines += [text for note in self.notes for text in ("", note)]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        notes = [page.paragraph(note, note=True) for note in self.notes]
        return page.section(self.title, page.table(self.columns, self.rows), *notes)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def all_tables(records: Sequence[Record]) -> list[Table]:
    """Every table that the records have something for."""
    if not records:
        return []
    tables = [
        _measure(
            "Recognition: per-class top-1 accuracy on unseen classes (%)",
            records, lambda r: r["per_class_accuracy"], published.RECOGNITION,
        ),
        _measure(
            "Retrieval: mean average precision (%)",
            records, lambda r: r["mean_average_precision"], published.RETRIEVAL,
        ),
        _measure(
            "Retrieval against the other unseen classes: mean average precision (%)",
            records, lambda r: r["relative_mean_average_precision"], {},
        ),
    ]  # fmt: skip
    if any(r["generalized"] for r in records):
        tables.append(_generalized([r for r in records if r["generalized"]]))
    tables += [_by_class(records, data) for data in _few_classes(records)]
    tables.append(_cost(records))
    return tables


def _distinct(records: Sequence[Record], field: str) -> list[str]:
    return list(dict.fromkeys(r[field] for r in records))


def _methods(records: Sequence[Record]) -> list[str]:
    """Methods in the order they came in, the paper's variants last and in their own order."""
    names = _distinct(records, "method")
    return sorted(names, key=lambda n: (n in LABELS, LABELS.index(n) if n in LABELS else 0))


def method_name(name: str) -> str:
    if name in LABELS:
        return f"JLSE {described(name)}"
    return NAMES.get(name) or (METHODS[name].__name__ if name in METHODS else name)


def _measure(
    title: str,
    records: Sequence[Record],
    value: Callable[[Record], float],
    paper: dict[str, dict[str, published.Published]],
) -> Table:
    """Mean ± deviation over trials, methods down, data sets across, then the paper's numbers."""
    data, methods = _distinct(records, "data"), _methods(records)
    in_paper = list(dict.fromkeys(filter(None, map(published.benchmark, data)))) if paper else []
    columns = ["method", *data, *(["average"] if len(data) > 1 else [])]
    rows = []
    for method in methods:
        values = [
            [value(r) for r in records if r["method"] == method and r["data"] == name]
            for name in data
        ]
        row = [method_name(method), *map(spread, values)]
        if len(data) > 1:
            whole = all(values)
            means = [float(np.mean(v)) for v in values if v]
            row.append(f"{100 * np.mean(means):.1f}" if whole else "-")
        rows.append((*row, *_of_paper(paper, method, in_paper)))
    for method in paper:
        numbers = _of_paper(paper, method, in_paper)
        if method not in methods and method not in NUMERALS and set(numbers) != {"-"}:
            rows.append((method_name(method), *["-"] * (len(columns) - 1), *numbers))
    heads = tuple(f"paper: {name}" for name in in_paper)
    return Table(title, (*columns, *heads), tuple(rows), _notes(records, bool(in_paper)))


def _of_paper(
    paper: dict[str, dict[str, published.Published]], method: str, benchmarks: Sequence[str]
) -> list[str]:
    return [str(published.paper_value(paper, method, name) or "-") for name in benchmarks]


def _notes(records: Sequence[Record], beside_paper: bool) -> tuple[str, ...]:
    trials, tuning = len(_distinct(records, "trial")), _distinct(records, "tuning")
    how = {"default": "default parameters", "holdout": "parameters chosen on held-out seen classes",
           "paper": "parameters chosen on two held-out seen classes, as in the paper"}  # fmt: skip
    splits = "; ".join(
        f"{d}: {_distinct([r for r in records if r['data'] == d], 'split')[0] or 'its only'} split"
        for d in _distinct(records, "data")
    )
    notes = [
        f"{f'Mean ± standard deviation over {trials} trials' if trials > 1 else 'One trial'}; "
        f"{' and '.join(how[t] for t in tuning)}; {splits}."
    ]
    if beside_paper:
        notes.append("The paper's numbers are with VGG-19 features, its splits and tuning.")
    return tuple(notes)


def spread(shares: Sequence[float]) -> str:
    """Mean ± standard deviation of shares, in percent."""
    if not shares:
        return "-"
    mean = f"{100 * np.mean(shares):.1f}"
    return mean if len(shares) == 1 else f"{mean} ± {100 * deviation(shares):.1f}"


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; of one value, 0."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _generalized(records: Sequence[Record]) -> Table:
    fields = ("seen", "unseen", "harmonic_mean", "ausuc")
    rows = []
    for data in _distinct(records, "data"):
        for method in _methods(records):
            found = [r for r in records if r["data"] == data and r["method"] == method]
            values = [spread([r["generalized"][f] for r in found]) for f in fields]
            if found:
                rows.append((f"{data}, {method_name(method)}", *values))
    return Table(
        "Generalised: seen and unseen classes compete (%)",
        ("data and method", "seen", "unseen", "harmonic mean", "AUSUC"),
        tuple(rows),
        ("What seen classes lose is learned for every method from training rows alone: a copy is "
         "trained without a fifth of the seen classes and a fifth of the other rows, and the "
         "penalty with the best harmonic mean on both is taken. AUSUC is over all penalties.",),
    )  # fmt: skip


def _few_classes(records: Sequence[Record]) -> list[str]:
    """Data sets with few enough unseen classes for a table of each, the same in all trials."""
    names = {}
    for r in records:
        names.setdefault(r["data"], set()).add(tuple(c["name"] for c in r["by_class"]))
    return [d for d, sets in names.items() if len(sets) == 1 and len(next(iter(sets))) <= 12]


def _by_class(records: Sequence[Record], data: str) -> Table:
    """Average precision of each class, as the paper has it for AwA."""
    mine = [r for r in records if r["data"] == data]
    methods = _methods(mine)
    paper = published.AWA_BY_CLASS if data.upper().startswith("AWA1") else {}
    rows = []
    for k, entry in enumerate(mine[0]["by_class"]):
        row = [entry["name"]]
        for method in methods:
            values = [r["by_class"][k]["average_precision"] for r in mine if r["method"] == method]
            row.append(spread(values))
        rows.append((*row, f"{paper[entry['name']]:.1f}") if entry["name"] in paper else tuple(row))
    titles = [m if m in LABELS else method_name(m) for m in methods]
    columns = ("class", *titles, "paper") if paper else ("class", *titles)
    full = [(*row, *["-"] * (len(columns) - len(row))) for row in rows]
    return Table(f"{data}: average precision of each unseen class (%)", columns, tuple(full))


def _cost(records: Sequence[Record]) -> Table:
    seconds = {"tune s": "tune_seconds", "fit s": "fit_seconds"}
    if any("calibrate_seconds" in r for r in records):
        seconds["calibrate s"] = "calibrate_seconds"
    rows = []
    for data in _distinct(records, "data"):
        for method in _methods(records):
            found = [r for r in records if r["data"] == data and r["method"] == method]
            if not found:
                continue
            memory = [r["peak_memory_mb"] for r in found if r["peak_memory_mb"] is not None]
            rows.append((
                f"{data}, {method_name(method)}",
                f"{100 * np.mean([r['per_class_accuracy'] for r in found]):.1f}",
                f"{100 * np.mean([r['mean_average_precision'] for r in found]):.1f}",
                *(f"{np.mean([r.get(f, 0.0) for r in found]):.1f}" for f in seconds.values()),
                f"{np.mean([r['seconds'] for r in found]):.2f}",
                f"{max(memory):.0f}" if memory else "-",
                f"{found[0]['X_mb']:.0f}",
            ))  # fmt: skip
    columns = ("data and method", "top-1 %", "mAP %", *seconds, "predict s", "peak MB above X")
    return Table(
        "What it reaches and what it costs",
        (*columns, "X MB"),
        tuple(rows),
        ("Tuning is shared by the variants; its time is divided among them.",),
    )


def markdown(tables: Sequence[Table], command: str) -> str:
    """All tables as Markdown, under the command that made them."""
    return f"Made by `{command}`.\n\n" + "\n".join(table.markdown() for table in tables)


def html(tables: Sequence[Table], command: str, picture: str = "") -> str:
    """All tables, and a picture as a part of a page, as one page that needs no network."""
    body = page.paragraph("Made by") + page.code(command) + picture
    return page.page("Benchmark", body + "".join(t.html() for t in tables))
