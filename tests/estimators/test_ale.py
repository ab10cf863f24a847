"""ALE against its objective, a row worked by hand, and what it should do on made-up data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators import ALE
from unseen.model.ranking import weighted_ranking
from unseen.rows import ClassScaler, RowScaler
from unseen.rows.blocks import unit_rows

DATA = make_zero_shot(dtype=np.float64)


def fitted(**parameters: Any) -> ALE:
    return ALE(**parameters).fit(*DATA.training_set(), classes=DATA.classes)


def test_history_ends_with_the_objective_of_the_weights() -> None:
    """Every part formed from the rows and the table as they are given."""
    model = fitted()
    X, y = DATA.training_set()
    X = unit_rows(X) - unit_rows(X).mean(axis=0)
    X /= np.sqrt(np.mean(np.sum(X**2, axis=1)))
    seen = DATA.classes.select(DATA.seen).vectors
    S = unit_rows(seen - seen.mean(axis=0))
    losses = weighted_ranking(X @ model.weights_ @ S.T, np.searchsorted(DATA.seen, y)).values
    objective = losses.mean() + model.penalty / 2 * np.sum(model.weights_**2)
    assert model.history_[-1] == pytest.approx(objective)
    harmonic = sum(1 / k for k in range(1, DATA.seen.size))
    assert model.history_[0] == pytest.approx(harmonic)  # J(0): all slacks are one
    assert model.history_[-1] < 0.5 * model.history_[0]


def test_two_classes_worked_by_hand() -> None:
    """One row a class, x = ±1 and s = ±1: min_v [1 - 2v]_+ + λ/2 v² has v = min(2/λ, 1/2)."""
    X, table = np.array([[1.0], [-1.0]]), ClassTable(["a", "b"], [[1.0], [-1.0]])
    for penalty in (0.5, 8.0):
        model = ALE(penalty, max_iter=1000, tol=0.0).fit(X, ["a", "b"], classes=table)
        assert model.weights_[0, 0] == pytest.approx(min(2 / penalty, 0.5), rel=0.02)


def test_recognises_unseen_classes() -> None:
    assert fitted().score(*DATA.unseen_set()) > 0.8


def test_the_weights_stay_in_the_span_of_the_descriptions() -> None:
    wide = make_zero_shot(n_attributes=500)
    model = ALE().fit(*wide.training_set(), classes=wide.classes)
    S = model._class_codes(wide.classes.select(wide.seen))
    assert model.weights_.shape == (64, 500)
    assert np.linalg.matrix_rank(model.weights_, tol=1e-4) < wide.seen.size
    inside = model.weights_ @ np.linalg.pinv(S) @ S
    np.testing.assert_allclose(inside, model.weights_, atol=1e-4)
    assert model.score(*wide.unseen_set()) > 0.8


def test_a_penalty_means_the_same_in_other_units() -> None:
    """Rows ten times as long, and a table twice as long: the same model."""
    X, y = DATA.training_set()
    plain: dict[str, Any] = {
        "row_scaler": RowScaler(unit_length=False),
        "class_scaler": ClassScaler(unit_length=False),
    }
    once = ALE(**plain).fit(X, y, classes=DATA.classes)
    longer = ClassTable(DATA.classes.names, 2 * DATA.classes.vectors)
    again = ALE(**plain).fit(10 * X, y, classes=longer)
    np.testing.assert_allclose(again.similarities(10 * X), once.similarities(X), atol=1e-8)


def test_the_seed_decides_and_nothing_else() -> None:
    X = DATA.X[:5]
    once, again, other = (fitted(random_state=seed).similarities(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, other)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("penalty", 0),
        ("penalty", float("nan")),
        ("penalty", "weak"),
        ("max_iter", 0),
        ("max_iter", 2.5),
        ("tol", -1),
        ("batch_size", 0),
        ("batch_size", True),
    ],
)
def test_refuses_parameters_that_make_no_sense(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        fitted(**{name: value})
