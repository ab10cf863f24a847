"""Scores relative to the other candidates: what they keep, and what they are for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

from unseen import ESZSL, InputError, evaluate, make_zero_shot
from unseen.inference.relative import relative_scores
from unseen.metrics import mean_average_precision


def scores(dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((30, 6)).astype(dtype) * 3 + 1


def test_it_is_a_log_softmax_in_units_of_the_spread() -> None:
    S = scores()
    t = 2 / S.std()
    np.testing.assert_allclose(relative_scores(S), log_softmax(t * S, axis=1) / t, atol=1e-12)


def test_within_a_row_nothing_changes_place() -> None:
    S = scores()
    np.testing.assert_array_equal(np.argsort(S, axis=1), np.argsort(relative_scores(S), axis=1))


def test_it_does_not_depend_on_the_units_or_on_a_shift_of_a_row() -> None:
    S = scores()
    np.testing.assert_allclose(relative_scores(7 * S), 7 * relative_scores(S), rtol=1e-10)
    shift = np.linspace(-3, 3, 30)[:, None]
    first, moved = relative_scores(S), relative_scores(S + shift)
    for i in range(6):
        assert np.corrcoef(first[:, i], moved[:, i])[0, 1] > 0.98


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_stay_and_equal_scores_are_left_alone(dtype: Any) -> None:
    assert relative_scores(scores(dtype)).dtype == dtype
    flat = np.full((4, 3), 2, dtype)
    np.testing.assert_array_equal(relative_scores(flat), flat)


def test_rows_that_score_high_with_every_class_no_longer_come_first() -> None:
    S = np.eye(3)[np.array([0, 0, 1, 2])] + np.array([0, 0, 0, 5.0])[:, None]
    labels, names = np.array(["a", "a", "b", "c"]), np.array(["a", "b", "c"])
    assert mean_average_precision(labels, S, names) < 1
    assert mean_average_precision(labels, relative_scores(S), names) == 1


def test_rank_against_the_unseen_classes_is_what_evaluate_reports() -> None:
    data = make_zero_shot(8, 4, 10, 12, 8, 4, noise=1.5, random_state=2)
    model = ESZSL().fit(*data.training_set(), classes=data.classes)
    X, y = data.unseen_set()
    precisions = []
    for name in data.unseen.tolist():
        hits = y[model.rank(name, X, against="unseen").rows] == name
        at = np.flatnonzero(hits)
        precisions.append(np.mean((np.arange(at.size) + 1) / (at + 1)))
    found = evaluate(model, data)
    assert np.mean(precisions) == pytest.approx(found.relative_mean_average_precision)
    assert found.relative_mean_average_precision != found.mean_average_precision


def test_a_class_may_stand_against_a_list_with_itself() -> None:
    data = make_zero_shot(8, 4, 10, 12, 8, 4, noise=1.5, random_state=2)
    model = ESZSL().fit(*data.training_set(), classes=data.classes)
    X, name = data.unseen_set()[0], data.unseen[0].item()
    with_itself = model.rank(name, X, against=data.unseen.tolist())
    np.testing.assert_array_equal(with_itself.rows, model.rank(name, X, against="unseen").rows)
    with pytest.raises(InputError, match=f"no class competes with {name!r}"):
        model.rank(name, X, against=[name])
