"""Names among labels, as numpy finds them, without a copy of all labels."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from unseen import ESZSL, ClassTable, InputError
from unseen.classes.table import STRETCH, names_and_counts, places_among


@pytest.mark.parametrize("size", [0, 5, STRETCH, STRETCH + 1, 3 * STRETCH])
@pytest.mark.parametrize("dtype", ["U4", int, float, bool])
def test_names_and_places_are_those_of_numpy(size: int, dtype: Any):
    labels = np.random.default_rng(0).integers(0, 200, size).astype(dtype)
    names, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    found, n_each = names_and_counts(labels)
    np.testing.assert_array_equal(found, names)
    np.testing.assert_array_equal(n_each, counts)
    np.testing.assert_array_equal(places_among(found, labels, np.uint8), places)


def test_labels_are_not_copied():
    labels = np.random.default_rng(0).integers(0, 200, 16 * STRETCH).astype("U20")
    tracemalloc.start()
    places_among(names_and_counts(labels)[0], labels, np.uint8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < labels.nbytes / 4


@pytest.mark.parametrize("dtype", [bool, object, "boolean"])
def test_truth_values_are_no_numbers(dtype: Any):
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([True, False] * 3, dtype=dtype)
    table = ClassTable([0, 1, 2], np.eye(3))
    with pytest.raises(InputError, match="label False is a bool"):
        ESZSL().fit(np.eye(6), labels, classes=table)


def test_a_long_name_is_shortened_in_a_message():
    with pytest.raises(InputError, match=r"class 'x{200}\.\.\.' has no line in the class table"):
        ClassTable(["a", "b"], np.eye(2)).select(["x" * 900])
