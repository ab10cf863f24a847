"""Recognition: each measure against scikit-learn, a case worked by hand, or a brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from tests.metrics.problems import problems, quick, shuffled
from unseen import metrics

# a: 2 of 3 right, b: 0 of 1, so per class (2/3 + 0) / 2 = 1/3 and per image 2/4.
Y_TRUE, Y_PRED = ["a", "a", "a", "b"], ["a", "a", "c", "a"]


def test_accuracies_by_hand():
    assert metrics.accuracies_by_class(Y_TRUE, Y_PRED) == {"a": pytest.approx(2 / 3), "b": 0.0}
    assert metrics.per_class_accuracy(Y_TRUE, Y_PRED) == pytest.approx(1 / 3)
    assert metrics.per_image_accuracy(Y_TRUE, Y_PRED) == 0.5


@quick
@given(problems())
def test_accuracies_against_sklearn(problem):
    # sklearn warns of a single label, and of predictions that never occur in y.
    y = np.append(problem[0], problem[2][:2])
    guess = np.random.default_rng(0).choice(np.unique(y), len(y))
    recalls = np.diag(sk.confusion_matrix(y, guess, normalize="true"))
    assert list(metrics.accuracies_by_class(y, guess).values()) == pytest.approx(recalls)
    assert metrics.per_class_accuracy(y, guess) == pytest.approx(
        sk.balanced_accuracy_score(y, guess)
    )
    assert metrics.per_image_accuracy(y, guess) == pytest.approx(sk.accuracy_score(y, guess))
    assert metrics.per_class_accuracy(y, guess) == pytest.approx(
        metrics.per_class_accuracy(*shuffled(y, guess))
    )


@pytest.mark.parametrize(
    "cast",
    [
        list,
        np.array,
        lambda y: np.array(y, dtype=object),
        lambda y: np.array([ord(c) for c in y]),
        lambda y: [ord(c) for c in y],
        lambda y: np.array([ord(c) for c in y], dtype=np.uint8),
    ],
)
def test_labels_of_every_kind(cast):
    assert metrics.per_class_accuracy(cast(Y_TRUE), cast(Y_PRED)) == pytest.approx(1 / 3)
    matrix = metrics.confusion_matrix(cast(Y_TRUE), cast(Y_PRED))
    assert matrix.values.tolist() == [[2, 0, 1], [1, 0, 0], [0, 0, 0]]
    scores = np.eye(3)[[0, 0, 2, 0]]
    assert metrics.per_class_top_k_accuracy(
        cast(Y_TRUE), scores, cast(list("abc"))
    ) == pytest.approx(1 / 3)
    by_class = metrics.average_precision_by_class(cast(Y_TRUE), scores, cast(list("abc")))
    assert set(map(type, by_class)) <= {str, int}


def test_names_of_different_length_are_not_cut():
    assert metrics.per_image_accuracy(np.array(["cat"]), np.array(["cat-fish"])) == 0.0
    scores = [[0.0, 1.0], [1.0, 0.0]]
    y = ["cat-fish", "cat"]
    assert metrics.per_class_top_k_accuracy(y, scores, np.array(["cat", "cat-fish"])) == 1.0


def test_top_k_by_hand():
    # Row 1: a is first. Row 2: a is third. Row 3: b ties with c for the first place.
    y, scores = ["a", "a", "b"], [[3, 2, 1], [1, 2, 3], [0, 5, 5]]
    # k = 1: a 1/2, b 1/2.   k = 2: a 1/2, b 1.   k = 3: all.
    expected = {1: 0.5, 2: 0.75, 3: 1.0}
    for k, value in expected.items():
        assert metrics.per_class_top_k_accuracy(y, scores, ["a", "b", "c"], k=k) == value


@pytest.mark.parametrize("k", [1, 2, 4])
def test_top_k_of_constant_scores_is_chance(k):
    y = np.repeat(["a", "b", "c", "d"], [1, 7, 2, 3])
    value = metrics.per_class_top_k_accuracy(y, np.zeros((13, 4)), ["d", "c", "b", "a"], k=k)
    assert value == pytest.approx(k / 4)


@quick
@given(problems(least_classes=3), st.integers(1, 2))
def test_top_k_against_sklearn_without_ties(problem, k):
    y, scores, candidates = problem
    scores = scores.ravel().argsort().argsort().reshape(scores.shape).astype(float)
    order = np.argsort(candidates)  # sklearn wants sorted labels
    each = [
        sk.top_k_accuracy_score(y[y == c], scores[y == c][:, order], k=k, labels=candidates[order])
        for c in np.unique(y)
    ]
    value = metrics.per_class_top_k_accuracy(y, scores, candidates, k)
    assert value == pytest.approx(np.mean(each))


@quick
@given(problems(), st.data())
def test_top_k_is_the_mean_over_all_orders_of_the_columns(problem, data):
    y, scores, candidates = (part[:4] for part in problem)
    scores, y = scores[:, :4], np.where(np.isin(y, candidates), y, candidates[0])
    k = data.draw(st.integers(1, len(candidates)))
    values = []
    for order in itertools.permutations(range(len(candidates))):
        names = candidates[list(order)]
        top = np.argsort(-scores[:, order], axis=1, kind="stable")[:, :k]
        hits = [y[j] in names[top[j]] for j in range(len(y))]
        shares = [
            np.mean([h for h, t in zip(hits, y, strict=True) if t == c]).item() for c in set(y)
        ]
        values.append(sum(shares) / len(shares))
    expected = sum(values) / len(values)
    assert metrics.per_class_top_k_accuracy(y, scores, candidates, k) == pytest.approx(expected)


@quick
@given(problems())
def test_top_k_rises_to_one_and_ignores_order(problem):
    y, scores, candidates = problem
    ks = range(1, len(candidates) + 1)
    values = [metrics.per_class_top_k_accuracy(y, scores, candidates, k) for k in ks]
    assert values[-1] == 1.0
    assert np.all(np.diff(values) >= -1e-12)
    y, scores = shuffled(y, scores)
    candidates, columns = shuffled(candidates, scores.T)
    again = [metrics.per_class_top_k_accuracy(y, columns.T, candidates, k) for k in ks]
    assert again == pytest.approx(values)


def test_confusion_matrix_by_hand():
    names, values = metrics.confusion_matrix(Y_TRUE, Y_PRED, candidates=["c", "b", "a", "d"])
    assert names.tolist() == ["c", "b", "a", "d"]
    assert values.tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 2, 0], [0, 0, 0, 0]]
    shares = metrics.confusion_matrix(Y_TRUE, Y_PRED, ["a", "b", "c"], normalize=True).values
    np.testing.assert_allclose(shares, [[2 / 3, 0, 1 / 3], [1, 0, 0], [0, 0, 0]])


@quick
@given(problems(), st.booleans())
def test_confusion_matrix_against_sklearn(problem, normalize):
    y, scores, candidates = problem
    guess = np.append(candidates[scores.argmax(axis=1)], candidates[:2])
    y = np.append(y, candidates[1::-1])
    kind = "true" if normalize else None
    ours = metrics.confusion_matrix(y, guess, candidates, normalize)
    theirs = sk.confusion_matrix(y, guess, labels=candidates, normalize=kind)
    np.testing.assert_allclose(ours.values, theirs)
    ours = metrics.confusion_matrix(y, guess, normalize=normalize)
    both = np.unique([*y, *guess])
    assert ours.names.tolist() == both.tolist()
    theirs = sk.confusion_matrix(y, guess, labels=both, normalize=kind)
    np.testing.assert_allclose(ours.values, theirs)
