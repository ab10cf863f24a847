"""Retrieval and pairs: each measure against scikit-learn, a case by hand, or a brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from sklearn import metrics as sk

from tests.metrics.problems import problems, queries, quick, shuffled
from unseen import metrics
from unseen.errors import InputError

# ------------------------------------------------------------------ retrieval


def test_average_precision_by_hand():
    # Ranked: hit, miss, hit: precision 1 at recall 1/2, 2/3 at recall 1: 1/2 + 1/3.
    assert metrics.average_precision([1, 0, 1], [3, 2, 1]) == pytest.approx(5 / 6)
    # All tie: one threshold, precision 2/3 at recall 1, whatever the order of the rows.
    for relevant in ([1, 1, 0], [0, 1, 1], [1, 0, 1]):
        assert metrics.average_precision(relevant, [0, 0, 0]) == pytest.approx(2 / 3)


def test_average_precision_takes_minus_infinity_as_last():
    scores = [np.log(0.5), -np.inf, -np.inf]
    assert metrics.average_precision([True, False, True], scores) == pytest.approx(5 / 6)


@quick
@given(queries())
def test_average_precision_against_sklearn(query):
    relevant, scores = query
    value = metrics.average_precision(relevant, scores)
    assert value == pytest.approx(sk.average_precision_score(relevant, scores))
    assert value == pytest.approx(metrics.average_precision(*shuffled(relevant, scores)))


@quick
@given(queries(), st.sampled_from([np.arctan, np.cbrt, lambda s: 3 * s - 7, np.float32]))
def test_monotone_transforms_do_not_change_retrieval(query, transform):
    relevant, scores = query
    moved = transform(scores)
    assert metrics.average_precision(relevant, moved) == metrics.average_precision(relevant, scores)
    for k in (1, len(scores)):
        before = metrics.precision_at_k(relevant, scores, k)
        assert metrics.precision_at_k(relevant, moved, k) == before


@quick
@given(queries())
def test_precision_recall_curve_against_sklearn(query):
    ours = metrics.precision_recall_curve(*query)
    for mine, theirs in zip(ours, sk.precision_recall_curve(*query), strict=True):
        np.testing.assert_allclose(mine, theirs)


def test_precision_recall_curve_by_hand():
    curve = metrics.precision_recall_curve([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])
    assert curve.thresholds.tolist() == [0.1, 0.5, 0.9]
    # Retrieved 4, 3, 1 rows with 2, 2, 1 hits, then the closing (1, 0).
    assert curve.precision.tolist() == [2 / 4, 2 / 3, 1, 1]
    assert curve.recall.tolist() == [1, 1, 1 / 2, 0]


def test_mean_average_precision_by_hand():
    # a: rows 1, 2 are a's; column a ranks 1, 3, 2: AP = (1 + 2/3) / 2 = 5/6.
    # b: row 3 is b's; column b ranks 3 first: AP 1. c has no rows: left out.
    y, scores = ["a", "a", "b"], [[9, 0, 5], [1, 0, 5], [4, 2, 5]]
    by_class = metrics.average_precision_by_class(y, scores, ["c", "b", "a"][::-1])
    assert list(by_class) == ["a", "b"]
    assert by_class == {"a": pytest.approx(5 / 6), "b": 1.0}
    value = metrics.mean_average_precision(y, scores, ["a", "b", "c"])
    assert value == pytest.approx(11 / 12)


@quick
@given(problems())
def test_mean_average_precision_against_sklearn(problem):
    y, scores, candidates = problem
    expected = {
        c: sk.average_precision_score(y == c, scores[:, i])
        for i, c in enumerate(candidates.tolist())
        if c in y
    }
    assert metrics.average_precision_by_class(y, scores, candidates) == pytest.approx(expected)
    mean = np.mean(list(expected.values()))
    y, scores = shuffled(y, scores)
    candidates, columns = shuffled(candidates, scores.T)
    assert metrics.mean_average_precision(y, columns.T, candidates) == pytest.approx(mean)


def test_precision_at_k_by_hand():
    relevant, scores = [1, 0, 1, 0], [4, 3, 3, 1]
    # k = 2: the second place is shared by one hit and one miss: (1 + 1/2) / 2.
    expected = {1: 1.0, 2: 0.75, 3: 2 / 3, 4: 0.5}
    for k, value in expected.items():
        assert metrics.precision_at_k(relevant, scores, k) == pytest.approx(value)
    assert metrics.precision_at_k([0, 0], [1, 2], 1) == 0.0


@quick
@given(queries(), st.data())
def test_precision_at_k_is_the_mean_over_all_orders_of_the_rows(query, data):
    relevant, scores = query[0][:5], query[1][:5]
    k = data.draw(st.integers(1, len(scores)))
    values = []
    for order in itertools.permutations(range(len(scores))):
        best = sorted(order, key=lambda j: -scores[j])[:k]
        values.append(sum(relevant[j] for j in best) / k)
    assert metrics.precision_at_k(relevant, scores, k) == pytest.approx(np.mean(values))


# -- pairs ----------------------------------------------------------------------------------------


@quick
@given(scores=st.lists(st.integers(0, 6), min_size=3, max_size=30), seed=st.integers(0, 1000))
def test_roc_auc_is_the_chance_that_a_match_scores_higher(scores: list[int], seed: int) -> None:
    s = np.array(scores, dtype=float)
    hit = np.random.default_rng(seed).random(s.size) < 0.4
    hit[:2] = [True, False]
    above = [(p > n) + 0.5 * (p == n) for p in s[hit] for n in s[~hit]]
    assert metrics.roc_auc(hit, s) == pytest.approx(np.mean(above))
    curve = metrics.roc_curve(hit, s)
    area = trapezoid(curve.true_positive_rate, curve.false_positive_rate)
    assert area == pytest.approx(metrics.roc_auc(hit, s))


def test_unknown_pairs_do_not_count() -> None:
    Y = np.array([[1, 0, -1], [0, -1, 1]])
    s = np.array([[3.0, 99.0, 1.0], [-99.0, 2.0, 4.0]])
    hit, known = metrics.known_pairs(Y, s)
    assert hit.tolist() == [True, False, False, True]
    assert known.tolist() == [3.0, 1.0, 2.0, 4.0]
    assert metrics.roc_auc(hit, known) == 1


def test_pairs_without_both_signs_have_no_curve() -> None:
    with pytest.raises(InputError, match="marks every row"):
        metrics.roc_auc([1, 1], [0.1, 0.2])
    with pytest.raises(InputError, match="marks no row"):
        metrics.roc_curve([0, 0], [0.1, 0.2])
    with pytest.raises(InputError, match=r"labels are \(2, 2\) and scores \(2,\)"):
        metrics.known_pairs(np.ones((2, 2)), np.ones(2))
