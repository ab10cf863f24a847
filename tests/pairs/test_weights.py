"""Weights of pairs: their mass, their ratio, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unseen import InputError
from unseen.pairs.weights import label_weights, pair_weights, row_weights, sign_weights

sizes = st.integers(1, 500)
kinds = st.one_of(st.sampled_from(["uniform", "balanced"]), st.floats(1e-3, 1e3))


@given(n_rows=sizes, n_classes=st.integers(2, 300), kind=kinds)
def test_the_weights_of_all_pairs_sum_to_one(n_rows: int, n_classes: int, kind: Any) -> None:
    w = pair_weights(n_rows, n_classes, kind)
    assert n_rows * (w.pos + (n_classes - 1) * w.neg) == pytest.approx(1, rel=1e-12)


@given(n_rows=sizes, n_classes=st.integers(2, 300))
def test_balanced_gives_the_positives_half_of_the_mass(n_rows: int, n_classes: int) -> None:
    assert n_rows * pair_weights(n_rows, n_classes, "balanced").pos == pytest.approx(0.5)


@given(n_rows=sizes, n_classes=st.integers(2, 300))
def test_uniform_is_one_over_all_pairs(n_rows: int, n_classes: int) -> None:
    w = pair_weights(n_rows, n_classes, "uniform")
    assert w.pos == w.neg == pytest.approx(1 / (n_rows * n_classes))


@pytest.mark.parametrize("ratio", [5.0, 5, np.float32(5), np.int64(5)])
def test_a_number_is_the_ratio_of_a_positive_to_a_negative_pair(ratio: Any) -> None:
    w = pair_weights(7, 4, ratio)
    assert w.pos / w.neg == pytest.approx(5)
    assert (w.pos, w.neg) == (pytest.approx(5 / 56), pytest.approx(1 / 56))


@pytest.mark.parametrize(
    "bad", [0, -1, -0.5, np.nan, np.inf, "heavy", "", "5", True, False, None, [5.0]]
)
def test_anything_else_is_refused_by_name(bad: Any) -> None:
    with pytest.raises(InputError, match="positive_weight must be"):
        pair_weights(3, 2, bad)


@given(
    labels=st.lists(st.integers(0, 5), min_size=1, max_size=60),
    balance=st.floats(0.01, 1),
    kind=kinds,
)
def test_row_weights_keep_the_mass_of_all_pairs(
    labels: list[int], balance: float, kind: Any
) -> None:
    rows = row_weights(np.array(labels), balance)
    assert rows is not None
    w = pair_weights(len(labels), 6, kind, rows)
    assert float(np.sum(rows) * (w.pos + 5 * w.neg)) == pytest.approx(1, rel=1e-12)


def test_row_weights_count_rows_or_classes() -> None:
    labels = np.array([0, 0, 0, 0, 1, 2, 2])
    assert row_weights(labels, 0) is None
    whole = row_weights(labels, 1)
    assert whole is not None
    np.testing.assert_allclose(np.bincount(labels, whole), 7 / 3)
    half = row_weights(labels, 0.5)
    assert half is not None
    assert half[4] / half[0] == pytest.approx(2)


signs = arrays(np.int8, (6, 5), elements=st.sampled_from([-1, 0, 1])).filter(
    lambda Y: (Y > 0).any() and (Y < 0).any()
)


@given(Y=signs, kind=kinds, size=st.floats(0.1, 10))
def test_the_weights_of_known_pairs_sum_to_one(Y: np.ndarray, kind: Any, size: float) -> None:
    for matrix in (Y, size * Y):
        w = sign_weights(matrix, kind)
        omega = np.where(matrix > 0, w.pos, w.neg) * np.abs(matrix)
        assert omega.sum() == pytest.approx(1, rel=1e-9)
        if kind == "balanced":
            assert omega[matrix > 0].sum() == pytest.approx(0.5)


@given(labels=st.lists(st.integers(0, 5), min_size=1, max_size=40), kind=kinds)
def test_signs_of_class_labels_have_the_weights_of_classes(labels: list[int], kind: Any) -> None:
    numbers = np.array(labels)
    Y = np.where(np.arange(6) == numbers[:, None], 1, -1).astype(np.int8)
    expected = label_weights(numbers, 6, kind, 0.0)
    found = label_weights(Y, 6, kind, 0.0)
    assert found == (pytest.approx(expected.pos), pytest.approx(expected.neg), None)
