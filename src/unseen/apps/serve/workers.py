"""The threads that compute, the queue before them, and what becomes of those who leave it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

import numpy as np

from unseen.apps.serve.answers import BusyError

T = TypeVar("T")
# Light tasks that take less than this, in seconds of a processor, are done without a thread: to
# wake one and wait for it takes longer.
_LIGHT = 3e-3
_REMEMBERED = 8


class Workers:
    """A few threads and a queue of bounded length.

    Who is cancelled while waiting (a client that left, a request that took too long) loses its
    place at once; what has begun is finished, and its result dropped.
    """

    def __init__(self, threads: int, waiting: int) -> None:
        self._most = threads + waiting
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "unseen-serve")
        self._light: deque[float] = deque(maxlen=_REMEMBERED)
        self.under_way = 0

    async def run_light(self, task: Callable[[], T]) -> T:
        """`run` for tasks that are usually short: as long as the last ones were, at once."""

        def timed() -> T:
            start = time.thread_time()
            try:
                return task()
            finally:
                self._light.append(time.thread_time() - start)

        known = list(self._light)
        if len(known) == _REMEMBERED and sum(known) < _REMEMBERED * _LIGHT:
            return _quietly(timed)
        return await self.run(timed)

    async def run(self, task: Callable[[], T]) -> T:
        """The result of a task, or a `BusyError` if the queue is full."""
        if self.under_way >= self._most:
            raise BusyError(
                f"{self._most - self._threads} requests are waiting already; try again in a second"
            )
        self.under_way += 1
        loop = asyncio.get_running_loop()
        future = self._pool.submit(_quietly, task)
        future.add_done_callback(lambda done: self._leave(loop, done))
        # Cancelled, this cancels the future too, which leaves the queue if it has not begun.
        return await asyncio.wrap_future(future)

    def _leave(self, loop: asyncio.AbstractEventLoop, _: Future) -> None:
        with suppress(RuntimeError):  # the loop is closed: the service has stopped
            loop.call_soon_threadsafe(self._left)

    def _left(self) -> None:
        self.under_way -= 1

    def stop(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _quietly(task: Callable[[], T]) -> T:
    """Huge values overflow; that is looked for in the result."""
    try:
        with np.errstate(all="ignore"):
            return task()
    except StopIteration as error:  # a future cannot hold it: whoever waits would wait for ever
        raise RuntimeError("a task ran out of something") from error
