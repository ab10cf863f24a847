"""Pictures to vectors, one after the other: read and prepared in threads, encoded in batches.

At most a few batches are in memory, whatever the number of pictures.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from unseen.encoders.backend import Backend
from unseen.encoders.cache import Cache, key_of
from unseen.encoders.pictures import PictureError, decode, quiet, read_bytes, read_picture

Outcome = np.ndarray | PictureError


@dataclass
class _Item:
    """One picture on its way: what it is known by, what was prepared, what came out."""

    key: bytes | None = None
    prepared: np.ndarray | None = None
    outcome: Outcome | None = None


def vectors(
    backend: Backend,
    sources: Iterable[Any],
    batch_size: int = 32,
    threads: int | None = None,
    cache: Cache | None = None,
) -> Iterator[Outcome]:
    """The vector of each picture, in order, or the reason why there is none."""
    n_threads = threads or os.cpu_count() or 1
    ahead, coming = 2 * batch_size + n_threads, iter(sources)
    waiting: deque[Future[_Item]] = deque()
    under_way: deque[_Item] = deque()
    with ExitStack() as stack:
        stack.enter_context(quiet())
        pool = stack.enter_context(ThreadPoolExecutor(n_threads, "unseen-pictures"))
        # Who stops here does not wait for pictures that nobody wants any more.
        stack.callback(lambda: [future.cancel() for future in waiting])
        if cache is not None:
            stack.callback(cache.write)
        while True:
            for source in islice(coming, ahead - len(waiting)):
                waiting.append(pool.submit(_prepared, backend, source, cache))
            if waiting:
                under_way.append(waiting.popleft().result())
            ready = [item for item in under_way if item.outcome is None]
            full = len(ready) >= batch_size or len(under_way) >= 8 * batch_size
            if ready and (full or not waiting):
                _encode(backend, ready, cache)
            while under_way and under_way[0].outcome is not None:
                yield under_way.popleft().outcome  # pyright: ignore[reportReturnType]
            if not waiting and not under_way:
                return


def _prepared(backend: Backend, source: Any, cache: Cache | None) -> _Item:
    """Read one picture and make it ready for the encoder; in a thread."""
    try:
        if not isinstance(source, (str, os.PathLike)):
            return _Item(prepared=_ready(backend, read_picture(source)))
        content = read_bytes(source)
        key = None if cache is None else key_of(content)
        known = None if cache is None or key is None else cache.get(key)
        if known is not None:
            return _Item(outcome=known)
        return _Item(key, _ready(backend, decode(content)))
    except PictureError as error:
        return _Item(outcome=error)


def _ready(backend: Backend, picture: Any) -> np.ndarray:
    try:
        return backend.prepare(picture)
    except Exception as error:
        raise PictureError(f"the encoder cannot take it ({type(error).__name__})") from error


def _encode(backend: Backend, items: list[_Item], cache: Cache | None) -> None:
    batch = np.stack([np.asarray(item.prepared) for item in items])
    found = np.asarray(backend.encode(batch), dtype=np.float32)
    for item, vector in zip(items, found, strict=True):
        fine = np.isfinite(vector).all()
        item.prepared = None
        item.outcome = vector if fine else PictureError("its vector is not finite")
    if cache is not None:
        cache.add({i.key: v for i, v in zip(items, found, strict=True) if i.key and _fine(i)})


def _fine(item: _Item) -> bool:
    return isinstance(item.outcome, np.ndarray)
