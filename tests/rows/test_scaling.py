"""Rows in blocks and scaling of rows, against Python's own exact sums and lengths."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unseen.rows import scaling as preprocessing
from unseen.rows.blocks import BLOCK_BYTES, array_blocks, row_blocks, unit_rows
from unseen.rows.scaling import ClassScaler, RowScaler

quick = settings(max_examples=40, deadline=None)
shapes = hnp.array_shapes(min_dims=2, max_dims=2, max_side=8)


def matrices(dtype, largest, smallest):
    """Finite matrices from `smallest` to `largest`, with zeros and all signs."""
    size = st.floats(math.log10(smallest), math.log10(largest))
    cell = st.one_of(
        st.just(0.0),
        st.builds(lambda e, s: float(dtype(s * 10.0**e)), size, st.sampled_from([-1, 1])),
    )
    return hnp.arrays(dtype, shapes, elements=cell)


doubles = matrices(np.float64, 1e300, 1e-300)
singles = matrices(np.float32, 1e37, 1e-37)


# ---------------------------------------------------------------- blocks


@given(st.integers(0, 300), st.integers(0, 50), st.integers(1, 400))
def test_blocks_cover_every_row_once_in_order(n_rows, row_bytes, block_bytes):
    blocks = list(row_blocks(n_rows, row_bytes, block_bytes))
    assert [row for b in blocks for row in range(n_rows)[b]] == list(range(n_rows))
    for block in blocks:
        n = block.stop - block.start
        assert n == 1 or n * row_bytes <= block_bytes


def test_blocks_of_an_array_are_bounded_in_bytes():
    X = np.broadcast_to(np.float32(1), (10**7, 1000))  # 40 GB if it were real
    first = next(iter(array_blocks(X)))
    assert 0 < (first.stop - first.start) * 4000 <= BLOCK_BYTES


# ---------------------------------------------------------------- unit rows


@quick
@given(st.one_of(doubles, singles))
def test_unit_rows_have_length_one_and_keep_their_direction(X):
    before = X.copy()
    scaled = unit_rows(X)
    assert scaled.dtype == X.dtype
    assert np.isfinite(scaled).all()
    np.testing.assert_array_equal(X, before)
    tolerance = 20 * np.finfo(X.dtype).eps
    for row, unit in zip(X.tolist(), scaled.tolist(), strict=True):
        length = math.hypot(*row)  # neither overflows nor underflows
        expected = [x / length if length else 0.0 for x in row]
        np.testing.assert_allclose(unit, expected, rtol=tolerance, atol=np.finfo(X.dtype).tiny)


@quick
@given(singles, st.sampled_from([2.0**-60, 0.25, 2.0**40]))
def test_unit_rows_ignore_the_scale_of_a_row(X, factor):
    X = X.astype(np.float64)
    np.testing.assert_array_equal(unit_rows(X * factor), unit_rows(X))


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1.0, 1e300, 1.7e308, -1.7e308])
def test_unit_rows_at_the_ends_of_the_number_line(value):
    np.testing.assert_allclose(unit_rows(np.full((1, 4), value)), np.sign(value) * 0.5)


def test_unit_rows_of_half_precision_and_whole_numbers_are_exact():
    halves = np.full((1, 10_000), 300, dtype=np.float16)  # its square is beyond half precision
    np.testing.assert_allclose(unit_rows(halves), 0.01, rtol=1e-6)
    assert unit_rows(halves).dtype == np.float32
    np.testing.assert_allclose(unit_rows(np.array([[-128, 96]], dtype=np.int8)), [[-0.8, 0.6]])
    assert unit_rows(np.zeros((2, 0))).shape == (2, 0)


# ---------------------------------------------------------------- row scaling


def exact_mean(rows):
    return [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]


@quick
@given(matrices(np.float64, 1e3, 1e-3), st.booleans(), st.integers(1, 5))
def test_a_scaling_learned_in_blocks_is_that_of_the_whole(X, unit_length, rows_a_block):
    with pytest.MonkeyPatch.context() as patch:
        small = partial(row_blocks, row_bytes=1, block_bytes=rows_a_block)
        patch.setattr(preprocessing, "array_blocks", lambda X: small(X.shape[0]))
        scaling = RowScaler(unit_length=unit_length, center=True).learn(X)
    assert scaling.mean is not None
    rows = unit_rows(X) if unit_length else X
    np.testing.assert_allclose(scaling.mean, exact_mean(rows.tolist()), rtol=1e-12, atol=1e-12)
    expected = rows - np.array(exact_mean(rows.tolist()))
    np.testing.assert_allclose(scaling(X), expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(np.vstack([scaling(X[:1]), scaling(X[1:])]), scaling(X))


@pytest.mark.parametrize("unit_length", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_scaling_gives_a_copy_of_the_same_type(unit_length, center):
    X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    before = X.copy()
    scaling = RowScaler(unit_length, center).learn(X)
    scaled = scaling(X)
    assert scaled.dtype == np.float32
    assert not np.shares_memory(scaled, X)
    np.testing.assert_array_equal(X, before)
    assert (scaling.mean is not None) == center
    if center:
        np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-7)


def test_the_mean_of_many_single_precision_rows_is_summed_in_double():
    X = np.full((100_000, 3), 0.1, dtype=np.float32)
    mean = RowScaler(unit_length=False, center=True).learn(X).mean
    assert mean is not None
    np.testing.assert_allclose(mean, exact_mean(X.tolist()), rtol=1e-7)


def test_whole_numbers_are_not_centred_by_a_rounded_mean():
    X = np.array([[1], [2]])
    assert RowScaler(False, True).learn(X)(X).tolist() == [[-0.5], [0.5]]


# ---------------------------------------------------------------- class scaling


def test_class_descriptions_are_centred_before_they_get_length_one():
    seen = np.array([[3.0, 4.0], [-3.0, 4.0], [0.0, 1.0]])  # mean (0, 3)
    scaling = ClassScaler(unit_length=True, center=True).learn(seen)
    np.testing.assert_allclose(scaling(np.array([[4.0, 6.0], [0.0, 3.0]])), [[0.8, 0.6], [0, 0]])
    plain = ClassScaler(unit_length=False, center=False).learn(seen)
    np.testing.assert_array_equal(plain(seen), seen)


# ---------------------------------------------------------------- constant feature


@pytest.mark.parametrize("unit_length", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_constant_feature_is_a_share_of_the_length_of_rows(unit_length, center, dtype):
    X = np.random.default_rng(0).gamma(1.0, 2.0, (30, 5)).astype(dtype)
    plain = RowScaler(unit_length, center).learn(X)(X)
    length = np.sqrt(np.mean(np.sum(plain.astype(float) ** 2, axis=1)))
    wide = RowScaler(unit_length, center).learn(X, constant=0.4)(X)
    assert wide.shape == (30, 6)
    assert wide.dtype == dtype
    np.testing.assert_array_equal(wide[:, :5], plain)
    np.testing.assert_allclose(wide[:, 5], 0.4 * length, rtol=1e-5)
    scaled = RowScaler(unit_length, center).learn(X, True, 0.4)(X)
    assert np.mean(np.sum(scaled.astype(float) ** 2, axis=1)) == pytest.approx(1, rel=1e-5)
    np.testing.assert_allclose(scaled[:, 5], 0.4 / np.hypot(1, 0.4), rtol=1e-5)
    np.testing.assert_allclose(scaled[:, 5:] / scaled[:, :5], wide[:, 5:] / wide[:, :5], rtol=1e-4)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_rows_that_are_all_the_same_keep_a_constant_feature(value):
    X = np.full((4, 3), value)
    scaled = RowScaler(True, True).learn(X, True, 0.4)(X)
    assert np.isfinite(scaled).all()
    assert (scaled[:, 3] > 0).all()


def test_no_constant_feature_is_no_column():
    X = np.random.default_rng(0).standard_normal((6, 3))
    assert RowScaler(True, True).learn(X, True)(X).shape == (6, 3)
