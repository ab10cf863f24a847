"""Labels of pairs: all forms give one matrix, and what cannot be meant is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unseen import InputError
from unseen.pairs.labels import pair_labels

signs = arrays(np.int8, (5, 4), elements=st.sampled_from([-1, 0, 1])).filter(
    lambda Y: (Y > 0).any() and (Y < 0).any()
)
GOOD = np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 0], [1, 1, -1]])


@settings(max_examples=50, deadline=None)
@given(Y=signs)
def test_array_and_sparse_are_one(Y: np.ndarray) -> None:
    for form in (
        Y,
        Y.astype(float),
        scipy.sparse.csr_array(Y),
        scipy.sparse.coo_matrix(Y),
    ):
        found = pair_labels(form, 5, 4)
        assert found.dtype == np.int8
        np.testing.assert_array_equal(found, Y)


@settings(max_examples=50, deadline=None)
@given(Y=signs, weights=arrays(np.float64, (5, 4), elements=st.floats(0.125, 8)))
def test_weights_multiply_signs_in_every_form(Y: np.ndarray, weights: np.ndarray) -> None:
    sparse = scipy.sparse.csr_array(Y)
    forms = [
        (Y, weights),
        (sparse, weights),
        (sparse, scipy.sparse.csc_array(weights)),
    ]
    for form, w in forms:
        np.testing.assert_allclose(pair_labels(form, 5, 4, w), Y * weights)
        assert pair_labels(form, 5, 4, w, np.float32).dtype == np.float32


def test_a_pair_given_n_times_weighs_n() -> None:
    expected = GOOD.astype(float)
    expected[0, 0] = 3
    coo = scipy.sparse.coo_array(GOOD)
    again = scipy.sparse.coo_array(
        (np.append(coo.data, [1, 1]), (np.append(coo.row, [0, 0]), np.append(coo.col, [0, 0]))),
        shape=(4, 3),
    )
    np.testing.assert_array_equal(pair_labels(again, 4, 3), expected)


def test_stored_zeros_are_unknown() -> None:
    sparse = scipy.sparse.csr_array(GOOD)
    sparse.data[0] = 0
    expected = GOOD.copy()
    expected[0, 0] = 0
    np.testing.assert_array_equal(pair_labels(sparse, 4, 3), expected)


def changed(value: Any) -> np.ndarray:
    Y = GOOD.astype(float)
    Y[2, 1] = value
    return Y


def twice(*labels: int) -> Any:
    """A sparse matrix that stores the first pair more than once."""
    return scipy.sparse.coo_array((labels, ([0] * len(labels), [0] * len(labels))), shape=(4, 3))


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (changed(2), "row 2, column 1 of Y holds 2"),
        (changed(np.nan), "row 2, column 1 of Y holds nan"),
        (scipy.sparse.csr_array(changed(0.5)), "row 2, column 1 of Y holds 0.5"),
        (GOOD.T, r"\(3, 4\).*must be \(4, 3\).*give Y.T"),
        (scipy.sparse.csr_array(GOOD.T), "give Y.T"),
        (np.ones((5, 5)), r"there are 4 targets \(rows of X\) and 3 sources"),
        (GOOD.ravel(), r"shape \(12,\)"),
        (np.array([["a"] * 3] * 4), "Y holds <U1 values"),
        (np.abs(GOOD), r"no pair has the label -1.*2 \* Y - 1"),
        (-np.abs(GOOD), r"no pair has the label \+1"),
        (GOOD == 1, r"2 \* Y - 1"),
        (np.zeros((4, 3)), "no pair has a label"),
        (twice(1, -1), "source 0 and target 0 is given both as"),
    ],
)
def test_bad_labels_are_named(Y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pair_labels(Y, 4, 3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((3, 4)), r"weights have shape \(3, 4\); give one for each pair: \(4, 3\)"),
        (-np.ones((4, 3)), "at least 0"),
        (np.full((4, 3), np.nan), "finite"),
        (np.zeros((4, 3)), "no pair has a label"),
    ],
)
def test_bad_weights_are_named(weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pair_labels(GOOD, 4, 3, weights)


# -- names ----------------------------------------------------------------------------------------

SOURCES, TARGETS = ["aspirin", "caffeine", "insulin"], ["p1", "p2", "p3", "p4"]
FRAME = pd.DataFrame(GOOD, index=TARGETS, columns=SOURCES)


def named(Y: Any, weights: Any = None) -> np.ndarray:
    return pair_labels(Y, 4, 3, weights, sources=SOURCES, targets=TARGETS)


def test_a_frame_is_matched_by_name() -> None:
    turned = FRAME.iloc[::-1, [2, 0, 1]]
    np.testing.assert_array_equal(named(turned), GOOD)
    weights = pd.DataFrame(np.arange(12.0).reshape(4, 3), index=TARGETS, columns=SOURCES)
    np.testing.assert_array_equal(named(turned, weights.iloc[:, ::-1]), GOOD * weights)
    # One that only counts is taken as it lies.
    np.testing.assert_array_equal(named(pd.DataFrame(GOOD)), GOOD)
    np.testing.assert_array_equal(pair_labels(turned, 4, 3), turned)


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (FRAME.rename(columns={"insulin": "insulan"}), "source 'insulan'.*nearest name: 'insulin'"),
        (FRAME.rename(index={"p4": "q9"}), "Y is about target 'q9'"),
        (FRAME[["aspirin", "insulin"]], "Y has no column for source 'caffeine'"),
        (FRAME[["aspirin", "insulin", "aspirin"]], "more than one column for source 'aspirin'"),
        (FRAME.iloc[:3], "Y has no line for target 'p4'"),
    ],
)
def test_names_that_do_not_fit_are_told(Y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        named(Y)
