"""How results are shown: tables for a person, JSON for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from unseen.protocols import Evaluation

# Wide enough that a table in a log or a pipe is not squeezed into 80 columns.
_WIDTH = None if sys.stdout.isatty() else 100


def say(text: str = "") -> None:
    """A line of plain text."""
    print(text)


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table; columns of numbers stand to the right."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for k, column in enumerate(columns):
        numeric = all(isinstance(row[k], (int, float)) or _looks_numeric(row[k]) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    Console(width=_WIDTH).print(table)


def _looks_numeric(value: Any) -> bool:
    text = str(value).rstrip("%s ").replace(",", "").replace("±", "").replace(" ", "")
    return text in ("", "-") or text.replace(".", "").replace("e", "").replace("-", "").isdigit()


def _cell(value: Any) -> str:
    # Square brackets are rich's markup; class names may hold them.
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("[", r"\[")


def show_json(value: Any) -> None:
    print(json.dumps(value, default=_plain, indent=2))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


def percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f} %"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on standard error that something is under way, if a person is there to see it."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def show_evaluation(title: str, result: Evaluation) -> None:
    """The results on unseen classes: overall, generalised if there, and by class."""
    n_classes = len(result.by_class)
    show(
        f"{title}: {result.rows:,} rows of {n_classes} unseen classes",
        ["measure", "value"],
        [
            ["per-class top-1 accuracy", percent(result.per_class_accuracy)],
            ["chance", percent(result.chance)],
            ["per-image top-1 accuracy", percent(result.per_image_accuracy)],
            ["retrieval mAP", percent(result.mean_average_precision)],
            ["seconds", f"{result.seconds:.3f}"],
        ],
    )
    if result.generalized is not None:
        g = result.generalized
        show(
            "Generalised: seen and unseen classes compete (not calibrated)",
            ["seen", "unseen", "harmonic mean", "AUSUC"],
            [[percent(g.seen), percent(g.unseen), percent(g.harmonic_mean), f"{g.ausuc:.3f}"]],
        )
    show(
        "By class",
        ["class", "rows", "top-1", "average precision"],
        [
            [c.name, c.rows, percent(c.accuracy), percent(c.average_precision)]
            for c in result.by_class
        ],
    )
