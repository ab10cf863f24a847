"""Large feature files are read into memory once."""

from __future__ import annotations

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
import scipy.io

from tests.datasets.writers import loc

N_ROWS, N_FEATURES, N_CLASSES = 12_800, 2048, 20  # 200 MiB of doubles

MEASURE = """
import resource, sys
import h5py, scipy.io
from unseen.datasets import open_dataset
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
data = open_dataset(sys.argv[1])
assert data.X.flags.c_contiguous
print(data.X.nbytes, peak() - before)
"""


def write_splits(path):
    rows = np.arange(N_ROWS)
    is_unseen, is_test = rows >= N_ROWS // 2, rows % 4 == 0
    names = np.array([[f"class {k}"] for k in range(N_CLASSES)], dtype=object)
    scipy.io.savemat(path, {
        "allclasses_names": names, "att": np.random.default_rng(0).random((9, N_CLASSES)),
        "trainval_loc": loc(rows[~is_unseen & ~is_test]),
        "test_seen_loc": loc(rows[~is_unseen & is_test]), "test_unseen_loc": loc(rows[is_unseen]),
    })  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="half a minute: not on each push")
@pytest.mark.parametrize("kind", ["5", "5 packed", "7.3", "7.3 packed"])
def test_reading_needs_the_array_at_most_twice(tmp_path, kind):
    X = np.random.default_rng(0).random((N_ROWS, N_FEATURES))
    X *= X > 0.8  # as features after a rectifier, which are quick to pack
    labels = np.repeat(np.arange(1.0, N_CLASSES + 1), N_ROWS // N_CLASSES)
    path, is_packed = tmp_path / "res101.mat", kind.endswith("packed")
    if kind.startswith("5"):
        content = {"features": X.T, "labels": labels[:, None]}
        scipy.io.savemat(path, content, do_compression=is_packed)
    else:
        packing = {"compression": "gzip", "compression_opts": 1} if is_packed else {}
        with h5py.File(path, "w", userblock_size=512) as file:
            file.create_dataset("features", data=X, **packing)
            file["labels"] = labels[None]
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    del X
    write_splits(tmp_path / "att_splits.mat")
    command = [sys.executable, "-c", MEASURE, str(tmp_path)]
    size, growth = map(int, subprocess.run(command, capture_output=True, check=True).stdout.split())
    assert size == N_ROWS * N_FEATURES * 8
    assert growth <= 2 * size + 20 * 2**20
