"""Pairs: their weights, their losses against loops, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.oracles.joint import loss_of
from tests.oracles.pairs import explicit_pairs, loss_value
from tests.solvers.problems import random_problem, seeds, signed_problem
from unseen import InputError
from unseen.pairs.loss import LOSSES, Omega, Pairs, pair_loss

sizes = st.integers(1, 500)
kinds = st.one_of(st.sampled_from(["uniform", "balanced"]), st.floats(1e-3, 1e3))
quick = settings(max_examples=30, deadline=None)


@pytest.mark.parametrize(
    ("margin", "hinge", "squared"), [(2.0, 0, 0), (1.0, 0, 0), (0.5, 0.5, 0.25), (-1.0, 2, 4)]
)
def test_pair_loss_worked_by_hand(margin: float, hinge: float, squared: float) -> None:
    assert pair_loss(np.array([margin]), "hinge") == hinge
    assert pair_loss(np.array([margin]), "squared_hinge") == squared
    assert loss_of(margin, "squared_hinge") == squared, "as the oracle says"


def test_float32_stays_and_margins_are_left_alone() -> None:
    for loss in LOSSES:
        margin = np.array([-1.0, 3.0], np.float32)
        assert pair_loss(margin, loss).dtype == np.float32
        assert margin.tolist() == [-1, 3]


# -- weights --------------------------------------------------------------------------------------


def weights(n_rows: int, n_classes: int, kind: Any) -> Omega:
    return Pairs.weighted(np.zeros(n_rows, int), n_classes, kind).omega


@quick
@given(n_rows=sizes, n_classes=st.integers(2, 300), kind=kinds)
def test_the_weights_of_all_pairs_sum_to_one(n_rows: int, n_classes: int, kind: Any) -> None:
    omega = weights(n_rows, n_classes, kind)
    mass = n_rows * (omega.positive + (n_classes - 1) * omega.negative)
    assert mass == pytest.approx(1, rel=1e-12)
    if kind == "balanced":
        assert n_rows * omega.positive == pytest.approx(0.5)
    if kind == "uniform":
        assert omega.positive == omega.negative == pytest.approx(1 / (n_rows * n_classes))


@pytest.mark.parametrize("ratio", [5.0, 5, np.float32(5), np.int64(5)])
def test_a_number_is_the_ratio_of_a_positive_to_a_negative_pair(ratio: Any) -> None:
    assert weights(7, 4, ratio) == (pytest.approx(5 / 56), pytest.approx(1 / 56))


def test_one_class_has_positive_pairs_alone() -> None:
    for kind in ("uniform", "balanced", 3.0):
        assert 4 * weights(4, 1, kind).positive == pytest.approx(1)


signs = arrays(np.int8, (6, 5), elements=st.sampled_from([-1, 0, 1])).filter(
    lambda Y: (Y > 0).any() and (Y < 0).any()
)


@quick
@given(Y=signs, kind=kinds, size=st.floats(0.1, 10))
def test_the_weights_of_known_pairs_sum_to_one(Y: np.ndarray, kind: Any, size: float) -> None:
    for matrix in (Y, size * Y):
        omega = np.abs(Pairs.weighted(matrix, 5, kind).signed_omega())
        assert omega.sum() == pytest.approx(1, rel=1e-9)
        if kind == "balanced":
            assert omega[matrix > 0].sum() == pytest.approx(0.5)


@quick
@given(labels=st.lists(st.integers(0, 5), min_size=1, max_size=40), kind=kinds)
def test_signs_of_class_labels_have_the_weights_of_classes(labels: list[int], kind: Any) -> None:
    numbers = np.array(labels)
    Y = np.where(np.arange(6) == numbers[:, None], 1, -1).astype(np.int8)
    expected, found = (Pairs.weighted(y, 6, kind) for y in (numbers, Y))
    assert found.omega == pytest.approx(expected.omega)
    np.testing.assert_allclose(found.signed_omega(), expected.signed_omega())


# -- losses and duals -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [random_problem, signed_problem])
@pytest.mark.parametrize("seed", seeds(40))
def test_losses_match_explicit_matrices(seed: int, make: Any) -> None:
    p = make(seed)
    pairs, S = p.pairs, p.Zt @ p.rng.standard_normal((p.Zt.shape[1], len(p.Zs)))
    Y, omega = explicit_pairs(pairs)
    np.testing.assert_allclose(pairs.signed_omega(), (Y * omega).T)
    by_row = [loss_value(Y[:, j] * S[j], omega[:, j], pairs.loss) for j in range(len(S))]
    by_class = [loss_value(Y[i] * S[:, i], omega[i], pairs.loss) for i in range(len(Y))]
    np.testing.assert_allclose(pairs.row_losses(S), by_row, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(pairs.class_losses(S), by_class, rtol=1e-12, atol=1e-14)
    assert pairs.total_loss(S) == pytest.approx(sum(by_row), rel=1e-12)


@pytest.mark.parametrize("make", [random_problem, signed_problem])
@pytest.mark.parametrize("seed", seeds(40))
def test_duals_in_the_box_bound_the_loss(seed: int, make: Any) -> None:
    """Fenchel: Σ ω loss(y s) >= Σ_i α - a s (- α²/4ω) for every a that `clip` lets through."""
    p = make(seed)
    pairs, S = p.pairs, 3 * p.rng.standard_normal((len(p.Zt), len(p.Zs)))
    A = p.rng.standard_normal(S.shape)
    pairs.clip(A)
    V = pairs.signed_omega()
    assert (A * np.sign(V) >= 0).all()
    assert (A[V == 0] == 0).all()
    if not pairs.is_squared:
        assert (np.abs(A) <= np.abs(V)).all()
    np.testing.assert_allclose(pairs.class_dual_terms(A.T).sum(), pairs.row_dual_terms(A).sum())
    assert (pairs.row_losses(S) >= pairs.row_dual_terms(A) - np.sum(A * S, axis=1) - 1e-12).all()


@pytest.mark.parametrize("make", [random_problem, signed_problem])
@pytest.mark.parametrize("seed", range(3))
def test_parts_have_the_pairs_of_their_rows_and_classes(seed: int, make: Any) -> None:
    pairs = make(seed).pairs
    V, rows = pairs.signed_omega(), np.arange(len(pairs))[::2]
    classes = np.arange(pairs.n_classes)[::-2]
    np.testing.assert_array_equal(pairs[rows].signed_omega(), V[rows])
    part = pairs.of_classes(classes)
    assert part.n_classes == len(classes)
    np.testing.assert_array_equal(part.signed_omega(), V[:, classes])
    np.testing.assert_array_equal(part[:1].signed_omega(), V[:1, classes])


def test_a_loss_that_there_is_not_is_named() -> None:
    omega = Omega(1.0, 1.0)
    with pytest.raises(InputError, match="loss must be one of"):
        Pairs(np.array([0, 1]), 3, omega, "logistic")
