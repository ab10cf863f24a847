"""Algorithm 2: block by block, with the other blocks fixed, the joint objective J falls.

One round updates the codes of classes, the codes of rows, B, D and W, in the paper's order; each
block starts from its last solution and never returns anything worse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from unseen.model.latent import LatentModel, Spaces
from unseen.model.objective import Codes, Lambdas, ObjectiveParts, joint_objective, pair_total
from unseen.pairs.loss import Pairs
from unseen.rows.blocks import TrainingRows, array_blocks
from unseen.solvers.block import Effort, Ridge
from unseen.solvers.dictionary import fit_source_dictionary, fit_target_dictionary
from unseen.solvers.similarity import SimilarityState, fit_similarity
from unseen.solvers.source_codes import (
    SourceState,
    fit_source_codes,
    fit_source_codes_with_pairs,
)
from unseen.solvers.target_codes import TargetSolver, TargetState
from unseen.storage.checkpoint import Checkpoint
from unseen.support.parameters import NOT_NEGATIVE, POSITIVE, Composite, Constraints, at_least
from unseen.support.registry import register
from unseen.support.work import tell

_LEAST_LOSS = 1e-3
Callback = Callable[[int, str, Codes], Any]
_STATES: dict[str, Any] = {"W": SimilarityState, "Zs": SourceState, "Zt": TargetState}


class Data(NamedTuple):
    """What J is about: scaled descriptions S (C x d_s), scaled rows, and their pairs."""

    S: np.ndarray
    rows: TrainingRows
    pairs: Pairs


class Training:
    """The state of Algorithm 2: what it has found and what the next round starts from.

    `effort` says when a block is solved, and in which order it visits rows.
    """

    is_coupled = False

    def __init__(
        self, data: Data, lambdas: Lambdas, effort: Effort, B: np.ndarray, D: np.ndarray
    ) -> None:
        self.S, self.rows, self.pairs = self.data = data
        self.lambdas, self.effort, self.B, self.D = lambdas, effort, B, D
        self.n_rounds, self.n_blocks = 0, 0
        self.history: list[ObjectiveParts] = []
        self._states: dict[str, Any] = {}
        self._project()
        # Codes from the data fit alone.
        self.Zs = fit_source_codes(self.S @ B, self.source_ridge()).value
        self.Zt = self.target_ridge().codes(self.XD)

    @property
    def codes(self) -> Codes:
        return Codes(self.Zs, self.Zt, self.B, self.D, self.W)

    def _project(self) -> None:
        self.XD = self.rows.project(self.D)
        self.gram = self.D.T.astype(np.float64) @ self.D

    def source_ridge(self, phi: float = 1.0) -> Ridge:
        """φ p_B."""
        w = self.lambdas
        return Ridge(self.B.T @ self.B, w.source_shrink, w.source_fit, phi)

    def target_ridge(self, phi: float = 1.0) -> Ridge:
        """φ p_D."""
        return Ridge(self.gram, self.lambdas.target_shrink, self.lambdas.target_fit, phi)

    def objective(self) -> ObjectiveParts:
        return joint_objective(self.S, self._residual(), self.pairs, self.codes, self.lambdas)

    def _residual(self) -> float:
        """Σ_j |x_j - D z_j|² = Σ_j |x_j|² - 2 z_j'D'x_j + z_j'D'D z_j: no look at the rows."""
        total = self.rows.total_square
        for rows in array_blocks(self.Zt):
            Z = self.Zt[rows]
            total += float(np.vdot((Z.T @ Z).astype(np.float64), self.gram))
            total -= 2 * float(np.einsum("jh,jh->", Z, self.XD[rows], dtype=np.float64))
        return total

    def set_penalty(self, relative: float) -> None:
        """λ_W in units of mean |z_i|² · mean |z_j|² / C: the mean square of a pair's features, over
        the number of classes."""
        size = float(np.mean(np.sum(self.Zs**2, axis=1)) * np.mean(np.sum(self.Zt**2, axis=1)))
        unit = (size if size > 0 else 1.0) / len(self.S)
        self.lambdas = self.lambdas._replace(similarity=relative * unit)

    def set_fits(self, source: float, target: float) -> None:
        """λ2s and λ2t in units of the pair loss there is, which tells how hard the hinges pull."""
        w, loss = self.lambdas, max(pair_total(self.codes, self.pairs), _LEAST_LOSS)
        self.lambdas = w._replace(
            source_fit=source * loss,
            source_shrink=w.source_shrink / w.source_fit * source * loss,
            target_fit=target * loss,
            target_shrink=w.target_shrink / w.target_fit * target * loss,
        )

    def fit_similarity(self) -> None:
        """W <- argmin Σ ω_ij loss(y_ij s_ij) + λ_W/2 |W|²."""
        # Small problems may take many epochs: they cost next to nothing.
        work = self.Zs.shape[0] * self.Zt.size
        effort = self.effort._replace(max_iter=int(np.clip(3e9 / max(work, 1), 300, 20_000)))
        solution = fit_similarity(
            self.Zs, self.Zt, self.pairs, self.lambdas.similarity, effort, self._states.get("W")
        )
        self.W, self._states["W"] = solution.value, solution.state

    def fit_source_codes(self) -> None:
        """z_i <- argmin 1/C p_B(i) + Σ_j ω_ij loss(y_ij s_ij), on the simplex."""
        solution = fit_source_codes_with_pairs(
            self.S @ self.B,
            self.source_ridge(1 / len(self.S)),
            self.Zt @ self.W.T,
            self.pairs,
            s_sq=np.sum(np.square(self.S, dtype=np.float64), axis=1),
            effort=self.effort,
            state=self._states.get("Zs", SourceState(None, None, self.Zs)),
        )
        self.Zs, self._states["Zs"] = solution.value, solution.state

    def fit_target_codes(self) -> None:
        """z_j <- argmin 1/N p_D(j) + Σ_i ω_ij loss(y_ij s_ij)."""
        ridge = self.target_ridge(1 / self.rows.n_rows)
        solver = TargetSolver(ridge, self.Zs @ self.W, effort=self.effort)
        start = self._states.get("Zt", TargetState(None, self.Zt))
        solution = solver.solve(self.XD, self.pairs, state=start)
        self.Zt, self._states["Zt"] = solution.value, solution.state

    def fit_source_dictionary(self) -> None:
        """B <- argmin Σ_i |x_i - B z_i|²."""
        gram, cross = self.Zs.T @ self.Zs, self.S.T @ self.Zs
        self.B = fit_source_dictionary(gram, cross, B=self.B).value

    def fit_target_dictionary(self) -> None:
        """D <- argmin Σ_j |x_j - D z_j|² with atoms in the unit ball."""
        gram, cross = self.Zt.T @ self.Zt, self.rows.cross(self.Zt)
        square = self.rows.total_square
        self.D = fit_target_dictionary(gram, cross, D=self.D, data_sq=square).value
        self._project()

    def run_round(self, callback: Callback | None = None) -> None:
        """One round of Algorithm 2, or what is left of one."""
        blocks = {
            "Zs": self.fit_source_codes,
            "Zt": self.fit_target_codes,
            "B": self.fit_source_dictionary,
            "D": self.fit_target_dictionary,
            "W": self.fit_similarity,
        }
        if self.n_blocks == 0:
            self.n_rounds += 1
        for name, update in list(blocks.items())[self.n_blocks :]:
            tell(f"round {self.n_rounds}: {name}")
            update()
            self.n_blocks = (self.n_blocks + 1) % len(blocks)
            if callback is not None:
                callback(self.n_rounds, name, self.codes)

    def run(self, max_rounds: int, tol: float = 0.0, callback: Callback | None = None) -> None:
        """Rounds until there are `max_rounds`, or until J falls by less than `tol` of itself."""
        if not self.history:
            self.history = [self.objective()]
        while not self._is_done(max_rounds, tol):
            if self.n_blocks or len(self.history) > self.n_rounds:
                self.run_round(callback)
            self.history.append(self.objective())

    def _is_done(self, max_rounds: int, tol: float) -> bool:
        if self.n_blocks or len(self.history) <= self.n_rounds:
            return False
        before, now = (parts.total for parts in (self.history * 2)[-2:])
        stalled = self.n_rounds > 0 and before - now <= tol * abs(before)
        return stalled or self.n_rounds >= max_rounds

    def adopt(self, B: np.ndarray, D: np.ndarray, W: np.ndarray) -> None:
        """Parameters of Algorithm 1, and the codes of classes and rows that suit them."""
        self.B, self.D, self.W = B, D, W
        self.is_coupled = True
        self._states.clear()
        self._project()
        self.fit_source_codes()
        self.fit_target_codes()

    def model(self, spaces: Spaces, link: str) -> LatentModel:
        """What has been learned so far, in the spaces of its rows and descriptions."""
        n_pairs, lambdas = len(self.S) * len(self.pairs), self.lambdas._asdict()
        lambdas.pop("similarity")
        return LatentModel(
            spaces,
            **self.codes._asdict(),
            b=0.0,
            away_bias=0.0,
            **lambdas,
            positive_weight=float(self.pairs.omega.positive * n_pairs),
            negative_weight=float(self.pairs.omega.negative * n_pairs),
            loss=self.pairs.loss,
            link=link,
            is_coupled=self.is_coupled,
        )

    # -- on disk --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that the rest of training depends on, beside data and effort."""
        warm = {f"{name} {k}": v for name, s in self._states.items() for k, v in enumerate(s)}
        place = {"n_rounds": self.n_rounds, "n_blocks": self.n_blocks}
        history = [list(parts) for parts in self.history]
        return {
            **self.codes._asdict(),
            **warm,
            **place,
            "history": history,
            "lambdas": list(self.lambdas),
        }

    @classmethod
    def restored(cls, data: Data, effort: Effort, state: dict[str, Any]) -> Self:
        """Training that resumes from what `state` gave."""
        training = cls.__new__(cls)
        training.S, training.rows, training.pairs = training.data = data
        training.lambdas, training.effort = Lambdas(*state["lambdas"]), effort
        for name in Codes._fields:
            setattr(training, name, state[name])
        training.n_rounds, training.n_blocks = state["n_rounds"], state["n_blocks"]
        training.history = [ObjectiveParts(*parts) for parts in state["history"]]
        training._states = {
            name: kind(*(state[f"{name} {k}"] for k in range(len(kind._fields))))
            for name, kind in _STATES.items()
            if f"{name} 0" in state
        }
        training._project()
        return training


@register("algorithm 2")
class Algorithm2(Composite):
    """Alternating training with one code per class and one per row (Algorithm 2); a part of JLSE.

    Parameters
    ----------
    max_iter : rounds; 0 leaves the codes as they begin ("init." in the paper's table).
    tol : stop when a round lowers J by no more than this share.
    block_tol : relative duality gap at which a block of a round counts as solved.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "max_iter": [at_least(0)],
        "tol": [NOT_NEGATIVE],
        "block_tol": [POSITIVE],
    }

    def __init__(self, max_iter: int = 1, tol: float = 0.0, block_tol: float = 1e-3) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.block_tol = block_tol

    def run(self, training: Training, checkpoint: Checkpoint) -> None:
        """Rounds from where `training` is, which the checkpoint notes after every block."""
        checkpoint.note("rounds", training.state())
        training.run(
            self.max_iter, self.tol, lambda *_: checkpoint.note("rounds", training.state())
        )
