"""Evaluation against scikit-learn's measures, and its refusal of meaningless comparisons."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import (
    accuracy_score,
    auc,
    average_precision_score,
    balanced_accuracy_score,
    roc_auc_score,
)

from unseen import ESZSL, ClassTable, InputError, ZeroShotDataset, evaluate, make_zero_shot
from unseen.datasets import make_pairs
from unseen.estimators import METHODS, ZeroShotClassifier, available
from unseen.evaluation import cold_start, evaluate_pairs
from unseen.pairs.splits import cold_start_splits


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    """Classes of uneven size, so that the mean over classes and over rows differ."""
    full = make_zero_shot(
        n_seen=8, n_unseen=4, rows_per_class=12, n_features=10, n_attributes=8, n_factors=4,
        noise=0.9, random_state=2, dtype=np.float64,
    )  # fmt: skip
    sizes = {name: 3 + k % 10 for k, name in enumerate(full.classes.names.tolist())}
    place = np.tile(np.arange(12), 12)
    keep = place < np.array([sizes[name] for name in full.y])
    return replace(full, X=full.X[keep], y=full.y[keep])


@pytest.fixture(scope="module")
def generalized(data: ZeroShotDataset) -> ZeroShotDataset:
    """The same with every third row of the seen classes kept for testing."""
    seen_rows = np.flatnonzero(~np.isin(data.y, data.unseen))
    return replace(data, test_rows=seen_rows[::3])


def fitted(data: ZeroShotDataset, method: str = "eszsl") -> Any:
    return METHODS[method]().fit(*data.training_set(), classes=data.classes)


@pytest.mark.parametrize("method", available())
def test_recognition_and_retrieval_agree_with_scikit_learn(
    data: ZeroShotDataset, method: str
) -> None:
    model = fitted(data, method)
    result = evaluate(model, data)
    test = np.isin(data.y, data.unseen)
    X, y = data.X[test], data.y[test]
    predicted = model.predict(X, data.unseen)
    assert result.rows == y.size
    assert result.chance == 1 / 4
    assert result.per_class_accuracy == pytest.approx(balanced_accuracy_score(y, predicted))
    assert result.per_image_accuracy == pytest.approx(accuracy_score(y, predicted))
    assert result.per_class_accuracy != pytest.approx(result.per_image_accuracy)
    each = []
    for c in result.by_class:
        own = model.similarities(X, [c.name])[:, 0]
        each.append(average_precision_score(y == c.name, own))
        assert c.rows == np.sum(y == c.name)
        assert c.average_precision == pytest.approx(each[-1])
        assert c.accuracy == pytest.approx(np.mean(predicted[y == c.name] == c.name))
    assert [c.name for c in result.by_class] == sorted(data.unseen)
    assert result.mean_average_precision == pytest.approx(np.mean(each))
    assert result.generalized is None
    assert result.seconds > 0


@pytest.mark.parametrize("method", available())
def test_the_generalised_part_agrees_with_scikit_learn(
    generalized: ZeroShotDataset, method: str
) -> None:
    model = fitted(generalized, method)
    part = evaluate(model, generalized).generalized
    assert part is not None
    sides = []
    for rows in (generalized.test_rows, np.flatnonzero(np.isin(generalized.y, generalized.unseen))):
        predicted = model.predict(generalized.X[rows], "all")
        y = generalized.y[rows]
        sides.append(np.mean([np.mean(predicted[y == name] == name) for name in np.unique(y)]))
    seen, unseen = sides
    assert (part.seen, part.unseen) == pytest.approx((seen, unseen))
    harmonic = 0 if seen + unseen == 0 else 2 * seen * unseen / (seen + unseen)
    assert part.harmonic_mean == pytest.approx(harmonic)


def test_ausuc_is_the_area_that_a_fine_sweep_finds(generalized: ZeroShotDataset) -> None:
    model = fitted(generalized)
    part = evaluate(model, generalized).generalized
    assert part is not None
    rows = np.concatenate([generalized.test_rows, generalized.unseen_rows])
    names = np.sort(generalized.classes.names)
    S, y = model.similarities(generalized.X[rows], "all"), generalized.y[rows]
    seen = np.isin(names, model.seen_classes_)
    sides = (np.isin(y, generalized.unseen), ~np.isin(y, generalized.unseen))
    curve = []
    for factor in np.linspace(-1.1, 1.1, 2001) * np.ptp(S):
        right = names[(S - factor * seen).argmax(axis=1)] == y
        by_class = [[right[y == n].mean() for n in np.unique(y[side])] for side in sides]
        curve.append([np.mean(accuracies) for accuracies in by_class])
    assert part.ausuc == pytest.approx(auc(*np.transpose(curve)), abs=0.01)


def test_columns_are_matched_by_name(data: ZeroShotDataset) -> None:
    """A model knows names from a data frame, a data set from its file."""
    names = tuple(f"f{k}" for k in range(10))
    X, y = data.training_set()
    model = ESZSL().fit(pd.DataFrame(X, columns=list(names)), y, classes=data.classes)
    turned = replace(data, X=data.X[:, ::-1], feature_names=names[::-1])
    straight = replace(data, feature_names=names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [evaluate(model, d).as_dict() | {"seconds": 0} for d in (turned, straight)]
    assert found[0] == found[1]
    assert model.feature_names_in_.tolist() == list(names), "the model itself keeps them"
    with pytest.raises(InputError, match="has no column 'f3'"):
        evaluate(model, replace(data, X=data.X[:, :3], feature_names=names[:3]))


def test_test_rows_that_were_trained_on_are_told(generalized: ZeroShotDataset) -> None:
    model = fitted(replace(generalized, test_rows=np.empty(0, dtype=np.intp)))
    with pytest.warns(UserWarning, match="rows kept for testing may have been among them"):
        evaluate(model, generalized)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(fitted(generalized), generalized)


def test_test_rows_play_no_part_in_training_or_zero_shot_results(
    generalized: ZeroShotDataset,
) -> None:
    model = fitted(generalized)
    result = evaluate(model, generalized)
    X = generalized.X.copy()
    X[generalized.test_rows] = 77.0
    other = evaluate(fitted(replace(generalized, X=X)), replace(generalized, X=X))
    assert result.by_class == other.by_class
    assert result.per_class_accuracy == other.per_class_accuracy


def test_descriptions_are_those_of_the_data_set(data: ZeroShotDataset) -> None:
    """Swapping two unseen descriptions in the data set swaps what the model is asked for."""
    model = fitted(data)
    a, b = data.unseen[:2].tolist()
    vectors = data.classes.vectors.copy()
    i, j = data.classes.rows([a, b])
    vectors[[i, j]] = vectors[[j, i]]
    swapped = replace(data, classes=ClassTable(data.classes.names, vectors))
    X, y = data.unseen_set()
    rename = {a: b, b: a}
    predicted = [rename.get(n, n) for n in model.predict(X).tolist()]
    expected = balanced_accuracy_score(y, predicted)
    with pytest.warns(UserWarning, match=f"different description of {a!r}, {b!r} than the model"):
        found = evaluate(model, swapped)
    assert found.per_class_accuracy == pytest.approx(expected)


def test_only_unseen_classes_with_rows_are_candidates(data: ZeroShotDataset) -> None:
    dropped = data.unseen[0]
    keep = data.y != dropped
    fewer = replace(data, X=data.X[keep], y=data.y[keep])
    result = evaluate(fitted(data), fewer)
    assert result.chance == pytest.approx(1 / 3)
    assert dropped not in [c.name for c in result.by_class]


def test_classes_may_have_numbers_for_names(data: ZeroShotDataset) -> None:
    number = {name: k for k, name in enumerate(data.classes.names.tolist())}
    numbered = ZeroShotDataset(
        name="numbered",
        X=data.X,
        y=np.array([number[n] for n in data.y]),
        classes=ClassTable(list(number.values()), data.classes.vectors),
        unseen=np.array([number[n] for n in data.unseen]),
    )
    result, expected = evaluate(fitted(numbered), numbered), evaluate(fitted(data), data)
    assert result.per_class_accuracy == expected.per_class_accuracy
    assert [c.accuracy for c in result.by_class] == [c.accuracy for c in expected.by_class]


def test_the_result_as_a_dict_holds_plain_numbers(generalized: ZeroShotDataset) -> None:
    result = evaluate(fitted(generalized), generalized)
    found = result.as_dict()
    assert found["per_class_accuracy"] == result.per_class_accuracy
    assert found["by_class"][0]["name"] == result.by_class[0].name
    assert type(found["generalized"]["ausuc"]) is float
    for value in found.values():
        assert type(value) in (float, int, tuple, dict)


def test_chance_is_beaten_or_not(generalized: ZeroShotDataset) -> None:
    good = make_zero_shot(random_state=0)
    assert evaluate(fitted(good), good).beats_chance
    poor = evaluate(fitted(generalized), generalized)
    assert not poor.beats_chance


def test_intervals_and_the_factor_are_told(generalized: ZeroShotDataset) -> None:
    model = fitted(generalized)
    plain = evaluate(model, generalized)
    assert plain.per_class_interval.low <= plain.per_class_accuracy <= plain.per_class_interval.high
    assert plain.generalized is not None
    assert not plain.generalized.is_calibrated
    assert "was not calibrated" in plain.generalized.factor_in_words
    model.calibrate_seen(*generalized.training_set())
    part = evaluate(model, generalized).generalized
    assert part is not None
    assert part.seen_penalty == model.seen_penalty_
    assert f"{model.seen_penalty_:.4g} less, as learned" in part.factor_in_words
    assert "score 0.25 more, as" in replace(part, seen_penalty=-0.25).factor_in_words
    assert part.harmonic_interval.low <= part.harmonic_mean <= part.harmonic_interval.high


# -- refused ------------------------------------------------------------------------------------


def refused(model: ZeroShotClassifier, data: ZeroShotDataset, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        evaluate(model, data)


def test_a_model_that_saw_the_unseen_classes_is_refused(data: ZeroShotDataset) -> None:
    leaky = data.with_unseen(data.unseen[2:])
    refused(fitted(leaky), data, "trained on 'class 08', 'class 09', which.*mean nothing")


def test_even_one_leaked_class_is_refused(data: ZeroShotDataset) -> None:
    refused(fitted(data.with_unseen(data.unseen[1:])), data, "trained on 'class 08', which")


def test_a_data_set_without_rows_to_test_on_is_refused(data: ZeroShotDataset) -> None:
    refused(fitted(data), data.with_unseen([]), "no rows of unseen classes")


def test_descriptions_of_another_width_are_refused(data: ZeroShotDataset) -> None:
    narrow = replace(data, classes=data.classes.subset(range(5)))
    refused(fitted(data), narrow, "described by 5 columns")


def test_test_rows_of_a_class_the_model_never_saw_are_refused(
    generalized: ZeroShotDataset,
) -> None:
    absent = generalized.seen[0]
    keep = generalized.y[generalized.train_rows] != absent
    X, y = generalized.training_set()
    model = ESZSL().fit(X[keep], y[keep], classes=generalized.classes)
    refused(model, generalized, f"test rows of '{absent}'")


def test_seen_classes_that_the_data_set_does_not_describe_are_refused(
    generalized: ZeroShotDataset,
) -> None:
    gone = generalized.seen[0]
    keep = generalized.y != gone
    rows = np.cumsum(keep) - 1
    test_rows = [rows[r] for r in generalized.test_rows if keep[r]]
    fewer = replace(
        generalized,
        X=generalized.X[keep],
        y=generalized.y[keep],
        classes=generalized.classes.drop([gone]),
        test_rows=np.array(test_rows),
    )
    refused(fitted(generalized), fewer, f"trained on '{gone}', which the class table")


# -- pairs ----------------------------------------------------------------------------------------


class Truth(BaseEstimator):
    """Scores pairs by what made them, and notes what it was shown."""

    shown: ClassVar[list[Any]] = []

    def __init__(self, data: Any = None) -> None:
        self.data = data

    def fit_pairs(self, S: Any, X: Any, Y: Any) -> Any:
        self.shown.append((S, X, Y))
        return self

    def score_pairs(self, S: Any, X: Any) -> Any:
        return self.data.probabilities(S, X)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_pairs_are_evaluated_where_they_are_known(form: Any) -> None:
    data = make_pairs(10, 20)
    found = evaluate_pairs(Truth(data), data.S, data.X, form(data.Y))
    known, p = data.Y != 0, data.probabilities(data.S, data.X)
    assert found.pairs == known.sum()
    assert found.chance == pytest.approx((data.Y[known] > 0).mean())
    assert found.roc_auc == pytest.approx(roc_auc_score(data.Y[known] > 0, p[known]))
    expected = average_precision_score(data.Y[known] > 0, p[known])
    assert found.average_precision == pytest.approx(expected)


@pytest.mark.parametrize("new", ["targets", "sources", "both"])
def test_cold_start_trains_on_nothing_of_what_it_tests(new: str) -> None:
    data = make_pairs(12, 40, known=0.9)
    Truth.shown.clear()
    found = cold_start(Truth(data), data.S, data.X, data.Y, new=new, n_splits=3)
    splits = list(cold_start_splits(data.Y, new, 3))
    assert len(found.splits) == len(Truth.shown) == 3
    for split, (S, X, Y), result in zip(splits, Truth.shown, found.splits, strict=True):
        np.testing.assert_array_equal(S, data.S[split.train_sources])
        np.testing.assert_array_equal(X, data.X[split.train_targets])
        np.testing.assert_array_equal(Y, data.Y[np.ix_(split.train_targets, split.train_sources)])
        assert result.pairs == np.count_nonzero(data.Y[split.test])
    assert found.roc_auc == pytest.approx(np.mean([s.roc_auc for s in found.splits]))
    assert found.average_precision > found.chance
    assert found.pooled.pairs == sum(s.pairs for s in found.splits)
    assert 0.8 < found.pooled.roc_auc <= 1
