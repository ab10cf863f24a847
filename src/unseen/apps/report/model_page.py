"""The page of a model report: tables, figures, parameters, provenance, and how to repeat it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import starmap
from pathlib import Path
from types import MappingProxyType

from unseen.apps.report import figures
from unseen.apps.report import page as html
from unseen.apps.report.measure import Measured, Measurements
from unseen.apps.report.page import percent
from unseen.apps.report.provenance import made_with, provenance
from unseen.apps.report.publish import Shown, has_pictures, publish, write_page
from unseen.apps.report.results import class_table, results_table
from unseen.datasets import ZeroShotDataset
from unseen.datasets.findings import missing_pictures
from unseen.errors import InputError, counted, listed, nearest
from unseen.estimators import ZeroShotClassifier
from unseen.files import reading
from unseen.support.parameters import plain_parameters, usual_parameters

_FEW = 12
# How many steps of progress `write_model_report` reports.
SECTIONS = 13


def write_model_report(
    found: Measurements,
    folder: Path,
    command: str = "",
    explain: Sequence[str] = (),
    top: int = 5,
    progress: Callable[[str], None] = lambda what: None,
    model_files: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Write index.html, which holds all it shows, and its figures as files in `figures`.

    command : what made the report, for the reader to repeat it.
    explain : classes whose latent links are drawn; by default that of the best average precision.
    top : how many rows the gallery shows of each class.
    model_files : the files that models were read from, by their labels.
    """
    _check_names(found, explain)
    results = {m.label: m.evaluation for m in found.methods}
    figure = partial(publish, folder=folder / "figures")
    sections: dict[str, Callable[[], str]] = {
        "Results": lambda: _results(results_table("", results)),
        "Retrieval": lambda: _retrieval(found, top, folder / "figures"),
        "Precision and recall": lambda: figure(figures.precision_recall(found)),
        "Confusions": lambda: figure(figures.confusion(found)) + _confusions(found),
        "By class": lambda: _by_class(class_table(results, found.titles)),
        "Embeddings": lambda: figure(figures.tsne(found)),
        "Similarity of classes": lambda: figure(figures.similarity(found)),
        "Seen and unseen classes": lambda: figure(figures.seen_unseen(found)),
        "Latent links": lambda: "\n".join(map(figure, _links(found, explain))),
        "Training": lambda: "\n".join(map(figure, figures.objectives(found))),
        "Parameters": lambda: "\n".join(map(_parameters, found.methods)),
        "Data": lambda: _data(found),
        "Repeat it": lambda: _repeat(found, command, model_files),
    }
    parts: dict[str, str] = {}
    for title, make in sections.items():
        progress(title.lower())
        if content := make():
            parts[title] = content
    body = [html.contents(list(parts)), *starmap(html.section, parts.items())]
    title = f"{' against '.join(results)} on {found.data.name}"
    return write_page(folder / "index.html", title, "\n".join(body))


def _check_names(found: Measurements, explain: Sequence[str]) -> None:
    known = found.names.tolist()
    for name in explain:
        if name not in known:
            raise InputError(
                f"no unseen class {name!r} has rows in {found.data.name}{nearest(name, known)}; "
                f"there are {listed(known)}"
            )
    if explain and figures.explained(found) is None:
        raise InputError(
            "latent links can be shown of JLSE and KernelJLSE alone; give a model of one of these"
        )


def _results(made: html.Table) -> str:
    return html.table(made.columns, made.rows) + "".join(map(html.paragraph, made.notes))


def _retrieval(found: Measurements, top: int, folder: Path) -> str:
    """The best rows of each class, as pictures where there are any."""
    says = html.paragraph(
        f"{found.main.label}: the description of a class goes in, the {top} rows that fit it best "
        "come out, best first."
    )
    if not has_pictures(found.data):
        lacking = "".join(
            html.paragraph(f"{text}.", note=True) for text in missing_pictures(found.data)
        )
        return says + lacking + _returned_table(found, top)
    shown = figures.gallery(found, top)
    table = html.details("The rows by their numbers", _returned_table(found, top))
    return says + publish(shown, folder) + table


def _returned_table(found: Measurements, top: int) -> str:
    """The rows by their numbers, and what the false returns are."""
    rows = [
        [title, *(f"{r.row}" if r.right else f"{r.row} ✕ {r.title}" for r in returned)]
        for title, returned in found.retrieved(top).items()
    ]
    columns = ["class", *(f"row {place + 1}" for place in range(len(rows[0]) - 1))]
    note = html.paragraph("A cross marks a false return and the class that it is of.", note=True)
    return html.table(columns, rows) + note


def _confusions(found: Measurements) -> str:
    frequent = [
        [found.titles[true], found.titles[named], rows, percent(share)]
        for true, named, rows, share in found.confusions()
    ]
    table = html.table(["true class", "named", "rows", "of the class"], frequent)
    return html.paragraph("The most frequent confusions:") + table if frequent else ""


def _by_class(made: html.Table) -> str:
    table = html.table(made.columns, made.rows)
    return table if len(made.rows) <= _FEW else html.details(f"All {len(made.rows)} classes", table)


def _links(found: Measurements, explain: Sequence[str]) -> list[Shown]:
    method = figures.explained(found)
    if method is None:
        return []
    best = max(method.evaluation.by_class, key=lambda c: c.average_precision).name
    chosen = enumerate(explain or [best], start=1)
    return [figures.latent_links(found, method, name, k) for k, name in chosen]


def _parameters(method: Measured) -> str:
    usual = usual_parameters(method.model)
    rows = [
        [name, value, "" if value == usual[name] else f"default {usual[name]}"]
        for name, value in plain_parameters(method.model).items()
    ]
    return html.details(method.label, html.table(["parameter", "value", ""], rows))


def _data(found: Measurements) -> str:
    facts = provenance(found.data)
    sources = [[name, digest] for name, digest in facts["sources"].items()]
    notes = "".join(html.paragraph(note, note=True) for note in found.data.notes)
    numbers = html.table(["what", "number"], [[k, f"{v:,}"] for k, v in found.data.facts().items()])
    checked = html.table(["file that was read", "SHA-256"], sources)
    return numbers + notes + html.details(f"Checksums of {counted(len(sources), 'file')}", checked)


def _repeat(found: Measurements, command: str, model_files: Mapping[str, str]) -> str:
    parts = [html.code(command)] if command else []
    saved = [m for m in found.methods if m.label in model_files]
    elsewhere = [m.label for m in saved if _trained_elsewhere(m.model, found.data)]
    if elsewhere:
        says = f"{listed(elsewhere)} in its file was trained on other data than those of this page."
        parts.append(html.paragraph(says, note=True))
    models = [[label, file, reading.sha256(file)] for label, file in model_files.items()]
    parts += [html.table(["model", "file", "SHA-256"], models)] if models else []
    parts.append(html.paragraph(made_with([provenance(found.data)]), note=True))
    return "\n".join(parts)


def _trained_elsewhere(model: ZeroShotClassifier, data: ZeroShotDataset) -> bool:
    """Whether a model is known to come from other files, or from more or fewer rows."""
    then = model.training_data_
    other_files = "files" in then and then["files"] != dict(data.sources)
    return other_files or then.get("rows", data.train_rows.size) != data.train_rows.size
