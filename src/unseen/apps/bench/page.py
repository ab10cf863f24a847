"""The page of a folder of results, as `unseen bench` and `unseen sweep` leave it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from unseen.apps.bench import tables
from unseen.apps.bench.log import is_result, read_records
from unseen.apps.bench.suite_tables import further_tables, suite_shown, suite_tables
from unseen.apps.bench.sweep import Sweep, sweep_shown, sweep_table
from unseen.apps.bench.tables import Record
from unseen.apps.report import page as html
from unseen.apps.report.provenance import made_with
from unseen.apps.report.publish import publish, write_page
from unseen.errors import InputError, counted

_SHARED = ("tuning", "budget", "random_classes", "inside", "most_rows")


def write_run_report(run: Path, folder: Path) -> Path:
    """Write index.html with all tables and sweeps of the results in `run`."""
    everything = _records(run)
    records = _of_latest_data(everything)
    says = f"{counted(len(records), 'result')} in {run / 'results.jsonl'}."
    if n_old := len(everything) - len(records):
        says += f" Left out, for their data have changed since: {counted(n_old, 'result')}."
    parts = [html.paragraph(says)]
    groups: dict[str, list[Record]] = {}
    for record in records:
        # What all results of one command share.
        fields = Sweep._fields if "parameter" in record else _SHARED
        shared = [*(record.get(field) or 0 for field in fields), record.get("generalized") is None]
        groups.setdefault(json.dumps(shared), []).append(record)
    for number, group in enumerate(groups.values(), start=1):
        if "parameter" in group[0]:
            sweep = Sweep(*(group[0][field] for field in Sweep._fields))
            shown = sweep_shown(sweep, group, f"sweep-{number}-{sweep.parameter}")
            parts += [sweep_table(sweep, group).html(), publish(shown, folder / "figures")]
            continue
        if group[0].get("inside"):
            parts.append(publish(suite_shown(group, f"suite-{number}"), folder / "figures"))
            made = [*suite_tables(group), *further_tables(group)]
        else:
            made = tables.all_tables(tables.named_by_split(group))
        parts += [table.html() for table in made]
        parts.append(_parameters(group))
    parts.append(html.section("Data and machine", _provenance(records)))
    return write_page(folder / "index.html", f"Results in {run.name or run}", "\n".join(parts))


def _records(run: Path) -> list[Record]:
    log = run / "results.jsonl"
    if not log.exists():
        raise InputError(
            f"{run} holds no results.jsonl; give a folder that 'unseen bench' or 'unseen sweep' "
            "wrote, or a model file and a data set"
        )
    records = read_records(log)
    if not records:
        raise InputError(f"{log} holds no whole result yet; run 'unseen bench' to the end first")
    for record in records:
        if not is_result(record):
            raise InputError(
                f"{log} holds a record, {record['key']!r}, that is not of this version of unseen "
                "or was changed; measure it again in another folder"
            )
    return records


def _of_latest_data(records: Sequence[Record]) -> list[Record]:
    """Without results of files that have changed since: numbers of two kinds of data under one name
    must not stand in one table."""
    latest: dict[tuple[str, str], Record] = {}
    for r in sorted(records, key=lambda r: r.get("time", "")):
        latest[r["data"], r.get("split", "")] = r
    return [r for r in records if r["sources"] == latest[r["data"], r.get("split", "")]["sources"]]


def _parameters(records: Sequence[Record]) -> str:
    """Parameters that were not the defaults, where there are any."""
    rows = []
    for r in records:
        if r["parameters"]:
            changed = ", ".join(f"{k}={v}" for k, v in r["parameters"].items())
            rows.append([r["data"], tables.method_name(r["method"]), r["trial"] + 1, changed])
    if not rows:
        return ""
    table = html.table(["data", "method", "trial", "parameters"], rows)
    return html.details(f"Parameters that are not the defaults, {counted(len(rows), 'fit')}", table)


def _provenance(records: Sequence[Record]) -> str:
    sources = [(r["data"], *source) for r in records for source in r["sources"].items()]
    rows = list(dict.fromkeys(sources))
    table = html.table(["data", "file that was read", "SHA-256"], rows)
    checked = html.details(f"Checksums of {counted(len(rows), 'file')}", table)
    return html.paragraph(made_with(records)) + checked
