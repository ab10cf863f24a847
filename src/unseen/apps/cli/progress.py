"""How a command tells on standard error which of its steps it is at."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress(total: int, quiet: bool) -> Iterator[Callable[[str, int], None]]:
    """A bar for a person, a line a step in a log, nothing where a program reads."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        start = time.perf_counter()

        def note(what: str, done: int) -> None:
            if not quiet:
                seconds = time.perf_counter() - start
                sys.stderr.write(f"[{seconds:6.0f} s] {done + 1} of {total}: {what}\n")

        yield note
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda what, done: bar.update(task, description=what, completed=done)
