"""The page of a folder of results, as `unseen bench` and `unseen sweep` leave it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unseen.apps.bench import tables
from unseen.apps.bench.log import read_records
from unseen.apps.bench.sweep import Sweep, sweep_shown, sweep_table
from unseen.apps.bench.variants import GROUPS, LABELS
from unseen.apps.report import page as html
from unseen.apps.report.publish import publish, replacing_figures, write
from unseen.errors import InputError, counted

Record = dict[str, Any]


def write_run_report(run: Path, folder: Path) -> Path:
    """Write index.html with all tables and sweeps of the results in `run`."""
    everything = _records(run)
    records = _of_latest_data(everything)
    swept = [r for r in records if "parameter" in r]
    measured = [r for r in records if "parameter" not in r]
    parts, commands = [], []
    for group in _groups(measured, _setting):
        parts += [table.html() for table in tables.all_tables(group)]
        parts.append(_parameters(group))
        commands.append(_bench_command(group))
    with replacing_figures(folder / "figures"):
        for k, group in enumerate(_groups(swept, lambda r: [r[f] for f in Sweep._fields])):
            sweep = _sweep(group[0])
            parts.append(_swept(sweep, group, k, folder / "figures"))
            commands.append(_sweep_command(sweep, group))
    parts.append(html.section("Data and machine", _provenance(records)))
    parts.append(html.section("Repeat it", html.code("\n".join(commands))))
    says = html.paragraph(f"{counted(len(records), 'result')} in {run / 'results.jsonl'}.")
    if len(records) < len(everything):
        says += html.paragraph(
            "Left out, for their data have changed since: "
            f"{counted(len(everything) - len(records), 'result')}.",
            note=True,
        )
    text = html.page(f"Results in {run.name or run}", "\n".join([says, *parts]))
    write(folder / "index.html", text.encode())
    return folder / "index.html"


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
    needed = {"data", "per_class_accuracy", "versions", "machine", "sources"}
    for record in records:
        if not needed <= record.keys() or ("parameter" in record and "values" not in record):
            raise InputError(
                f"{log} holds a record that is not of this version of unseen; measure it again "
                "in another folder"
            )
    return records


def _of_latest_data(records: Sequence[Record]) -> list[Record]:
    """Without results of files that have changed since: numbers of two kinds of data under one name
    must not stand in one table."""
    latest: dict[tuple[str, str], Record] = {}
    for r in sorted(records, key=lambda r: r.get("time", "")):
        latest[r["data"], r.get("split", "")] = r
    return [r for r in records if r["sources"] == latest[r["data"], r.get("split", "")]["sources"]]


def _setting(record: Record) -> list[Any]:
    """What all results of one command share."""
    generalized = record["generalized"] is not None
    return [record["tuning"], record["budget"], generalized, record["random_classes"]]


def _groups(records: Sequence[Record], key: Callable[[Record], Any]) -> list[list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(json.dumps(key(record), sort_keys=True), []).append(record)
    return list(groups.values())


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


def _bench_command(records: Sequence[Record]) -> str:
    tuning, budget, generalized, random_classes = _setting(records[0])
    methods = tables.distinct(records, "method")
    names = [m for m in methods if m not in LABELS]
    names += [name for name, rows in GROUPS.items() if set(rows) & set(methods)]
    words = ["unseen", "bench", *tables.distinct(records, "data")]
    for name in names:
        words += ["-m", name]
    words += ["--trials", str(max(r["trial"] for r in records) + 1), "--tuning", tuning]
    words += ["--budget", f"{budget:g}"] if budget else []
    words += ["--generalized"] if generalized else []
    words += ["--random-classes", str(random_classes)] if random_classes else []
    return shlex.join([*words, "--out", "FOLDER"])


def _sweep(record: Record) -> Sweep:
    sweep = Sweep(*(record[field] for field in Sweep._fields))
    return sweep._replace(values=tuple(sweep.values))


def _swept(sweep: Sweep, records: Sequence[Record], number: int, folder: Path) -> str:
    name = f"sweep-{sweep.parameter}" + (f"-{number + 1}" if number else "")
    caption = "Lines are means over the trials, bands one standard deviation."
    shown = sweep_shown(sweep, records, name, caption)
    return sweep_table(sweep, records).html() + publish(shown, folder)


def _sweep_command(sweep: Sweep, records: Sequence[Record]) -> str:
    words = ["unseen", "sweep", sweep.parameter, *tables.distinct(records, "data")]
    words += ["--values", ",".join(map(str, sweep.values)), "--method", sweep.method]
    for name, value in sweep.fixed.items():
        words += ["--set", f"{name}={value}"]
    words += ["--trials", str(sweep.trials), "--on", sweep.on]
    words += ["--split", sweep.split] if sweep.split else []
    return shlex.join([*words, "--out", "FOLDER"])


def _provenance(records: Sequence[Record]) -> str:
    versions = [", ".join(f"{k} {v}" for k, v in r["versions"].items()) for r in records]
    machines = [f"{r['machine']['system']}, {r['machine']['cores']} cores" for r in records]
    notes = [f"{r['data']}: {note}" for r in records for note in r.get("notes", ())]
    sources = [(r["data"], *source) for r in records for source in r["sources"].items()]
    rows = list(dict.fromkeys(sources))
    table = html.table(["data", "file that was read", "SHA-256"], rows)
    made = f"Made with {_once(versions)} on {_once(machines)}."
    return "\n".join(
        [
            html.paragraph(made),
            *(html.paragraph(note, note=True) for note in dict.fromkeys(notes)),
            html.details(f"Checksums of {counted(len(rows), 'file')}", table),
        ]
    )


def _once(texts: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(texts))
