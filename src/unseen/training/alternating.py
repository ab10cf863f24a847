"""Algorithm 2: block by block, with the other blocks fixed, the joint objective J falls.

One round updates the codes of classes, the codes of rows, B, D and W, in the paper's order; each
block starts from its last solution and never returns anything worse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from unseen.model.latent import LatentModel
from unseen.model.objective import (
    Codes,
    ObjectiveParts,
    Weights,
    joint_objective,
    pair_total,
)
from unseen.model.spaces import Spaces
from unseen.rows.blocks import array_blocks
from unseen.rows.training import TrainingRows
from unseen.solvers.dictionary import fit_source_dictionary, fit_target_dictionary
from unseen.solvers.similarity import SimilarityState, fit_similarity
from unseen.solvers.source_codes import (
    SourceState,
    fit_source_codes,
    fit_source_codes_with_pairs,
)
from unseen.solvers.target_codes import TargetState, fit_target_codes, ridge_target_codes
from unseen.storage.checkpoint import Checkpoint
from unseen.support.checks import NOT_NEGATIVE, POSITIVE, Constraints, at_least
from unseen.support.parts import Composite
from unseen.support.progress import tell
from unseen.support.registry import register

# What of the weights is set by the data.
_LAMBDAS = ("source_shrink", "source_fit", "target_shrink", "target_fit", "similarity")
_LEAST_LOSS = 1e-3
Callback = Callable[[int, str, Codes], Any]
_STATES: dict[str, Any] = {"W": SimilarityState, "Zs": SourceState, "Zt": TargetState}


class Options(NamedTuple):
    """How J is minimised.

    source_set : where the codes of classes lie: "simplex", "affine" or "free".
    tol : relative duality gap at which a block is solved.
    random_state : seed of the order in which rows are visited.
    """

    source_set: str
    tol: float
    random_state: int


class Training:
    """The state of Algorithm 2: what it has found and what the next round starts from.

    `labels` are N class numbers, rows of S, or an N x C matrix of signs with 0 for unknown pairs.
    """

    is_coupled = False

    def __init__(
        self,
        S: np.ndarray,
        rows: TrainingRows,
        labels: np.ndarray,
        weights: Weights,
        options: Options,
        B: np.ndarray,
        D: np.ndarray,
    ) -> None:
        self.S, self.rows, self.labels = S, rows, labels
        self.weights, self.options = weights, options
        self.B, self.D = B, D
        self.n_rounds, self.n_blocks = 0, 0
        self.history: list[ObjectiveParts] = []
        self._states: dict[str, Any] = {}
        self._project()
        self._embed()

    def _embed(self) -> None:
        """Codes from the data fit alone."""
        w = self.weights
        self.Zs = fit_source_codes(
            self.S @ self.B,
            self.B.T @ self.B,
            lam1=w.source_shrink,
            lam2=w.source_fit,
            which=self.options.source_set,
        ).value
        self.Zt = ridge_target_codes(
            self.XD, self.gram, lam1=w.target_shrink, lam2=w.target_fit
        ).value

    @property
    def codes(self) -> Codes:
        return Codes(self.Zs, self.Zt, self.B, self.D, self.W, self.b)

    def _project(self) -> None:
        self.XD = self.rows.project(self.D)
        self.gram = self.D.T.astype(np.float64) @ self.D

    @property
    def _pairs(self) -> dict[str, Any]:
        w = self.weights
        return {
            "w_pos": w.pairs.pos,
            "w_neg": w.pairs.neg,
            "row_scale": w.pairs.rows,
            "loss": w.loss,
            "tol": self.options.tol,
        }

    def objective(self) -> ObjectiveParts:
        return joint_objective(self.S, self._residual(), self.labels, self.codes, self.weights)

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
        self.weights = self.weights._replace(similarity=relative * unit)

    def set_fits(self, source: float, target: float) -> None:
        """λ2s and λ2t in units of the pair loss there is, which tells how hard the hinges pull."""
        w = self.weights
        loss = max(pair_total(self.codes, self.labels, w.pairs, w.loss), _LEAST_LOSS)
        shrinkage = w.source_shrink / w.source_fit, w.target_shrink / w.target_fit
        self.weights = w._replace(
            source_fit=source * loss,
            source_shrink=shrinkage[0] * source * loss,
            target_fit=target * loss,
            target_shrink=shrinkage[1] * target * loss,
        )

    def fit_similarity(self) -> None:
        """W <- argmin Σ ω_ij loss(y_ij s_ij) + λ_W/2 |W|²."""
        solution = fit_similarity(
            self.Zs,
            self.Zt,
            self.labels,
            lam=self.weights.similarity,
            fit_bias=self.weights.bias_scale > 0,
            bias_scale=self.weights.bias_scale or 1.0,
            max_epochs=self._max_epochs(),
            random_state=self.options.random_state,
            state=self._states.get("W"),
            **self._pairs,
        )
        self.W, self.b = solution.value
        self._states["W"] = solution.state

    def _max_epochs(self) -> int:
        """Small problems may take many epochs: they cost next to nothing."""
        work = self.Zs.shape[0] * self.Zt.size
        return int(np.clip(3e9 / max(work, 1), 300, 20_000))

    def fit_source_codes(self) -> None:
        """z_i <- argmin 1/C p_B(i) + Σ_j ω_ij loss(y_ij s_ij), on the set of the source codes."""
        w = self.weights
        start = SourceState(None, None, self.Zs)
        solution = fit_source_codes_with_pairs(
            self.S @ self.B,
            self.B.T @ self.B,
            self.W,
            self.Zt,
            self.labels,
            lam1=w.source_shrink,
            lam2=w.source_fit,
            which=self.options.source_set,
            bias=self.b,
            s_sq=np.sum(np.square(self.S, dtype=np.float64), axis=1),
            random_state=self.options.random_state,
            state=self._states.get("Zs", start),
            **self._pairs,
        )
        self.Zs, self._states["Zs"] = solution.value, solution.state

    def fit_target_codes(self) -> None:
        """z_j <- argmin 1/N p_D(j) + Σ_i ω_ij loss(y_ij s_ij)."""
        w = self.weights
        solution = fit_target_codes(
            self.XD,
            self.gram,
            self.Zs @ self.W,
            self.labels,
            lam1=w.target_shrink,
            lam2=w.target_fit,
            bias=self.b,
            state=self._states.get("Zt", TargetState(None, self.Zt)),
            **self._pairs,
        )
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

    def adopt(self, B: np.ndarray, D: np.ndarray, W: np.ndarray, b: float) -> None:
        """Parameters of Algorithm 1, and the codes of classes and rows that suit them."""
        self.B, self.D, self.W, self.b = B, D, W, b
        self.is_coupled = True
        self._states.clear()
        self._project()
        self.fit_source_codes()
        self.fit_target_codes()

    def model(self, spaces: Spaces, link: str) -> LatentModel:
        """What has been learned so far, in the spaces of its rows and descriptions."""
        w, n_pairs = self.weights, len(self.S) * len(self.labels)
        return LatentModel(
            spaces,
            **self.codes._asdict(),
            away_bias=self.b,
            source_shrink=w.source_shrink,
            source_fit=w.source_fit,
            target_shrink=w.target_shrink,
            target_fit=w.target_fit,
            positive_weight=float(w.pairs.pos * n_pairs),
            negative_weight=float(w.pairs.neg * n_pairs),
            source_set=self.options.source_set,
            loss=w.loss,
            link=link,
            is_coupled=self.is_coupled,
        )

    # -- on disk --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that the rest of training depends on, beside data and options."""
        warm = {f"{name} {k}": v for name, s in self._states.items() for k, v in enumerate(s)}
        place = {"n_rounds": self.n_rounds, "n_blocks": self.n_blocks}
        history = [list(parts) for parts in self.history]
        fixed = {"history": history, "lambdas": [getattr(self.weights, name) for name in _LAMBDAS]}
        return {**self.codes._asdict(), **warm, **place, **fixed}

    @classmethod
    def restored(
        cls,
        S: np.ndarray,
        rows: TrainingRows,
        labels: np.ndarray,
        weights: Weights,
        options: Options,
        state: dict[str, Any],
    ) -> Self:
        """Training that goes on from what `state` gave."""
        training = cls.__new__(cls)
        training.S, training.rows, training.labels = S, rows, labels
        training.weights = weights._replace(**dict(zip(_LAMBDAS, state["lambdas"], strict=True)))
        training.options = options
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
