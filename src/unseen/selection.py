"""Choosing parameters by classes held out of training, as the paper does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import _safe_indexing, check_random_state

from unseen.classes import ClassTable
from unseen.errors import InputError, listed, nearest
from unseen.estimators.base import ZeroShotClassifier
from unseen.metrics import mean_average_precision, per_class_accuracy
from unseen.names import as_names

SCORINGS = ("per_class_accuracy", "mean_average_precision")


class ClassHoldout:
    """Splits that hold out whole classes: no class is on both sides of a split.

    Works as `cv` of scikit-learn's searches. Pass those the class table of the *seen* classes, or
    `tune` that does it for you, so that descriptions of unseen classes take no part.

    Parameters
    ----------
    n_classes : how many classes to hold out, or a share of them between 0 and 1; 2 is the paper.
    n_splits : how many times.
    random_state : seed of the choice.
    """

    def __init__(
        self, n_classes: float = 2, n_splits: int = 5, random_state: int | None = 0
    ) -> None:
        self.n_classes = n_classes
        self.n_splits = n_splits
        self.random_state = random_state

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Row numbers to train on and to test on; y holds the class of each row."""
        if y is None:
            raise InputError("ClassHoldout needs y: it holds out whole classes")
        labels = as_names(np.asarray(y), "labels")
        for names in self._choices(np.unique(labels)):
            held = np.isin(labels, names)
            yield np.flatnonzero(~held), np.flatnonzero(held)

    def _choices(self, names: np.ndarray) -> Iterator[list[Any]]:
        """Classes to hold out; none of the choices comes twice before all of them have come."""
        n_held = n_held_out(self.n_classes, names.size)
        n_choices = math.comb(names.size, n_held)
        rng = check_random_state(self.random_state)
        made: set[tuple[int, ...]] = set()
        for _ in range(self.get_n_splits()):
            if len(made) == n_choices:
                made.clear()
            choice = None
            while choice is None or choice in made:
                choice = tuple(sorted(rng.choice(names.size, n_held, replace=False).tolist()))
            made.add(choice)
            yield names[list(choice)].tolist()

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        if self.n_splits < 1:
            raise InputError(f"n_splits must be at least 1, not {self.n_splits}")
        return self.n_splits

    def __repr__(self) -> str:
        return (
            f"ClassHoldout(n_classes={self.n_classes}, n_splits={self.n_splits}, "
            f"random_state={self.random_state})"
        )


def n_held_out(number: float, n_classes: int, word: str = "n_classes") -> int:
    """How many of the classes to hold out; `word` is what the user knows the number by.

    At least two are held out, as among one every prediction is right, and two are left to train on.
    """
    most = n_classes - 2
    if most < 2:
        raise InputError(
            f"tuning needs at least 4 seen classes, two to hold out and two to train on, there are "
            f"{n_classes}; use 'fit' instead"
        )
    is_share = 0 < number < 1
    allowed = f"give a whole number from 2 to {most}, or a share between 0 and 1"
    if not number > 0:
        raise InputError(f"{word} must be above 0, not {number}: {allowed}")
    if not is_share and number % 1 != 0:
        raise InputError(f"{word}={number} is neither whole nor a share below 1: {allowed}")
    if number == 1:
        raise InputError(
            f"{word}={number} makes every prediction right, as there is one class to choose: "
            f"{allowed}"
        )
    n_held = max(2, round(number * n_classes)) if is_share else int(number)
    if n_held > most:
        raise InputError(
            f"{word}={number} holds out {n_held} of {n_classes} seen classes and leaves fewer than "
            f"two to train on: at most {most} can be held out"
        )
    return n_held


@dataclass(frozen=True)
class Trial:
    """One setting that was tried: its score on each split, or the error that stopped it."""

    parameters: dict[str, Any]
    scores: tuple[float, ...]
    error: str | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores)) if self.scores else float("nan")

    @property
    def deviation(self) -> float:
        return float(np.std(self.scores)) if self.scores else float("nan")


@dataclass(frozen=True)
class Tuning:
    """What `tune` found: all trials, best first, and the best estimator, fitted on all rows."""

    trials: tuple[Trial, ...]
    scoring: str
    estimator: ZeroShotClassifier

    @property
    def best_parameters(self) -> dict[str, Any]:
        return self.trials[0].parameters

    @property
    def best_score(self) -> float:
        return self.trials[0].mean


