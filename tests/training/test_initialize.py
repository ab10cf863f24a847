"""Where training starts: eigenvectors, class atoms, λ, first codes and W."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from tests.oracles.joint import objective, scaled_rows
from unseen import JLSE, make_zero_shot
from unseen.pairs.loss import Pairs
from unseen.rows.blocks import TrainingRows
from unseen.rows.scaling import RowScaler, RowScaling
from unseen.training.alternating import Data, Training
from unseen.training.initialize import (
    MOST_CLASS_ATOMS,
    begin,
    mean_square_spread,
    source_dictionary,
    target_dictionary,
)

PLAIN = RowScaling(False, None)


def decaying(n: int, d: int, dtype: Any, decay: float = 0.95, seed: int = 0) -> np.ndarray:
    """Rows whose k-th principal direction is `decay` times as long as the one before."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return ((rng.standard_normal((n, d)) * decay ** np.arange(d)) @ basis.T + 0.1).astype(dtype)


def top_eigenvectors(X: np.ndarray, h: int) -> np.ndarray:
    return np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :h]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    ("d", "h"), [(20, 6), (20, 20), (600, 40)], ids=["exact", "square", "randomised"]
)
def test_target_atoms_are_the_top_eigenvectors(d: int, h: int, center: bool, dtype: Any) -> None:
    X = decaying(700, d, dtype)
    scaling = RowScaler(True, center).learn(X, True)
    D = target_dictionary(TrainingRows(X, scaling), h, 0)
    assert D.shape == (d, h)
    assert D.dtype == dtype
    np.testing.assert_allclose(D.T @ D, np.eye(h), atol=1e-5 if dtype == np.float32 else 1e-10)
    explicit = scaled_rows(X, scaling)
    for k in {1, h // 2, h}:
        angle = subspace_angles(D[:, :k].astype(float), top_eigenvectors(explicit, k)).max()
        assert angle < 0.02, k
    lengths = np.linalg.norm(explicit @ D, axis=0)
    assert (np.diff(lengths) < 1e-5 * lengths[0]).all(), "largest first"


def test_target_atoms_are_the_same_each_time() -> None:
    rows = TrainingRows(decaying(300, 400, np.float32), PLAIN)
    np.testing.assert_array_equal(target_dictionary(rows, 10, 0), target_dictionary(rows, 10, 0))


def test_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = TrainingRows(decaying(300, 300, np.float64), PLAIN)
    whole = target_dictionary(rows, 10, 0)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (50_000,))
    assert subspace_angles(target_dictionary(rows, 10, 0), whole).max() < 1e-6


@pytest.mark.parametrize(("n", "d"), [(5, 30), (5, 300), (30, 4)])
def test_no_more_atoms_than_columns_or_rows(n: int, d: int) -> None:
    rows = TrainingRows(decaying(n, d, np.float64), PLAIN)
    D = target_dictionary(rows, 25, 0)
    assert D.shape == (d, min(n, d, 25))
    np.testing.assert_allclose(D.T @ D, np.eye(D.shape[1]), atol=1e-8)


@pytest.mark.parametrize("d", [10, 300])
@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("center", [False, True])
def test_constant_rows_still_give_orthonormal_atoms(d: int, value: float, center: bool) -> None:
    X = np.full((40, d), value)
    D = target_dictionary(TrainingRows(X, RowScaler(True, center).learn(X, True)), 5, 0)
    np.testing.assert_allclose(D.T @ D, np.eye(5), atol=1e-8)


@pytest.mark.parametrize("d", [30, 300])
def test_rank_deficient_rows(d: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, d))
    D = target_dictionary(TrainingRows(X, PLAIN), 8, 0)
    np.testing.assert_allclose(D.T @ D, np.eye(8), atol=1e-8)
    np.testing.assert_allclose(X @ D[:, :3] @ D[:, :3].T, X, atol=1e-6)


def test_every_class_is_an_atom() -> None:
    S = np.random.default_rng(0).standard_normal((7, 4)).astype(np.float32)
    for n_atoms in (None, 7, 50):
        B = source_dictionary(S, n_atoms, 0)
        np.testing.assert_array_equal(B, S.T)
        assert not np.shares_memory(B, S)


def test_fewer_atoms_than_classes_are_centres_of_groups() -> None:
    """Three tight groups: the centres are their means."""
    rng = np.random.default_rng(0)
    means = np.array([[5.0, 0, 0], [0, 5, 0], [0, 0, 5]])
    S = np.repeat(means, 4, axis=0) + 0.01 * rng.standard_normal((12, 3))
    B = source_dictionary(S, 3, 0)
    expected = S.reshape(3, 4, 3).mean(axis=1)
    order = B.argmax(axis=0)
    np.testing.assert_allclose(B.T, expected[order], atol=1e-10)
    np.testing.assert_array_equal(source_dictionary(S, 3, 0), B)


def test_many_classes_get_two_hundred_atoms() -> None:
    S = np.random.default_rng(0).standard_normal((MOST_CLASS_ATOMS + 7, 5)).astype(np.float32)
    B = source_dictionary(S, None, 0)
    assert B.shape == (5, MOST_CLASS_ATOMS)
    assert B.dtype == np.float32


def test_fewer_different_descriptions_than_atoms() -> None:
    S = np.repeat(np.eye(3), 4, axis=0)
    B = source_dictionary(S, 6, 0)
    assert np.isfinite(B).all()
    assert {tuple(np.round(atom)) for atom in B.T} == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}


# -- λ, first codes and W -------------------------------------------------------------------------

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
        monkeypatch.setattr(f"unseen.training.initialize.{name}", refuse)
    again = started(found=first.state())
    assert (again.n_rounds, again.lambdas) == (1, first.lambdas)
    for found, expected in zip(again.codes, first.codes, strict=True):
        np.testing.assert_array_equal(found, expected)
