"""How everything of size N is laid out: the blocks of rows, and whether tables of numbers of rows
lie in memory or on disk.

Algorithms see blocks only through two steps: do something with each and add up what comes back, or
hand something on from one to the next. So what they find depends on the blocks alone, and not on
where these lie.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unseen.errors import InputError
from unseen.support.memory import free_memory

# Rows are cut into blocks whose widest table has this size, if there is more than twice as much.
TABLE_BYTES = 32 * 2**20
# Tables lie on disk if together they take more than this share of the memory that is free.
MEMORY_SHARE = 0.5
# Less than this lies in memory always: a look at what is free would take longer than the work.
_LITTLE = 64 * 2**20
# Neighbours in a file go to one block, as many as make reading fast.
_LONGEST_RUN = 256
_LEAST_RUNS = 16


@dataclass(frozen=True)
class Layout:
    """N rows in blocks.

    n_blocks : as many blocks. A block takes runs of neighbouring rows from all over the table, as
        rows often come sorted by class, and blocks of one class alone would make ascent slow.
    folder : where tables lie on disk; None for memory.
    n_groups : groups of neighbouring blocks that are visited without a break, as they lie in one
        place.
    """

    n_rows: int
    n_blocks: int = 1
    folder: str | None = None
    n_groups: int = 1

    @classmethod
    def of(
        cls, n_rows: int, row_bytes: int, all_bytes: int, folder: str | os.PathLike | None = None
    ) -> Layout:
        """The usual layout: blocks by the bytes that a row has in the widest table, and the place
        by the bytes that a row has in all tables. On disk it is `folder`, else `TMPDIR`."""
        size = n_rows * row_bytes
        n_blocks = 1 if size <= 2 * TABLE_BYTES else -(-size // TABLE_BYTES)
        free = free_memory() if n_rows * all_bytes > _LITTLE else None
        if free is None or n_rows * all_bytes <= MEMORY_SHARE * free:
            return cls(n_rows, n_blocks)
        return cls(n_rows, n_blocks, os.fspath(folder or tempfile.gettempdir()))

    @cached_property
    def _block_of(self) -> np.ndarray:
        longest = self.n_rows // (_LEAST_RUNS * self.n_blocks)
        run = max(1, min(_LONGEST_RUN, longest))
        return np.arange(self.n_rows) // run % self.n_blocks

    @cached_property
    def order(self) -> np.ndarray | None:
        """Numbers of rows, one block after the other; None where rows stay as they come."""
        return None if self.n_blocks == 1 else np.argsort(self._block_of, kind="stable")

    @cached_property
    def blocks(self) -> list[slice]:
        """The blocks as stretches of rows that are in `order`."""
        if self.n_blocks == 1:
            return [slice(0, self.n_rows)]
        ends = np.cumsum(np.bincount(self._block_of, minlength=self.n_blocks)).tolist()
        return [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]

    def visit(self, *tables: np.ndarray) -> Iterator[tuple[slice, tuple[np.ndarray, ...]]]:
        """The blocks, each with its rows of the tables."""
        for rows in self.blocks:
            yield rows, tuple(table[rows] for table in tables)
            let_go(*tables)

    def in_rows_order(self, table: np.ndarray) -> np.ndarray:
        """A table whose rows are in `order`, as the rows came; the table itself if it is so."""
        if self.order is None:
            return table
        out = self.zeros(table.shape, table.dtype)
        for rows, (part,) in self.visit(table):
            out[self.order[rows]] = part
            let_go(out)
        return out

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """A new table of zeros; one on disk goes with its array."""
        if self.folder is None or 0 in shape:
            return np.zeros(shape, dtype)
        n_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        path = ""
        try:
            handle, path = tempfile.mkstemp(".npy", "unseen-", self.folder)
            with os.fdopen(handle, "r+b") as file:
                _reserve(file, n_bytes)
                table = np.memmap(file, dtype, "r+", 0, shape)
        except OSError as error:
            with suppress(OSError):
                os.unlink(path)
            raise InputError(
                f"numbers of rows do not fit in memory, and {self.folder} has no room for another "
                f"{n_bytes / 1e9:.1f} GB of them: {error.strerror or error}; TMPDIR names another "
                "folder, or give a checkpoint elsewhere"
            ) from error
        try:
            # What is mapped stays until it is let go, even if the process is killed.
            os.unlink(path)
        except OSError:  # Windows
            weakref.finalize(table, _unlink, path)
        return np.asarray(table)


def _reserve(file: Any, n_bytes: int) -> None:
    """Room on the disk: without it, a write to a map would end the process where a disk is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    else:
        file.truncate(n_bytes)


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


