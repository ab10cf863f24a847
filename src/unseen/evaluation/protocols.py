"""How a model is tested: recognition, retrieval, the generalised setting, and pairs."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import fmean
from typing import Any

import numpy as np

from unseen import metrics
from unseen.classes import ClassTable
from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import InputError, counted, listed, require, warn_user
from unseen.estimators.base import ZeroShotClassifier
from unseen.estimators.matching import as_sources, cold_scores, labels_of_pairs
from unseen.inference.relative import relative_scores
from unseen.metrics.intervals import Interval, accuracy_draws
from unseen.pairs.splits import cold_start_splits
from unseen.rows.store import chosen_rows, store_or_array
from unseen.support.shown import Shown


@dataclass(frozen=True)
class ClassResult:
    """How one unseen class fared: share of its rows recognised, and average precision."""

    name: str
    rows: int
    accuracy: float
    average_precision: float


@dataclass(frozen=True)
class GeneralizedResult:
    """Per-class accuracies when seen and unseen classes compete, and their harmonic mean.

    They hold at one factor, the `seen_penalty` that comes off the scores of seen classes: what
    `calibrate_seen` has learned from training rows, or 0 where it was not called
    (`is_calibrated`), which some methods do not need (`needs_calibration`). `ausuc` is the area
    under the curve over all factors.
    """

    seen: float
    unseen: float
    harmonic_mean: float
    ausuc: float
    seen_penalty: float
    is_calibrated: bool
    needs_calibration: bool
    seen_interval: Interval
    unseen_interval: Interval
    harmonic_interval: Interval

    @property
    def factor_in_words(self) -> str:
        """Which factor was used, and how it was learned."""
        if self.is_calibrated:
            less = "less" if self.seen_penalty >= 0 else "more"
            return (
                f"Seen classes score {abs(self.seen_penalty):.4g} {less}, as learned by "
                "calibrate_seen from training rows; AUSUC is over all such factors."
            )
        if not self.needs_calibration:
            return (
                "Nothing comes off the scores of seen classes, which this method does not need; "
                "AUSUC is over all factors."
            )
        return (
            "Nothing comes off the scores of seen classes, as the model was not calibrated: "
            "calibrate_seen ('unseen fit --calibrate') learns how much. AUSUC is over all factors."
        )


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    """Results on the unseen classes of a data set; shares between 0 and 1.

    `mean_average_precision` ranks rows by their scores, as the paper does; the relative one by
    their scores against the other unseen classes, as `rank(..., against="unseen")` does.
    Intervals hold the middle 95 % of a bootstrap over classes and their rows.
    """

    _drawn_by = "unseen.apps.plots.results:evaluation_figure"

    per_class_accuracy: float
    per_image_accuracy: float
    mean_average_precision: float
    relative_mean_average_precision: float
    chance: float
    rows: int
    seconds: float
    by_class: tuple[ClassResult, ...]
    generalized: GeneralizedResult | None
    per_class_interval: Interval
    per_image_interval: Interval

    @property
    def beats_chance(self) -> bool:
        """Whether these classes are named more often than by guessing: the accuracy lies more than
        two standard errors, which are of the rows alone, above chance."""
        terms = [c.accuracy * (1 - c.accuracy) / c.rows for c in self.by_class]
        return self.per_class_accuracy - 2 * sqrt(sum(terms)) / len(terms) > self.chance

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_frame(self) -> Any:
        """The classes as a pandas DataFrame, names as index (needs the extra `data`)."""
        pandas = require("pandas", "data", "a DataFrame")
        return pandas.DataFrame([asdict(c) for c in self.by_class]).set_index("name")

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "tested on", f"{self.rows:,} rows of {counted(len(self.by_class), 'unseen class')}"
        yield "per-class accuracy", _within(self.per_class_accuracy, self.per_class_interval)
        poor = len(self.by_class) > 1 and not self.beats_chance
        yield "chance", f"{self.chance:.3f}" + (": the model is no better" if poor else "")
        yield "per-image accuracy", _within(self.per_image_accuracy, self.per_image_interval)
        yield "retrieval mAP", f"{self.mean_average_precision:.3f}"
        if (part := self.generalized) is not None:
            yield "generalised, seen", _within(part.seen, part.seen_interval)
            yield "generalised, unseen", _within(part.unseen, part.unseen_interval)
            yield "harmonic mean", _within(part.harmonic_mean, part.harmonic_interval)
            yield "AUSUC", f"{part.ausuc:.3f}"
            nothing = "not calibrated" if part.needs_calibration else "not needed by this method"
            penalty = f"{part.seen_penalty:.4g}, learned from training rows"
            yield "off seen scores", penalty if part.is_calibrated else f"nothing: {nothing}"


def _within(share: float, interval: Interval) -> str:
    return f"{share:.3f} (95 %: {interval.low:.3f} to {interval.high:.3f})"


def evaluate(model: ZeroShotClassifier, data: ZeroShotDataset) -> Evaluation:
    """Test a model on the unseen classes of a data set that took no part in its training.

    Columns are matched by name where model and data set both have names. The candidates are the
    unseen classes that have rows, described by the data set's own table.
    The generalised part is there if the data set keeps rows of seen classes for testing.
    """
    model, data = _in_columns_of(model, data)
    X, y = data.unseen_set()
    names = np.unique(y)
    leaked = np.intersect1d(names, model.seen_classes_)
    if leaked.size:
        raise InputError(
            f"the model was trained on {listed(leaked.tolist())}, which the data set keeps as "
            "unseen: the result would mean nothing; train a new model on the rows of this data "
            "set's seen classes alone, as 'unseen fit' and fit(*data.training_set()) do"
        )
    table = data.classes.select(names)
    _warn_of_other_descriptions(model.class_table_, table)
    start = time.perf_counter()
    scores = model.similarities(X, table)
    seconds = time.perf_counter() - start
    predicted = names[scores.argmax(axis=1)]
    accuracy = metrics.accuracies_by_class(y, predicted)
    precision = metrics.average_precision_by_class(y, scores, names)
    relative = metrics.mean_average_precision(y, relative_scores(scores), names)
    per_class = metrics.per_class_accuracy(y, predicted)
    per_image = metrics.per_image_accuracy(y, predicted)
    draws = accuracy_draws(y, predicted)
    return Evaluation(
        per_class_accuracy=per_class,
        per_image_accuracy=per_image,
        mean_average_precision=metrics.mean_average_precision(y, scores, names),
        relative_mean_average_precision=relative,
        chance=1 / names.size,
        rows=y.size,
        seconds=seconds,
        by_class=tuple(
            ClassResult(str(n), int(np.sum(y == n)), accuracy[n], precision[n])
            for n in names.tolist()
        ),
        generalized=_generalized(model, data),
        per_class_interval=Interval.of(draws.per_class, per_class),
        per_image_interval=Interval.of(draws.per_image, per_image),
    )


def _warn_of_other_descriptions(known: ClassTable, table: ClassTable) -> None:
    """Warn where results use a different description of a class than predictions would."""
    if known.n_attributes != table.n_attributes:
        return  # an error when they are scored
    names = np.intersect1d(known.names, table.names)
    then, now = (t.select(names).vectors for t in (known, table.with_columns_of(known)))
    changed = names[~np.isclose(then, now).all(axis=1)]
    if changed.size:
        warn_user(
            f"the data set has a different description of {listed(changed.tolist())} than the "
            "model: results use the descriptions of the data set, predictions those of the model"
        )


def _in_columns_of(
    model: ZeroShotClassifier, data: ZeroShotDataset
) -> tuple[ZeroShotClassifier, ZeroShotDataset]:
    """The data with their columns in the order of the model's, and the model without their names:
    scikit-learn warns when a model with names of columns is given arrays."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or data.feature_names is None:
        return model, data
    bare = copy.copy(model)
    del bare.feature_names_in_
    return bare, data.with_columns(tuple(map(str, names)))


