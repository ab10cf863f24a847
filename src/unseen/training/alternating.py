"""Algorithm 2: block by block, with the other blocks fixed, the joint objective J falls.

One round updates the codes of classes, the codes of rows, B, D and W, in the paper's order; each
block starts from its last solution and never returns anything worse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unseen.blocks import row_blocks
from unseen.model.objective import Codes, ObjectiveParts, Weights, joint_objective
from unseen.progress import tell
from unseen.solvers.dictionary import fit_source_dictionary, fit_target_dictionary
from unseen.solvers.ranking_similarity import fit_ranking_similarity
from unseen.solvers.similarity import Similarity, SimilarityState, fit_similarity
from unseen.solvers.source_codes import (
    SourceState,
    fit_source_codes,
    fit_source_codes_with_pairs,
)
from unseen.solvers.target_codes import TargetState, fit_target_codes, ridge_target_codes
from unseen.training.rows import TrainingRows

Callback = Callable[[int, str, Codes], Any]
_STATES: dict[str, Any] = {"W": SimilarityState, "Zs": SourceState, "Zt": TargetState}


class Options(NamedTuple):
    """How J is minimised.

    source_set : where the codes of classes lie: "simplex", "affine" or "free".
    inertia : η >= 0 of the proximal step of B; 0 is the paper's least squares.
    tol : relative duality gap at which a block is solved.
    random_state : seed of the order in which rows are visited.
    """

    source_set: str
    inertia: float
    tol: float
    random_state: int


class Training:
    """The state of Algorithm 2: what it has found and what the next round starts from.

    `labels` are N class numbers, rows of S, or an N x C matrix of signs with 0 for unknown pairs.
    """

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
        w = weights
        self.Zs = fit_source_codes(
            S @ B, B.T @ B, lam1=w.source_shrink, lam2=w.source_fit, which=options.source_set
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
        return joint_objective(self.S, self.rows, self.labels, self.codes, self.weights)

    def set_penalty(self, relative: float) -> None:
        """λ_W in units of mean |z_i|² · mean |z_j|², the mean square of a pair's features."""
        size = float(np.mean(np.sum(self.Zs**2, axis=1)) * np.mean(np.sum(self.Zt**2, axis=1)))
        self.weights = self.weights._replace(similarity=relative * (size if size > 0 else 1.0))

    def error(self) -> float:
        """Share of training rows whose own class does not score best among the seen ones.

        For signs: of positive pairs that do not score above every negative one of their row.
        """
        Q, labels = (self.Zs @ self.W).T, self.labels
        wrong = 0
        for rows in row_blocks(len(labels), Q.shape[1] * Q.itemsize):
            scores = self.Zt[rows] @ Q
            if labels.ndim == 2:
                worst = scores.max(axis=1, where=labels[rows] < 0, initial=-np.inf)
                wrong += np.count_nonzero((labels[rows] > 0) & (scores <= worst[:, None]))
            else:
                wrong += np.count_nonzero(scores.argmax(axis=1) != labels[rows])
        return wrong / (np.count_nonzero(labels > 0) if labels.ndim == 2 else len(labels))

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

    def fit_ranking(self, share: float) -> None:
        """W <- argmin with this share of the loss that ranks the rows of a class above all others.

        J does not count that loss, so this is for the end.
        """
        w = self.weights
        solution = fit_ranking_similarity(
            self.Zs,
            self.Zt,
            self.labels,
            gamma=share,
            lam=w.similarity,
            w_pos=w.pairs.pos,
            w_neg=w.pairs.neg,
            row_scale=w.pairs.rows,
            bias_scale=w.bias_scale,
            start=Similarity(self.W, self.b),
            tol=self.options.tol,
        )
        self.W, self.b = solution.value

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
        """B <- argmin Σ_i |x_i - B z_i|² + η tr(Zs'Zs)/h_s |B - B_last|².

        With as many atoms as classes the fit alone is free: any codes can be fitted exactly, and B
        would follow the codes wherever the hinges pull them. The proximal term keeps it in place;
        J falls with or without it.
        """
        gram, cross = self.Zs.T @ self.Zs, self.S.T @ self.Zs
        self.B = proximal_source_dictionary(gram, cross, self.B, self.options.inertia)

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
        """Parameters from elsewhere, and the codes of classes and rows that suit them."""
        self.B, self.D, self.W, self.b = B, D, W, b
        self._states.clear()
        self._project()
        self.fit_source_codes()
        self.fit_target_codes()

    # -- on disk --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that the rest of training depends on, beside data and options."""
        warm = {f"{name} {k}": v for name, s in self._states.items() for k, v in enumerate(s)}
        place = {"n_rounds": self.n_rounds, "n_blocks": self.n_blocks}
        history = [list(parts) for parts in self.history]
        penalty = self.weights.similarity
        return {**self.codes._asdict(), **warm, **place, "history": history, "penalty": penalty}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.Zs, self.Zt, self.B, self.D, self.W, self.b = (state[k] for k in Codes._fields)
        self.n_rounds, self.n_blocks = state["n_rounds"], state["n_blocks"]
        self.history = [ObjectiveParts(*parts) for parts in state["history"]]
        self.weights = self.weights._replace(similarity=state["penalty"])
        for name, kind in _STATES.items():
            values = [state.get(f"{name} {k}") for k in range(len(kind._fields))]
            if f"{name} 0" in state:
                self._states[name] = kind(*values)
        self._project()


def proximal_source_dictionary(
    gram: np.ndarray, cross: np.ndarray, B: np.ndarray, inertia: float
) -> np.ndarray:
    """argmin over A of Σ |x - A z|² + η tr(gram)/h_s |A - B|², gram = Σ z z', cross = Σ x z'."""
    pull = inertia * np.trace(gram) / gram.shape[0]
    gram = gram + gram.dtype.type(pull) * np.eye(gram.shape[0], dtype=gram.dtype)
    return fit_source_dictionary(gram, cross + cross.dtype.type(pull) * B, B=B).value
