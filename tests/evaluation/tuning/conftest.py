"""A small problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen import make_zero_shot


@pytest.fixture(scope="package")
def data() -> Any:
    return make_zero_shot(
        n_seen=10, n_unseen=4, rows_per_class=8, n_features=12, n_attributes=9, n_factors=5,
        noise=0.8, random_state=1, dtype=np.float64,
    )  # fmt: skip
