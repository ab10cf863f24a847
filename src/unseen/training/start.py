"""Where Algorithms 1 and 2 start: λ, weights of pairs, first dictionaries, codes and W."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unseen.model.objective import Weights
from unseen.pairs.weights import label_weights
from unseen.rows.training import TrainingRows
from unseen.support.progress import tell
from unseen.training.alternating import Options, Training
from unseen.training.initialize import source_dictionary, target_dictionary


class Recipe(NamedTuple):
    """What is chosen before training; what stands behind a default is the paper's choice.

    n_target_atoms, n_source_atoms : sizes of D and B.
    source_fit, target_fit : λ2s and λ2t in units of the pair loss that the first W leaves, for
        descriptions and rows of a mean square spread of one.
    source_shrinkage, target_shrinkage : λ1s/λ2s and λ1t/λ2t, for the same.
    similarity_penalty : λ_W in units of mean |z_i|² · mean |z_j|² / C.
    positive_weight, balance : of pairs, see `unseen.pairs.weights`.
    block_tol : relative duality gap at which a block counts as solved.
    source_set, loss, fit_bias : where codes of classes lie, the form of the pair loss, and whether
        a scalar b is learned.
    """

    n_target_atoms: int
    n_source_atoms: int | None
    source_fit: float
    source_shrinkage: float
    target_fit: float
    target_shrinkage: float
    similarity_penalty: float
    positive_weight: float | str
    block_tol: float
    random_state: int
    balance: float = 0.0
    source_set: str = "simplex"
    loss: str = "hinge"
    fit_bias: bool = False


def begin(
    S: np.ndarray,
    rows: TrainingRows,
    labels: np.ndarray,
    recipe: Recipe,
    found: dict[str, Any] | None = None,
) -> Training:
    """The initial dictionaries and codes and the W that belongs to them, or the state `found`.

    S (C x d_s) and `rows` are scaled; `labels` are class numbers or signs of pairs.
    """
    r = recipe
    # Codes sum to one, so what descriptions have in common tells nothing: their spread does. Rows
    # come with a mean square length of one. The first codes depend on the ratios of the λ alone.
    spread = mean_square_spread(S)
    weights = Weights(
        source_shrink=r.source_shrinkage * spread,
        source_fit=1.0,
        target_shrink=r.target_shrinkage,
        target_fit=1.0,
        similarity=1.0,
        pairs=label_weights(labels, S.shape[0], r.positive_weight, r.balance),
        loss=r.loss,
        bias_scale=float(r.fit_bias),
    )
    options = Options(r.source_set, r.block_tol, r.random_state)
    if found is not None:
        return Training.restored(S, rows, labels, weights, options, found)
    tell("dictionaries")
    B = source_dictionary(S, r.n_source_atoms, r.random_state)
    D = target_dictionary(rows, r.n_target_atoms, r.random_state)
    tell("first codes and W")
    training = Training(S, rows, labels, weights, options, B, D)
    training.set_penalty(r.similarity_penalty)
    training.fit_similarity()
    training.set_fits(r.source_fit / spread, r.target_fit)
    return training


def mean_square_spread(S: np.ndarray) -> float:
    """The mean of |s - mean|² over descriptions S (C x d_s); 1 where they are all the same."""
    spread = float(np.mean(np.sum((S - S.mean(axis=0)) ** 2, axis=1, dtype=np.float64)))
    return spread if spread > 1e-12 else 1.0
