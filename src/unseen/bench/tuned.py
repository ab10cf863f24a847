"""How the methods of a benchmark come by their parameters: all by the same class hold-out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen.bench.variants import table_rows
from unseen.classes import ClassTable
from unseen.estimators import METHODS
from unseen.parts import plain, plain_parameters
from unseen.protocols import uncalibrated
from unseen.selection import ClassHoldout
from unseen.tuning import Trial, Tuning, tune

TUNING = ("default", "holdout", "paper")
_N_SPLITS = 3
_N_SETTINGS = 60

# What the variants of the paper's table choose among; only the penalty needs a fit of its own.
_TRAINING = {"similarity_penalty": ["auto", 1e-4]}
_DECISION = {1: {}, 2: {"test_source_fit": [0.3, 1.0, 2.0]}}


class Chosen(NamedTuple):
    """Parameters by the name of the method, and the seconds that the search for them took."""

    parameters: dict[str, dict[str, Any]]
    seconds: float


def tuned_parameters(
    labels: Sequence[str],
    tuning: str,
    X: np.ndarray,
    y: np.ndarray,
    classes: ClassTable,
    seed: int,
    budget: float | None = None,
    checkpoint: Path | None = None,
) -> Chosen:
    """Parameters for each method, chosen without the unseen classes.

    "default" takes the defaults. "holdout" holds out a fifth of the seen classes, several times,
    and "paper" two of them; a setting takes the place of the defaults if it beats them by more
    than two standard errors of the difference, since the best of many is partly luck. After
    `budget` seconds the search for a method begins no fit. A search that was stopped goes on from
    `checkpoint`. `labels` are those of variants, or one method.
    """
    if tuning == "default":
        return Chosen({label: table_rows().get(label, {}) for label in labels}, 0.0)
    if all(label in table_rows() for label in labels):
        return _tuned_variants(labels, tuning, X, y, classes, seed, budget, checkpoint)
    (label,) = labels
    return _tuned(label, tuning, X, y, classes, seed, budget, checkpoint)


def _tuned(
    label: str,
    tuning: str,
    X: np.ndarray,
    y: np.ndarray,
    classes: Any,
    seed: int,
    budget: float | None,
    checkpoint: Path | None,
) -> Chosen:
    model = METHODS[label]()
    way: dict[str, Any] = (
        {"protocol": "paper", "n_settings": _N_SETTINGS} if tuning == "paper" else {}
    )
    found = tune(
        uncalibrated(model), X, y, classes,
        random_state=seed, budget=budget, checkpoint=checkpoint, **way,
    )  # fmt: skip
    return Chosen({label: chosen(found.trials, plain_parameters(model))}, found.spent)


def _tuned_variants(
    labels: Sequence[str],
    tuning: str,
    X: np.ndarray,
    y: np.ndarray,
    classes: Any,
    seed: int,
    budget: float | None,
    checkpoint: Path | None,
) -> Chosen:
    """One search for all variants, as they share their fits; each takes the best of its own."""
    rounds = METHODS["jlse"]().get_params()["max_iter"]
    embeddings = ["init", "algorithm 4"]
    grid = [
        {**_TRAINING, "max_iter": [0, rounds], "test_embedding": embeddings,
         "decision": [decision], **fits}
        for decision, fits in _DECISION.items()
    ]  # fmt: skip
    grid.append({**_TRAINING, "max_iter": [rounds], "inference": ["pairwise"], "decision": [1, 2],
                 **_DECISION[2]})  # fmt: skip
    held_out = 2 if tuning == "paper" else 0.2
    model = uncalibrated(METHODS["jlse"]())
    found: Tuning = tune(
        model, X, y, classes, grid, strategy="grid",
        cv=ClassHoldout(held_out, _N_SPLITS, seed), budget=budget, checkpoint=checkpoint,
    )  # fmt: skip
    best = {}
    for label in labels:
        fixed = table_rows()[label]
        own = [t for t in found.trials if fixed.items() <= t.parameters.items()]
        best[label] = fixed | chosen(own, plain_parameters(model) | fixed)
    return Chosen(best, found.spent)


def chosen(trials: Sequence[Trial], defaults: dict[str, Any]) -> dict[str, Any]:
    """The parameters of the best trial, or none if the defaults are as good but for luck.

    `trials` come best first; those that a budget left out come last.
    """
    tried = (t for t in trials if t.scores)
    usual = next((t for t in tried if plain(t.parameters).items() <= defaults.items()), None)
    best = trials[0]
    if usual is None or not best.scores:
        return best.parameters if best.scores else {}
    n = min(best.n_splits, usual.n_splits)
    gain = np.subtract(best.scores[:n], usual.scores[:n])
    error = gain.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf
    return best.parameters if gain.mean() > 2 * error else {}
