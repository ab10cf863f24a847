"""Threads: small problems are faster on one, whose products are over before a second has woken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache

import numba
from threadpoolctl import ThreadpoolController

_SMALL = 5e7


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager:
    """Serial BLAS inside, for kernels that call it on many small matrices."""
    return _controller().limit(limits=1, user_api="blas")


@contextmanager
def threads_for(work: float) -> Iterator[None]:
    """One thread for everything inside if the problem is small: `work` multiplications a pass."""
    if work > _SMALL:
        yield
        return
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with one_blas_thread():
            yield
    finally:
        numba.set_num_threads(before)
