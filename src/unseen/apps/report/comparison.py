"""The table and the page of methods side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from unseen.apps import plots
from unseen.apps.report import page as html
from unseen.apps.report.page import Table
from unseen.apps.report.provenance import made_with, provenance
from unseen.apps.report.publish import Shown, publish, write_page
from unseen.datasets import ZeroShotDataset
from unseen.errors import counted
from unseen.evaluation.comparison import MEASURES, Compared, Comparison, shown

_COLUMNS = ("method", "accuracy (%)", "mAP (%)", "behind (points)", "splits", "seconds", "MB")
NOTE = (
    "± is a standard error over splits, which allows for classes that splits share. A method is "
    "clearly behind, marked *, if its distance to the first is more than two of them, or more than "
    "that where splits are few (Student's t). In brackets: the 95 % interval of the accuracy on "
    "the classes of a split, by a bootstrap over them and their rows; mean ends over splits."
)


def comparison_table(found: Comparison, name: str) -> Table:
    """Methods down, best first."""
    drawn = f"{found.n_held} of {found.n_seen} seen classes held out, {found.n_splits} times"
    rows = [_row(found, one) for one in found.methods]
    return Table(f"Methods on {name}: {drawn}", _COLUMNS, rows, [NOTE])


def _row(found: Comparison, one: Compared) -> list[str]:
    if not one.n_splits:
        return [one.method, "failed" if one.error else "not tried", *["-"] * (len(_COLUMNS) - 2)]
    measures = [shown(found.estimate(one.method, measure)) for measure in MEASURES]
    if one.interval is not None:
        measures[0] += f" ({100 * one.interval.low:.1f} to {100 * one.interval.high:.1f})"
    behind = found.behind(one.method)
    distance = f"{shown(behind)}{' *' if behind.is_clear else ''}"
    if one.n_splits < found.best.n_splits:
        # Split by split, so the means of the table need not differ by it.
        distance += f" on {counted(one.n_splits, 'split')}"
    cost = [f"{one.seconds:.2f}", "-" if one.memory is None else f"{one.memory:.0f}"]
    distance = "-" if one is found.best else distance
    return [one.method, *measures, distance, str(one.n_splits), *cost]


def write_comparison(found: Comparison, data: ZeroShotDataset, out: Path, command: str) -> Path:
    """Write index.html, which holds all it shows, and its figure as files."""
    caption = (
        "Left, faint: every split; strong: the mean with a standard error. Right: how far a method "
        "is behind the first, split by split, with the margin of that; filled where it is clear."
    )
    draw = partial(plots.comparison_figure, found)
    figure = Shown("comparison", "accuracy of each method with error bars", caption, draw)
    says = (
        f"Every method was fitted on the same {found.n_splits} splits of the training rows of "
        f"{data.name}, each without {found.n_held} of the {found.n_seen} seen classes, and had to "
        "recognise and retrieve these. Neither rows nor descriptions of unseen classes took part."
    )
    parts = [
        html.section("Which one to take", *map(html.paragraph, found.in_words())),
        publish(figure, out / "figures"),
        comparison_table(found, data.name).html(),
        html.section("How it was measured", html.paragraph(says)),
        html.code(command),
        html.paragraph(made_with([provenance(data)]), note=True),
    ]
    return write_page(out / "index.html", f"Methods on {data.name}", "\n".join(parts))
