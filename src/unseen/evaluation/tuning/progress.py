"""How far a search is: for a user's function, or as a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from unseen.errors import counted
from unseen.evaluation.tuning.results import Trial


class Progress(NamedTuple):
    """How far a search is, reported after each fit.

    done, total : scores there are, and scores there will be (a setting on a split has one).
    seconds, left : since the start, and until the end by the pace so far and the budget.
    best : the best trial so far, None while all have failed.
    """

    done: int
    total: int
    seconds: float
    left: float
    best: Trial | None


@contextmanager
def reporter(
    progress: Callable[[Progress], Any] | bool,
) -> Iterator[Callable[[Progress], Any] | None]:
    """Where progress goes: a user's function, a bar if a person is there to see it, or nowhere."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (TextColumn("tuning"), BarColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("first fit", total=None)
        yield lambda p: bar.update(task, completed=p.done, total=p.total, description=describe(p))


def describe(progress: Progress) -> str:
    """Progress in one line."""
    minutes, seconds = divmod(round(progress.left), 60)
    line = f"{progress.done}/{progress.total}, {minutes}:{seconds:02d} left"
    if progress.best is None:
        return line
    splits = counted(progress.best.n_splits, "split")
    return f"{line}, best {100 * progress.best.mean:.1f} % on {splits}"
