"""How results and progress are shown: tables for a person, JSON for a program."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unseen.apps.report import page
from unseen.support.text import visible
from unseen.support.work import listening

# Wide enough that a table in a log or a pipe is not squeezed into 80 columns.
_WIDTH = None if sys.stdout is not None and sys.stdout.isatty() else 100


def note(text: str) -> None:
    """A line for a person on standard error, where a program that reads results has none."""
    sys.stderr.write(f"Note: {visible(text)}\n")


def say(text: str) -> None:
    """A line of the result. Names in it may hold what a terminal would obey, which is shown."""
    print(visible(text))


def show(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], notes: Sequence[str] = ()
) -> None:
    """A table; columns of numbers are aligned to the right."""
    table = Table()
    for column, numeric in zip(columns, page.numeric_columns(len(columns), rows), strict=True):
        table.add_column(
            Text(visible(column)), justify="right" if numeric else "left", overflow="fold"
        )
    for row in rows:
        # Plain text: a class name may hold what rich takes for markup.
        table.add_row(*(Text(f"{v:,}" if type(v) is int else visible(v)) for v in row))
    console = Console(width=_WIDTH)
    # Not as the table's own title, which would be wrapped to the width of a narrow table.
    console.print(Text(visible(title), "bold"))
    console.print(table)
    for text in notes:
        say(text)


def show_json(value: Any) -> None:
    """Print a value as JSON, in which NaN, which it does not have, is null."""
    text = json.dumps(value, default=_plain)
    print(json.dumps(json.loads(text, parse_constant=lambda _: None), indent=2))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on standard error what is under way and its step, if a person is there to see it."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    what = visible(what)
    with (
        console.status(Text(what)) as status,
        listening(lambda step: status.update(Text(f"{what}: {visible(step)}"))),
    ):
        yield


def progress(total: int, quiet: bool) -> Callable[[str, int], None]:
    """A function that says on standard error which of its steps a command is at."""
    start = time.perf_counter()

    def line(what: str, done: int) -> None:
        if not quiet:
            seconds = time.perf_counter() - start
            sys.stderr.write(f"[{seconds:6.0f} s] {done + 1} of {total}: {visible(what)}\n")

    return line
