"""Where training starts: λ, first codes and W."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracles.joint import objective, scaled_rows
from unseen import JLSE, make_zero_shot
from unseen.pairs.loss import Pairs
from unseen.rows.blocks import TrainingRows
from unseen.rows.scaling import RowScaler
from unseen.training.alternating import Data, Training, begin, mean_square_spread

DATA = make_zero_shot(6, 0, 8, 10, 7, 4, noise=0.8, dtype=np.float64)
LABELS = np.repeat(np.arange(6), 8)
S = DATA.classes.vectors / np.linalg.norm(DATA.classes.vectors, axis=1, keepdims=True)
SPREAD = np.sum((S - S.mean(axis=0)) ** 2) / 6


def started(
    found: Any = None,
    labels: np.ndarray = LABELS,
    S: np.ndarray = S,
    loss: str = "hinge",
    block_tol: float = 1e-3,
    **changed: Any,
) -> Training:
    choices = {
        "n_target_atoms": 5,
        "source_fit": 0.5,
        "source_shrinkage": 0.4,
        "target_fit": 2.0,
        "target_shrinkage": 0.1,
        "similarity_penalty": 0.3,
    }
    rows = TrainingRows(DATA.X, RowScaler(True, True).learn(DATA.X, True, 0.4))
    data = Data(S, rows, Pairs.weighted(labels, 6, 3.0, loss))
    return begin(data, JLSE(**choices | changed), block_tol, found)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_lambdas_are_in_units_of_the_pair_loss_that_the_first_similarity_leaves(loss: str) -> None:
    t = started(loss=loss)
    w, X = t.lambdas, scaled_rows(DATA.X, t.rows.scaling)
    left = objective(t.S, X, t.pairs, t.codes, w).pairs
    assert left > 0.01
    found = (w.source_fit, w.source_shrink, w.target_fit, w.target_shrink)
    assert found == pytest.approx((0.5 * left / SPREAD, 0.2 * left, 2.0 * left, 0.2 * left))


def test_lambdas_stay_positive_where_no_loss_is_left() -> None:
    t = started()
    t.Zs, t.Zt, t.W = np.eye(6), np.eye(6)[LABELS], 4 * np.eye(6) - 2
    t.set_fits(0.5, 2.0)
    w = t.lambdas
    assert (w.source_fit, w.target_fit) == pytest.approx((0.5e-3, 2e-3))
    assert (w.source_shrink, w.target_shrink) == pytest.approx((0.2e-3 * SPREAD, 0.2e-3))


def test_the_first_codes_of_rows_are_those_of_the_data_fit() -> None:
    """Which depends on the ratio of the λ alone."""
    t = started()
    X, D = scaled_rows(DATA.X, t.rows.scaling), t.D
    H = 0.1 * np.eye(5) + D.T @ D
    np.testing.assert_allclose(t.Zt, np.linalg.solve(H, D.T @ X.T).T, atol=1e-8)


def test_what_descriptions_have_in_common_does_not_matter() -> None:
    """Codes sum to one, so neither codes nor λ see a vector that is added to all descriptions."""
    plain, moved = started(), started(S=S + 3.0)
    np.testing.assert_allclose(moved.Zs, plain.Zs, atol=1e-6)
    for name in ("source_fit", "source_shrink"):
        assert getattr(moved.lambdas, name) == pytest.approx(getattr(plain.lambdas, name), rel=1e-4)
    assert mean_square_spread(np.ones((4, 2))) == 1.0


def test_the_penalty_is_in_units_of_codes_and_classes() -> None:
    t = started()
    size = np.mean(np.sum(t.Zs**2, axis=1)) * np.mean(np.sum(t.Zt**2, axis=1))
    assert t.lambdas.similarity == pytest.approx(0.3 * size / 6)


def test_dictionaries_have_the_sizes_asked_for() -> None:
    plain, few = started(), started(n_source_atoms=3, n_target_atoms=2)
    np.testing.assert_array_equal(plain.B, plain.S.T)
    assert plain.D.shape == (11, 5), "the constant feature is one of the columns"
    assert (few.B.shape[1], few.D.shape[1]) == (3, 2)


def test_the_first_similarity_is_the_best_for_the_first_codes() -> None:
    t = started(block_tol=1e-6)
    before = t.objective().total
    t.fit_similarity()
    assert t.objective().total == pytest.approx(before, rel=1e-5)


def test_labels_of_pairs_start_alike() -> None:
    signs = np.where(np.arange(6) == LABELS[:, None], 1, -1).astype(np.int8)
    by_class, by_sign = started(block_tol=1e-6), started(labels=signs, block_tol=1e-6)
    np.testing.assert_array_equal(by_class.Zt, by_sign.Zt)
    assert by_sign.objective().total == pytest.approx(by_class.objective().total, rel=1e-4)


def test_a_state_that_was_found_takes_the_place_of_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = started()
    first.run(1)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("begun anew")

    for name in ("source_dictionary", "target_dictionary"):
        monkeypatch.setattr(f"unseen.training.alternating.initial_{name}", refuse)
    again = started(found=first.state())
    assert (again.n_blocks, again.lambdas) == (5, first.lambdas)
    for found, expected in zip(again.codes, first.codes, strict=True):
        np.testing.assert_array_equal(found, expected)