class Blocks:
    """What a solver keeps of each block, visited one after the other in this process."""

    def __init__(self, blocks: Sequence[Any], n_groups: int = 1) -> None:
        self.blocks, self.n_groups = blocks, n_groups

    def __len__(self) -> int:
        return len(self.blocks)

    def each(
        self, work: Callable[..., Any], *given: Any, parts: Sequence[Any] | None = None
    ) -> Iterator[Any]:
        """work(block, [its part,] *given) of every block, in their order."""
        for number, block in enumerate(self.blocks):
            own = () if parts is None else (parts[number],)
            yield work(block, *own, *given)
            let_go(*vars(block).values())

    def hand_on(
        self, work: Callable[..., Any], carry: Any, *given: Any, order: Iterable[int] | None = None
    ) -> Any:
        """carry = work(block, carry, *given), from block to block."""
        for number in range(len(self.blocks)) if order is None else order:
            carry = work(self.blocks[number], carry, *given)
            let_go(*vars(self.blocks[number]).values())
        return carry

    def shuffled(self, rng: np.random.Generator) -> list[int]:
        """Blocks in random order, but those of a group together: they lie in one place."""
        return shuffled(len(self), self.n_groups, rng)

    def total(self, work: Callable[..., Any], *given: Any, parts: Any = None) -> Any:
        """The sum of `each`, in float64: of numbers, of arrays, or of tuples of both."""
        return added(self.each(work, *given, parts=parts))


def shuffled(n_blocks: int, n_groups: int, rng: np.random.Generator) -> list[int]:
    """Numbers of blocks in random order, those of a group of neighbours together."""
    groups = np.array_split(np.arange(n_blocks), n_groups)
    return [int(k) for g in rng.permutation(n_groups) for k in rng.permutation(groups[g])]


def added(found: Iterable[Any]) -> Any:
    """Numbers, arrays or tuples of them, added up in float64."""
    total: Any = None
    for part in found:
        one = part if isinstance(part, tuple) else (part,)
        new = [np.asarray(value, np.float64) for value in one]
        total = new if total is None else [a + b for a, b in zip(total, new, strict=True)]
        is_tuple = isinstance(part, tuple)
    sums = [value if value.ndim else float(value) for value in total]
    return tuple(sums) if is_tuple else sums[0]


class RowProduct:
    """The rows of A B (N x k) where they are asked for: A is N x h, B is h x k."""

    def __init__(self, A: np.ndarray, B: np.ndarray) -> None:
        self.A, self.B = A, np.ascontiguousarray(B)
        self.shape, self.dtype = (len(A), B.shape[1]), np.result_type(A, B)

    def __len__(self) -> int:
        return len(self.A)

    def __getitem__(self, rows: Any) -> np.ndarray:
        found = self.A[rows] @ self.B
        let_go(self.A)
        return found


def let_go(*arrays: Any) -> None:
    """Give back the memory that pages of memory-mapped arrays take, which stay on the disk or on
    their way to it; of other values nothing."""
    for array in arrays:
        base = getattr(array, "base", None)
        while base is not None and not isinstance(base, mmap.mmap):
            base = getattr(base, "base", None)
        if base is not None and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)
