"""`tune`: a grid, classes to hold out, and the best setting fitted on all rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.utils import _safe_indexing

from unseen.checksums import data_checksum
from unseen.classes import ClassTable
from unseen.errors import InputError, listed
from unseen.estimators.base import ZeroShotClassifier
from unseen.names import as_names
from unseen.parts import plain_parameters, without
from unseen.selection import ClassHoldout
from unseen.training.checkpoint import Checkpoint
from unseen.tuning.progress import Progress, reporter
from unseen.tuning.result import Tuning, best_first
from unseen.tuning.search import STRATEGIES, Search, Split
from unseen.tuning.settings import Grid, expand, sample, with_parameters

SCORINGS = ("per_class_accuracy", "mean_average_precision")


class Protocol(NamedTuple):
    """What `tune` does where it is not told otherwise.

    n_classes, n_splits : of `ClassHoldout`.
    strategy : how many splits a setting is given.
    grid : the method of the estimator that gives the grid.
    """

    n_classes: float
    n_splits: int
    strategy: str
    grid: str


PROTOCOLS = {
    "default": Protocol(0.2, 5, "halving", "default_grid"),
    "paper": Protocol(2, 5, "grid", "paper_grid"),
}


def tune(
    estimator: ZeroShotClassifier,
    X: Any,
    y: Any,
    classes: Any,
    grid: Grid | None = None,
    *,
    protocol: str = "default",
    cv: ClassHoldout | None = None,
    strategy: str | None = None,
    budget: float | None = None,
    n_settings: int | None = None,
    scoring: str = "per_class_accuracy",
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[Progress], Any] | bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Tuning:
    """Search a grid by held-out seen classes, then fit the best setting on all rows.

    The descriptions of classes without rows take no part in the search: it is given the lines of
    the seen classes alone. The estimator that comes back knows all of `classes`.

    Settings that differ only in `test_time_parameters` of the estimator share one fit.

    Parameters
    ----------
    grid : parameter names and values to try; None for that of the protocol.
    protocol : what is done where it is not said here. "default" holds out a fifth of the seen
        classes, 5 times, for the method's `default_grid`, by halving. "paper" holds out two
        classes, 5 times, for its `paper_grid`, and scores every setting on every split.
    cv : how classes are held out.
    strategy : "grid" scores every setting on every split. "halving" scores every setting on the
        first split, and after each split the better half goes on, but never fewer than four.
    budget : seconds after which the search begins no fit; None for no limit. One fit is always
        made, and that of the best setting on all rows comes on top.
    n_settings : try at most so many settings of the grid, drawn at random.
    scoring : "per_class_accuracy", or "mean_average_precision" for retrieval.
    random_state : seed of the order in which settings are tried, of their choice where
        `n_settings` is given, and of the held-out classes where `cv` is not.
    n_jobs : how many fits to make at once, as everywhere in scikit-learn.
    progress : True for a progress bar, or a function called with a `Progress`.
    checkpoint : a file that keeps the outcome of every fit. A search that was stopped, by Ctrl-C or
        for good, goes on from it to the same result when it is called again with the same data,
        estimator and grid; `budget` counts the seconds before, and may be another. The file stays.
    """
    preset = _preset(protocol)
    strategy = preset.strategy if strategy is None else strategy
    _check(strategy, budget, n_settings, scoring, n_jobs)
    table = ClassTable.of(classes)
    labels = as_names(np.asarray(y), "labels")
    table.rows(labels)
    if len(X) != labels.size:
        raise InputError(f"{len(X)} rows in X but {labels.size} labels in y")
    cv = ClassHoldout(preset.n_classes, preset.n_splits, random_state) if cv is None else cv
    settings = expand(estimator, getattr(estimator, preset.grid)() if grid is None else grid)
    search = Search(
        estimator,
        sample(settings, n_settings, random_state),
        scoring=scoring,
        strategy=strategy,
        budget=budget,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    splits = list(cv.split(X, labels))
    seen = table.select(np.unique(labels))
    parts = (_split(X, labels, seen, *rows) for rows in splits)
    belongs = {} if checkpoint is None else _belongs(search, X, labels, table, splits)
    with reporter(progress) as report, Checkpoint(checkpoint, belongs) as kept:
        search.run(parts, len(splits), report, kept)
        if all(trial.error is not None for trial in search.trials if trial.seconds):
            kept.discard()  # the next call may find the cause mended
    return _result(search, X, labels, table, len(splits))


def _belongs(
    search: Search, X: Any, labels: np.ndarray, table: ClassTable, splits: list[Any]
) -> dict[str, Any]:
    """What a search that goes on must have in common with the one that was stopped."""
    return {
        "method": type(search.estimator).__name__,
        "data": data_checksum(np.asarray(X), labels, table),
        "settings": joblib.hash([search.settings[k].parameters for k in search.order]),
        "splits": joblib.hash(splits),
        "scoring": search.scoring,
        "strategy": search.strategy,
        "parameters": without(plain_parameters(search.estimator), ["verbose"]),
    }


def _split(
    X: Any, labels: np.ndarray, table: ClassTable, train: np.ndarray, test: np.ndarray
) -> Split:
    X_train, X_test = _safe_indexing(X, train), _safe_indexing(X, test)
    return Split(X_train, labels[train], X_test, labels[test], table)


def _result(search: Search, X: Any, labels: np.ndarray, table: ClassTable, n_splits: int) -> Tuning:
    """The trials in order, and the best setting fitted on all rows."""
    order = best_first(search.trials, range(len(search.trials)))
    trials = tuple(search.trials[k] for k in order)
    best = trials[0]
    if best.error is not None or not best.scores:
        failed = next(t for t in search.trials if t.error is not None)
        raise InputError(f"no setting could be fitted; the first failed with {failed.error}")
    model = with_parameters(search.estimator, best.parameters)
    return Tuning(
        trials=trials,
        scoring=search.scoring,
        estimator=model.fit(X, labels, classes=table),
        strategy=search.strategy,
        n_splits=n_splits,
        n_fits=search.n_fits,
        budget=search.budget,
        spent=search.spent,
        finished=search.finished,
    )


def _preset(protocol: str) -> Protocol:
    if protocol not in PROTOCOLS:
        raise InputError(f"protocol must be one of {listed(PROTOCOLS)}, not {protocol!r}")
    return PROTOCOLS[protocol]


def _check(
    strategy: str, budget: float | None, n_settings: int | None, scoring: str, n_jobs: int | None
) -> None:
    if strategy not in STRATEGIES:
        raise InputError(f"strategy must be one of {listed(STRATEGIES)}, not {strategy!r}")
    if budget is not None and not budget > 0:
        raise InputError(f"budget must be a number of seconds above 0, not {budget}")
    if n_settings is not None and n_settings < 1:
        raise InputError(f"n_settings must be at least 1, not {n_settings}")
    if scoring not in SCORINGS:
        raise InputError(f"scoring must be one of {listed(SCORINGS)}, not {scoring!r}")
    if n_jobs == 0:
        raise InputError("n_jobs must be at least 1, or -1 for all cores, not 0")
