"""How the parameters of JLSE steer its training: the start, the rounds, and how many of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.errors import InputError
from unseen.inference.latent import Latent
from unseen.metrics import per_class_accuracy
from unseen.model.objective import Codes, Weights
from unseen.pairs import label_weights
from unseen.progress import tell
from unseen.selection import ClassHoldout
from unseen.training.alternating import Options, Training
from unseen.training.checkpoint import Checkpoint
from unseen.training.initialize import source_dictionary
from unseen.training.pairwise import PairwiseTraining
from unseen.training.rows import TrainingRows

if TYPE_CHECKING:
    from unseen.estimators.jlse import JLSE

LatentOf = Callable[[Training], Latent]
# First guess of λ_W by the number of axes of the labels: of classes, of pairs.
_AUTO_PENALTY = {1: 4e-5, 2: 1e-2}


def train(
    model: JLSE,
    S: np.ndarray,
    rows: TrainingRows,
    labels: np.ndarray,
    D: np.ndarray,
    checkpoint: Checkpoint,
    latent_of: LatentOf,
) -> Training:
    """Algorithm 2, or 1, from the start or a checkpoint."""
    found = checkpoint.state("rounds")
    if found is not None:
        n_rounds = found["chosen"]
    elif model.early_stopping:
        n_rounds = _choose_rounds(model, S, rows, labels, D, checkpoint, latent_of)
    else:
        n_rounds = model.max_iter
    tell("first codes and W")
    training = start(model, S, rows, labels, D, found)

    def after_block(n_round: int, block: str, codes: Codes) -> None:
        checkpoint.note("rounds", training.state() | {"chosen": n_rounds})
        if model.verbose and block == "W":
            sys.stderr.write(f"JLSE round {n_round}: J = {training.objective().total:.6g}\n")

    if found is None:
        checkpoint.note("rounds", training.state() | {"chosen": n_rounds})
    if model.training == "pairwise":
        _couple(model, training, n_rounds, checkpoint)
    else:
        training.run(n_rounds, model.tol, after_block)
    if model.ranking:
        tell("ranking")
        training.fit_ranking(model.ranking)
    return training


def _couple(model: JLSE, training: Training, n_rounds: int, checkpoint: Checkpoint) -> None:
    """Algorithm 1 from where `training` is, which then has its parameters."""
    found = (checkpoint.state("rounds") or {}).get("coupled")
    coupled = PairwiseTraining.after(training, found=found)
    before = training.state() | {"chosen": n_rounds}
    coupled.run(
        n_rounds,
        model.tol,
        lambda: checkpoint.note("rounds", before | {"coupled": coupled.state()}),
    )
    if model.verbose:
        for k, parts in enumerate(coupled.history):
            sys.stderr.write(f"JLSE round {k} of Algorithm 1: G = {parts.total:.6g}\n")
    training.adopt(*coupled.parameters)
    training.history, training.n_rounds = coupled.history, coupled.n_rounds


def start(
    model: JLSE,
    S: np.ndarray,
    rows: TrainingRows,
    labels: np.ndarray,
    D: np.ndarray,
    found: dict[str, Any] | None = None,
) -> Training:
    """The initial codes and the W that belongs to them, or the state that was `found`."""
    B = source_dictionary(S, model.n_source_atoms, model.random_state)
    weights = Weights(
        source_shrink=model.source_shrinkage * model.source_fit,
        source_fit=model.source_fit,
        target_shrink=model.target_shrinkage * model.target_fit,
        target_fit=model.target_fit,
        similarity=1.0,
        pairs=label_weights(labels, S.shape[0], model.positive_weight, model.balance),
        loss=model.loss,
        bias_scale=float(model.fit_bias),
    )
    options = Options(
        model.source_set, model.dictionary_inertia, model.block_tol, model.random_state
    )
    training = Training(S, rows, labels, weights, options, B, D)
    if found is not None:
        training.restore(found)
        return training
    automatic = model.similarity_penalty == "auto"
    first = _AUTO_PENALTY[labels.ndim] if automatic else float(model.similarity_penalty)
    training.set_penalty(first)
    training.fit_similarity()
    if automatic and labels.ndim == 1:
        training.set_penalty(float(np.clip(2e-4 * training.error(), 2e-5, 2e-4)))
        training.fit_similarity()
    return training


def _choose_rounds(
    model: JLSE,
    S: np.ndarray,
    rows: TrainingRows,
    labels: np.ndarray,
    D: np.ndarray,
    checkpoint: Checkpoint,
    latent_of: LatentOf,
) -> int:
    """The number of rounds after which held-out seen classes are recognised best."""
    if S.shape[0] < 4:
        raise InputError(
            "early_stopping holds out two seen classes and trains on two or more, so it needs "
            f"at least 4; there are {S.shape[0]}"
        )
    kept, held = next(ClassHoldout(0.2, 1, model.random_state).split(labels, labels))
    names, inside = np.unique(labels[kept], return_inverse=True)
    others = np.setdiff1d(labels, names)
    found = checkpoint.state("choice")
    accuracies: list[float] = [] if found is None else found["accuracies"]
    training = start(model, S[names], rows.select(kept), inside, D, found)

    def after_block(*_: Any) -> None:
        checkpoint.note("choice", training.state() | {"accuracies": accuracies.copy()})

    while len(accuracies) <= model.max_iter:
        if training.n_blocks or len(accuracies) > training.n_rounds:
            training.run_round(after_block)
        latent = latent_of(training)
        candidates = latent.candidates(S[others], np.full(others.size, -1))
        scores = latent.scores(rows.select(held).project(training.D), candidates)
        accuracies.append(per_class_accuracy(labels[held], others[scores.argmax(axis=1)]))
    return int(np.argmax(accuracies))
