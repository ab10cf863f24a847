"""Algorithm 2: block by block, with the other blocks fixed, the joint objective J falls.

It begins with the dictionaries of the paper's section "Implementation" and the codes and W that
belong to them. One round updates the codes of classes, the codes of rows, B, D and W, in the
paper's order; each block starts from its last solution and never returns anything worse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from unseen.model.latent import LatentModel, Spaces
from unseen.model.objective import (
    Codes,
    Lambdas,
    ObjectiveParts,
    RowTerms,
    objective_parts,
    pair_loss_of,
    row_terms,
)
from unseen.pairs.loss import Pairs
from unseen.rows.blocks import TrainingRows, sum_of_squares
from unseen.rows.layout import Layout, RowProduct, added
from unseen.rows.scaling import RowScaling
from unseen.solvers.block import Effort, Ridge
from unseen.solvers.dictionary import (
    fit_source_dictionary,
    fit_target_dictionary,
    initial_source_dictionary,
    initial_target_dictionary,
)
from unseen.solvers.similarity import SimilarityState, fit_similarity
from unseen.solvers.simplex import fit_source_codes
from unseen.solvers.source_codes import SourceState, fit_source_codes_with_pairs
from unseen.solvers.target_codes import TargetSolver, TargetState
from unseen.storage.checkpoint import Checkpoint
from unseen.support.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    Composite,
    at_least,
    has_parameters,
    parameter,
)
from unseen.support.registry import register
from unseen.support.work import tell
from unseen.training.resuming import check_found

_LEAST_LOSS = 1e-3
Callback = Callable[[int, str, Codes], Any]
_STATES: dict[str, Any] = {"W": SimilarityState, "Zs": SourceState, "Zt": TargetState}


class Data(NamedTuple):
    """What J is about: scaled descriptions S (C x d_s), scaled rows, and their pairs.

    Rows and pairs are in the order of `layout`, which says how everything of size N is kept.
    """

    S: np.ndarray
    rows: TrainingRows
    pairs: Pairs
    layout: Layout | None = None

    @classmethod
    def of(
        cls,
        S: np.ndarray,
        X: np.ndarray,
        scaling: RowScaling,
        pairs: Pairs,
        layout: Layout | None = None,
    ) -> Self:
        """The same from rows X and their pairs, in any order."""
        order, blocks = (None, None) if layout is None else (layout.order, layout.blocks)
        rows = TrainingRows(X, scaling, order, blocks)
        return cls(S, rows, pairs if order is None else pairs[order], layout)


class Training:
    """The state of Algorithm 2: what it has found and what the next round starts from.

    `effort` says when a block is solved, and in which order it visits rows.
    """

    is_coupled = False

    def __init__(
        self, data: Data, lambdas: Lambdas, effort: Effort, B: np.ndarray, D: np.ndarray
    ) -> None:
        self.S, self.rows, self.pairs, layout = self.data = data
        self.layout = Layout(self.rows.n_rows) if layout is None else layout
        self.lambdas, self.effort, self.B, self.D = lambdas, effort, B, D
        self.n_blocks = 0
        self.history: list[ObjectiveParts] = []
        self._states: dict[str, Any] = {}
        self._project()
        # Codes from the data fit alone.
        self.Zs = fit_source_codes(self.S @ B, self.source_ridge()).value
        self._first_codes(self.target_ridge())

    def _first_codes(self, ridge: Ridge) -> None:
        self.Zt = self._table(self.XD.shape[1])
        for _, (XD, Z) in self.layout.visit(self.XD, self.Zt):
            Z[:] = ridge.codes(XD)

    @property
    def codes(self) -> Codes:
        return Codes(self.Zs, self.Zt, self.B, self.D, self.W)

    def _table(self, width: int) -> np.ndarray:
        return self.layout.zeros((self.rows.n_rows, width), self.rows.dtype)

    def _project(self) -> None:
        self.XD = self.rows.project(self.D, self._table(self.D.shape[1]))
        self.gram = self.D.T.astype(np.float64) @ self.D

    def source_ridge(self, phi: float = 1.0) -> Ridge:
        """φ p_B."""
        w = self.lambdas
        return Ridge(self.B.T @ self.B, w.source_shrink, w.source_fit, phi)

    def target_ridge(self, phi: float = 1.0) -> Ridge:
        """φ p_D."""
        return Ridge(self.gram, self.lambdas.target_shrink, self.lambdas.target_fit, phi)

    def objective(self) -> ObjectiveParts:
        terms = self._row_terms()
        terms = terms._replace(residual=terms.residual + self.rows.total_square)
        return objective_parts(self.S, terms, self.rows.n_rows, self.codes, self.lambdas)

    def _row_terms(self) -> RowTerms:
        P, visit = (self.Zs @ self.W).T, self.layout.visit(self.Zt, self.XD)
        found = (row_terms(Z, XD, self.pairs[r], self.gram, P) for r, (Z, XD) in visit)
        return RowTerms(*added(found))

    def _pair_total(self) -> float:
        P, visit = (self.Zs @ self.W).T, self.layout.visit(self.Zt)
        return added(pair_loss_of(Z, self.pairs[rows], P) for rows, (Z,) in visit)

    def _target_square(self) -> float:
        return added(sum_of_squares(Z) for _, (Z,) in self.layout.visit(self.Zt))

    def _target_products(self) -> tuple[np.ndarray, np.ndarray]:
        """Zt'Zt and X'Zt."""
        gram = added(Z.T @ Z for _, (Z,) in self.layout.visit(self.Zt))
        return gram, self.rows.cross(self.Zt)

    def set_penalty(self, relative: float) -> None:
        """λ_W in units of mean |z_i|² · mean |z_j|² / C, the size of features per class."""
        target = self._target_square() / self.rows.n_rows
        size = float(np.mean(np.sum(self.Zs**2, axis=1))) * target
        unit = (size if size > 0 else 1.0) / len(self.S)
        self.lambdas = self.lambdas._replace(similarity=relative * unit)

    def set_fits(self, source: float, target: float) -> None:
        """λ2s and λ2t in units of the pair loss there is, which tells how hard the hinges pull."""
        w, loss = self.lambdas, max(self._pair_total(), _LEAST_LOSS)
        self.lambdas = w._replace(
            source_fit=source * loss,
            source_shrink=w.source_shrink / w.source_fit * source * loss,
            target_fit=target * loss,
            target_shrink=w.target_shrink / w.target_fit * target * loss,
        )

    def _similarity_effort(self) -> Effort:
        """Small problems may take many epochs: they cost next to nothing."""
        work = self.Zs.shape[0] * self.rows.n_rows * self.D.shape[1]
        return self.effort._replace(max_iter=int(np.clip(3e9 / max(work, 1), 300, 20_000)))

    def fit_similarity(self) -> None:
        """W <- argmin Σ ω_ij loss(y_ij s_ij) + λ_W/2 |W|²."""
        solution = fit_similarity(
            self.Zs,
            self.Zt,
            self.pairs,
            self.lambdas.similarity,
            self._similarity_effort(),
            self._states.get("W"),
            self.layout,
        )
        self.W, self._states["W"] = solution.value, solution.state

    def fit_source_codes(self) -> None:
        """z_i <- argmin 1/C p_B(i) + Σ_j ω_ij loss(y_ij s_ij), on the simplex."""
        SB, ridge = self.S @ self.B, self.source_ridge(1 / len(self.S))
        F, options = RowProduct(self.Zt, self.W.T), {"effort": self.effort, "layout": self.layout}
        squares = np.sum(np.square(self.S, dtype=np.float64), axis=1)
        start = self._states.get("Zs", SourceState(None, None, self.Zs))
        solution = fit_source_codes_with_pairs(
            SB, ridge, F, self.pairs, s_sq=squares, state=start, **options
        )
        self.Zs, self._states["Zs"] = solution.value, solution.state

    def fit_target_codes(self) -> None:
        """z_j <- argmin 1/N p_D(j) + Σ_i ω_ij loss(y_ij s_ij)."""
        ridge = self.target_ridge(1 / self.rows.n_rows)
        solver = TargetSolver(ridge, self.Zs @ self.W, effort=self.effort)
        start = self._states.get("Zt", TargetState(None, self.Zt))
        solution = solver.solve(self.XD, self.pairs, start, self.layout)
        self.Zt, self._states["Zt"] = solution.value, solution.state

    def fit_source_dictionary(self) -> None:
        """B <- argmin Σ_i |x_i - B z_i|²."""
        self.B = fit_source_dictionary(self.Zs.T @ self.Zs, self.S.T @ self.Zs, self.B).value

    def fit_target_dictionary(self) -> None:
        """D <- argmin Σ_j |x_j - D z_j|² with atoms in the unit ball."""
        gram, cross = self._target_products()
        self.D = fit_target_dictionary(gram, cross, self.D, self.rows.total_square).value
        self._project()

    def run(self, max_rounds: int, tol: float = 0.0, callback: Callback | None = None) -> None:
        """Rounds until there are `max_rounds`, or until J falls by less than `tol` of itself.

        After each block `callback` gets the number of the round, the block and all codes.
        """
        updates = {
            "Zs": self.fit_source_codes,
            "Zt": self.fit_target_codes,
            "B": self.fit_source_dictionary,
            "D": self.fit_target_dictionary,
            "W": self.fit_similarity,
        }
        while True:
            n_rounds, block = divmod(self.n_blocks, len(updates))
            if block == 0 and len(self.history) == n_rounds:
                self.history.append(self.objective())
            if block == 0 and is_done(self.history, max_rounds, tol):
                return
            name, update = list(updates.items())[block]
            tell(f"round {n_rounds + 1}: {name}")
            update()
            self.n_blocks += 1
            if callback is not None:
                callback(n_rounds + 1, name, self.codes)

    def adopt(self, B: np.ndarray, D: np.ndarray, W: np.ndarray) -> None:
        """Parameters of Algorithm 1, and the codes of classes and rows that suit them."""
        self.B, self.D, self.W = B, D, W
        self.is_coupled = True
        self._states.clear()
        self._project()
        self.fit_source_codes()
        self.fit_target_codes()

    def model(
        self, spaces: Spaces, link: str, keep_codes: bool = True, random_state: int | None = 0
    ) -> LatentModel:
        """What has been learned so far, in the spaces of its rows and descriptions; without
        `keep_codes` with no more of the rows than Algorithm 4 needs to know."""
        n_pairs, (positive, negative) = len(self.S) * len(self.pairs), self.pairs.omega
        learned = self.codes._asdict() | self.lambdas._asdict() | {"b": 0.0, "away_bias": 0.0}
        learned.pop("similarity")
        learned |= self._of_rows(keep_codes, random_state)
        learned["positive_weight"] = float(positive * n_pairs)
        learned["negative_weight"] = float(negative * n_pairs)
        form = {"loss": self.pairs.loss, "link": link, "is_coupled": self.is_coupled}
        latent = LatentModel(spaces, **learned, **form)
        return latent if keep_codes else latent.without_codes(random_state)

    def _of_rows(self, keep_codes: bool, random_state: int | None) -> dict[str, Any]:
        """Codes of rows; or what else a model knows of them, if they are not to be kept."""
        return {"Zt": self.layout.in_rows_order(self.Zt)}

    # -- on disk --------------------------------------------------------------------------------

    def noted(self, checkpoint: Checkpoint) -> None:
        """Called when a state has been given to a checkpoint."""

    def state(self) -> dict[str, Any]:
        """All that the rest of training depends on, beside data and effort."""
        return {
            **self.codes._asdict(),
            "n_blocks": self.n_blocks,
            "lambdas": list(self.lambdas),
            "history": [list(parts) for parts in self.history],
            "starts": {name: list(state) for name, state in self._states.items()},
        }

    @classmethod
    def restored(cls, data: Data, effort: Effort, state: dict[str, Any]) -> Self:
        """Training that resumes from what `state` gave."""
        starts = {name: _STATES[name](*kept) for name, kept in state["starts"].items()}
        check_found(data, state, starts)
        training = cls.__new__(cls)
        training.S, training.rows, training.pairs, layout = training.data = data
        training.layout = Layout(data.rows.n_rows) if layout is None else layout
        training.lambdas, training.effort = Lambdas(*state["lambdas"]), effort
        vars(training).update((name, state[name]) for name in (*Codes._fields, "n_blocks"))
        training.history = [ObjectiveParts(*parts) for parts in state["history"]]
        training._states = starts
        training._project()
        return training


def is_done(history: list[ObjectiveParts], max_rounds: int, tol: float) -> bool:
    """Are there enough rounds, or has the last one lowered the objective by too little?"""
    n_rounds = len(history) - 1
    before, now = (parts.total for parts in (history * 2)[-2:])
    return n_rounds >= max_rounds or (n_rounds > 0 and before - now <= tol * abs(before))


def begin(
    data: Data, choices: Any, block_tol: float, found: dict[str, Any] | None = None
) -> Training:
    """The initial dictionaries and codes and the W that belongs to them, or the state `found`.

    choices: parameters of `JLSE`, which documents them.
    """
    effort = Effort(block_tol, random_state=choices.random_state)
    kind = getattr(data.rows, "training", Training)  # rows elsewhere have their own
    if found is not None:
        return kind.restored(data, effort, found)
    # Codes sum to one, so what descriptions have in common tells nothing: their spread does. Rows
    # come with a mean square length of one. The first codes depend on the ratios of the λ alone.
    spread = mean_square_spread(data.S)
    shrinks = choices.source_shrinkage * spread, choices.target_shrinkage
    tell("dictionaries")
    B = initial_source_dictionary(data.S, choices.n_source_atoms, choices.random_state)
    D = initial_target_dictionary(data.rows, choices.n_target_atoms, choices.random_state)
    tell("first codes and W")
    training = kind(data, Lambdas(shrinks[0], 1.0, shrinks[1], 1.0, 1.0), effort, B, D)
    training.set_penalty(choices.similarity_penalty)
    training.fit_similarity()
    training.set_fits(choices.source_fit / spread, choices.target_fit)
    return training


def mean_square_spread(S: np.ndarray) -> float:
    """The mean of |s - mean|² over descriptions S (C x d_s); 1 where they are all the same."""
    spread = float(np.mean(np.sum((S - S.mean(axis=0)) ** 2, axis=1, dtype=np.float64)))
    return spread if spread > 1e-12 else 1.0


@register("algorithm 2")
@has_parameters
class Algorithm2(Composite):
    """Alternating training with one code per class and one per row (Algorithm 2); a part of JLSE.

    Parameters
    ----------
    max_iter : rounds; 0 leaves the codes as they begin ("init." in the paper's table).
    tol : stop when a round lowers J by no more than this share.
    block_tol : relative duality gap at which a block of a round counts as solved.
    """

    max_iter: int = parameter(1, at_least(0))
    tol: float = parameter(0.0, NOT_NEGATIVE)
    block_tol: float = parameter(1e-3, POSITIVE)

    def run(self, training: Training, checkpoint: Checkpoint) -> None:
        """Rounds from where `training` is, which the checkpoint notes after every block."""

        def note(*_: Any) -> None:
            checkpoint.note("rounds", training.state())
            training.noted(checkpoint)

        note()
        training.run(self.max_iter, self.tol, note)
