"""How far long work has come: methods tell it, and whoever called them may listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def tell(step: str) -> None:
    """Say which step begins, to whoever listens."""
    listener = _listener.get()
    if listener is not None:
        listener(step)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Call `listener` with each step that is told meanwhile.

    >>> with listening(print):
    ...     tell("round 1 of 2")
    round 1 of 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