def tune(
    estimator: ZeroShotClassifier,
    X: Any,
    y: Any,
    classes: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
    *,
    cv: ClassHoldout | None = None,
    scoring: str = "per_class_accuracy",
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | bool = False,
) -> Tuning:
    """Search a grid by held-out seen classes, then fit the best setting on all rows.

    The descriptions of classes without rows take no part in the search: it is given the lines of
    the seen classes alone. The estimator that comes back knows all of `classes`.

    Parameters
    ----------
    grid : parameter names and values to try; None for the method's own `default_grid`.
    cv : how classes are held out; None for a fifth of them, three times.
    scoring : "per_class_accuracy", or "mean_average_precision" for retrieval.
    n_jobs : how many settings to try at once, as everywhere in scikit-learn.
    progress : True for a progress bar, or a function called with (done, total).
    """
    table = ClassTable.of(classes)
    labels = as_names(np.asarray(y), "labels")
    table.rows(labels)
    seen_table = table.select(np.unique(labels))
    settings = _settings(estimator, grid)
    cv = ClassHoldout(0.2, 3) if cv is None else cv
    if scoring not in SCORINGS:
        raise InputError(f"scoring must be one of {listed(SCORINGS)}, not {scoring!r}")
    if n_jobs == 0:
        raise InputError("n_jobs must be at least 1, or -1 for all cores, not 0")
    if len(X) != labels.size:
        raise InputError(f"{len(X)} rows in X but {labels.size} labels in y")
    jobs = list(itertools.product(cv.split(X, labels), range(len(settings))))
    # In order, so that the scores of a setting are those of the splits whatever the number of jobs.
    outcomes: Any = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_try)(estimator, settings[k], X, labels, seen_table, *split, scoring)
        for split, k in jobs
    )
    results: list[list[float | str]] = [[] for _ in settings]
    with _watched(progress, len(jobs)) as advance:
        for (_, k), outcome in zip(jobs, outcomes, strict=True):
            results[k].append(outcome)
            advance()
    trials = _ranked(settings, results)
    best = _with(estimator, trials[0].parameters).fit(X, labels, classes=table)
    return Tuning(trials, scoring, best)


def _try(
    estimator: ZeroShotClassifier,
    parameters: dict[str, Any],
    X: Any,
    labels: np.ndarray,
    table: ClassTable,
    train: np.ndarray,
    test: np.ndarray,
    scoring: str,
) -> float | str:
    """Score one setting on one split; an error becomes its message, so that the others go on."""
    try:
        X_train, X_test = _safe_indexing(X, train), _safe_indexing(X, test)
        model = _with(estimator, parameters).fit(X_train, labels[train], classes=table)
        if scoring == "per_class_accuracy":
            return per_class_accuracy(labels[test], model.predict(X_test))
        scores = model.similarities(X_test)
        return mean_average_precision(labels[test], scores, model.classes_)
    except (ValueError, TypeError, ArithmeticError) as error:
        return f"{type(error).__name__}: {error}"


def _with(estimator: ZeroShotClassifier, parameters: dict[str, Any]) -> ZeroShotClassifier:
    fresh: Any = clone(estimator)
    return fresh.set_params(**parameters)


def _settings(estimator: ZeroShotClassifier, grid: Any) -> list[dict[str, Any]]:
    grid = estimator.default_grid() if grid is None else grid
    known = estimator.get_params()
    for part in [grid] if isinstance(grid, Mapping) else grid:
        for name in part:
            if name not in known:
                raise InputError(
                    f"{type(estimator).__name__} has no parameter {name!r}{nearest(name, known)}; "
                    f"it has {listed(known, len(known))}"
                )
    settings = list(ParameterGrid(grid))
    if not settings:
        raise InputError("the grid is empty: it has no setting to try")
    return settings


def _ranked(settings: list[dict[str, Any]], results: list[list[float | str]]) -> tuple[Trial, ...]:
    trials = []
    for parameters, outcomes in zip(settings, results, strict=True):
        errors = [o for o in outcomes if isinstance(o, str)]
        scores = () if errors else tuple(o for o in outcomes if not isinstance(o, str))
        trials.append(Trial(parameters, scores, errors[0] if errors else None))
    if all(t.error for t in trials):
        raise InputError(f"no setting could be fitted; the first failed with {trials[0].error}")
    return tuple(sorted(trials, key=lambda t: -t.mean if t.scores else np.inf))


@contextmanager
def _watched(
    progress: Callable[[int, int], None] | bool, total: int
) -> Iterator[Callable[[], None]]:
    """Progress of a known number of steps: a bar, a user's function, or nothing."""
    report: Callable[[int, int], Any] = progress if callable(progress) else lambda *_: None
    count = itertools.count(1)
    with ExitStack() as stack:
        if progress is True:
            from rich.console import Console
            from rich.progress import Progress

            console = Console(stderr=True)
            bar = Progress(console=console, transient=True, disable=not console.is_terminal)
            stack.enter_context(bar)
            task = bar.add_task("tuning", total=total)
            report = lambda done, _: bar.update(task, completed=done)  # noqa: E731
        yield lambda: report(next(count), total)
