"""`tune`: settings to try, classes to hold out, and the setting that is kept fitted on all rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.utils import _safe_indexing

from unseen.classes import ClassTable
from unseen.classes.checks import as_names
from unseen.classes.splits import ClassHoldout
from unseen.errors import InputError, listed
from unseen.estimators.base import ZeroShotClassifier
from unseen.evaluation.tuning.progress import Progress, reporter
from unseen.evaluation.tuning.results import Tuning, best_first, choose
from unseen.evaluation.tuning.search import STRATEGIES, Search, Split
from unseen.evaluation.tuning.settings import Grid, settings_of, with_parameters
from unseen.storage.checkpoint import Checkpoint, data_checksum
from unseen.support.parameters import plain, plain_parameters, without

SCORINGS = ("per_class_accuracy", "mean_average_precision")


class Protocol(NamedTuple):
    """What `tune` does by default.

    n_classes, n_splits : of `ClassHoldout`.
    grid : the method of the estimator that gives the grid.
    """

    n_classes: float
    n_splits: int
    grid: str


PROTOCOLS = {
    "default": Protocol(0.2, 5, "default_grid"),
    "paper": Protocol(2, 5, "paper_grid"),
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
    """Search settings by held-out seen classes, then fit the one that is kept on all rows.

    The estimator as it is given is always among the settings. It is kept unless the best of the
    others beats it by more than two standard errors of the differences between the two, split by
    split: the best of many is partly luck, and tuning should do no harm.

    The descriptions of classes without rows take no part in the search: it is given the lines of
    the seen classes alone. The estimator that comes back knows all of `classes`.

    Settings that differ only in `test_time_parameters` of the estimator share one fit.

    Parameters
    ----------
    grid : parameter names, each with a list of values or a range to draw from, such as
        `scipy.stats.loguniform(0.3, 3)`; None for that of the protocol. Values drawn for a
        parameter that is a whole number are rounded to whole numbers.
    protocol : the defaults of the other parameters. "default" holds out a fifth of the seen
        classes, 5 times, for the method's `default_grid`; "paper" holds out two classes, 5 times,
        for its `paper_grid`; both by halving.
    cv : how classes are held out.
    strategy : "grid" scores every setting on every split. "halving" scores every setting on the
        first split, and after each split the better half stays, but never fewer than four. The
        estimator's own setting always stays.
    budget : seconds after which the search begins no fit; None for no limit. One fit is always
        made, and that of the setting that is kept on all rows comes on top.
    n_settings : with lists, try at most so many settings, drawn at random. With a range, draw so
        many (None: 40); each is tried with all values of the lists of test-time parameters.
    scoring : "per_class_accuracy", or "mean_average_precision" for retrieval.
    random_state : seed of the order in which settings are tried, of their choice where
        `n_settings` is given, and of the held-out classes where `cv` is not.
    n_jobs : how many fits to make at once, as everywhere in scikit-learn.
    progress : True for a progress bar, or a function called with a `Progress`.
    checkpoint : a file that keeps the outcome of every fit. A search that was interrupted or killed
        resumes from it, to the same result, when it is called again with the same data, estimator
        and grid; `budget` includes the seconds spent before, and may change. The file stays.
    """
    _check_word("protocol", protocol, PROTOCOLS)
    preset = PROTOCOLS[protocol]
    strategy = STRATEGIES[0] if strategy is None else strategy
    _check_word("strategy", strategy, STRATEGIES)
    _check_word("scoring", scoring, SCORINGS)
    if budget is not None and not budget > 0:
        raise InputError(f"budget must be a number of seconds above 0, not {budget}")
    if n_settings is not None and n_settings < 1:
        raise InputError(f"n_settings must be at least 1, not {n_settings}")
    if n_jobs == 0:
        raise InputError("n_jobs must be at least 1, or -1 for all cores, not 0")
    cv = ClassHoldout(preset.n_classes, preset.n_splits, random_state) if cv is None else cv
    grid = grid_of(estimator, preset.grid) if grid is None else grid
    settings = settings_of(estimator, grid, n_settings, random_state)
    search = Search(estimator, settings, scoring, strategy, budget, n_jobs, random_state)
    data = TrainingData.of(X, y, classes)
    search_on(data, search, cv, progress=progress, checkpoint=checkpoint)
    return _result(search, data, cv.get_n_splits())


def _check_word(name: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise InputError(f"{name} must be one of {listed(known)}, not {value!r}")


def grid_of(estimator: ZeroShotClassifier, name: str) -> dict[str, Any]:
    """The grid of a method, without what the parts of this estimator do not have."""
    known = plain_parameters(estimator)
    return {k: v for k, v in getattr(estimator, name)().items() if k in known}


class TrainingData(NamedTuple):
    """Rows, their labels, and the table of all classes."""

    X: Any
    labels: np.ndarray
    table: ClassTable

    @classmethod
    def of(cls, X: Any, y: Any, classes: Any) -> TrainingData:
        """Checked: every label has a line of the table."""
        table, labels = ClassTable.of(classes), as_names(np.asarray(y), "labels")
        table.rows(labels)
        if len(X) != labels.size:
            raise InputError(f"{len(X)} rows in X but {labels.size} labels in y")
        return cls(X, labels, table)


def search_on(
    data: TrainingData,
    search: Search,
    cv: ClassHoldout,
    *,
    progress: Callable[[Progress], Any] | bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> None:
    """Run a search, on seen classes alone, from its checkpoint where there is one."""
    X, labels, table = data
    rows = list(cv.split(X, labels))
    seen = table.select(np.unique(labels))
    splits = (
        Split(_safe_indexing(X, a), labels[a], _safe_indexing(X, b), labels[b], seen)
        for a, b in rows
    )
    belongs = {} if checkpoint is None else _belongs(search, data, rows)
    with reporter(progress) as report, Checkpoint(checkpoint, belongs) as kept:
        search.run(splits, len(rows), report, kept)
        if all(trial.error is not None for trial in search.trials if trial.seconds):
            kept.discard()  # by the next call the cause may be fixed


def _belongs(search: Search, data: TrainingData, splits: list[Any]) -> dict[str, Any]:
    """What a search must have in common with the stopped one that it resumes."""
    return {
        "method": type(search.estimator).__name__,
        "data": data_checksum(np.asarray(data.X), data.labels, data.table),
        "settings": joblib.hash([plain(search.settings[k].parameters) for k in search.order]),
        "splits": joblib.hash(splits),
        "scoring": search.scoring,
        "strategy": search.strategy,
        "parameters": without(plain_parameters(search.estimator), ["verbose"]),
    }


def _result(search: Search, data: TrainingData, n_splits: int) -> Tuning:
    """The trials in order, and the setting that is kept fitted on all rows."""
    order = best_first(search.trials, range(len(search.trials)))
    trials = tuple(search.trials[k] for k in order)
    if trials[0].error is not None or not trials[0].scores:
        failed = next(t for t in search.trials if t.error is not None)
        raise InputError(f"no setting could be fitted; the first failed with {failed.error}")
    default = search.trials[0]
    model = with_parameters(search.estimator, choose(trials, default).kept.parameters)
    return Tuning(
        trials=trials,
        default=default,
        scoring=search.scoring,
        estimator=model.fit(data.X, data.labels, classes=data.table),
        strategy=search.strategy,
        n_splits=n_splits,
        n_fits=search.n_fits,
        budget=search.budget,
        spent=search.spent,
        finished=search.finished,
    )
