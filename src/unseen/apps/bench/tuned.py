"""How the methods of a benchmark come by their parameters: all by the same class hold-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unseen.apps.bench.paper import NUMERALS, PAIRWISE, table_rows
from unseen.estimators import JLSE, METHODS
from unseen.evaluation.tuning import PROTOCOLS, Protocol, choose, tune
from unseen.evaluation.tuning.results import best_first
from unseen.evaluation.tuning.scoring import TrainingData
from unseen.evaluation.tuning.search import Search
from unseen.evaluation.tuning.settings import Setting, draw, fit_key, own_values, with_parameters
from unseen.support.parameters import built

_PROTOCOLS = {"holdout": "default", "paper": "paper"}
# Of the search that all variants share: settings, each fitted without and with rounds of
# Algorithm 2, and splits, on which each of these is scored.
_N_SETTINGS = 25
_N_SPLITS = 3


def tuned_parameters(
    labels: Sequence[str],
    tuning: str,
    training: TrainingData,
    seed: int,
    budget: float | None = None,
    checkpoint: Path | None = None,
) -> tuple[dict[str, dict[str, Any]], float]:
    """Parameters for each method, chosen without the unseen classes, and the seconds it took.

    "default" takes the defaults. "holdout" holds out a fifth of the seen classes, several times,
    and "paper" two of them; the defaults are kept unless a setting beats them clearly. After
    `budget` seconds the search for a method begins no fit. A search that was stopped resumes from
    `checkpoint`. `labels` are those of variants, or one method.
    """
    if tuning == "default":
        return ({label: table_rows().get(label, {}) for label in labels}, 0.0)
    if all(label in table_rows() for label in labels):
        return _tuned_variants(labels, tuning, training, seed, budget, checkpoint)
    (label,) = labels
    protocol = replace(PROTOCOLS[_PROTOCOLS[tuning]], random_state=seed)
    limits: Any = {"protocol": protocol, "budget": budget, "checkpoint": checkpoint}
    found = tune(METHODS[label](), *training, **limits)
    return ({label: {} if found.kept_default else found.best_parameters}, found.spent)


def _tuned_variants(
    labels: Sequence[str],
    tuning: str,
    training: TrainingData,
    seed: int,
    budget: float | None,
    checkpoint: Path | None,
) -> tuple[dict[str, dict[str, Any]], float]:
    """One search for all variants, as they share their fits; each keeps its default or takes the
    best setting of its own."""
    scored_by = {label: _scored_by(label, tuning) for label in labels}
    scored = list(dict.fromkeys(scored_by.values()))
    n_classes = PROTOCOLS[_PROTOCOLS[tuning]].n_classes
    protocol = Protocol(n_classes, _N_SPLITS, strategy="grid", random_state=seed)
    settings = _settings_of_variants(scored, seed)
    search = Search(JLSE(), settings, protocol, budget, n_defaults=len(scored))
    search.run(training, checkpoint=checkpoint)
    best = {}
    for k, label in enumerate(scored):
        own = search.trials[k :: len(scored)]
        ordered = [own[i] for i in best_first(own, range(len(own)))]
        choice = choose(ordered, own[0], *protocol.held_of(training.labels))
        best[label] = {} if choice.kept_default else choice.kept.parameters
    return ({x: best[by] | table_rows()[x] for x, by in scored_by.items()}, search.spent)


def _scored_by(label: str, tuning: str) -> str:
    """The variant whose scores choose the parameters of a variant.

    Algorithm 3 solves a problem for each held-out row and class: with two classes that is little,
    with a fifth of them more than all fits. There it takes what was best with Algorithm 4.
    """
    if label not in PAIRWISE or tuning == "paper":
        return label
    return NUMERALS[-2:][PAIRWISE.index(label)]


def _settings_of_variants(labels: Sequence[str], seed: int) -> list[Setting]:
    """Drawn settings, the defaults before them, each for all variants in turn."""
    model = JLSE()
    space = {k: v for k, v in JLSE.default_grid().items() if k != "training__max_iter"}
    drawn = [own_values(model, space), *draw(model, space, _N_SETTINGS - 1, seed)]
    rows = [own_values(built(JLSE, table_rows()[label]), table_rows()[label]) for label in labels]
    return [
        Setting(setting | row, fit_key(with_parameters(model, setting | row)))
        for setting in drawn
        for row in rows
    ]
