"""Kernels give the same bits when they were compiled just now and when they come from the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import hashlib, warnings
import numpy as np
from unseen.solvers.similarity import fit_similarity
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
Zs, Zt = (rng.standard_normal(s).astype(np.float32) for s in ((9, 7), (60, 6)))
found = fit_similarity(Zs, Zt, np.arange(60) % 9, lam=1e-3, w_pos=1e-2, w_neg=1e-3, fit_bias=True)
print(hashlib.sha256(found.value.W.tobytes()).hexdigest(), found.n_iter)
"""


@pytest.mark.slow
def test_the_cache_does_not_change_a_bit(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert list(tmp_path.rglob("*.nbc"))
    assert int(printed[0].split()[1]) > 5
    assert printed[0] == printed[1]
