"""What workers do with their blocks of rows in Algorithm 2: one function for each step."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker

from unseen.distributed.blocks import stretches
from unseen.distributed.worker_blocks import WorkerBlock
from unseen.errors import InputError
from unseen.model.objective import RowTerms, pair_loss_of, row_terms
from unseen.model.pulls import row_tops
from unseen.pairs.loss import Omega, Pairs
from unseen.rows.blocks import TrainingRows, sum_of_squares
from unseen.rows.layout import MEMORY_SHARE, Layout, let_go
from unseen.rows.scaling import RowScaling
from unseen.solvers.block import Ridge
from unseen.solvers.similarity import SimilarityBlock
from unseen.solvers.source_codes import SourceBlock
from unseen.solvers.target_codes import TargetSolver
from unseen.storage import tensors
from unseen.storage.tensors import Arrays, DamagedError
from unseen.storage.values import decode, encode
from unseen.support.memory import free_memory, resident

_KIND = "unseen rows of a checkpoint"


class Plan(NamedTuple):
    """Which rows are where: chunk c of a Dask array belongs to group c modulo `n_groups`, so that
    rows sorted by class come to all of them. A group is cut into `n_blocks` blocks."""

    lengths: tuple[int, ...]
    n_groups: int
    n_blocks: int

    def chunks(self, group: int) -> range:
        return range(group, len(self.lengths), self.n_groups)

    def n_rows(self, group: int) -> int:
        return sum(self.lengths[chunk] for chunk in self.chunks(group))

    @property
    def groups(self) -> list[list[int]]:
        """The numbers of the blocks of each group."""
        first, found = 0, []
        for group in range(self.n_groups):
            n_blocks = max(1, min(self.n_blocks, self.n_rows(group) // 2))
            found.append(list(range(first, first + n_blocks)))
            first += n_blocks
        return found

    def layout(self, group: int, folder: str | None = None) -> Layout:
        """The rows of a group in its blocks."""
        return Layout(self.n_rows(group), len(self.groups[group]), folder)


class PlannedLayout(Layout):
    """The same rows in the same blocks, in one process."""

    @classmethod
    def of_plan(cls, plan: Plan) -> PlannedLayout:
        found = cls(sum(plan.lengths), sum(map(len, plan.groups)), None, plan.n_groups)
        object.__setattr__(found, "plan", plan)
        return found

    @cached_property
    def _block_of(self) -> np.ndarray:
        plan: Any = vars(self)["plan"]
        firsts, found = np.cumsum([0, *plan.lengths]).tolist(), np.empty(self.n_rows, np.intp)
        for group, own in enumerate(plan.groups):
            rows = [np.arange(firsts[c], firsts[c + 1]) for c in plan.chunks(group)]
            layout = plan.layout(group)
            numbers = np.zeros(layout.n_rows, np.intp) if len(own) == 1 else layout._block_of
            found[np.concatenate(rows)] = own[0] + numbers
        return found


class Facts(NamedTuple):
    """What workers need to know of the rows beside their numbers.

    row_bytes : what tables of codes and duals take for each row.
    folder : where tables are kept on a disk that all workers see, or None.
    """

    plan: Plan
    n_columns: int
    dtype: np.dtype
    scaling: RowScaling
    n_classes: int
    omega: Omega
    loss: str
    row_bytes: int
    folder: str | None


class Group:
    """Rows of a group on a worker, in memory or on its disk; chunks fill it."""

    def __init__(self, facts: Facts, number: int) -> None:
        self.facts, self.plan = facts, facts.plan
        n_rows, width = self.plan.n_rows(number), facts.n_columns * facts.dtype.itemsize
        self.layout = self.plan.layout(number, _disk_for(n_rows * (width + facts.row_bytes)))
        self.X = self.layout.zeros((n_rows, facts.n_columns), facts.dtype)
        self.labels = np.zeros(n_rows, np.int64)
        chunks = self.plan.chunks(number)
        ends = np.cumsum([self.plan.lengths[chunk] for chunk in chunks]).tolist()
        self._starts = dict(zip(chunks, [0, *ends], strict=False))
        self._left = set(chunks)

    @property
    def is_whole(self) -> bool:
        return not self._left

    def take(self, chunk: int, X: Any, labels: Any) -> None:
        """Put a chunk of rows into its place."""
        start, first = self._starts[chunk], sum(self.plan.lengths[:chunk])
        self.labels[start : start + self.plan.lengths[chunk]] = np.ravel(labels)
        for rows, part in stretches(X, self.facts.dtype, chunk, first):
            self.X[start + rows.start : start + rows.stop] = part
            let_go(self.X)
        self._left.discard(chunk)

    def block(self, place: int) -> Made:
        rows, order, facts = self.layout.blocks[place], self.layout.order, self.facts
        index = np.arange(rows.start, rows.stop) if order is None else order[rows]
        pairs = Pairs(self.labels[index], facts.n_classes, facts.omega, facts.loss)
        made = TrainingRows(self.X, facts.scaling, index)
        let_go(self.X)
        return Made(made, pairs, self.layout, facts.folder)


def _disk_for(n_bytes: int) -> str | None:
    """None where so much fits in memory, else the folder of this worker."""
    worker = get_worker()
    free = [limit for limit in (free_memory(),) if limit is not None]
    limit = worker.memory_manager.memory_limit
    if limit:
        free.append(limit - 2**20 * (resident("VmRSS") or 0.0))
    fits = n_bytes <= MEMORY_SHARE * min(free, default=np.inf)
    return None if fits else worker.local_directory


@dataclass
class Made:
    """What the rows of a block are, and where its tables lie."""

    rows: TrainingRows
    pairs: Pairs
    layout: Layout = field(repr=False)
    folder: str | None

    def zeros(self, *shape: int) -> np.ndarray:
        return self.layout.zeros(shape, self.rows.dtype)

    def keep(self, number: int, version: int, tables: dict[str, Any]) -> None:
        """Write new tables where all workers can read them; X D follows from D."""
        kept = {name: table for name, table in tables.items() if name != "XD"}
        if self.folder is None or not kept:
            return
        arrays = Arrays()
        content = {"tables": encode(kept, arrays, exact=True)}
        try:
            tensors.write(block_file(self.folder, version, number), _KIND, content, arrays)
        except OSError as error:
            raise InputError(
                f"a Dask worker cannot write to {self.folder}: {error.strerror or error}; the "
                "folder of the checkpoint must be on a disk that all workers share"
            ) from error

    def kept(self, number: int, versions: dict[str, int]) -> dict[str, Any] | None:
        """The tables that were kept, each of its version; None unless all are there."""
        if self.folder is None or not versions:
            return None
        found: dict[str, Any] = {}
        try:
            for name, version in versions.items():
                path = block_file(self.folder, version, number)
                content, arrays = tensors.read(path, _KIND)
                found[name] = np.array(dict(decode(content["tables"], arrays))[name])
        except (OSError, DamagedError, LookupError, TypeError, ValueError):
            return None
        n, C = self.rows.n_rows, self.pairs.n_classes
        sizes = {"Zt": (n, C), "Zs": (C, n), "W": (n, C)}
        fits = all(a.shape == sizes.get(k, a.shape) and len(a) for k, a in found.items())
        return found if fits else None


def block_file(folder: str, version: int, number: int) -> str:
    """Where tables of a block that are new in this version are kept."""
    return os.path.join(folder, f"{version}-{number}")


class Broadcast(NamedTuple):
    """What tables of a block are rebuilt from: D, p_D, the solver with W, if there is one, and the
    versions of the tables that were kept."""

    D: np.ndarray | None
    ridge: Ridge | None
    solver: TargetSolver | None
    versions: dict[str, int]


def build(broadcast: Broadcast, number: int, made: Made) -> dict[str, Any]:
    """The tables of a block as they were kept; or codes of the data fit, then of the target step,
    and no duals of the others."""
    D, ridge, solver, versions = broadcast
    if D is None:
        return {}
    XD = made.rows.project(D, made.zeros(made.rows.n_rows, D.shape[1]))
    kept = made.kept(number, versions)
    if kept is not None:
        return {"XD": XD} | kept
    if solver is not None:
        found = solver.solve(XD, made.pairs).state
        return {"XD": XD, "Z": found.Z, "Zt": found.duals}
    return {"XD": XD} if ridge is None else {"XD": XD, "Z": ridge.codes(XD)}


# -- steps -----------------------------------------------------------------------------------------


def inside(work: Any, block: WorkerBlock, *given: Any) -> Any:
    """A step of a solver, which sees only its own work on the block."""
    return work(block.work, *given)


def of_rows(block: WorkerBlock, name: str, *given: Any) -> Any:
    """A sum over the rows of a block, as `TrainingRows` has it."""
    found = getattr(block.made.rows, name)
    found = found(*given) if given else found
    let_go(block.made.rows.X)
    return found


def project(block: WorkerBlock, version: int, D: np.ndarray) -> None:
    block.open(version)
    made = block.made
    block.new["XD"] = made.rows.project(D, made.zeros(made.rows.n_rows, D.shape[1]))
    let_go(made.rows.X)
    block.close(version)


def first_codes(block: WorkerBlock, version: int, ridge: Ridge) -> None:
    XD = block.open(version)["XD"]
    Z = block.made.zeros(*XD.shape)
    Z[:] = ridge.codes(XD)
    block.new["Z"] = Z
    block.close(version)


def terms(block: WorkerBlock, version: int, gram: np.ndarray, P: np.ndarray) -> RowTerms:
    now = block.open(version)
    return RowTerms(*row_terms(now["Z"], now["XD"], block.made.pairs, gram, P))


def loss(block: WorkerBlock, version: int, P: np.ndarray) -> float:
    return pair_loss_of(block.open(version)["Z"], block.made.pairs, P)


def square(block: WorkerBlock, version: int) -> float:
    return sum_of_squares(block.open(version)["Z"])


def products(block: WorkerBlock, version: int) -> tuple[np.ndarray, np.ndarray]:
    Z = block.open(version)["Z"]
    found = Z.T @ Z, block.made.rows.cross(Z)
    let_go(block.made.rows.X)
    return found


def codes(block: WorkerBlock, version: int, rows: np.ndarray | None = None) -> np.ndarray:
    """Codes of the rows of a block, or of some of them."""
    Z = block.open(version)["Z"]
    return Z if rows is None else Z[rows]


def tops(block: WorkerBlock, version: int, *given: Any) -> Any:
    return row_tops(block.open(version)["Z"], *given)


def solve_targets(block: WorkerBlock, version: int, solver: TargetSolver) -> Any:
    now, made = block.open(version), block.made
    XD = now["XD"]
    Z, A = made.zeros(*XD.shape), made.zeros(len(XD), len(solver.Q))
    sums = solver.solve_block(XD, made.pairs, Z, A, now.get("Zt"), now["Z"])
    block.new.update(Z=Z, Zt=A)
    block.close(version)
    return sums


def begin_similarity(block: WorkerBlock, version: int, n_classes: int) -> None:
    now = block.open(version)
    Z = now["Z"]
    A, gaps = block.made.zeros(len(Z), n_classes), np.full(len(Z), np.inf)
    block.work = SimilarityBlock(Z, block.made.pairs, A, gaps)
    block.work.begin(now.get("W"))


def end_similarity(block: WorkerBlock, version: int) -> None:
    block.new["W"] = block.work.A
    block.close(version)


class _SourceWork(SourceBlock):
    order: np.ndarray


def begin_sources(block: WorkerBlock, version: int, W: np.ndarray, width: int, seed: Any) -> None:
    now, pairs, made = block.open(version), block.made.pairs, block.made
    n, own = len(now["Z"]), seed if seed is None else [seed, block.number]
    order = np.random.default_rng(own).permutation(n)
    F = now["Z"][order] @ np.ascontiguousarray(W.T)
    A, G = made.zeros(pairs.n_classes, n), made.zeros(n, width)
    if now.get("Zs") is not None:
        A[:] = now["Zs"][:, order]
    block.work = _SourceWork(F, G, np.empty(n), np.empty(n), pairs[order], A)
    block.work.order = order


def end_sources(block: WorkerBlock, version: int) -> None:
    A = block.made.zeros(*block.work.A.shape)
    A[:, block.work.order] = block.work.A
    block.new["Zs"] = A
    block.close(version)
