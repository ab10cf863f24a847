"""Algorithm 2 with the rows, their codes and their duals on the workers of a Dask cluster.

The process of the fit keeps what is small, B, D, W and the codes of classes, and sends it out with
every step. For the same blocks the result is that of one process, to the last bit. If a worker is
lost, it is that still where a checkpoint keeps the tables of rows; without one these are computed
anew from D, W and the codes of classes, and J is the same to the tolerance of its blocks.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from dask.delayed import delayed
from distributed import get_client

from unseen.distributed import jlse_steps as steps
from unseen.distributed.jlse_steps import Broadcast, Facts, Group, Plan, PlannedLayout
from unseen.distributed.rows import DaskRows
from unseen.distributed.worker_blocks import LostError, WorkerBlocks, take
from unseen.errors import InputError
from unseen.model.objective import Codes, Lambdas, ObjectiveParts, RowTerms
from unseen.model.pulls import RowPulls
from unseen.pairs.loss import Pairs
from unseen.rows.layout import Layout
from unseen.rows.scaling import RowScaling
from unseen.solvers.block import Effort, Ridge
from unseen.solvers.similarity import SimilarityRun
from unseen.solvers.simplex import quadratic
from unseen.solvers.source_codes import SourceProblem, SourceRun, SourceState
from unseen.solvers.target_codes import TargetSolver, TargetState
from unseen.training.alternating import Data, Training
from unseen.training.resuming import check_array

LEAST_BLOCKS = 64


def on_workers(
    X: DaskRows, scaling: RowScaling, pairs: Pairs, sizes: tuple[int, int], path: Any
) -> RowsOnWorkers:
    """Rows on the workers of the current client.

    sizes : bytes of a row in the widest table, and in all tables. path: a checkpoint, or None.
    """
    try:
        client: Any = get_client()
    except ValueError as error:
        raise InputError(
            "JLSE trains on the workers of a Dask client, and there is none: "
            "dask.distributed.Client() makes one"
        ) from error
    lengths = tuple(int(length) for length in X.array.chunks[0])
    n_groups = max(1, min(len(client.nthreads()), len(lengths)))
    n_blocks = max(LEAST_BLOCKS, Layout.of(X.shape[0], sizes[0], 0).n_blocks)
    plan = Plan(lengths, n_groups, -(-n_blocks // n_groups))
    folder = None if path is None else os.path.abspath(f"{path}.rows")
    facts = (X.shape[1], X.dtype, scaling, pairs.n_classes, pairs.omega, pairs.loss, sizes[1])
    return RowsOnWorkers(client, X, pairs.labels, Facts(plan, *facts, folder))


class RowsOnWorkers:
    """Training rows on workers, as far as Algorithm 2 sees them."""

    def __init__(self, client: Any, X: DaskRows, labels: Any, facts: Facts) -> None:
        self.client, self.X, self.labels, self.facts = client, X, labels, facts
        self.n_rows, self.dtype = X.shape[0], X.dtype
        self.n_columns = X.shape[1] + (facts.scaling.constant > 0)
        self.fit, self.version, self.versions = uuid.uuid4().hex, 0, {}
        self.broadcast: Callable[[], Broadcast] = partial(Broadcast, None, None, None, {})
        self.training = DaskTraining

    @cached_property
    def blocks(self) -> WorkerBlocks:
        if self.facts.folder is not None:
            os.makedirs(self.facts.folder, exist_ok=True)
        chunks = self.X.array.to_delayed().ravel().tolist()
        labels = self.labels.to_delayed().ravel().tolist()

        def tasks(group: int) -> list[Any]:
            of = self.facts.plan.chunks(group)
            what = delayed(take, pure=False)
            return [what(chunks[c], labels[c], fit=self.fit, group=group, chunk=c) for c in of]

        groups, make = self.facts.plan.groups, partial(Group, self.facts)
        return WorkerBlocks(self.client, self.fit, groups, make, tasks)

    def _settle(self) -> None:
        self.blocks.settle(partial(steps.build, self.broadcast()), self.version)

    def sure(self, step: Callable[[], Any]) -> Any:
        """What a step returns, which is taken again if a worker is lost in it; before the first one
        nobody has anything."""
        return self.blocks.sure(step, self._settle)

    def changed(self, step: Callable[[int], Any], *names: str) -> Any:
        """The same of a step that makes a new version of these tables."""
        found = self.sure(lambda: step(self.version))
        self.version += 1
        self.versions = self.versions | dict.fromkeys(names, self.version)
        return found

    def total(self, work: Any, *given: Any) -> Any:
        """The sum of work(block, version, *given)."""
        return self.sure(lambda: self.blocks.total(work, self.version, *given))

    def _sum(self, name: str, *given: Any) -> Any:
        return self.sure(lambda: self.blocks.total(steps.of_rows, name, *given))

    def round_trip(self, D: np.ndarray) -> np.ndarray:
        return self._sum("round_trip", D).astype(self.dtype)

    def gram(self, D: np.ndarray) -> np.ndarray:
        return self._sum("gram", D)

    @cached_property
    def total_square(self) -> float:
        return float(self._sum("total_square"))

    @property
    def layout(self) -> Layout:
        return PlannedLayout.of_plan(self.facts.plan)

    def prune(self) -> None:
        """Remove tables that a newer version has taken the place of."""
        if self.facts.folder is None:
            return
        needed = set(self.versions.values())
        for name in os.listdir(self.facts.folder):
            version, _, rest = name.partition("-")
            if rest.isdigit() and version.isdigit() and int(version) not in needed:
                with suppress(OSError):
                    os.unlink(os.path.join(self.facts.folder, name))

    def forget(self) -> None:
        """Workers let go what they keep, also of a fit that has failed."""
        if "blocks" in vars(self):
            with suppress(LostError):
                self.blocks.forget()


class _Inside:
    """Blocks of which a solver sees only what belongs to its own work."""

    def __init__(self, blocks: WorkerBlocks) -> None:
        self.blocks, self.shuffled = blocks, blocks.shuffled

    def __len__(self) -> int:
        return len(self.blocks)

    def each(self, work: Any, *given: Any, parts: Any = None) -> list[Any]:
        return self.blocks.each(partial(steps.inside, work), *given, parts=parts)

    def total(self, work: Any, *given: Any, parts: Any = None) -> Any:
        return self.blocks.total(partial(steps.inside, work), *given, parts=parts)

    def hand_on(self, work: Any, carry: Any, *given: Any, order: Any = None) -> Any:
        return self.blocks.hand_on(partial(steps.inside, work), carry, *given, order=order)


class DaskTraining(Training):
    """The state of Algorithm 2, of which what belongs to rows lies on workers."""

    rows: Any
    _bounds: np.ndarray | None = None

    @property
    def codes(self) -> Codes:
        nothing: Any = None
        return Codes(self.Zs, nothing, self.B, self.D, self.W)

    def _broadcast(self) -> Broadcast:
        gram, w = self.D.T.astype(np.float64) @ self.D, self.lambdas
        ridge = Ridge(gram, w.target_shrink, w.target_fit, 1 / self.rows.n_rows)
        solver = None
        if "W" in vars(self):
            solver = TargetSolver(ridge, self.Zs @ self.W, effort=self.effort)
        return Broadcast(self.D, ridge, solver, self.rows.versions)

    def _project(self) -> None:
        self.rows.broadcast = self._broadcast
        self.rows.changed(lambda v: self.rows.blocks.each(steps.project, v, self.D))
        self.gram = self.D.T.astype(np.float64) @ self.D

    def _first_codes(self, ridge: Ridge) -> None:
        self.rows.changed(lambda v: self.rows.blocks.each(steps.first_codes, v, ridge), "Z")

    def _row_terms(self) -> RowTerms:
        return RowTerms(*self.rows.total(steps.terms, self.gram, (self.Zs @ self.W).T))

    def _pair_total(self) -> float:
        return self.rows.total(steps.loss, (self.Zs @ self.W).T)

    def _target_square(self) -> float:
        return self.rows.total(steps.square)

    def _target_products(self) -> tuple[np.ndarray, np.ndarray]:
        gram, cross = self.rows.total(steps.products)
        return gram, cross.astype(self.rows.dtype)

    def fit_target_codes(self) -> None:
        ridge = self.target_ridge(1 / self.rows.n_rows)
        solver = TargetSolver(ridge, self.Zs @ self.W, effort=self.effort)
        found = self.rows.changed(
            lambda v: self.rows.blocks.each(steps.solve_targets, v, solver), "Z", "Zt"
        )
        nothing: Any = None
        solver.finish(found, self.rows.dtype, TargetState(None, nothing))

    def fit_similarity(self) -> None:
        blocks, h = self.rows.blocks, self.D.shape[1]
        Zs = np.ascontiguousarray(self.Zs, self.rows.dtype)
        squared, penalty = self.pairs.is_squared, float(self.lambdas.similarity)

        def step(version: int) -> np.ndarray:
            blocks.each(steps.begin_similarity, version, len(Zs))
            run = SimilarityRun(Zs, _Inside(blocks), (self.rows.n_rows, h), penalty, squared)
            found = run.solve(self._similarity_effort(), vars(self).get("W"))
            blocks.each(steps.end_similarity, version)
            return found.value

        self.W = self.rows.changed(step, "W")

    def fit_source_codes(self) -> None:
        blocks, dtype = self.rows.blocks, self.rows.dtype
        ridge = self.source_ridge(1 / len(self.S))
        squares = np.sum(np.square(self.S, dtype=np.float64), axis=1)
        fit = quadratic(self.S @ self.B, ridge, "simplex", need_inverse=True)
        # Duals, where there are any, lie on the workers.
        duals = None if self._bounds is None else np.empty(0)
        start = SourceState(duals, self._bounds, self.Zs)

        def step(version: int) -> Any:
            W, seed = self.W, self.effort.random_state
            blocks.each(steps.begin_sources, version, W, fit.root.shape[1], seed)
            run = SourceRun(SourceProblem(fit, 0.0, "simplex", dtype), _Inside(blocks), start)
            found = run.solve(0.5 * ridge.phi * ridge.lambda2 * squares, self.effort)
            blocks.each(steps.end_sources, version)
            return found

        found = self.rows.changed(step, "Zs")
        self.Zs, self._bounds = found.value, found.state.bounds

    # -- the end --------------------------------------------------------------------------------

    def _of_rows(self, keep_codes: bool, random_state: int | None) -> dict[str, Any]:
        return self._codes_here() if keep_codes else self._pulls(random_state)

    def _codes_here(self) -> dict[str, Any]:
        layout = self.rows.layout
        Zt = np.zeros((self.rows.n_rows, self.D.shape[1]), self.rows.dtype)
        for number, rows in enumerate(layout.blocks):
            of = partial(self.rows.blocks.of, number, steps.codes)
            where = rows if layout.order is None else layout.order[rows]
            Zt[where] = self.rows.sure(lambda of=of: of(self.rows.version))
        return {"Zt": Zt}

    def _pulls(self, random_state: int | None) -> dict[str, Any]:
        layout, n_rows = self.rows.layout, self.rows.n_rows
        order = np.arange(n_rows) if layout.order is None else layout.order
        given = self.W, 0.0, self.pairs.loss

        def tops() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            blocks = self.rows.blocks
            found = self.rows.sure(lambda: blocks.each(steps.tops, self.rows.version, *given))
            groups, largest, squares = zip(*found, strict=True)
            group, top = np.empty(n_rows, np.int32), np.empty(n_rows, self.rows.dtype)
            group[order], top[order] = np.concatenate(groups), np.concatenate(largest)
            return group, top, np.sum(squares, axis=0)

        def pick(chosen: np.ndarray) -> np.ndarray:
            places = np.empty(n_rows, np.int64)
            places[order] = np.arange(n_rows)
            at, ends = places[chosen], [rows.stop for rows in layout.blocks]
            number = np.searchsorted(ends, at, side="right")
            own = [np.flatnonzero(number == k) for k in range(len(ends))]
            parts = [at[few] - layout.blocks[k].start for k, few in enumerate(own)]
            found = self.rows.sure(lambda: self.rows.blocks.each(_picked, self.rows.version, parts))
            values = np.empty((len(chosen), self.D.shape[1]), self.rows.dtype)
            for few, Z in zip(own, found, strict=True):
                values[few] = Z
            return values

        pulls = RowPulls.of(n_rows, self.W, tops, pick, random_state)
        return {"Zt": None, "pulls": pulls}

    # -- on disk --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What is small of the state; `rows.versions` says which tables belong to it."""
        plan = self.rows.facts.plan
        return {
            **{name: value for name, value in self.codes._asdict().items() if name != "Zt"},
            "n_blocks": self.n_blocks,
            "lambdas": list(self.lambdas),
            "history": [list(parts) for parts in self.history],
            "bounds": self._bounds,
            "versions": dict(self.rows.versions),
            "version": self.rows.version,
            "plan": [plan.n_groups, plan.n_blocks],
        }

    def noted(self, checkpoint: Any) -> None:
        """Tables are removed only when no state on the disk needs them."""
        checkpoint.flush()
        self.rows.prune()

    @classmethod
    def restored(cls, data: Data, effort: Effort, state: dict[str, Any]) -> Self:
        training = cls.__new__(cls)
        training.S, training.rows, training.pairs, _ = training.data = data
        (h_s, h_t), rows = state["W"].shape, training.rows
        shapes = {"Zs": (len(data.S), h_s), "B": (data.S.shape[1], h_s), "W": (h_s, h_t)}
        shapes |= {"D": (rows.n_columns, h_t)}
        for name, shape in shapes.items():
            check_array(state[name], shape)
        if state["bounds"] is not None:
            check_array(state["bounds"], shapes["Zs"])
        n_groups, n_blocks = (int(number) for number in state["plan"])
        if not (0 < n_groups <= len(rows.facts.plan.lengths) and n_blocks > 0):
            raise ValueError("the blocks of rows do not agree")
        plan = rows.facts.plan._replace(n_groups=n_groups, n_blocks=n_blocks)
        rows.facts = rows.facts._replace(plan=plan)
        rows.versions = {str(k): int(v) for k, v in state["versions"].items()}
        rows.version = int(state["version"])
        vars(training).update((name, state[name]) for name in (*shapes, "n_blocks"))
        training.lambdas, training.effort = Lambdas(*state["lambdas"]), effort
        training.history = [ObjectiveParts(*parts) for parts in state["history"]]
        training._bounds, training._states = state["bounds"], {}
        training.gram = training.D.T.astype(np.float64) @ training.D
        rows.broadcast = training._broadcast
        return training


def _picked(block: Any, version: int, parts: list[np.ndarray]) -> np.ndarray:
    return steps.codes(block, version, parts[block.number])
