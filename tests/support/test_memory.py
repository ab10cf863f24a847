"""Peak memory: what a piece of work takes, whatever was taken and freed before it."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.support.memory import resident, with_peak

pytestmark = pytest.mark.skipif(resident("VmRSS") is None, reason="the system tells no memory")


def small_arrays() -> int:
    """80 MB in pieces that an allocator likes to keep for itself."""
    return len([np.ones(1000) for _ in range(10_000)])


def test_the_peak_is_what_the_work_takes() -> None:
    result, peak = with_peak(lambda: np.ones(10_000_000).sum())
    assert result == 10_000_000
    assert peak == pytest.approx(76, abs=8)


def test_memory_that_was_freed_before_counts_again() -> None:
    small_arrays()
    _, peak = with_peak(small_arrays)
    assert peak is not None
    assert peak > 60
