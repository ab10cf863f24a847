"""Each measure against scikit-learn, a case worked by hand, or a brute force written with loops."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from unseen import metrics
from unseen.errors import InputError

NAMES = ["zebra", "ant", "Indigo Bunting", "b", "cow", "yak"]
quick = settings(max_examples=80, deadline=None)


@st.composite
def problems(draw, least_classes=2):
    """(y, scores, candidates): scores on a grid of eighths, exact in floats and rich in ties."""
    candidates = np.array(draw(st.permutations(NAMES))[: draw(st.integers(least_classes, 6))])
    n, rng = draw(st.integers(1, 25)), np.random.default_rng(draw(st.integers(0, 10**6)))
    steps = draw(st.sampled_from([1, 3, 1000]))
    scores = rng.integers(-steps, steps + 1, (n, len(candidates))) / 8
    return rng.choice(candidates, n), scores, candidates


@st.composite
def generalized_problems(draw):
    """A problem with rows of seen and of unseen classes, and the seen classes."""
    y, scores, candidates = draw(problems())
    seen = candidates[: draw(st.integers(1, len(candidates) - 1))]
    y, scores = np.append(y, candidates[[0, -1]]), np.vstack([scores, scores[:1], -scores[:1]])
    return y, scores, candidates, seen


@st.composite
def queries(draw):
    """(relevant, scores) with at least one relevant row."""
    n, rng = draw(st.integers(1, 40)), np.random.default_rng(draw(st.integers(0, 10**6)))
    relevant = rng.random(n) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    relevant[rng.integers(n)] = True
    return relevant, rng.integers(0, draw(st.sampled_from([1, 4, 1000])), n) / 8


def shuffled(*arrays, seed=0):
    order = np.random.default_rng(seed).permutation(len(arrays[0]))
    return tuple(a[order] for a in arrays)


# ---------------------------------------------------------------- recognition

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


# -------------------------------------------------------- generalised setting


def test_harmonic_mean_by_hand():
    assert metrics.harmonic_mean(0.5, 1.0) == pytest.approx(2 / 3)
    assert metrics.harmonic_mean(0, 0) == 0.0
    assert metrics.harmonic_mean(0, 1) == 0.0


accuracies = st.just(0.0) | st.floats(1e-6, 1)


@quick
@given(accuracies, accuracies)
def test_harmonic_mean_bounds(a, b):
    value = metrics.harmonic_mean(a, b)
    assert min(a, b) - 1e-12 <= value <= min(2 * min(a, b), max(a, b), (a + b) / 2) + 1e-12
    assert value == metrics.harmonic_mean(b, a)


def test_generalized_accuracy_by_hand():
    # Seen: a 1 of 2, b 1 of 1: 3/4. Unseen: c 1 of 2: 1/2. H = 2 * 3/8 / (5/4) = 3/5.
    y = ["a", "a", "b", "c", "c"]
    guess = ["a", "c", "b", "c", "a"]
    value = metrics.generalized_accuracy(y, guess, ["b", "a", "seen but without test rows"])
    assert value == (0.75, 0.5, pytest.approx(0.6))


#            a  b  c  d    seen: a, b    class  flips at
SWEEP = [
    [9, 1, 2, 0],  # a      9 - 2 =  7
    [1, 4, 3, 0],  # b      4 - 3 =  1
    [2, 0, 4, 0],  # c      2 - 4 = -2
    [4, 0, 1, 2],  # d      4 - 2 =  2
]


def test_curve_by_hand():
    curve = metrics.seen_unseen_curve(list("abcd"), SWEEP, list("abcd"), ["a", "b"])
    assert curve.critical.tolist() == [-2, 1, 2, 7]
    assert curve.seen.tolist() == [1, 1, 0.5, 0.5, 0]
    assert curve.unseen.tolist() == [0, 0.5, 0.5, 1, 1]
    # Middles of the intervals; the outer two lie one largest score (9) outside.
    assert curve.factors.tolist() == [-11, -0.5, 1.5, 4.5, 16]
    np.testing.assert_allclose(curve.harmonic_mean, [0, 2 / 3, 1 / 2, 2 / 3, 0])
    # Area: seen is 1 while unseen goes 0 -> 1/2, and 1/2 while it goes 1/2 -> 1.
    assert curve.ausuc == 0.75
    # Two intervals have H = 2/3; (2, 7) is the wider one.
    assert curve.best_factor == 4.5
    assert curve.best_harmonic_mean == pytest.approx(2 / 3)
    assert curve.at(0) == (1, 0.5, pytest.approx(2 / 3))
    assert curve.at(1) == curve.at(0)  # on the flip the seen class wins
    assert curve.at(1.001) == (0.5, 0.5, 0.5)


def test_curve_gives_each_class_one_vote_and_skips_rows_that_are_never_right():
    # A second row of a that prefers b: a is at most 1/2, so seen at most 3/4; its flip is no step.
    scores = [*SWEEP, [0, 3, 2.5, 0]]
    curve = metrics.seen_unseen_curve(list("abcda"), scores, list("abcd"), ["a", "b"])
    assert curve.critical.tolist() == [-2, 1, 2, 7]
    assert curve.seen.tolist() == [0.75, 0.75, 0.25, 0.25, 0]
    assert curve.ausuc == pytest.approx(0.5 * 0.75 + 0.5 * 0.25)


def test_curve_where_seen_and_unseen_flip_together_is_a_diagonal():
    curve = metrics.seen_unseen_curve(["a", "c"], [[3, 1], [3, 1]], ["a", "c"], ["a"])
    assert curve.critical.tolist() == [2]
    assert (curve.seen.tolist(), curve.unseen.tolist()) == ([1, 0], [0, 1])
    assert curve.ausuc == 0.5
    assert (curve.best_factor, curve.best_harmonic_mean) == (0, 0)


def test_curve_of_float32_scores_keeps_the_differences_in_full():
    scores = np.array([[100, 0.1], [0, 0.1]], dtype=np.float32)
    curve = metrics.seen_unseen_curve(["a", "c"], scores, ["a", "c"], ["a"])
    # float32 would round it; float() lest numpy compare in float32.
    assert float(curve.critical[1]) == 100 - float(np.float32(0.1))


def test_curve_does_not_pass_one_by_rounding():
    # Added up one by one, 41 times 1/41 is a little more than 1 in floats.
    scores = np.column_stack([np.arange(82), np.zeros(82)])
    curve = metrics.seen_unseen_curve(["a", "c"] * 41, scores, ["a", "c"], ["a"])
    assert curve.seen[0] == curve.unseen[-1] == 1.0


def test_curve_when_no_row_can_be_right():
    scores = [[0, 1, 0, 0], [0, 0, 0, 1]]
    curve = metrics.seen_unseen_curve(["a", "c"], scores, list("abcd"), ["a", "b"])
    assert (curve.seen.tolist(), curve.unseen.tolist()) == ([0], [0])
    assert (curve.factors.tolist(), curve.critical.size) == ([0], 0)
    assert (curve.ausuc, curve.best_factor, curve.best_harmonic_mean) == (0, 0, 0)


def brute_force(factor, y, scores, candidates, seen):
    """Per-class accuracies of the calibrated argmax; t tied winners share the vote."""
    votes = {}
    for label, row in zip(y, scores, strict=True):
        moved = [s - factor * (c in seen) for s, c in zip(row, candidates, strict=True)]
        winners = [c for s, c in zip(moved, candidates, strict=True) if s == max(moved)]
        votes.setdefault(label, []).append((label in winners) / len(winners))
    means = {label: sum(v) / len(v) for label, v in votes.items()}
    sides = [[m for c, m in means.items() if (c in seen) == side] for side in (True, False)]
    return [sum(side) / len(side) for side in sides]


@quick
@given(generalized_problems(), st.integers(-300, 300))
def test_curve_equals_argmax_at_any_factor(problem, sixteenths):
    curve = metrics.seen_unseen_curve(*problem)
    # Scores are eighths, so odd sixteenths are never on a flip.
    for factor in [(2 * sixteenths + 1) / 16, *curve.factors.tolist()]:
        assert curve.at(factor)[:2] == pytest.approx(brute_force(factor, *problem))


@quick
@given(generalized_problems(), st.integers(-300, 300))
def test_curve_equals_predictions_after_apply_calibration(problem, sixteenths):
    y, scores, candidates, seen = problem
    rng = np.random.default_rng(0)
    # Distinct multiples of 1/8 within a row: the argmax is unique, off the flips.
    scores = rng.permuted(np.tile(np.arange(40.0), (len(y), 1)), axis=1)[:, : len(candidates)] / 8
    factor = (2 * sixteenths + 1) / 16
    moved = metrics.apply_calibration(scores, candidates, seen, factor)
    direct = metrics.generalized_accuracy(y, candidates[moved.argmax(axis=1)], seen)
    curve = metrics.seen_unseen_curve(y, scores, candidates, seen)
    assert curve.at(factor) == pytest.approx(direct)


@quick
@given(generalized_problems())
def test_curve_properties(problem):
    y, scores, candidates, seen = problem
    curve = metrics.seen_unseen_curve(*problem)
    assert np.all(np.diff(curve.critical) > 0)
    assert np.all(np.diff(curve.seen) <= 0)
    assert np.all(np.diff(curve.unseen) >= 0)
    assert (curve.seen[-1], curve.unseen[0]) == (0, 0)
    assert 0 <= curve.ausuc <= curve.seen[0] * curve.unseen[-1] + 1e-12 <= 1 + 1e-12
    assert curve.best_harmonic_mean == pytest.approx(curve.harmonic_mean.max())
    y, scores = shuffled(y, scores)
    candidates, columns = shuffled(candidates, scores.T)
    again = metrics.seen_unseen_curve(y, columns.T, candidates, seen[::-1])
    for before, after in zip(curve, again, strict=True):
        np.testing.assert_allclose(after, before, atol=1e-12)


@quick
@given(generalized_problems())
def test_ausuc_is_the_chance_that_seen_rows_flip_later(problem):
    # Each pair of a right seen and a right unseen row counts 1 if the seen one flips later, 1/2
    # if together: a double sum without any curve.
    y, scores, candidates, seen = problem
    is_seen = np.isin(candidates, seen)
    rows = {True: [], False: []}
    for label, row in zip(y, scores, strict=True):
        side = bool(label in seen)
        own = row[is_seen == side]
        right = (row[candidates == label][0] == own.max()) / np.sum(own == own.max())
        weight = right / np.sum(y == label) / len({c for c in y if (c in seen) == side})
        rows[side].append((row[is_seen].max() - row[~is_seen].max(), weight))
    area = sum(
        ws * wu * ((gs > gu) + (gs == gu) / 2) for gs, ws in rows[True] for gu, wu in rows[False]
    )
    assert metrics.seen_unseen_curve(*problem).ausuc == pytest.approx(area)


@quick
@given(
    st.integers(0, 10**6),
    st.sampled_from([np.float16, np.float32, np.float64]),
    st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_best_factor_keeps_its_promise_in_the_precision_of_the_scores(seed, dtype, scale):
    # Decimal scores: 0.3 - 0.1 and 0.2 differ by rounding only. No factor fits in between, so the
    # best one must not be looked for there.
    rng = np.random.default_rng(seed)
    candidates, y = np.array(list("abcd")), np.array(list("abcdabcd"))
    scores = (rng.permuted(np.tile(np.arange(8), (8, 1)), axis=1)[:, :4] * 0.1 * scale).astype(
        dtype
    )
    curve = metrics.seen_unseen_curve(y, scores, candidates, ["a", "b"])
    moved = metrics.apply_calibration(scores, candidates, ["a", "b"], curve.best_factor)
    assert moved.dtype == dtype
    if curve.best_harmonic_mean > 0:
        guess = candidates[moved.argmax(axis=1)]
        direct = metrics.generalized_accuracy(y, guess, ["a", "b"]).harmonic_mean
        assert direct == pytest.approx(curve.best_harmonic_mean)


def test_no_factor_on_a_fine_grid_beats_the_best_factor():
    rng = np.random.default_rng(3)
    candidates = np.array([f"class {c}" for c in range(12)])
    y = rng.choice(candidates, 400)
    scores = rng.normal(size=(400, 12)) + 2 * (y[:, None] == candidates)
    seen = candidates[:8]
    scores[:, :8] += 1.5  # the usual bias towards the seen classes
    curve = metrics.seen_unseen_curve(y, scores, candidates, seen)
    grid = [curve.at(g).harmonic_mean for g in np.linspace(-6, 9, 3001)]
    assert max(grid) <= curve.best_harmonic_mean
    assert 0.5 < curve.best_factor < 2.5
    assert curve.at(curve.best_factor).harmonic_mean == curve.best_harmonic_mean


def test_curve_needs_less_memory_than_its_scores():
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(20_000, 50)), rng.integers(50, size=20_000)
    tracemalloc.start()
    curve = metrics.seen_unseen_curve(y, scores, np.arange(50), np.arange(30))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < scores.nbytes
    assert 0 < curve.ausuc < 0.01  # chance: about 1/30 · 1/20


def test_apply_calibration_by_hand():
    scores = np.array([[1, 2, 3]], dtype=np.float32)
    moved = metrics.apply_calibration(scores, ["a", "b", "c"], ["c", "a"], 0.5)
    assert moved.tolist() == [[0.5, 2, 2.5]]
    assert moved.dtype == np.float32
    assert scores.tolist() == [[1, 2, 3]]


# --------------------------------------------------------------------- errors

AB, TWO, HOLE = ["a", "b"], np.eye(2), np.array(["a", None])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.per_class_accuracy(AB, ["a"]), "y_true has 2 rows and y_pred 1"),
        (lambda: metrics.per_image_accuracy([], []), r"y_true has shape \(0,\)"),
        (lambda: metrics.per_image_accuracy([AB], [AB]), r"y_true has shape \(1, 2\)"),
        (lambda: metrics.per_class_accuracy(AB, [1, 2]), "y_true holds 'a' and y_pred 1"),
        (lambda: metrics.per_class_accuracy(["a", 1], AB), "y_true holds int and str; give names"),
        (lambda: metrics.per_class_accuracy(HOLE, AB), "y_true holds NoneType and str"),
        (lambda: metrics.per_class_accuracy([1.0, 2.0], [1, 2]), "y_true holds float"),
        (lambda: metrics.per_class_accuracy(np.ones(2), [1, 2]), "y_true holds float64"),
        (lambda: metrics.per_class_accuracy([True], [True]), "y_true holds bool"),
        (lambda: metrics.confusion_matrix(AB, ["a", "z"], AB), "y_pred has class 'z'"),
        (lambda: metrics.confusion_matrix(AB, AB, ["a", "b", "a"]), "names 'a' more than once"),
        (
            lambda: metrics.per_class_top_k_accuracy(["Indigo buntng"] * 2, TWO, NAMES[1:3]),
            r"'Indigo buntng' \(2 times\).*nearest name: 'Indigo Bunting'",
        ),
        (lambda: metrics.per_class_top_k_accuracy([1, 7], TWO, [0, 1]), "y_true has class 7"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO, AB, 3), "k is 3; .* from 1 to 2"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO, AB, 0), "k is 0"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO, AB, 1.5), "k is 1.5"),  # pyright: ignore
        (lambda: metrics.per_class_top_k_accuracy(["a"], TWO, AB), "1 rows and scores 2"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO, ["a"]), r"\(2, 2\).*1 candidates"),
        (lambda: metrics.per_class_top_k_accuracy(AB, [1, 0], AB), r"scores has shape \(2,\)"),
        (lambda: metrics.per_class_top_k_accuracy(AB, TWO * np.nan, AB), r"NaN, first at \[0, 0\]"),
        (lambda: metrics.mean_average_precision(AB, [AB, AB], AB), "scores has dtype <U1"),
        (lambda: metrics.mean_average_precision(["z"], [[1, 2]], AB), "y_true has class 'z'"),
        (lambda: metrics.average_precision([0, 0], [1, 2]), "relevant marks no row"),
        (lambda: metrics.precision_recall_curve([0, 0], [1, 2]), "relevant marks no row"),
        (lambda: metrics.average_precision([1, -1], [1, 2]), "relevant holds more than 0 and 1"),
        (lambda: metrics.average_precision([1], [1, 2]), r"shape \(1,\) and scores \(2,\)"),
        (lambda: metrics.average_precision([], []), r"relevant has shape \(0,\)"),
        (lambda: metrics.average_precision([1, 0], [1, np.nan]), r"NaN, first at \[1\]"),
        (lambda: metrics.precision_at_k([1, 0], [1, 2], 3), "k is 3; .* number of rows"),
        (lambda: metrics.harmonic_mean(-0.1, 1), "give two accuracies"),
        (lambda: metrics.harmonic_mean(np.nan, 1), "give two accuracies"),
        (lambda: metrics.generalized_accuracy(AB, AB, AB), "no row of y_true is of an unseen"),
        (lambda: metrics.generalized_accuracy(AB, AB, ["z"]), "no row of y_true is of a seen"),
        (lambda: metrics.generalized_accuracy(AB, AB, [1]), "y_true holds 'a' and seen_classes 1"),
        (lambda: metrics.seen_unseen_curve(AB, TWO, AB, AB), "no candidate is of an unseen class"),
        (lambda: metrics.seen_unseen_curve(["a"] * 2, TWO, AB, ["a"]), "no row of y_true is of an"),
        (lambda: metrics.seen_unseen_curve(AB, TWO, AB, ["z"]), "seen_classes has class 'z'"),
        (lambda: metrics.seen_unseen_curve(AB, [[1, 2], [-np.inf, 0]], AB, ["a"]), "infinite"),
        (lambda: metrics.apply_calibration(TWO, AB, ["a"], np.inf), "factor is inf"),
        (lambda: metrics.apply_calibration(TWO, AB, ["A "], 1), "'A ' .*nearest name: 'a'"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


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
    area = np.trapezoid(curve.true_positive_rate, curve.false_positive_rate)
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
    with pytest.raises(InputError, match=r"shape \(2, 2\) and scores \(2,\)"):
        metrics.known_pairs(np.ones((2, 2)), np.ones(2))
