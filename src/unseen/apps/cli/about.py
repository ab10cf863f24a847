"""Commands that show and explain: demo, check, methods, datasets."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from unseen.apps.cli.options import Folder, Json, Missing, Pictures, Text
from unseen.apps.cli.output import say, show, show_json, working
from unseen.apps.cli.paths import as_argument, check_pages_out, table_options
from unseen.datasets import EMBEDDED, data_folder, examine, open_dataset
from unseen.datasets.bare_rows import examine_rows, is_bare
from unseen.datasets.catalogue import CATALOGUE, Entry, entries, feature_file
from unseen.datasets.findings import Findings, missing_pictures
from unseen.errors import InputError
from unseen.estimators import METHODS, ZeroShotClassifier, method
from unseen.evaluation.tuning.settings import described as tried
from unseen.rows.store import RowStore
from unseen.support.parameters import plain_parameters
from unseen.support.text import visible

_CHECKED = "A folder, a file, a name, or a pattern of files of rows."


def demo(
    out: Folder = Path("demo"),
    json: Json = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve a page to try it on, in place of writing one.")
    ] = False,
    data: Annotated[
        str, typer.Option(help="What to serve: digits with the segments of a display, or shapes.")
    ] = "digits",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to serve on.")] = 8000,
) -> None:
    """Learn drawn things such as a red star, find others by their description.

    Compares methods on 20 class splits. Needs no files; writes a page with pictures. With --serve
    it trains one model and serves a page on which you describe what to find.
    """
    if serve:
        from unseen.apps.cli.serve import serve_demo

        serve_demo(data, port)
        return
    from unseen.apps.report.demo import run_demo, write_demo

    check_pages_out(out / "index.html")
    with working("training on 48 classes, testing on 12 others"):
        result = run_demo()
        page = write_demo(result, out)
    if json:
        show_json(result.as_dict() | {"page": str(page)})
        return
    show(*result.recognition())
    show(*result.by_class())
    say(f"A page with pictures: {page}")


def check(
    data: Annotated[str, typer.Argument(metavar="DATA", help=_CHECKED)],
    text: Text = "tfidf",
    missing: Missing = "error",
    pictures: Pictures = None,
    json: Json = False,
) -> None:
    """Read a data set and say in plain words what was found and what is wrong.

    Of rows alone it says the same. The exit code is 1 if the data cannot be used.
    """
    if is_bare(data):
        with working(f"reading {data}"):
            findings, facts = examine_rows(data)
        name = f"Rows {data}"
        usable = f"The rows can be used: unseen predict MODEL {as_argument(data)}"
        unusable = "The rows cannot be used yet; docs/scale.md says what files may hold them."
    else:
        with working(f"reading {data}"):
            findings = _examined(data, text, missing, pictures)
        facts = {} if findings.dataset is None else findings.dataset.facts()
        name, options = f"Data set {data}", table_options(text, missing)
        fit = f"unseen fit {as_argument(data)}{options} --out model.unseen"
        usable = f"The data set can be used: {fit}"
        unusable = (
            "The data set cannot be used yet; docs/own-data.md and docs/datasets.md show layouts."
        )
    if json:
        found = {"found": findings.found, "odd": findings.odd, "wrong": findings.wrong}
        show_json({"usable": not findings.wrong, **found, "facts": facts})
    else:
        _tell(findings)
        if facts:
            show(name, ["what", "number"], [[k, v] for k, v in facts.items()])
        say(unusable if findings.wrong else usable)
    if findings.wrong:
        raise typer.Exit(1)


def _examined(data: str, text: str, missing: str, pictures: Path | None) -> Findings:
    """What there is to tell of a data set, all rows of which are read."""
    # What does not exist is a data set known by its name, or an error that says so.
    classes = {"encoder": text, "missing": missing}
    findings = examine(data, pictures, **classes) if os.path.exists(data) else Findings()
    if not os.path.exists(data):
        findings.add(open_dataset(data))
    store = None if findings.dataset is None else findings.dataset.X
    if isinstance(store, RowStore):
        findings.attempt(Path(data), store.check)
    if findings.dataset is not None:
        findings.odd += missing_pictures(findings.dataset)
    return findings


def _tell(findings: Findings) -> None:
    for heading in ("found", "odd", "wrong"):
        lines = getattr(findings, heading)
        if lines:
            print("\n  - ".join([f"{heading.title()}:", *map(visible, lines)]))


def methods(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="One of them, to be described in full.")
    ] = "",
    json: Json = False,
) -> None:
    """List the methods with their parameters, or describe one in full.

    Example: unseen methods eszsl
    """
    chosen = {name.casefold(): method(name)} if name else METHODS
    described = {
        name: {
            "summary": (inspect.getdoc(kind) or "").partition("\n")[0],
            "parameters": plain_parameters(kind()),
            "grid": {k: tried(v) for k, v in kind.default_grid().items()},
        }
        for name, kind in chosen.items()
    }
    if json:
        show_json(described)
    elif name:
        _describe(method(name))
    else:
        rows = [
            [name, facts["summary"], "\n".join(f"{k}={v}" for k, v in facts["parameters"].items())]
            for name, facts in described.items()
        ]
        show("Methods", ["name", "what it is", "parameters (--set)"], rows)


def _describe(kind: type[ZeroShotClassifier]) -> None:
    """What the documentation says of a method, its defaults, and what is worth tuning."""
    print(inspect.getdoc(kind) or "")
    for base in kind.__mro__[1:-1]:  # parameters that are documented where they are shared
        if text := _parameters_of(base):
            print(f"\nParameters\n----------\n{text}", end="")
    for name, part in kind._parts.items():
        for choice in part.classes:
            print(f"\n{name}: {choice.__name__}, its parameters as {name}__NAME")
            print(*map(_parameters_of, choice.__mro__), sep="", end="")
    print("\nDefaults, and in brackets what 'unseen tune' tries:")
    grid = kind.default_grid()
    for name, value in plain_parameters(kind()).items():
        values = tried(grid[name]) if name in grid else ""
        text = values if isinstance(values, str) else ", ".join(map(str, values))
        indent = "  " * name.count("__")
        print(f"{indent}{name} = {value}" + (f"  [{text}]" if text else ""))


def _parameters_of(kind: type[Any]) -> str:
    """The parameters that a class itself documents."""
    _, _, parameters = inspect.cleandoc(kind.__doc__ or "").partition("\nParameters\n----------\n")
    return parameters.partition("\n\n")[0] + "\n" if parameters else ""


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
    columns = ["name", "rows; attributes; seen / unseen classes in the paper", "features here"]
    rows = [[name, _paper(known["paper"]), known["here"]] for name, known in published.items()]
    show(f"Published data sets, looked for in {data_folder()}", columns, rows)
    for name, known in published.items():
        if "problem" in known:
            say(f"{name}: {known['problem']}")
    print("Where to get them (docs/datasets.md says which files go where):")
    for benchmark in CATALOGUE:
        print(f"  {benchmark.name}, {benchmark.what}: {benchmark.home or benchmark.get}")
    print(f"  For all with a home page: {CATALOGUE[0].get}")
    print("Your own data: docs/own-data.md shows the layout, 'unseen check FOLDER' reads it.")


def _published(entry: Entry) -> dict[str, Any]:
    """All that is known of a published data set, and where its features are."""
    benchmark, path = entry.benchmark, entry.path
    known: dict[str, Any] = {"what": benchmark.what, "home": benchmark.home, "get": benchmark.get}
    known["paper"] = None if benchmark.paper is None else benchmark.paper._asdict()
    known |= {"path": path, "features": None, "here": "absent"}
    try:
        if path is not None:
            features = feature_file(path)
            here = features.relative_to(data_folder()).as_posix()
            known |= {"features": features, "here": here}
    except (InputError, ImportError) as error:
        known |= {"problem": str(error), "here": "cannot be read, see below"}
    return known


def _paper(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    described = f"{row['attributes']} {row['values']}"
    return f"{row['instances']:,}; {described}; {row['seen']} / {row['unseen']}"
