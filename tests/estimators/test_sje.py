"""SJE: the structured hinge, and several descriptions of the classes at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import unseen
from tests.common.scalers import NOT_CENTRED
from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators import SJE
from unseen.estimators.sje import simplex_grid
from unseen.rows.blocks import unit_rows

DATA = make_zero_shot(dtype=np.float64)
X, Y = DATA.training_set()
NOISE = ClassTable(
    DATA.classes.names, np.random.default_rng(0).standard_normal((DATA.classes.n_classes, 6))
)
BOTH = ClassTable.beside({"table": DATA.classes, "noise": NOISE})


def fitted(classes: ClassTable = DATA.classes, **parameters: Any) -> SJE:
    return SJE(**parameters).fit(X, Y, classes=classes)


def test_reaches_the_minimum_that_a_general_solver_finds() -> None:
    """Rows and descriptions of unit length; slacks as variables: a smooth problem under bounds."""
    rng = np.random.default_rng(1)
    S, y = unit_rows(rng.standard_normal((4, 2))), np.arange(8) % 4
    rows = unit_rows(S[y] @ rng.standard_normal((2, 3)) + 0.3 * rng.standard_normal((8, 3)))
    ahead = np.einsum("nd,ncr->ncdr", rows, S[y][:, None] - S).reshape(8, 4, 6)
    wrong = y[:, None] != np.arange(4)
    penalty = 0.2

    def objective(V: np.ndarray) -> float:
        slack = np.where(wrong, np.maximum(1 - ahead @ V.ravel(), 0), 0)
        return slack.max(axis=1).mean() + penalty / 2 * np.sum(V**2)

    solution = scipy.optimize.minimize(
        lambda v: v[6:].mean() + penalty / 2 * v[:6] @ v[:6],
        np.r_[np.zeros(6), np.ones(8)],
        constraints={
            "type": "ineq",
            "fun": lambda v: (v[6:, None] - 1 + ahead @ v[:6])[wrong],
        },
        bounds=[(None, None)] * 6 + [(0, None)] * 8,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert solution.success
    least = objective(solution.x[:6])
    assert least == pytest.approx(solution.fun, rel=1e-6)
    model = SJE(penalty, **NOT_CENTRED, max_iter=600, tol=0.0)
    model.fit(rows, y, classes=ClassTable(range(4), S))
    assert model.history_[0] == pytest.approx(1)
    assert model.history_[-1] == pytest.approx(objective(model.weights_))
    assert least * (1 - 1e-6) <= model.history_[-1] < 1.01 * least


def test_recognises_unseen_classes() -> None:
    model = fitted()
    assert model.score(*DATA.unseen_set()) > 0.8
    assert model.history_[-1] < 0.5 * model.history_[0]
    assert model.table_weights_ == {"all": 1.0}


def test_the_score_is_the_weighted_sum_of_the_scores_of_each_description() -> None:
    both = fitted(BOTH, table_weights={"noise": 1, "table": 3})
    assert both.table_weights_ == {"table": 0.75, "noise": 0.25}
    alone = [fitted(t).similarities(DATA.X, "all") for t in (DATA.classes, NOISE)]
    expected = 0.75 * alone[0] + 0.25 * alone[1]
    np.testing.assert_allclose(both.similarities(DATA.X, "all"), expected, atol=1e-9)
    histories = [fitted(t).history_ for t in (DATA.classes, NOISE)]
    assert both.history_[-1] == pytest.approx(histories[0][-1] + histories[1][-1])
    assert both.n_iter_ == max(h.size for h in histories) - 1


def test_learned_weights_leave_out_what_tells_nothing() -> None:
    both = fitted(BOTH)
    assert sum(both.table_weights_.values()) == pytest.approx(1)
    assert both.table_weights_["table"] > 0.6
    equal = fitted(BOTH, table_weights="equal")
    assert equal.table_weights_ == {"table": 0.5, "noise": 0.5}
    rows, labels = DATA.unseen_set()
    assert both.score(rows, labels) >= equal.score(rows, labels)


def test_two_halves_of_a_description_are_better_than_one() -> None:
    halves = {"first": DATA.classes.subset([0, 1]), "second": DATA.classes.subset([2, 3])}
    rows, labels = DATA.unseen_set()
    both = fitted(ClassTable.beside(halves))
    alone = [fitted(half).score(rows, labels) for half in halves.values()]
    assert both.score(rows, labels) > max(alone)
    assert min(both.table_weights_.values()) > 0


def test_with_few_classes_weights_are_equal() -> None:
    few = make_zero_shot(n_seen=3)
    table = ClassTable.beside({"a": few.classes, "b": few.classes.subset([0, 1])})
    model = SJE().fit(*few.training_set(), classes=table)
    assert model.table_weights_ == {"a": 0.5, "b": 0.5}


def test_candidates_need_no_groups(tmp_path: Any) -> None:
    """A plain table of new classes, and a model from a file, are split as in training."""
    model = fitted(BOTH)
    rows = DATA.X[:5]
    expected = model.similarities(rows)
    plain = {n: BOTH.vector(n) for n in model.classes_.tolist()}
    np.testing.assert_allclose(model.similarities(rows, plain), expected)
    model.save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    assert loaded.class_table_.groups == BOTH.groups
    assert loaded.table_weights_ == model.table_weights_
    np.testing.assert_array_equal(loaded.similarities(rows), expected)
    new = loaded.reveal({"new": BOTH.vectors[0]})
    assert new.class_table_.groups == BOTH.groups
    assert new.similarities(rows, ["new"]).shape == (5, 1)


@pytest.mark.parametrize(("n_weights", "n_points"), [(1, 1), (2, 11), (3, 66), (4, 286), (9, 165)])
def test_the_grid_of_weights(n_weights: int, n_points: int) -> None:
    grid = simplex_grid(n_weights)
    assert grid.shape == (n_points, n_weights)
    assert np.unique(grid, axis=0).shape == grid.shape
    assert grid.min() >= 0
    np.testing.assert_allclose(grid.sum(axis=1), 1)
    corners = np.eye(n_weights)
    assert all((grid == corner).all(axis=1).any() for corner in corners)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("best", "'holdout', 'equal' or a mapping"),
        ({"table": 1}, "names 'table', the groups .* are 'table', 'noise'"),
        ({"table": 1, "noise": -1}, "'noise'.* at least 0"),
        ({"table": 0, "noise": 0}, "above zero"),
        (3, "'holdout'"),
    ],
)
def test_refuses_weights_that_make_no_sense(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(BOTH, table_weights=value)


def test_refuses_a_group_that_tells_nothing() -> None:
    constant = ClassTable(DATA.classes.names, np.ones((DATA.classes.n_classes, 2)))
    with pytest.raises(InputError, match=r"group 'dull' .* same vector"):
        fitted(ClassTable.beside({"table": DATA.classes, "dull": constant}))
