"""Where training starts: the dictionaries of the paper's section "Implementation", λ, first codes
and W.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.cluster import KMeans

from unseen.model.objective import Lambdas
from unseen.rows.blocks import TrainingRows
from unseen.solvers.block import Effort
from unseen.support.work import tell
from unseen.training.alternating import Data, Training

MOST_CLASS_ATOMS = 200
_OVERSAMPLING = 32
_PASSES = 4


def source_dictionary(S: np.ndarray, n_atoms: int | None, random_state: int | None) -> np.ndarray:
    """B (d_s x h_s): the descriptions of the seen classes, or k-means centres of them.

    Without `n_atoms` every class is an atom, up to 200 classes; beyond, 200 centres. Where there
    are no more different descriptions than centres, the atoms are those descriptions.
    """
    h = min(S.shape[0], MOST_CLASS_ATOMS if n_atoms is None else n_atoms)
    if h == S.shape[0]:
        return S.T.copy()
    different = np.unique(S, axis=0)
    if different.shape[0] <= h:
        return np.ascontiguousarray(different.T)
    centres = KMeans(h, n_init="auto", random_state=random_state).fit(S).cluster_centers_
    return np.ascontiguousarray(centres.T, dtype=S.dtype)


def target_dictionary(rows: TrainingRows, n_atoms: int, random_state: int | None) -> np.ndarray:
    """D (d_t x h_t): the top eigenvectors of X̃'X̃, largest first.

    Exact where d_t is small. Otherwise by subspace iteration from a random start with a few
    spare directions, which takes two products with X per pass and never forms d_t x d_t.
    """
    d_t, h = rows.n_columns, min(n_atoms, rows.n_columns, rows.n_rows)
    size = h + _OVERSAMPLING
    if d_t <= 2 * size:
        basis = np.eye(d_t, dtype=rows.dtype)
    else:
        rng = np.random.default_rng(random_state)
        basis = rng.standard_normal((d_t, size)).astype(rows.dtype)
        for _ in range(_PASSES):
            basis = np.linalg.qr(rows.cross(rows.project(basis)))[0]
    projected = rows.project(basis)
    _, vectors = np.linalg.eigh((projected.T @ projected).astype(np.float64))
    return np.ascontiguousarray(basis @ vectors[:, ::-1][:, :h].astype(rows.dtype))


class Choices(Protocol):
    """What is chosen before training: parameters of `JLSE`, which documents them."""

    n_target_atoms: int
    n_source_atoms: int | None
    source_fit: float
    source_shrinkage: float
    target_fit: float
    target_shrinkage: float
    similarity_penalty: float
    random_state: int


def begin(
    data: Data, choices: Choices, block_tol: float, found: dict[str, Any] | None = None
) -> Training:
    """The initial dictionaries and codes and the W that belongs to them, or the state `found`."""
    effort = Effort(block_tol, random_state=choices.random_state)
    if found is not None:
        return Training.restored(data, effort, found)
    # Codes sum to one, so what descriptions have in common tells nothing: their spread does. Rows
    # come with a mean square length of one. The first codes depend on the ratios of the λ alone.
    spread = mean_square_spread(data.S)
    shrinks = choices.source_shrinkage * spread, choices.target_shrinkage
    tell("dictionaries")
    B = source_dictionary(data.S, choices.n_source_atoms, choices.random_state)
    D = target_dictionary(data.rows, choices.n_target_atoms, choices.random_state)
    tell("first codes and W")
    training = Training(data, Lambdas(shrinks[0], 1.0, shrinks[1], 1.0, 1.0), effort, B, D)
    training.set_penalty(choices.similarity_penalty)
    training.fit_similarity()
    training.set_fits(choices.source_fit / spread, choices.target_fit)
    return training


def mean_square_spread(S: np.ndarray) -> float:
    """The mean of |s - mean|² over descriptions S (C x d_s); 1 where they are all the same."""
    spread = float(np.mean(np.sum((S - S.mean(axis=0)) ** 2, axis=1, dtype=np.float64)))
    return spread if spread > 1e-12 else 1.0
