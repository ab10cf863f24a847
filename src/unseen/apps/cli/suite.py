"""The suite of `unseen bench`: many data sets, many random class splits, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from unseen.apps.bench import tables
from unseen.apps.bench.suite import QUICK, at_hand, plan_suite
from unseen.apps.bench.suite_tables import (
    further_tables,
    suite_facts,
    suite_shown,
    suite_tables,
)
from unseen.apps.cli import paths
from unseen.apps.cli.measuring import check_failed, log_of, run_jobs, show_results
from unseen.apps.cli.output import say, show
from unseen.apps.report.publish import publish
from unseen.errors import InputError, require

_OF_A_SUITE = ("splits", "inside", "published", "most_rows")
_OF_OTHERS = ("trials", "split", "generalized", "random_classes", "paper")


def check_options(context: typer.Context, suite: bool) -> None:
    """An error if an option was given that a suite does not take, or only a suite takes."""
    names = _OF_OTHERS if suite else _OF_A_SUITE
    given = [n for n in names if getattr(context.get_parameter_source(n), "name", "") != "DEFAULT"]
    if not given:
        return
    option = f"--{given[0].replace('_', '-')}"
    if not suite:
        raise InputError(f"{option} is for a suite: add --suite, or leave it out")
    raise InputError(
        f"--suite takes no {option}: it draws unseen classes itself, as often as --splits says, "
        "and --published adds the splits that come with the data"
    )


def bench_suite(
    data: Sequence[str], methods: Sequence[str], out: Path, json: bool, **choices: Any
) -> None:
    """Run a suite and show its tables; `choices` are those of `plan_suite`."""
    require("matplotlib", "report", "a suite, which draws its ranks,")
    names = list(data) or at_hand()
    jobs = plan_suite(names, methods or QUICK, **choices)
    log = log_of(names, out)
    records, failed = run_jobs(jobs, log, json)
    shown = suite_tables(records)
    picture = publish(suite_shown(records), out)
    tables.write_tables(out, [*shown, *further_tables(records)], paths.command_line(), picture)
    if json:
        show_results(records, failed, suite=suite_facts(records))
    else:
        for table in shown:
            show(*table)
            print()
        files = ["results.jsonl", "tables.md", "tables.html", *(["suite.png"] if picture else [])]
        say(f"Written: {', '.join(str(out / file) for file in files)}")
    check_failed(failed, len(jobs), json)