def _generalized(model: ZeroShotClassifier, data: ZeroShotDataset) -> GeneralizedResult | None:
    if data.seen_test_rows.size == 0:
        return None
    rows = np.concatenate([data.seen_test_rows, data.unseen_rows])
    seen = np.asarray(model.seen_classes_)
    _check_seen(seen, data)
    n_trained, n_rows = model.training_data_.get("rows", 0), data.train_rows.size
    if n_trained > n_rows:
        warn_user(
            f"the model was trained on {n_trained:,} rows, of which this division of the data set "
            f"leaves {n_rows:,} for training: rows kept for testing may have been among them, and "
            "the accuracy on seen classes too high"
        )
    table = data.classes.select(np.concatenate([seen, np.unique(data.y[data.unseen_rows])]))
    scores = model.similarities(chosen_rows(data.X, rows), table)
    y, predicted = data.y[rows], table.names[scores.argmax(axis=1)]
    found = metrics.generalized_accuracy(y, predicted, seen)
    curve = metrics.seen_unseen_curve(y, scores, table.names, seen)
    n_seen, penalty = data.seen_test_rows.size, vars(model).get("seen_penalty_")
    of_seen = accuracy_draws(y[:n_seen], predicted[:n_seen]).per_class
    of_unseen = accuracy_draws(y[n_seen:], predicted[n_seen:], random_state=1).per_class
    return GeneralizedResult(
        *found,
        ausuc=curve.ausuc,
        seen_penalty=penalty or 0.0,
        is_calibrated=penalty is not None,
        needs_calibration=model.needs_calibration,
        seen_interval=Interval.of(of_seen, found.seen),
        unseen_interval=Interval.of(of_unseen, found.unseen),
        harmonic_interval=Interval.of(
            metrics.harmonic_mean(of_seen, of_unseen), found.harmonic_mean
        ),
    )


