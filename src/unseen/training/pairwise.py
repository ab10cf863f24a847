"""Algorithm 1: fully coupled training, where every pair of a class and a row has codes of its own.

    G(B, D, W, b) = 1/(CN) Σ_ij min over z_s, z_t of { p_B(z_s | x_i) + p_D(z_t | x_j)
                    + CN ω_ij loss(y_ij (z_s' W z_t + b)) } + λ_W/2 (|W|² + (b/κ)²)

is Eq. (gen_obj) of the paper divided by C·N, with ω_ij for the weight of a pair, in the units of J.
Where all pairs of a class and of a row share a code, G's sum is J: so G <= J for the same B, D, W.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from unseen.model.objective import Codes, ObjectiveParts, Weights
from unseen.model.terms import pair_loss
from unseen.rows.blocks import BLOCK_BYTES, row_blocks
from unseen.rows.training import TrainingRows
from unseen.solvers.dictionary import fit_source_dictionary, fit_target_dictionary
from unseen.solvers.pair_codes import PairBlock, PairCodes
from unseen.solvers.pair_similarity import PairFeatures, fit_pair_similarity
from unseen.storage.checkpoint import Checkpoint
from unseen.support.progress import tell
from unseen.support.registry import register
from unseen.training.alternating import Algorithm2, Options, Training

Callback = Callable[[int, str, "Parameters"], Any]
# Codes of pairs of up to this size are kept from one pass over them to the next.
KEPT_BYTES = 256 * 2**20
_MOST_HALVINGS = 5


class Parameters(NamedTuple):
    """B, D, W and b: codes of pairs follow from them."""

    B: np.ndarray
    D: np.ndarray
    W: np.ndarray
    b: float


class _Sums(NamedTuple):
    """What the steps of B and D need of the codes of all pairs.

    source_gram, source_sums : Σ_ij z_s z_s', and Σ_j z_s(ij) of each class.
    target_gram, target_sums : Σ_ij z_t z_t', and Σ_i z_t(ij) of each row.
    """

    source_gram: np.ndarray
    source_sums: np.ndarray
    target_gram: np.ndarray
    target_sums: np.ndarray


def signs_and_weights(
    labels: np.ndarray, rows: slice, n_classes: int, weights: Weights
) -> tuple[np.ndarray, np.ndarray]:
    """Y (int8) and ω of a block of rows with all classes, n x C.

    `labels` are class numbers (N; -1 for none), or an N x C matrix of signs, 0 for unknown; there
    the size of an entry is a factor of ω.
    """
    part = labels[rows]
    if labels.ndim == 1:
        Y = np.where(part[:, None] == np.arange(n_classes), 1, -1).astype(np.int8)
        size = np.ones(Y.shape)
    else:
        Y, size = np.sign(part).astype(np.int8), np.abs(part).astype(np.float64)
    omega = size * np.where(Y > 0, weights.pairs.pos, weights.pairs.neg) * (Y != 0)
    if weights.pairs.rows is not None:
        omega *= np.asarray(weights.pairs.rows, np.float64)[rows, None]
    return Y, omega


class PairwiseTraining:
    """The state of Algorithm 1.

    Codes of pairs are a function of B, D, W and b, found anew, a block of rows at a time, whenever
    they are needed; beyond a block only sums of them are kept, and codes up to `kept_bytes`. With
    these codes B, D and W are minimised each for itself. On the simplex codes are but a local
    minimum, which may be a worse one after the step; then half the step is tried, so that G never
    rises.

    Parameters
    ----------
    S, rows, labels, weights, options : as in `Training`; `labels` may also be a matrix of signs.
    start : where B, D, W and b start; its Zs are among the codes a pair may start from.
    found : what `state` gave in an earlier training with the same start, to go on from.
    block_bytes, kept_bytes : size of a block of pairs, and of what is kept between passes.
    """

    def __init__(
        self,
        S: np.ndarray,
        rows: TrainingRows,
        labels: np.ndarray,
        weights: Weights,
        options: Options,
        start: Codes,
        *,
        found: list[Any] | None = None,
        block_bytes: int = BLOCK_BYTES,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self.S, self.rows, self.labels = S, rows, np.asarray(labels)
        self.weights, self.options = weights, options
        self.parameters = Parameters(start.B, start.D, start.W, float(start.b))
        self._block_bytes, self._kept_bytes = block_bytes, kept_bytes
        self._starts = (start.Zs,)
        self._duals = np.zeros((rows.n_rows, len(S)), start.W.dtype)
        self.history: list[ObjectiveParts] = []
        if found is not None:
            self.parameters, self._duals = Parameters(*found[0]), found[1]
            self.history = [ObjectiveParts(*parts) for parts in found[2]]
        self._pass = _Pass(self, self.parameters)
        self.history = self.history or [self._pass.parts]
        self.n_rounds = len(self.history) - 1

    @classmethod
    def after(cls, training: Training, **options: Any) -> Self:
        """Algorithm 1 from where Algorithm 2 is."""
        return cls(
            training.S, training.rows, training.labels, training.weights, training.options,
            training.codes, **options,
        )  # fmt: skip

    def objective(self) -> ObjectiveParts:
        """G and its parts."""
        return self._pass.parts

    def blocks(self) -> Iterator[tuple[slice, PairBlock]]:
        """Rows and their pairs, block by block, with codes."""
        return self._pass.blocks()

    def run_round(self, callback: Callback | None = None) -> None:
        """Codes of all pairs, then B, D and W: one round of Algorithm 1."""
        old, self.n_rounds = self.parameters, self.n_rounds + 1
        new = old
        for name, update in {"B": self._step_B, "D": self._step_D, "W": self._step_W}.items():
            tell(f"round {self.n_rounds} of Algorithm 1: {name}")
            new = new._replace(**update())
            if callback is not None:
                callback(self.n_rounds, name, new)
        share = 1.0
        for _ in range(_MOST_HALVINGS):
            tried = _Pass(self, _between(old, new, share))
            if tried.parts.total <= self._pass.parts.total:
                self._pass, self.parameters = tried, tried.parameters
                break
            share /= 2
        self.history.append(self._pass.parts)

    def run(
        self, max_rounds: int, tol: float = 0.0, after_round: Callable[[], Any] | None = None
    ) -> None:
        """Rounds until there are `max_rounds`, or until G falls by no more than `tol` of itself."""
        while self.n_rounds < max_rounds and not self._is_stalled(tol):
            self.run_round()
            if after_round is not None:
                after_round()

    def _is_stalled(self, tol: float) -> bool:
        before, now = (parts.total for parts in (self.history * 2)[-2:])
        return self.n_rounds > 0 and before - now <= tol * abs(before)

    def state(self) -> list[Any]:
        """All that the rest of training depends on, beside where it started."""
        return [list(self.parameters), self._duals, [list(p) for p in self.history]]

    def _step_B(self) -> dict[str, Any]:
        """B <- argmin Σ_ij |x_i - B z_s(ij)|²."""
        sums, B = self._pass.sums, self.parameters.B
        cross = self.S.T.astype(np.float64) @ sums.source_sums
        step = fit_source_dictionary(sums.source_gram, cross, B=B)
        return {"B": step.value.astype(B.dtype)}

    def _step_D(self) -> dict[str, Any]:
        """D <- argmin Σ_ij |x_j - D z_t(ij)|² with atoms in the unit ball."""
        sums, D = self._pass.sums, self.parameters.D
        cross = self.rows.cross(sums.target_sums.astype(D.dtype))
        square = len(self.S) * self.rows.total_square
        step = fit_target_dictionary(sums.target_gram, cross, D=D, data_sq=square)
        return {"D": step.value.astype(D.dtype)}

    def _step_W(self) -> dict[str, Any]:
        """W, b <- argmin Σ_ij ω_ij loss(y_ij (z_s(ij)' W z_t(ij) + b)) + λ_W/2 (|W|² + (b/κ)²)."""
        w, old = self.weights, self.parameters
        found = fit_pair_similarity(
            self._pass.features, old.W, old.b, self._duals,
            lam=w.similarity, loss=w.loss, bias_scale=w.bias_scale, tol=self.options.tol,
            random_state=self.options.random_state,
        )  # fmt: skip
        self._duals = found.state.duals
        return {"W": found.value.W, "b": found.value.b}


class _Pass:
    """Codes of all pairs for given parameters: G, the sums of the steps, and the blocks again."""

    def __init__(self, training: PairwiseTraining, parameters: Parameters) -> None:
        t, w, p = training, training.weights, parameters
        self.training, self.parameters = training, parameters
        B, D = p.B.astype(np.float64), p.D.astype(np.float64)
        self.XD = t.rows.project(p.D)
        self.codes = PairCodes(
            t.S @ B, B.T @ B, D.T @ D, p.W, p.b,
            source_shrink=w.source_shrink, source_fit=w.source_fit,
            target_shrink=w.target_shrink, target_fit=w.target_fit,
            which=t.options.source_set, loss=w.loss, starts=t._starts,
        )  # fmt: skip
        self.Zt0 = self.codes.row_codes(self.XD)
        n, C, h = len(self.XD), len(t.S), len(p.W)
        self._step = list(row_blocks(n, 8 * C * (h + p.W.shape[1]), t._block_bytes))
        self._kept: list | None = [] if 8 * n * C * (h + 4) <= t._kept_bytes else None
        self._sum()

    def _solved(self, rows: slice) -> PairBlock:
        t = self.training
        Y, omega = signs_and_weights(t.labels, rows, len(t.S), t.weights)
        return self.codes.solve(self.XD[rows], Y, omega * Y.shape[1] * len(self.XD), codes=True)

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
        t, dtype = self.training, self.parameters.W.dtype
        for rows, block in self.blocks():
            assert block.Zs is not None
            Y, omega = signs_and_weights(t.labels, rows, len(t.S), t.weights)
            Zt = self.codes.target_codes(self.Zt0[rows], block).astype(dtype, copy=False)
            yield PairFeatures(rows, block.Zs.astype(dtype, copy=False), Zt, Y, omega)

    def _sum(self) -> None:
        """One pass over all pairs. Target codes are z_t0 + β A'z_s, A = W H_t^-1, so that sums of
        them follow from sums of source codes."""
        t, w = self.training, self.training.weights
        n, C, h = len(self.XD), len(t.S), len(self.parameters.W)
        gram, bent, sums = np.zeros((h, h)), np.zeros((h, h)), np.zeros((C, h))
        pulls, source, target, loss = np.empty((n, h)), 0.0, 0.0, 0.0
        for rows, block in self.blocks():
            assert block.Zs is not None
            Y, omega = signs_and_weights(t.labels, rows, C, w)
            loss += float(np.sum(omega * pair_loss(Y * block.scores, w.loss)))
            source, target = source + float(block.source.sum()), target + float(block.target.sum())
            flat = block.Zs.reshape(-1, h)
            pulled = flat * block.beta.reshape(-1, 1)
            gram += flat.T @ flat
            bent += pulled.T @ pulled
            sums += block.Zs.sum(axis=0)
            pulls[rows] = pulled.reshape(block.Zs.shape).sum(axis=1)
        A, Z = self.codes.W @ self.codes.Ht_inverse, self.Zt0.astype(np.float64)
        mixed = (Z.T @ pulls) @ A
        self.sums = _Sums(
            gram, sums, C * (Z.T @ Z) + mixed + mixed.T + A.T @ bent @ A, C * Z + pulls @ A
        )
        square = float(np.sum(np.square(t.S, dtype=np.float64)))
        own = t.rows.total_square - float(np.einsum("jh,jh->", Z, self.XD, dtype=np.float64))
        bias = (self.parameters.b / w.bias_scale) ** 2 if w.bias_scale > 0 else 0.0
        W = self.codes.W
        self.parts = ObjectiveParts(
            source / (C * n) + 0.5 * w.source_fit * square / C,
            target / (C * n) + 0.5 * w.target_fit * own / n,
            loss,
            0.5 * w.similarity * (float(np.sum(W * W)) + bias),
        )


def _between(old: Parameters, new: Parameters, share: float) -> Parameters:
    """`share` of the way from old to new parameters."""
    if share == 1.0:
        return new
    B, D, W = (a + a.dtype.type(share) * (b - a) for a, b in zip(old[:3], new[:3], strict=True))
    return Parameters(B, D, W, old.b + share * (new.b - old.b))


@register("algorithm 1")
class Algorithm1(Algorithm2):
    """Training in which each pair of a class and a row has codes of its own (Algorithm 1).

    For small data, as it costs C times as much as Algorithm 2, whose parameters it has.
    """

    def run(self, training: Training, checkpoint: Checkpoint) -> None:
        """Rounds from where `training` starts, which then has the parameters that were found."""
        before = training.state()
        found = (checkpoint.state("rounds") or {}).get("coupled")
        coupled = PairwiseTraining.after(training, found=found)
        coupled.run(
            self.max_iter,
            self.tol,
            lambda: checkpoint.note("rounds", before | {"coupled": coupled.state()}),
        )
        training.adopt(*coupled.parameters)
        training.history, training.n_rounds = coupled.history, coupled.n_rounds
