"""DeViSE against its objective, a general solver, and what it should do on made-up data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.common.scalers import NOT_CENTRED
from tests.oracles import qp
from unseen import ClassTable, InputError, make_zero_shot
from unseen.estimators import DeViSE
from unseen.rows.blocks import unit_rows

DATA = make_zero_shot(dtype=np.float64)


def fitted(**parameters: Any) -> DeViSE:
    return DeViSE(**parameters).fit(*DATA.training_set(), classes=DATA.classes)


def test_reaches_the_minimum_that_a_general_solver_finds() -> None:
    """Rows and descriptions of unit length, no centring: the objective in the units it is told."""
    rng = np.random.default_rng(0)
    S, y = unit_rows(rng.standard_normal((4, 3))), np.arange(12) % 4
    X = unit_rows(S[y] @ rng.standard_normal((3, 5)) + 0.3 * rng.standard_normal((12, 5)))
    ahead = np.einsum("nd,ncr->ncdr", X, S[y][:, None] - S).reshape(-1, 15)
    other = (y[:, None] != np.arange(4)).ravel()
    margin, penalty = 0.1, 0.3
    # With z = V / m the margin is one, and J / m has the penalty m λ.
    z = qp.solve(
        margin * penalty * np.eye(15), np.zeros(15), ahead[other],
        np.full(other.sum(), 1 / 12), np.ones(other.sum()),
    )  # fmt: skip

    def objective(V: np.ndarray) -> float:
        hinges = np.maximum(margin - ahead[other] @ V.ravel(), 0)
        return hinges.sum() / 12 + penalty / 2 * np.sum(V**2)

    model = DeViSE(penalty, margin, **NOT_CENTRED, max_iter=800, tol=0.0)
    model.fit(X, y, classes=ClassTable(range(4), S))
    least = objective(margin * z)
    assert model.history_[-1] == pytest.approx(objective(model.weights_))
    assert model.history_[0] == pytest.approx(3 * margin)
    assert least <= model.history_[-1] < 1.01 * least


def test_margin_and_penalty_trade_places() -> None:
    once, other = fitted(penalty=1e-2, margin=0.1), fitted(penalty=1e-3, margin=1.0)
    np.testing.assert_allclose(other.weights_, 10 * once.weights_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.history_, 10 * once.history_)


def test_recognises_unseen_classes() -> None:
    model = fitted()
    assert model.score(*DATA.unseen_set()) > 0.8
    assert model.history_[-1] < 0.5 * model.history_[0]


def test_float32_stays_float32() -> None:
    X, y = DATA.training_set()
    model = DeViSE().fit(X.astype(np.float32), y, classes=DATA.classes)
    assert model.weights_.dtype == np.float32
    assert model.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("value", [0, -1, float("inf"), None])
def test_refuses_a_margin_that_is_not_positive(value: object) -> None:
    with pytest.raises(InputError, match="margin must be a positive number"):
        fitted(margin=value)
