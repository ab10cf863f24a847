"""Blocks of rows on the workers of a Dask cluster, with the two steps that algorithms know of them.

Neighbouring blocks are a group, which lies on one worker: a table of its rows, read once from the
chunks of a Dask array, and for each block tables of what an algorithm finds. All of it is soft. A
step makes a new version of the tables beside the old one, which stays until the next step begins.
If a worker is lost, its groups go to others, which read the rows and rebuild the tables, and the
step is taken again. There is one task per worker for every pass over blocks.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from threading import Event
from typing import Any

import numpy as np
from distributed import CancelledError, Client, KilledWorker, get_worker
from distributed.comm.core import CommClosedError

from unseen.errors import InputError
from unseen.rows.layout import added, let_go, shuffled
from unseen.support.work import limited_to, one_blas_thread

_PATIENCE = 120.0
_LOOK = 0.25
_SLOW = 10.0
_MOST_TRIES = 20


class LostError(Exception):
    """A worker, or what it kept, is gone."""


class WorkerBlock:
    """What a worker keeps of one block: what it was made from, and versions of its tables.

    A step reads `now`, puts what it changes into `new`, and may keep something else in `work`.
    """

    def __init__(self, number: int, made: Any, tables: dict[str, Any], version: int) -> None:
        self.number, self.made, self.versions = number, made, {version: tables}
        self.now: dict[str, Any] = {}
        self.new: dict[str, Any] = {}
        self.work: Any = None

    def open(self, version: int) -> dict[str, Any]:
        """Begin a step from this version; a step that was broken off is forgotten."""
        if version not in self.versions:
            raise LostError
        self.versions = {version: self.versions[version]}
        self.now, self.new, self.work = self.versions[version], {}, None
        return self.now

    def close(self, version: int) -> None:
        """The end of a step: its tables are the next version."""
        self.made.keep(self.number, version + 1, self.new)
        self.versions[version + 1] = self.now | self.new
        self.work = None

    def let_go(self) -> None:
        """Tables on disk need no memory until they are read again."""
        let_go(*self.now.values(), *self.new.values(), *vars(self.work or self).values())


# What this process keeps, by fit: a group by its number, and a block by its own.
_GROUPS: dict[tuple[str, int], Any] = {}
_KEPT: dict[tuple[str, int], WorkerBlock] = {}


def _missing(fit: str, groups: dict[int, list[int]], version: int) -> list[int]:
    return [g for g, own in groups.items() if not all(_has(fit, k, version) for k in own)]


def _has(fit: str, number: int, version: int) -> bool:
    block = _KEPT.get((fit, number))
    return block is not None and version in block.versions


def _begin(fit: str, groups: list[int], make: Any) -> list[int]:
    """Make room for groups whose rows are not here; their numbers."""
    new = [g for g in groups if (fit, g) not in _GROUPS or not _GROUPS[fit, g].is_whole]
    for g in new:
        _GROUPS[fit, g] = make(g)
    return new


def take(X: Any, labels: Any, *, fit: str, group: int, chunk: int) -> None:
    """A chunk of rows joins its group."""
    if (fit, group) not in _GROUPS:
        raise LostError
    _GROUPS[fit, group].take(chunk, X, labels)


def _build(fit: str, groups: dict[int, list[int]], build: Any, version: int) -> None:
    for g, own in groups.items():
        if (fit, g) not in _GROUPS or not _GROUPS[fit, g].is_whole:
            raise LostError
        for place, number in enumerate(own):
            made = _GROUPS[fit, g].block(place)
            _KEPT[fit, number] = WorkerBlock(number, made, build(number, made), version)


def _each(fit: str, numbers: list[int], work: Any, given: Any, parts: Any) -> list[Any]:
    found = []
    for place, number in enumerate(numbers):
        own, block = () if parts is None else (parts[place],), _found(fit, number)
        found.append(work(block, *own, *given))
        block.let_go()
    return found


def _hand(fit: str, numbers: list[int], work: Any, carry: Any, given: Any) -> Any:
    for number in numbers:
        block = _found(fit, number)
        carry = work(block, carry, *given)
        block.let_go()
    return carry


def _forget(fit: str) -> None:
    for kept in (_GROUPS, _KEPT):
        for key in [key for key in kept if key[0] == fit]:
            del kept[key]


def _found(fit: str, number: int) -> WorkerBlock:
    if (fit, number) not in _KEPT:
        raise LostError
    return _KEPT[fit, number]


def _run(packed: bytes) -> bytes:
    """Call what was packed. Arrays that Dask itself sends cannot be written to."""
    task, *given = pickle.loads(packed)
    with ExitStack() as stack:
        if get_worker().state.nthreads == 1:
            stack.enter_context(limited_to(1))
            stack.enter_context(one_blas_thread())
        return pickle.dumps(task(*given))


def _addresses(dask_scheduler: Any = None) -> list[str]:
    return list(dask_scheduler.workers)


class WorkerBlocks:
    """Blocks in groups of neighbours, each group on one worker.

    make(group) is what a worker fills with chunks of rows, chunks(group, new) the tasks that do
    this. All work that is given must be importable by workers.
    """

    def __init__(
        self, client: Client, fit: str, groups: Sequence[Sequence[int]], make: Any, chunks: Any
    ) -> None:
        self.client, self.fit, self.make, self.chunks = client, fit, make, chunks
        self.groups = [list(own) for own in groups]
        self.n_blocks, self.n_groups = sum(map(len, self.groups)), len(self.groups)
        self.homes = [""] * self.n_groups

    def __len__(self) -> int:
        return self.n_blocks

    def sure(self, step: Callable[[], Any], settle: Callable[[], None]) -> Any:
        """What a step returns; `settle` comes before the first, and again if a worker is lost."""
        for _ in range(_MOST_TRIES):
            try:
                if not self.homes[0]:
                    raise LostError
                return step()
            except LostError:
                self._again(settle)
        raise InputError("Dask workers are lost again and again: is their memory too small?")

    def _again(self, settle: Callable[[], None]) -> None:
        for _ in range(_MOST_TRIES):
            try:
                settle()
            except LostError:
                time.sleep(_LOOK)
            else:
                return

    def settle(self, build: Callable[..., Any], version: int) -> None:
        """Every group gets a worker that lives, and workers make what they miss: rows from chunks,
        and the tables of a block by build(number, what it is made from)."""
        self._find_homes()
        mine = self._groups_at_home()
        missing = self._run({h: (_missing, self.fit, own, version) for h, own in mine.items()})
        missing = {home: own for home, own in missing.items() if own}
        begun = self._run({h: (_begin, self.fit, own, self.make) for h, own in missing.items()})
        self._take({home: new for home, new in begun.items() if new})
        self._run(
            {
                home: (_build, self.fit, {g: self.groups[g] for g in own}, build, version)
                for home, own in missing.items()
            }
        )

    def _find_homes(self) -> None:
        end = time.monotonic() + _PATIENCE
        while not (alive := self.alive()):
            if time.monotonic() > end:
                raise InputError("the Dask cluster has no workers left: start some and fit again")
            time.sleep(_LOOK)
        for group, home in enumerate(self.homes):
            if home not in alive:
                held = [other for other in self.homes if other in alive]
                self.homes[group] = min(alive, key=lambda address: (held.count(address), address))

    def _take(self, new: dict[str, list[int]]) -> None:
        """Workers read the chunks of new groups, each at home if they can be read there."""
        futures = []
        for home, own in new.items():
            tasks = [task for g in own for task in self.chunks(g)]
            with warnings.catch_warnings():  # Labels that are here make a large graph.
                warnings.filterwarnings("ignore", "Sending large graph")
                found: Any = self.client.compute(tasks, workers=[home], allow_other_workers=False)
            futures += [(home, future) for future in found]
        self._results(futures)

    def each(self, work: Any, *given: Any, parts: Sequence[Any] | None = None) -> list[Any]:
        """work(block, [its part,] *given) of every block, in their order."""
        tasks, found = {}, [None] * self.n_blocks
        homes = self._blocks_at_home()
        for home, own in homes.items():
            mine = None if parts is None else [parts[k] for k in own]
            tasks[home] = (_each, self.fit, own, work, given, mine)
        for home, results in self._run(tasks).items():
            for number, result in zip(homes[home], results, strict=True):
                found[number] = result
        return found

    def total(self, work: Any, *given: Any, parts: Any = None) -> Any:
        """The sum of `each`, in the order of the blocks, whatever the workers."""
        return added(self.each(work, *given, parts=parts))

    def shuffled(self, rng: np.random.Generator) -> list[int]:
        """Blocks in random order, those of a group together."""
        return shuffled(self.n_blocks, self.n_groups, rng)

    def hand_on(
        self, work: Any, carry: Any, *given: Any, order: Iterable[int] | None = None
    ) -> Any:
        """carry = work(block, carry, *given), from block to block and from worker to worker."""
        home_of = {k: self.homes[g] for g, own in enumerate(self.groups) for k in own}
        stretch: list[int] = []
        numbers = list(range(self.n_blocks) if order is None else order)
        for place, number in enumerate(numbers):
            stretch.append(number)
            following = numbers[place + 1] if place + 1 < len(numbers) else None
            if following is None or home_of[following] != home_of[number]:
                home = home_of[number]
                task = (_hand, self.fit, stretch, work, carry, given)
                carry, stretch = self._run({home: task})[home], []
        return carry

    def of(self, number: int, work: Any, *given: Any) -> Any:
        """work(block, *given) of one block."""
        home = next(self.homes[g] for g, own in enumerate(self.groups) if number in own)
        return self._run({home: (_each, self.fit, [number], work, given, None)})[home][0]

    def forget(self) -> None:
        """Workers let go what they keep of this fit."""
        alive = set(self.alive())
        self._run({home: (_forget, self.fit) for home in set(self.homes) & alive})

    def _groups_at_home(self) -> dict[str, dict[int, list[int]]]:
        found: dict[str, dict[int, list[int]]] = {}
        for g, home in enumerate(self.homes):
            found.setdefault(home, {})[g] = self.groups[g]
        return found

    def _blocks_at_home(self) -> dict[str, list[int]]:
        found = self._groups_at_home().items()
        return {home: [k for own in groups.values() for k in own] for home, groups in found}

    def alive(self) -> list[str]:
        """Addresses of the workers."""
        found: Any = self.client.run_on_scheduler(_addresses)
        return sorted(found)

    def _run(self, tasks: dict[str, tuple]) -> dict[str, Any]:
        """What tasks return, each on its worker; a LostError if one of those is gone."""
        futures = [
            (h, self.client.submit(_run, pickle.dumps(task), workers=[h], pure=False, retries=0))
            for h, task in tasks.items()
        ]
        found = self._results(futures)
        return {home: pickle.loads(each) for home, each in zip(tasks, found, strict=True)}

    def _results(self, futures: list[tuple[str, Any]]) -> list[Any]:
        try:
            return [self._result(home, future) for home, future in futures]
        except (KilledWorker, CancelledError, CommClosedError) as error:
            raise LostError from error
        finally:
            for _, future in futures:
                future.cancel()

    def _result(self, home: str, future: Any) -> Any:
        done = Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(_LOOK):
            if home not in self.alive():
                raise LostError
        while True:
            try:
                return future.result(timeout=_SLOW)
            except (TimeoutError, UnboundLocalError):  # the second is a slip of Dask's at the first
                if home not in self.alive():
                    raise LostError from None
