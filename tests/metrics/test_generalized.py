"""The generalised setting: each measure against a case worked by hand or a brute force."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.problems import generalized_problems, quick, shuffled
from unseen import metrics


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
def test_curve_equals_predictions_after_calibration(problem, sixteenths):
    y, scores, candidates, seen = problem
    rng = np.random.default_rng(0)
    # Distinct multiples of 1/8 within a row: the argmax is unique, off the flips.
    scores = rng.permuted(np.tile(np.arange(40.0), (len(y), 1)), axis=1)[:, : len(candidates)] / 8
    factor = (2 * sixteenths + 1) / 16
    moved = scores - factor * np.isin(candidates, seen)
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
    moved = scores - (curve.best_factor * np.isin(candidates, ["a", "b"])).astype(dtype)
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
