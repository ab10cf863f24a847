"""`compare`: methods by classes held out of training, the same ones for all, within a budget."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from unseen.classes import ClassTable
from unseen.classes.splits import ClassHoldout, n_held_out
from unseen.errors import InputError, counted
from unseen.estimators import ZeroShotClassifier, available, method
from unseen.evaluation.comparison import MEASURES, Compared, Comparison
from unseen.evaluation.tuning.scoring import Split, TrainingData
from unseen.metrics import mean_average_precision, per_class_accuracy
from unseen.metrics.intervals import Interval, accuracy_draws
from unseen.rows.store import store_or_array
from unseen.storage.checkpoint import Checkpoint, data_checksum
from unseen.support.memory import with_peak
from unseen.support.parameters import Choice, check_values, plain_parameters
from unseen.support.registry import word_of
from unseen.support.work import listening, tell

FEWEST_CLASSES = 6
# By the time of a fit on CUB; those that are not named here come after these.
_CHEAP_FIRST = (
    "gaussian-match", "gfzsl", "eszsl", "sae", "exem", "jlse", "kernel-jlse", "sync", "ensemble",
    "iap", "conse", "dap", "costa", "latem", "devise", "ale", "sje", "deep", "feature-vae",
    "sse-int", "sse-relu",
)  # fmt: skip

Methods = Sequence["str | ZeroShotClassifier"] | Mapping[str, ZeroShotClassifier]


def compare(
    X: Any,
    y: Any,
    classes: Any,
    methods: Methods | None = None,
    *,
    n_splits: int = 10,
    n_classes: float = 0.2,
    scoring: str = "per_class_accuracy",
    budget: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    random_state: int | None = 0,
) -> Comparison:
    """Which method to take for these data, by seen classes held out, and how sure that is.

    Every method is fitted and measured on the same splits. The unseen classes take no part: methods
    are given the lines of the seen classes alone.

    Parameters
    ----------
    X, y, classes : as in `fit`.
    methods : names of methods or estimators, or a mapping of names to estimators; None for every
        method that can be fitted here, with its defaults.
    n_splits : how often classes are held out.
    n_classes : how many seen classes each time, or a share of them below one.
    scoring : what decides, "per_class_accuracy" or "mean_average_precision".
    budget : seconds after which no fit begins; None for no limit. What loading and compiling a
        method takes once is not counted. Methods that are known to be cheap come first. One
        whose first split took longer than what is left gets no further ones.
    checkpoint : a file that keeps what was measured; a comparison that was stopped resumes from it
        when it is called again with the same data and methods. The file stays.
    random_state : seed of the choice of classes.
    """
    if budget is not None and not budget > 0:
        raise InputError(f"budget must be a number of seconds above 0, not {budget}")
    check_values({"scoring": [Choice(*MEASURES)]}, {"scoring": scoring})
    data = TrainingData.of(X, y, classes)
    n_seen = np.unique(data.labels).size
    if n_seen < FEWEST_CLASSES:
        raise InputError(
            f"to compare methods by held-out classes at least {FEWEST_CLASSES} seen classes are "
            f"needed, there are {n_seen}; fit 'gaussian-match', the default, or bring rows of more "
            "classes"
        )
    n_held = n_held_out(n_classes, n_seen)
    rows = list(ClassHoldout(n_classes, n_splits, random_state).split(data.X, data.labels))
    contest = _Contest(_by_name(methods), data, rows, budget)
    contest.run(checkpoint)
    found = contest.found
    if not any(one.n_splits for one in found):
        raise InputError(f"no method could be fitted; {found[0].method} failed: {found[0].error}")
    found.sort(key=lambda one: _merit(one, scoring))
    sizes = len(rows), n_held, n_seen
    return Comparison(tuple(found), scoring, *sizes, budget, contest.spent)


def _merit(found: Compared, scoring: str) -> tuple[int, float]:
    """A mean of fewer splits is luck more often, so it stands after those of more splits."""
    return -found.n_splits, -fmean(getattr(found, scoring)) if found.n_splits else 0.0


def _by_name(methods: Methods | None) -> dict[str, ZeroShotClassifier]:
    """Estimators by the names that they have in the result, cheap ones first."""
    if isinstance(methods, Mapping):
        return dict(methods)
    found: dict[str, ZeroShotClassifier] = {}
    for one in available() if methods is None else methods:
        is_name = isinstance(one, str)
        made: Any = method(one)() if is_name else one
        if not isinstance(made, ZeroShotClassifier):
            raise InputError(f"a method is a name or an estimator such as ESZSL(), not {one!r}")
        word = one.casefold() if is_name else word_of(type(made)) or type(made).__name__
        if is_name and word in found:
            continue
        n_alike = sum(known.partition(" ")[0] == word for known in found)
        found[f"{word} {n_alike + 1}" if n_alike else word] = made
    if not found:
        raise InputError("there is no method to compare: name one")
    return dict(sorted(found.items(), key=lambda item: _place(item[0])))


def _place(name: str) -> int:
    word = name.partition(" ")[0]
    return _CHEAP_FIRST.index(word) if word in _CHEAP_FIRST else len(_CHEAP_FIRST)


@dataclass
class _Contest:
    """Methods one after the other, each on all splits, until the budget is spent."""

    methods: dict[str, ZeroShotClassifier]
    data: TrainingData
    rows: list[tuple[np.ndarray, np.ndarray]]
    budget: float | None
    spent: float = 0.0
    found: list[Compared] = field(default_factory=list)

    def run(self, checkpoint: str | os.PathLike[str] | None) -> None:
        """Fill in `found` and `spent`; what the checkpoint has is not measured again."""
        belongs = {} if checkpoint is None else self._belongs()
        with Checkpoint(checkpoint, belongs) as kept:
            state = kept.state("comparison") or {"measured": {}, "spent": 0.0}
            known: dict[str, list[list[Any]]] = dict(state["measured"])
            self._begin = time.perf_counter() - state["spent"]
            for name in self.methods:
                self.found.append(self._measured(name, known, kept))
            self._now()

    def _now(self) -> float:
        self.spent = time.perf_counter() - self._begin
        return self.spent

    def _measured(self, name: str, known: dict[str, list[list[Any]]], kept: Checkpoint) -> Compared:
        """One method on its splits; `known` has those that are measured, and gets the others."""
        found, done = Compared(name), known.setdefault(name, [])
        for number, part in enumerate(self.rows):
            if number >= len(done):
                if reason := self._too_late(found):
                    return replace(found, left_out=reason)
                self._tell(name, number)
                if not number:
                    self._warm_up(self.methods[name])
                try:
                    split = next(self.data.split([part]))
                    done.append(_measure(self.methods[name], split, number == 0))
                except _MENDABLE as error:
                    return replace(found, error=f"{type(error).__name__}: {error}")
                kept.note("comparison", {"measured": known, "spent": self._now()})
            found = _with(found, *done[number])
        return found

    def _warm_up(self, estimator: ZeroShotClassifier) -> None:
        """What a first fit on a machine has to do, loading libraries and compiling loops, is done
        on a toy problem of the same precision; no method is charged for it."""
        start = time.perf_counter()
        names, draw = np.arange(6), np.random.default_rng(0).standard_normal
        X, vectors = draw((24, 8)).astype(self.data.X.dtype), draw((6, 4))
        with suppress(Exception), warnings.catch_warnings(), listening(lambda step: None):
            # What is wrong with the method is told of the data, not of this.
            warnings.simplefilter("ignore")
            model: Any = clone(estimator)
            model.fit(X, np.tile(names[:4], 6), ClassTable(names, vectors)).similarities(X)
        self._begin += time.perf_counter() - start

    def _too_late(self, found: Compared) -> str:
        """Why no further split is measured, if none is."""
        is_first = not found.n_splits and not any(one.n_splits for one in self.found)
        if self.budget is None or is_first:
            return ""
        left = self.budget - self._now()
        if not found.n_splits:
            return "" if left > 0 else "the budget was spent before its first split"
        first = found.fit_seconds[0]
        if first <= left:
            return ""
        left_words = f"{left:.2g} s of the budget were left" if left > 0 else "the budget was spent"
        return (
            f"after {counted(found.n_splits, 'split')} {left_words}, and a fit took {first:.2g} s"
        )

    def _tell(self, name: str, number: int) -> None:
        spent = self._now()
        time_left = "" if self.budget is None else f" of {self.budget:.0f}"
        place = f"method {len(self.found) + 1} of {len(self.methods)}"
        tell(f"{name} ({place}), split {number + 1} of {len(self.rows)}; {spent:.0f}{time_left} s")

    def _belongs(self) -> dict[str, Any]:
        """What a comparison must have in common with the stopped one that it resumes."""
        X, labels, table = self.data
        return {
            "data": data_checksum(store_or_array(X), labels, table),
            "splits": joblib.hash(self.rows),
            "methods": {name: plain_parameters(model) for name, model in self.methods.items()},
        }


# What becomes the outcome of a method, so that the others are still measured.
_MENDABLE = (ValueError, TypeError, ArithmeticError, ImportError, MemoryError)


def _measure(estimator: ZeroShotClassifier, split: Split, is_first: bool) -> list[float | None]:
    """Accuracy, mAP, seconds of the fit, on the first split its memory, which takes time, and the
    interval of the accuracy."""
    model: Any = clone(estimator)

    def fit() -> float:
        start = time.perf_counter()
        with listening(lambda step: None):  # the comparison reports its own steps
            model.fit(split.X_train, split.y_train, classes=split.table)
        return time.perf_counter() - start

    seconds, memory = with_peak(fit) if is_first else (fit(), None)
    scores = model.similarities(split.X_test)
    predicted = model.classes_[scores.argmax(axis=1)]
    accuracy = per_class_accuracy(split.y_test, predicted)
    interval = Interval.of(accuracy_draws(split.y_test, predicted).per_class, accuracy)
    precision = mean_average_precision(split.y_test, scores, model.classes_)
    return [accuracy, precision, seconds, memory, interval.low, interval.high]


def _with(
    found: Compared,
    accuracy: float,
    precision: float,
    seconds: float,
    memory: float | None,
    low: float,
    high: float,
) -> Compared:
    """The result with one more split."""
    return replace(
        found,
        per_class_accuracy=(*found.per_class_accuracy, accuracy),
        mean_average_precision=(*found.mean_average_precision, precision),
        fit_seconds=(*found.fit_seconds, seconds),
        memory=found.memory if memory is None else memory,
        intervals=(*found.intervals, (low, high)),
    )
