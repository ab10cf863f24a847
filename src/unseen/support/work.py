"""Long work: the threads it may take, and the steps it reports to whoever listens.

Small problems are faster on one thread: their products are over before a second has woken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from typing import Any

from numba.core import config
from threadpoolctl import ThreadpoolController

_SMALL = 5e7
_PARTS_PER_THREAD = 4
_limit: ContextVar[int | None] = ContextVar("limit", default=None)
_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)
_controller = cache(ThreadpoolController)


def _cores() -> int:
    """One thread per core, or as many as the environment variable NUMBA_NUM_THREADS says."""
    return int(vars(config)["NUMBA_NUM_THREADS"])


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), "unseen")


# Threads do not survive a fork: the child starts its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


@contextmanager
def _set(variable: ContextVar, value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def one_blas_thread() -> AbstractContextManager:
    """Serial BLAS inside, for kernels that call it on many small matrices."""
    return _controller().limit(limits=1, user_api="blas")


def limited_to(threads: int) -> AbstractContextManager:
    """At most so many threads for `in_threads`, in place of one per core."""
    return _set(_limit, threads)


def in_threads(task: Callable[[slice], None], n_items: int, least: int = 1) -> None:
    """Call `task` with slices that cover n_items items, several at once.

    A task must release the GIL and write to its own items only; then the result does not depend
    on the number of threads. No slice is shorter than `least` items, so little work stays here.
    """
    threads = min(_limit.get() or _cores(), n_items // least)
    if threads <= 1:
        task(slice(0, n_items))
        return
    n_parts = min(threads * _PARTS_PER_THREAD, n_items // least)
    bounds = [n_items * k // n_parts for k in range(n_parts + 1)]
    parts = iter([slice(a, b) for a, b in pairwise(bounds)])

    def work() -> None:
        for part in parts:
            task(part)

    others = [_pool().submit(work) for _ in range(threads - 1)]
    work()
    for other in others:
        other.result()


@contextmanager
def threads_for(work: float) -> Iterator[None]:
    """One thread for everything inside if the problem is small: `work` multiplications per pass."""
    if work > _SMALL:
        yield
        return
    with limited_to(1), one_blas_thread():
        yield


def tell(step: str) -> None:
    """Report the step that begins to whoever listens."""
    listener = _listener.get()
    if listener is not None:
        listener(step)


def listening(listener: Callable[[str], None]) -> AbstractContextManager:
    """Call `listener` with each step that is reported inside this context.

    >>> with listening(print):
    ...     tell("round 1 of 2")
    round 1 of 2
    """
    return _set(_listener, listener)
