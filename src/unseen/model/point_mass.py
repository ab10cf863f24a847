"""Terms of the general model that leave no choice of codes, or a choice of a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from unseen.errors import InputError
from unseen.model.joint import Term

Embedding = Callable[[np.ndarray], np.ndarray]


class PointMasses(Term):
    """A mixture of K point masses: the code is one of K embeddings of the input.

        log p(z | x) = log π_k  if z = φ_k(x),   -∞ for every other z

    Parameters
    ----------
    embeddings : the K functions φ_k, each from inputs (n x d) to codes (n x h).
    log_weights : log π_k; all are -log K if not given.
    """

    is_fixed = True

    def __init__(
        self, embeddings: Sequence[Embedding], log_weights: Sequence[float] | None = None
    ) -> None:
        if not embeddings:
            raise InputError("a mixture needs at least one embedding")
        self.embeddings = list(embeddings)
        self.n_components = len(self.embeddings)
        if log_weights is None:
            log_weights = [-float(np.log(self.n_components))] * self.n_components
        if len(log_weights) != self.n_components:
            raise InputError(
                f"{self.n_components} embeddings, but {len(log_weights)} logarithms of weights"
            )
        self.log_weights = list(log_weights)

    def best(self, x: np.ndarray, pull: np.ndarray | None, component: int) -> np.ndarray:
        flat = self.embeddings[component](x.reshape(-1, x.shape[-1]))
        return flat.reshape(*x.shape[:-1], -1)

    def log_p(self, x: np.ndarray, z: np.ndarray, component: int) -> np.ndarray:
        is_there = (z == self.best(x, None, component)).all(axis=-1)
        return np.where(is_there, self.log_weights[component], -np.inf)


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

    def place(block: int) -> Embedding:
        def placed(x: np.ndarray) -> np.ndarray:
            z = embedding(x)
            out = np.zeros((len(z), n_blocks, z.shape[1]), z.dtype)
            out[:, block] = z
            return out.reshape(len(z), -1)

        return placed

    return [place(block) for block in range(n_blocks)]