def _check_seen(seen: np.ndarray, data: ZeroShotDataset) -> None:
    """The seen classes of model and data set must agree, or the two sides mean nothing."""
    strange = np.setdiff1d(data.y[data.seen_test_rows], seen)
    if strange.size:
        raise InputError(
            f"the data set keeps test rows of {listed(strange.tolist())}, which is neither unseen "
            "nor a class that the model was trained on"
        )
    missing = [name for name in seen.tolist() if name not in data.classes]
    if missing:
        raise InputError(
            f"the model was trained on {listed(missing)}, which the class table of the data set "
            "does not describe: seen and unseen classes cannot compete"
        )


@dataclass(frozen=True, repr=False)
class PairEvaluation(Shown):
    """How well scores tell matches apart: over `pairs` known pairs, `chance` of which are matches.

    `relevant` and `scores` are those pairs, as `metrics.roc_curve` and
    `metrics.precision_recall_curve` take them.
    """

    roc_auc: float
    average_precision: float
    chance: float
    pairs: int
    relevant: np.ndarray
    scores: np.ndarray

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "tested on", f"{self.pairs:,} known pairs, {100 * self.chance:.1f} % of them matches"
        yield from _pair_measures(self)

    @classmethod
    def of(cls, labels: Any, scores: Any) -> PairEvaluation:
        """Of labels +1, -1 and 0 = unknown, and scores in the same shape."""
        hit, s = metrics.known_pairs(labels, scores)
        auc, precision = metrics.roc_auc(hit, s), metrics.average_precision(hit, s)
        return cls(auc, precision, float(hit.mean()), hit.size, hit, s)


def _pair_measures(found: PairEvaluation | ColdStart) -> Iterator[tuple[str, object]]:
    yield "area under ROC", f"{found.roc_auc:.3f} (chance 0.500)"
    yield "average precision", f"{found.average_precision:.3f} (chance {found.chance:.3f})"


@dataclass(frozen=True, repr=False)
class ColdStart(Shown):
    """Results on pairs whose sources, targets or both are new: one `PairEvaluation` per split."""

    new: str
    splits: tuple[PairEvaluation, ...]

    def _facts(self) -> Iterator[tuple[str, object]]:
        n_pairs = sum(split.pairs for split in self.splits)
        yield "tested on", f"{n_pairs:,} known pairs in {counted(len(self.splits), 'split')}"
        yield "never met", self.new
        yield from _pair_measures(self)

    @property
    def roc_auc(self) -> float:
        return fmean(split.roc_auc for split in self.splits)

    @property
    def average_precision(self) -> float:
        return fmean(split.average_precision for split in self.splits)

    @property
    def chance(self) -> float:
        return fmean(split.chance for split in self.splits)

    @property
    def pooled(self) -> PairEvaluation:
        """All splits as one, for curves."""
        hits = np.concatenate([split.relevant for split in self.splits])
        scores = np.concatenate([split.scores for split in self.splits])
        return PairEvaluation.of(np.where(hits, 1, -1), scores)


def evaluate_pairs(model: Any, S: Any, X: Any, Y: Any) -> PairEvaluation:
    """Test a fitted model on labelled pairs that took no part in its training.

    S, X and Y as in `fit_pairs`: Y is N x C, sparse or not.
    """
    return PairEvaluation.of(labels_of_pairs(S, X, Y), model.score_pairs(S, X))


def cold_start(
    model: Any,
    S: Any,
    X: Any,
    Y: Any,
    new: str = "targets",
    n_splits: int = 5,
    random_state: int = 0,
) -> ColdStart:
    """Train copies of a model without a part of the "targets", "sources" or "both", and test them
    on the pairs of what they never met; see `cold_start_splits`.

    `model` has `fit_pairs` and `score_pairs`, and stays as it is.
    """
    signs = np.sign(labels_of_pairs(S, X, Y)).astype(np.int8)
    S, X = as_sources(S)[0].vectors, store_or_array(X)
    splits = cold_start_splits(signs, new, n_splits, random_state)
    results = (PairEvaluation.of(*cold_scores(model, S, X, signs, split)) for split in splits)
    return ColdStart(new, tuple(results))
