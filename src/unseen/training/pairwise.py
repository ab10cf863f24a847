"""Algorithm 1: fully coupled training, where every pair of a class and a row has codes of its own.

    G(B, D, W) = 1/(CN) Σ_ij min over z_s, z_t of { p_B(z_s | x_i) + p_D(z_t | x_j)
                 + CN ω_ij loss(y_ij z_s' W z_t) } + λ_W/2 |W|²

is Eq. (gen_obj) of the paper divided by C·N, with ω_ij for the weight of a pair, in the units of J.
Where all pairs of a class and of a row share a code, G's sum is J: so G <= J for the same B, D, W.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from unseen.model.objective import ObjectiveParts
from unseen.rows.blocks import BLOCK_BYTES, row_blocks, sum_of_squares
from unseen.solvers.block import Ridge
from unseen.solvers.dictionary import fit_source_dictionary, fit_target_dictionary
from unseen.solvers.pair_codes import PairBlock, PairCodes
from unseen.solvers.pair_similarity import PairFeatures, fit_pair_similarity
from unseen.solvers.similarity import SimilarityState
from unseen.storage.checkpoint import Checkpoint
from unseen.support.registry import register
from unseen.support.work import tell
from unseen.training.alternating import Algorithm2, Training, is_done
from unseen.training.resuming import check_array

Callback = Callable[[int, str, "Parameters"], Any]
# Codes of pairs of up to this size are kept from one pass over them to the next.
KEPT_BYTES = 256 * 2**20
_MOST_HALVINGS = 5


class Parameters(NamedTuple):
    """B, D and W: codes of pairs follow from them."""

    B: np.ndarray
    D: np.ndarray
    W: np.ndarray


class _Sums(NamedTuple):
    """Σ_ij z_s z_s' and Σ_j z_s(ij) of each class, Σ_ij z_t z_t' and Σ_i z_t(ij) of each row."""

    source_gram: np.ndarray
    source_sums: np.ndarray
    target_gram: np.ndarray
    target_sums: np.ndarray


class PairwiseTraining:
    """The state of Algorithm 1.

    Codes of pairs are a function of B, D and W, found anew, a block of rows at a time, whenever
    they are needed; beyond a block only sums of them are kept, and codes up to `KEPT_BYTES`. With
    these codes B, D and W are minimised each for itself. Codes on the simplex are but a local
    minimum, which may be a worse one after the step; then half the step is tried, so that G never
    rises.

    Parameters
    ----------
    start : Algorithm 2 with the data, λ and parameters to start from; its Zs are among the codes a
        pair may start from.
    found : what `state` gave in an earlier training with the same start, to resume from.
    """

    def __init__(self, start: Training, found: list[Any] | None = None) -> None:
        self.S, self.rows, self.pairs, _ = start.data
        self.lambdas, self.effort, self.starts = start.lambdas, start.effort, (start.Zs,)
        self.parameters = Parameters(start.B, start.D, start.W)
        self._duals = np.zeros((self.rows.n_rows, len(self.S)), start.W.dtype)
        self.history: list[ObjectiveParts] = []
        if found is not None:
            kept = [self._duals, *self.parameters]
            for array, resumed in zip(kept, [found[1], *found[0]], strict=True):
                check_array(resumed, array.shape)
            self.parameters, self._duals = Parameters(*found[0]), found[1]
            self.history = [ObjectiveParts(*parts) for parts in found[2]]
        self._pass = _Pass(self, self.parameters)
        self.history = self.history or [self._pass.parts]

    def run_round(self, callback: Callback | None = None) -> None:
        """Codes of all pairs, then B, D and W: one round of Algorithm 1."""
        old = new = self.parameters
        for name, update in {"B": self._step_B, "D": self._step_D, "W": self._step_W}.items():
            tell(f"round {len(self.history)} of Algorithm 1: {name}")
            new = new._replace(**{name: update()})
            if callback is not None:
                callback(len(self.history), name, new)
        for _ in range(_MOST_HALVINGS):
            tried = _Pass(self, new)
            if tried.parts.total <= self._pass.parts.total:
                self._pass, self.parameters = tried, new
                break
            new = Parameters(*(a + (b - a) / 2 for a, b in zip(old, new, strict=True)))
        self.history.append(self._pass.parts)

    def state(self) -> list[Any]:
        """All that the rest of training depends on, beside where it started."""
        return [list(self.parameters), self._duals, [list(p) for p in self.history]]

    def _step_B(self) -> np.ndarray:
        """B <- argmin Σ_ij |x_i - B z_s(ij)|²."""
        sums, B = self._pass.sums, self.parameters.B
        cross = self.S.T.astype(np.float64) @ sums.source_sums
        return fit_source_dictionary(sums.source_gram, cross, B).value.astype(B.dtype)

    def _step_D(self) -> np.ndarray:
        """D <- argmin Σ_ij |x_j - D z_t(ij)|² with atoms in the unit ball."""
        sums, D = self._pass.sums, self.parameters.D
        cross = self.rows.cross(sums.target_sums.astype(D.dtype))
        square = len(self.S) * self.rows.total_square
        return fit_target_dictionary(sums.target_gram, cross, D, square).value.astype(D.dtype)

    def _step_W(self) -> np.ndarray:
        """W <- argmin Σ_ij ω_ij loss(y_ij z_s(ij)' W z_t(ij)) + λ_W/2 |W|²."""
        start = SimilarityState(self._duals, self.parameters.W)
        found = fit_pair_similarity(
            self._pass.features, self.pairs, self.lambdas.similarity, start, self.effort
        )
        self._duals = found.state.duals
        return found.value


class _Pass:
    """Codes of all pairs for given parameters: G, the sums of the steps, and the blocks again."""

    def __init__(self, training: PairwiseTraining, parameters: Parameters) -> None:
        t, w, p = training, training.lambdas, parameters
        self.training, self.parameters = training, parameters
        B, D = p.B.astype(np.float64), p.D.astype(np.float64)
        self.XD = t.rows.project(p.D)
        source = Ridge(B.T @ B, w.source_shrink, w.source_fit)
        target = Ridge(D.T @ D, w.target_shrink, w.target_fit)
        self.codes = PairCodes(t.S @ B, source, target, p.W, loss=t.pairs.loss, starts=t.starts)
        self.Zt0 = target.codes(self.XD)
        n, C, h = len(self.XD), len(t.S), len(p.W)
        self._step = list(row_blocks(n, 8 * C * (h + p.W.shape[1]), BLOCK_BYTES))
        self._kept: list | None = [] if 8 * n * C * (h + 4) <= KEPT_BYTES else None
        self._sum()

    def _solved(self, rows: slice) -> PairBlock:
        V = self.training.pairs[rows].signed_omega()
        return self.codes.solve(self.XD[rows], V * V.shape[1] * len(self.XD), codes=True)

    def blocks(self) -> Iterator[tuple[slice, PairBlock]]:
        for k, rows in enumerate(self._step):
            if self._kept is None:
                yield rows, self._solved(rows)
                continue
            if k == len(self._kept):
                self._kept.append(self._solved(rows))
            yield rows, self._kept[k]

    def features(self) -> Iterator[PairFeatures]:
        """Blocks as the W step reads them."""
        dtype = self.parameters.W.dtype
        for rows, block in self.blocks():
            assert block.Zs is not None
            Zt = self.codes.target_codes(self.Zt0[rows], block).astype(dtype, copy=False)
            yield PairFeatures(rows, block.Zs.astype(dtype, copy=False), Zt)

    def _sum(self) -> None:
        """One pass over all pairs. Target codes are z_t0 + β A'z_s, A = W H_t^-1, so that sums of
        them follow from sums of source codes."""
        t, w, W = self.training, self.training.lambdas, self.codes.W
        n, C, h = len(self.XD), len(t.S), len(W)
        gram, bent, sums = np.zeros((h, h)), np.zeros((h, h)), np.zeros((C, h))
        pulls, source, target, loss = np.empty((n, h)), 0.0, 0.0, 0.0
        for rows, block in self.blocks():
            assert block.Zs is not None
            loss += float(t.pairs[rows].row_losses(block.scores).sum())
            source, target = source + float(block.source.sum()), target + float(block.target.sum())
            flat = block.Zs.reshape(-1, h)
            pulled = flat * block.beta.reshape(-1, 1)
            gram += flat.T @ flat
            bent += pulled.T @ pulled
            sums += block.Zs.sum(axis=0)
            pulls[rows] = pulled.reshape(block.Zs.shape).sum(axis=1)
        A, Z = W @ self.codes.target.inverse, self.Zt0.astype(np.float64)
        mixed = (Z.T @ pulls) @ A
        target_gram = C * (Z.T @ Z) + mixed + mixed.T + A.T @ bent @ A
        self.sums = _Sums(gram, sums, target_gram, C * Z + pulls @ A)
        own = t.rows.total_square - float(np.einsum("jh,jh->", Z, self.XD, dtype=np.float64))
        self.parts = ObjectiveParts(
            source / (C * n) + 0.5 * w.source_fit * sum_of_squares(t.S) / C,
            target / (C * n) + 0.5 * w.target_fit * own / n,
            loss,
            0.5 * w.similarity * sum_of_squares(W),
        )


@register("algorithm 1")
class Algorithm1(Algorithm2):
    """Training in which each pair of a class and a row has codes of its own (Algorithm 1).

    For small data, as it costs C times as much as Algorithm 2, whose parameters it has.
    """

    def run(self, training: Training, checkpoint: Checkpoint) -> None:
        """Rounds from where `training` starts, which then has the parameters that were found."""
        before = training.state()
        found = (checkpoint.state("rounds") or {}).get("coupled")
        coupled = PairwiseTraining(training, found)
        while not is_done(coupled.history, self.max_iter, self.tol):
            coupled.run_round()
            checkpoint.note("rounds", before | {"coupled": coupled.state()})
        training.adopt(*coupled.parameters)
        training.history = coupled.history
