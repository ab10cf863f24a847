"""The general model: a pair scores what its best codes score under three terms.

    F(x_s, x_t) = max over z_s, z_t of log p_B(z_s | x_s) + log p_D(z_t | x_t) + log p_W(z_s, z_t)

(Eq. gen_sim of the paper, for a pair of the same class.) A member of the family is a term for the
codes of classes, one for the codes of rows, and a similarity between codes. Here the terms leave no
choice of codes, or a choice of a few; where codes move with what they are compared with, Algorithm
3 finds F (`unseen.inference.pairwise`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np

from unseen.errors import InputError
from unseen.rows.blocks import row_blocks

Embedding = Callable[[np.ndarray], np.ndarray]


class PointMasses:
    """A mixture of K point masses: the code is one of K embeddings of the input.

        log p(z | x) = log π_k  if z = φ_k(x),   -∞ for every other z

    Parameters
    ----------
    embeddings : the K functions φ_k, each from inputs (n x d) to codes (n x h).
    log_weights : log π_k; all are -log K if not given.
    """

    def __init__(
        self, embeddings: Sequence[Embedding], log_weights: Sequence[float] | None = None
    ) -> None:
        if not embeddings:
            raise InputError("a mixture needs at least one embedding")
        self.embeddings, n, weights = list(embeddings), len(embeddings), log_weights
        self.log_weights = [-float(np.log(n))] * n if weights is None else list(weights)
        if len(self.log_weights) != n:
            raise InputError(f"{n} embeddings, but {len(self.log_weights)} logarithms of weights")


class PointMass(PointMasses):
    """All mass on one embedding: log p(z | x) is 0 if z = φ(x), -∞ for every other z.

    `log_weight` in place of 0 moves every score by the same number.
    """

    def __init__(self, embedding: Embedding, log_weight: float = 0.0) -> None:
        super().__init__([embedding], [log_weight])


def in_blocks(embedding: Embedding, n_blocks: int) -> list[Embedding]:
    """K embeddings, the k-th of which puts φ(x) in block k of a code of K blocks, zeros elsewhere.

    The functions π_i and τ_j of the paper, for similarities whose W is block-diagonal.
    """

    def placed(x: np.ndarray, block: int) -> np.ndarray:
        return np.kron(np.eye(n_blocks, dtype=x.dtype)[block], embedding(x))

    return [partial(placed, block=block) for block in range(n_blocks)]


class Similarity:
    """log p_W(z_s, z_t) of pairs of codes."""

    def log_p(self, z_s: np.ndarray, z_t: np.ndarray) -> np.ndarray:
        """The last axis of both holds a code; the others broadcast to rows x classes."""
        raise TypeError(f"{type(self).__name__} must define log_p")

    def allows(self, source: int, target: int) -> bool:
        """Δ of the paper: may codes of these components go together?"""
        return True


class Bilinear(Similarity):
    """log p_W = z_s' W z_t + b, W being h_s x h_t.

    same_component : let only component k of one side go with component k of the other.
    """

    def __init__(self, W: np.ndarray, bias: float = 0.0, same_component: bool = False) -> None:
        self.W, self.bias, self.same_component = W, bias, same_component

    def log_p(self, z_s: np.ndarray, z_t: np.ndarray) -> np.ndarray:
        return np.einsum("...h,...h->...", z_s, z_t @ self.W.T) + self.bias

    def allows(self, source: int, target: int) -> bool:
        return source == target or not self.same_component


class Joint:
    """A member of the family: F from log p_B, log p_D and log p_W."""

    def __init__(self, source: PointMasses, target: PointMasses, similarity: Similarity) -> None:
        self.source, self.target, self.similarity = source, target, similarity

    def scores(self, S: np.ndarray, X: np.ndarray) -> np.ndarray:
        """F of every row of X (N x d_t) with every description of S (C x d_s), N x C."""
        blocks = row_blocks(len(X), 8 * len(S) * (S.shape[1] + X.shape[1]))
        return np.concatenate([self._maximum(S, X[rows]) for rows in blocks])

    def _maximum(self, S: np.ndarray, X: np.ndarray) -> np.ndarray:
        source, target = self.source, self.target
        components = product(range(len(source.embeddings)), range(len(target.embeddings)))
        found = []
        for j, i in components:
            if self.similarity.allows(j, i):
                z_s, z_t = source.embeddings[j](S)[None], target.embeddings[i](X)[:, None]
                weight = source.log_weights[j] + target.log_weights[i]
                found.append(weight + self.similarity.log_p(z_s, z_t))
        if not found:
            raise InputError("the similarity allows no pair of components")
        return np.max(found, axis=0)
