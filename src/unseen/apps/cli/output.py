"""How results are shown: tables for a person, JSON for a program."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from unseen.errors import counted
from unseen.evaluation.protocols import Evaluation
from unseen.support.progress import listening

# Wide enough that a table in a log or a pipe is not squeezed into 80 columns.
_WIDTH = None if sys.stdout.isatty() else 100
# A count, a share, a mean with its deviation, or nothing.
_NUMBERS = re.compile(r"-?|[-+]?[\d.,]+(e[-+]?\d+)?( %)?( ± [\d.,]+( %)?)?")


def say(text: str = "") -> None:
    """A line of plain text."""
    print(text)


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table; columns of numbers stand to the right."""
    table = Table()
    for k, column in enumerate(columns):
        numeric = all(_NUMBERS.fullmatch(str(row[k])) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    console = Console(width=_WIDTH)
    # Not as the table's own title, which would be wrapped to the width of a narrow table.
    console.print(Text(title, "bold"))
    console.print(table)


def _cell(value: Any) -> Text:
    """Plain text: a class name may hold what rich takes for markup."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return Text(f"{value:,}" if is_count else str(value))


def show_json(value: Any) -> None:
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """The value in the types of JSON, which has no NaN."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, (bool, int, str, type(None))) else str(value)


def percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f} %"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on standard error what is under way and its step, if a person is there to see it."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what) as status, listening(lambda step: status.update(f"{what}: {step}")):
        yield


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error for work of a known size, if a person is there to see it; the
    function that is given moves it on."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda number: None
        return
    with Progress(console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(what, total=total)
        yield lambda number: bar.advance(task, number)


def show_evaluation(title: str, result: Evaluation) -> None:
    """The results on unseen classes: overall, generalised if there, and by class."""
    n_classes = len(result.by_class)
    rows_of = f"{counted(result.rows, 'row')} of {counted(n_classes, 'unseen class')}"
    show(
        f"{title}: {rows_of}",
        ["measure", "value"],
        [
            ["per-class top-1 accuracy", percent(result.per_class_accuracy)],
            ["chance", percent(result.chance)],
            ["per-image top-1 accuracy", percent(result.per_image_accuracy)],
            ["retrieval mAP", percent(result.mean_average_precision)],
            ["retrieval mAP, against the others", percent(result.relative_mean_average_precision)],
            ["seconds", f"{result.seconds:.3f}"],
        ],
    )
    if result.generalized is not None:
        g = result.generalized
        show(
            "Generalised: seen and unseen classes compete",
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
    if n_classes == 1:
        say("Note: there is only one class to choose, so every prediction is right.")
