"""The default setting is kept unless it is clearly beaten."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student_t

from unseen import ESZSL, GaussianMatch, tune
from unseen.evaluation import Protocol
from unseen.evaluation.tuning import Trial, choose
from unseen.evaluation.tuning.results import Choice

SCORES = st.lists(st.floats(0, 1), min_size=5, max_size=5)


def trial(scores: Any, **parameters: Any) -> Trial:
    return Trial(parameters, tuple(scores))


def chosen(trials: list[Trial], default: Trial) -> Choice:
    """As if each split held out a fifth of ten classes."""
    return choose(trials, default, 2, 10)


def test_a_clear_gain_takes_the_place_of_the_default() -> None:
    best, default = trial([0.6, 0.7, 0.65], a=5), trial([0.5, 0.61, 0.55], a=1)
    choice = chosen([best, default], default)
    assert choice.kept is best
    assert not choice.kept_default
    assert choice.gain.mean == pytest.approx(0.29 / 3)
    gains = [0.1, 0.09, 0.1]
    assert choice.gain.error == pytest.approx(np.sqrt((1 / 3 + 2 / 8) * np.var(gains, ddof=1)))


@pytest.mark.parametrize(
    ("best", "default"),
    [([0.6, 0.5, 0.9], [0.62, 0.58, 0.55]), ([0.60, 0.62, 0.68], [0.58, 0.62, 0.62])],
    ids=["within one standard error", "within two"],
)
def test_a_gain_within_its_error_does_not(best: list[float], default: list[float]) -> None:
    trials = [trial(best, a=5), trial(default, a=1)]
    choice = chosen(trials, trials[1])
    assert choice.kept is trials[1]
    assert choice.kept_default
    assert choice.gain.mean > 0


def test_only_common_splits_are_compared() -> None:
    trials = [trial([0.6, 0.7, 0.8, 0.9], a=5), trial([0.65, 0.75], a=1)]
    choice = chosen(trials, trials[1])
    assert choice.kept_default
    assert choice.n_splits == 2
    assert choice.gain.mean == pytest.approx(-0.05)


def test_a_default_with_more_splits_can_be_beaten() -> None:
    """As where the budget ends a split behind the default, which comes first."""
    trials = [trial([0.2, 0.3, 0.9], a=1), trial([0.4, 0.51], a=5)]
    assert chosen(trials, trials[0]).kept is trials[1]


def test_one_split_is_no_reason_to_leave_the_default() -> None:
    trials = [trial([0.9], a=5), trial([0.1], a=1)]
    assert chosen(trials, trials[1]).kept_default


def test_a_default_that_failed_is_not_kept() -> None:
    trials = [trial([0.1], a=5), Trial({"a": 1}, error="ValueError: no")]
    assert chosen(trials, trials[1]).kept is trials[0]


def test_others_that_failed_or_were_never_tried_are_not_taken() -> None:
    default = trial([0.1, 0.1], a=1)
    others = [trial([], a=5), Trial({"a": 7}, (0.9, 0.9), error="ValueError: no")]
    assert chosen([default, *others], default).kept is default
    assert chosen(others[:1], others[0]).kept is others[0]


@given(SCORES, SCORES)
def test_what_is_kept_is_never_worse_on_the_splits(one: list[float], two: list[float]) -> None:
    trials = [trial(one, a=5), trial(two, a=1)]
    choice = chosen(trials, trials[1])
    assert choice.kept.mean >= trials[1].mean
    difference = np.subtract(one, two)
    error = difference.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    margin = student_t.ppf(norm.cdf(2.0), 4) * error
    if abs(difference.mean() - margin) > 1e-12:
        assert choice.kept_default == (difference.mean() < margin)


# -- in a search --------------------------------------------------------------------------------


def test_a_good_default_is_kept(data: Any) -> None:
    X, y = data.training_set()
    estimator = ESZSL()
    found = tune(estimator, X, y, data.classes, {"row_penalty": [1e6, 1e9]})
    assert found.kept_default
    assert found.best_parameters == {"row_penalty": estimator.row_penalty}
    assert found.best_score == found.default.mean
    assert found.estimator.get_params() == estimator.get_params()
    assert found.choice.gain.mean <= 0


@pytest.mark.filterwarnings("ignore::unseen.errors.TrustWarning")
def test_a_bad_default_is_given_up(data: Any) -> None:
    X, y = data.training_set()
    blind = GaussianMatch(width=0.01)  # all unseen classes look alike
    found = tune(blind, X, y, data.classes, {"width": [1.0]}, protocol=Protocol(3, 5))
    assert not found.kept_default
    assert found.choice.gain.mean > 2 * found.choice.gain.error > 0
    assert found.best_score == pytest.approx(found.default.mean + found.choice.gain.mean)
    assert found.estimator.get_params()["width"] == 1.0
    assert len(found.trials) == 2, "all trials are there"
