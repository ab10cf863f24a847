"""A small problem, and JLSE trained on it once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.common.small import fit_jlse
from unseen import JLSE, make_zero_shot


@pytest.fixture(scope="package")
def data() -> Any:
    return make_zero_shot(
        12,
        4,
        15,
        n_features=16,
        n_attributes=20,
        n_factors=5,
        noise=0.4,
        table_noise=0.2,
        random_state=3,
        dtype=np.float64,
    )


@pytest.fixture(scope="package")
def model(data: Any) -> JLSE:
    return fit_jlse(data)


@pytest.fixture(scope="package")
def rows(data: Any) -> np.ndarray:
    return data.unseen_set()[0]
