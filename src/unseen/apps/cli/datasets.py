"""The command that lists data sets: what comes along, what is on disk, where to get the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unseen.apps.cli.options import Json
from unseen.apps.cli.output import show, show_json
from unseen.datasets import EMBEDDED, data_folder
from unseen.datasets.catalogue import CATALOGUE, Entry, entries, feature_file
from unseen.errors import InputError


def datasets(json: Json = False) -> None:
    """List data sets: embedded ones, published ones and where to get them.

    Published data are looked for in the folder that UNSEEN_DATA names, else in ~/.cache/unseen.
    Their features are not read.
    """
    embedded = {name: make() for name, make in EMBEDDED.items()}
    published = {entry.name: _published(entry) for entry in entries()}
    if json:
        facts = {name: data.facts() | {"notes": data.notes} for name, data in embedded.items()}
        show_json(facts | published)
        return
    rows = []
    for name, data in embedded.items():
        facts = data.facts()
        numbers = [facts[what] for what in ("rows", "features", "attributes")]
        classes = f"{facts['seen classes']} / {facts['unseen classes']}"
        rows.append([name, *numbers, classes, data.notes[0]])
    columns = ["name", "rows", "features", "attributes", "seen/unseen classes", "what"]
    show("Embedded data sets", columns, rows)
    show(
        f"Published data sets, looked for in {data_folder()}",
        ["name", "rows; attributes; seen / unseen classes in the paper", "features here"],
        [[name, _paper(known["paper"]), _here(known)] for name, known in published.items()],
    )
    for name, known in published.items():
        if "problem" in known:
            print(f"{name}: {known['problem']}")
    print("Where to get them (docs/datasets.md says which files go where):")
    for benchmark in CATALOGUE:
        print(f"  {benchmark.name}, {benchmark.what}: {benchmark.home or benchmark.get}")
    print(f"  For all with a home page: {CATALOGUE[0].get}")
    print("Your own data: docs/own-data.md shows the layout, 'unseen check FOLDER' reads it.")


def _published(entry: Entry) -> dict[str, Any]:
    """All that is known of a published data set, and where its features are."""
    benchmark = entry.benchmark
    known: dict[str, Any] = {"what": benchmark.what, "home": benchmark.home, "get": benchmark.get}
    known["paper"] = None if benchmark.paper is None else benchmark.paper._asdict()
    known |= {"path": None if entry.path is None else str(entry.path), "features": None}
    try:
        if entry.path is not None:
            known["features"] = str(feature_file(entry.path))
    except (InputError, ImportError) as error:
        known["problem"] = str(error)
    return known


def _paper(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    described = f"{row['attributes']} {row['values']}"
    return f"{row['instances']:,}; {described}; {row['seen']} / {row['unseen']}"


def _here(known: dict[str, Any]) -> str:
    if known["features"] is None:
        return "cannot be read, see below" if "problem" in known else "absent"
    return Path(known["features"]).relative_to(data_folder()).as_posix()
