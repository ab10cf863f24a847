"""θ against every threshold tried in turn; curves against scikit-learn and by their properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn import metrics

from unseen.inference.threshold import GOALS, best_threshold, fit_curve, on_curve

MEASURES = {
    "f1": metrics.f1_score,
    "balanced": metrics.balanced_accuracy_score,
    "accuracy": metrics.accuracy_score,
}


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.integers(-5, 5), min_size=4, max_size=25),
    seed=st.integers(0, 100),
    goal=st.sampled_from(sorted(GOALS)),
)
def test_no_other_threshold_is_better(scores: list[int], seed: int, goal: str) -> None:
    rng = np.random.default_rng(seed)
    s = np.array(scores, dtype=float)
    matches = rng.random(s.size) < 0.5
    matches[:2] = [True, False]
    weights = rng.integers(1, 4, s.size).astype(float)

    def value(threshold: float) -> float:
        return MEASURES[goal](matches, s >= threshold, sample_weight=weights)

    theta = best_threshold(matches, s, weights, goal)
    assert value(theta) == pytest.approx(max(value(t) for t in np.unique(s)))


def test_the_sigmoid_is_the_most_likely_one() -> None:
    rng = np.random.default_rng(0)
    s = rng.standard_normal(300) * 0.01
    matches = rng.random(300) < 1 / (1 + np.exp(-200 * s + 1))
    weights = rng.uniform(0.5, 2, 300)
    curve = fit_curve(matches, s, weights, "sigmoid")

    def minus_log_likelihood(at: np.ndarray) -> float:
        return float(
            weights @ np.logaddexp(0, np.where(matches, -1, 1) * (100 * at[0] * s + at[1]))
        )

    best = minimize(minus_log_likelihood, [1.0, 0.0], tol=1e-10)
    found = np.array([curve["slope"] / 100, curve["intercept"]])
    np.testing.assert_allclose(found, best.x, rtol=1e-2)
    assert minus_log_likelihood(found) == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_curves_rise_and_keep_shape_and_precision(method: str, dtype: type) -> None:
    rng = np.random.default_rng(1)
    s = rng.standard_normal(400).astype(dtype)
    matches = rng.random(400) < 1 / (1 + np.exp(-2 * s))
    curve = fit_curve(matches, s, np.ones(400), method)
    new = np.linspace(-9, 9, 60).astype(dtype).reshape(3, 20)
    p = on_curve(curve, new)
    assert p.shape == new.shape
    assert p.dtype == dtype
    assert (np.diff(p.ravel()) >= 0).all()
    assert p.min() >= 0
    assert p.max() <= 1
    assert np.mean(on_curve(curve, s)) == pytest.approx(matches.mean(), abs=1e-3)
