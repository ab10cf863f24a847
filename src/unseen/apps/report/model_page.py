"""The page of a model report: tables, figures, parameters, provenance, and how to repeat it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unseen.apps.report import figures
from unseen.apps.report import page as html
from unseen.apps.report.measure import Measurements, Subject
from unseen.apps.report.page import percent
from unseen.apps.report.pictures import RowPictures
from unseen.apps.report.provenance import made_with, provenance
from unseen.apps.report.publish import publish, replacing_figures, write
from unseen.apps.report.results import class_table, results_table
from unseen.errors import InputError, counted, listed, nearest
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
) -> Path:
    """Write index.html, which holds all it shows, and its figures as files in `figures`.

    command : what made the report, for the reader to repeat it.
    explain : classes whose latent links are drawn; by default that of the best average precision.
    top : how many rows the gallery shows of each class.
    """
    _check_names(found, explain)
    parts: dict[str, str] = {}
    with replacing_figures(folder / "figures"):
        for title, make in _sections(found, folder / "figures", command, explain, top):
            progress(title.lower())
            content = make()
            if content:
                parts[title] = content
    labels = " against ".join(m.label for m in found.methods)
    body = [html.contents(list(parts))]
    body += [html.section(title, content) for title, content in parts.items()]
    text = html.page(f"{labels} on {found.data.name}", "\n".join(body))
    write(folder / "index.html", text.encode())
    return folder / "index.html"


def _sections(
    found: Measurements, folder: Path, command: str, explain: Sequence[str], top: int
) -> Iterator[tuple[str, Callable[[], str]]]:
    pictures = RowPictures(found.data)
    yield "Results", lambda: _results(found)
    yield "Retrieval", lambda: retrieval(found, pictures, top, folder)
    yield "Precision and recall", lambda: publish(figures.precision_recall(found), folder)
    yield "Confusions", lambda: _confusions(found, folder)
    yield "By class", lambda: _by_class(found)
    yield "Embeddings", lambda: publish(figures.tsne(found), folder)
    yield "Similarity of classes", lambda: publish(figures.similarity(found), folder)
    yield "Seen and unseen classes", lambda: publish(figures.seen_unseen(found), folder)
    yield "Latent links", lambda: _links(found, pictures, explain, folder)
    yield "Training", lambda: "\n".join(publish(s, folder) for s in figures.objectives(found))
    yield "Parameters", lambda: "\n".join(_parameters(m.subject) for m in found.methods)
    yield "Data", lambda: _data(found)
    yield "Repeat it", lambda: _repeat(found, command)


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


def _results(found: Measurements) -> str:
    table = results_table("", {m.label: m.evaluation for m in found.methods})
    return html.table(table.columns, table.rows)


def retrieval(
    found: Measurements,
    pictures: RowPictures,
    top: int,
    folder: Path,
    descriptions: Mapping[str, Any] | None = None,
) -> str:
    """The best rows of each class, as pictures where there are any."""
    says = html.paragraph(
        f"{found.main.label}: the description of a class goes in, the {top} rows that fit it best "
        "come out, best first."
    )
    if not pictures.any:
        return says + _returned_table(found, top)
    shown = figures.gallery(found, pictures, top, descriptions or {})
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


def _confusions(found: Measurements, folder: Path) -> str:
    frequent = [
        [found.titles[true], found.titles[named], rows, percent(share)]
        for true, named, rows, share in found.confusions()
    ]
    table = html.table(["true class", "named", "rows", "of the class"], frequent)
    return publish(figures.confusion(found), folder) + (
        html.paragraph("The most frequent confusions:") + table if frequent else ""
    )


def _by_class(found: Measurements) -> str:
    made = class_table({m.label: m.evaluation for m in found.methods}, found.titles)
    table = html.table(made.columns, made.rows)
    return table if len(made.rows) <= _FEW else html.details(f"All {len(made.rows)} classes", table)


def _links(found: Measurements, pictures: RowPictures, explain: Sequence[str], folder: Path) -> str:
    method = figures.explained(found)
    if method is None:
        return ""
    best = max(method.evaluation.by_class, key=lambda c: c.average_precision).name
    parts = []
    for k, name in enumerate(explain or [best]):
        shown = figures.latent_links(found, name, pictures)
        numbered = shown if k == 0 else shown._replace(name=f"{shown.name}-{k + 1}")
        parts.append(publish(numbered, folder))
    return "\n".join(parts)


def _parameters(subject: Subject) -> str:
    usual = usual_parameters(subject.model)
    rows = [
        [name, value, "" if value == usual[name] else f"default {usual[name]}"]
        for name, value in plain_parameters(subject.model).items()
    ]
    return html.details(subject.label, html.table(["parameter", "value", ""], rows))


def _data(found: Measurements) -> str:
    facts = provenance(found.data)
    sources = [[name, digest] for name, digest in facts["sources"].items()]
    notes = "".join(html.paragraph(note, note=True) for note in found.data.notes)
    numbers = html.table(["what", "number"], [[k, f"{v:,}"] for k, v in found.data.facts().items()])
    checked = html.table(["file that was read", "SHA-256"], sources)
    return numbers + notes + html.details(f"Checksums of {counted(len(sources), 'file')}", checked)


def _repeat(found: Measurements, command: str) -> str:
    saved = [m.subject for m in found.methods if m.subject.file]
    parts = [html.code(command)] if command else []
    elsewhere = [subject.label for subject in saved if _trained_elsewhere(found, subject)]
    if elsewhere:
        says = f"{listed(elsewhere)} in its file was trained on other data than those of this page."
        parts.append(html.paragraph(says, note=True))
    models = [[subject.label, subject.file, reading.sha256(subject.file)] for subject in saved]
    parts += [html.table(["model", "file", "SHA-256"], models)] if models else []
    parts.append(html.paragraph(made_with([provenance(found.data)]), note=True))
    return "\n".join(parts)


def _trained_elsewhere(found: Measurements, subject: Subject) -> bool:
    """Whether a model is known to come from other files, or from more or fewer rows."""
    then, data = subject.model.training_data_, found.data
    other_files = "files" in then and then["files"] != dict(data.sources)
    return other_files or then.get("rows", data.train_rows.size) != data.train_rows.size
