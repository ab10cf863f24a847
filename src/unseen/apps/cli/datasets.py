"""The command that lists data sets: what comes along, what is on disk, where to get the rest."""

from __future__ import annotations

from typing import Any

from unseen.apps.cli.config import Config
from unseen.apps.cli.options import Json
from unseen.apps.cli.output import say, show, show_json
from unseen.datasets import EMBEDDED, data_folder
from unseen.datasets.catalogue import CATALOGUE, Entry, entries, read_entry, split_file_facts
from unseen.errors import InputError


def datasets(json: Json = False, config: Config = None) -> None:
    """List data sets: embedded ones, published ones and where to get them.

    Published data are looked for in the folder that UNSEEN_DATA names, else in ~/.cache/unseen.
    Their features are not read.
    """
    embedded = {name: make() for name, make in EMBEDDED.items()}
    published = {entry.name: _published(entry) for entry in entries()}
    if json:
        show_json(
            {name: d.facts() | {"notes": d.notes} for name, d in embedded.items()} | published
        )
        return
    show(
        "Embedded data sets",
        ["name", "rows", "features", "attributes", "seen/unseen classes", "what"],
        [
            [name, f["rows"], f["features"], f["attributes"], _classes(f), d.notes[0]]
            for name, d in embedded.items()
            for f in [d.facts()]
        ],
    )
    show(
        f"Published data sets, looked for in {data_folder()}",
        ["name", "rows; attributes; seen / unseen classes in the paper", "the same here"],
        [[name, _paper(known["paper"]), _here(known)] for name, known in published.items()],
    )
    for name, known in published.items():
        if "problem" in known:
            say(f"{name}: {known['problem']}")
    say("Where to get them (docs/datasets.md says which files go where):")
    for benchmark in CATALOGUE:
        say(f"  {benchmark.name}, {benchmark.what}: {benchmark.home or benchmark.get}")
    say(f"  For all with a home page: {CATALOGUE[0].get}")
    say("Your own data: docs/own-data.md shows the layout, 'unseen check FOLDER' reads it.")


def _published(entry: Entry) -> dict[str, Any]:
    """All that is known of a published data set; what is on disk is read but for its features."""
    benchmark = entry.benchmark
    known = {
        "what": benchmark.what,
        "paper": None if benchmark.paper is None else benchmark.paper._asdict(),
        "home": benchmark.home,
        "get": benchmark.get,
        "path": None if entry.path is None else str(entry.path),
    }
    found: dict[str, Any] = {"present": False, "facts": None, "splits": {}, "notes": []}
    if entry.path is None:
        return known | found
    try:
        dataset = read_entry(entry.path, outline=True)
    except (InputError, ImportError) as error:
        facts = split_file_facts(entry.path)
        return known | found | {"facts": facts or None, "problem": str(error)}
    splits = {name: dataset.with_split(name).facts() for name in dataset.splits}
    facts = {"facts": dataset.facts(), "splits": splits, "notes": dataset.notes}
    return known | facts | {"present": True, "split": dataset.split}


def _paper(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    described = f"{row['attributes']} {row['values']}"
    return f"{row['instances']:,}; {described}; {row['seen']} / {row['unseen']}"


def _here(known: dict[str, Any]) -> str:
    facts, splits = known["facts"], known["splits"]
    if not known["present"]:
        if facts is None:
            return "cannot be read, see below" if "problem" in known else "absent"
        return f"{facts['rows']:,}; {facts['attributes']}; {facts['classes']} in all; no features"
    classes = [f"{_classes(f)} ({name})" for name, f in splits.items()] or [_classes(facts)]
    size = f"{facts['rows']:,} x {facts['features']:,}"
    return f"{size}; {facts['attributes']}; {', '.join(classes)}"


def _classes(facts: dict[str, int]) -> str:
    return f"{facts['seen classes']} / {facts['unseen classes']}"
