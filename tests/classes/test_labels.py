"""Names among labels, as numpy finds them, without a copy of all labels."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

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
