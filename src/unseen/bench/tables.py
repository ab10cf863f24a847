"""Tables of a benchmark: from the records of its log to the screen, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.bench import published
from unseen.bench.variants import NUMERALS, described
from unseen.report import page

Record = dict[str, Any]


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
    return sorted(names, key=lambda n: (n in NUMERALS, NUMERALS.index(n) if n in NUMERALS else 0))


def method_name(name: str) -> str:
    return f"JLSE {described(name)}" if name in NUMERALS else name.upper()


def _measure(
    title: str,
    records: Sequence[Record],
    value: Callable[[Record], float],
    paper: dict[str, dict[str, published.Published]],
) -> Table:
    """Mean ± deviation over trials, methods down and data sets across, the paper's beside."""
    data = _distinct(records, "data")
    in_paper = {d: any(published.paper_value(paper, m, d) for m in paper) for d in data}
    columns = ["method"]
    for name in data:
        columns += [name, "paper"] if in_paper[name] else [name]
    columns += ["average"] if len(data) > 1 else []
    rows = []
    for method in _methods(records):
        row, means = [method_name(method)], []
        for name in data:
            values = [value(r) for r in records if r["method"] == method and r["data"] == name]
            means.append(np.mean(values) if values else np.nan)
            row.append(spread(values))
            if in_paper[name]:
                row.append(str(published.paper_value(paper, method, name) or "-"))
        if len(data) > 1:
            row.append("-" if np.isnan(means).any() else f"{100 * np.mean(means):.1f}")
        rows.append(tuple(row))
    rows += _rivals_of_paper(paper, _methods(records), data, in_paper, len(columns))
    return Table(title, tuple(columns), tuple(rows), _notes(records, any(in_paper.values())))


def _rivals_of_paper(
    paper: dict[str, dict[str, published.Published]],
    ours: Sequence[str],
    data: Sequence[str],
    in_paper: dict[str, bool],
    n_columns: int,
) -> list[tuple[str, ...]]:
    """Lines of the paper for methods that were not run here."""
    rows = []
    for method in paper:
        if method in ours or method in NUMERALS:
            continue
        row = [f"{method}, in the paper"]
        for name in data:
            row += ["-", str(published.paper_value(paper, method, name) or "-")][
                : 1 + in_paper[name]
            ]
        if any(cell != "-" for cell in row[1:]):
            rows.append(tuple(row + ["-"] * (n_columns - len(row))))
    return rows


def _notes(records: Sequence[Record], beside_paper: bool) -> tuple[str, ...]:
    trials, tuning = len(_distinct(records, "trial")), _distinct(records, "tuning")
    how = {"default": "default parameters", "holdout": "parameters chosen on held-out seen classes",
           "paper": "parameters chosen on two held-out seen classes, as in the paper"}  # fmt: skip
    splits = "; ".join(
        f"{d}: {_distinct([r for r in records if r['data'] == d], 'split')[0] or 'its only'} split"
        for d in _distinct(records, "data")
    )
    notes = [
        f"Mean ± standard deviation over {trials} trial{'s' if trials > 1 else ''}; "
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
    return mean if len(shares) == 1 else f"{mean} ± {100 * np.std(shares, ddof=1):.1f}"


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
        ("The weight of the seen classes is learned from training rows only; AUSUC looks at all "
         "weights.",),
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
    titles = [m if m in NUMERALS else method_name(m) for m in methods]
    columns = ("class", *titles, "paper") if paper else ("class", *titles)
    full = [(*row, *["-"] * (len(columns) - len(row))) for row in rows]
    return Table(f"{data}: average precision of each unseen class (%)", columns, tuple(full))


def _cost(records: Sequence[Record]) -> Table:
    rows = []
    for data in _distinct(records, "data"):
        for method in _methods(records):
            found = [r for r in records if r["data"] == data and r["method"] == method]
            if not found:
                continue
            memory = [r["peak_memory_mb"] for r in found if r["peak_memory_mb"] is not None]
            rows.append((
                f"{data}, {method_name(method)}",
                f"{np.mean([r['tune_seconds'] for r in found]):.1f}",
                f"{np.mean([r['fit_seconds'] for r in found]):.1f}",
                f"{np.mean([r['seconds'] for r in found]):.2f}",
                f"{max(memory):.0f}" if memory else "-",
                f"{found[0]['X_mb']:.0f}",
            ))  # fmt: skip
    return Table(
        "Cost: seconds and memory",
        ("data and method", "tune s", "fit s", "predict s", "peak MB above X", "X MB"),
        tuple(rows),
        ("Tuning is shared by the variants; its time is divided among them.",),
    )


def markdown(tables: Sequence[Table], command: str) -> str:
    """All tables as Markdown, under the command that made them."""
    return f"Made by `{command}`.\n\n" + "\n".join(table.markdown() for table in tables)


def html(tables: Sequence[Table], command: str, picture: str | None = None) -> str:
    """All tables, and a picture given as <svg>, as one page that needs no network."""
    body = page.paragraph("Made by") + page.code(command)
    body += "" if picture is None else page.plot(picture, tables[0].title)
    return page.page("Benchmark", body + "".join(t.html() for t in tables))
