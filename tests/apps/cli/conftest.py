"""The birds on disk, and a model of them from the command line and from the library."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.common.birds import SEEN, make_folder
from tests.common.command import BY_ESZSL, run_unseen
from unseen import ESZSL, ClassTable


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("data") / "birds")


@pytest.fixture(scope="module")
def X(folder: Path) -> np.ndarray:
    return np.load(folder / "features.npy")


@pytest.fixture(scope="module")
def model_file(folder: Path) -> Path:
    path = folder.parent / "birds.unseen"
    assert run_unseen("fit", folder, *BY_ESZSL, "--out", path).code == 0
    return path


@pytest.fixture(scope="module")
def expected(folder: Path, X: np.ndarray) -> Any:
    """The model that the library makes of the same files, read here by other means."""
    with (folder / "classes.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))[1:]
    vectors = [[float(cell) for cell in line[1:]] for line in lines]
    table = ClassTable([line[0] for line in lines], vectors)
    return ESZSL().fit(X[:56], np.repeat(SEEN, 7), classes=table)
