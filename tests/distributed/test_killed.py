"""A worker that is killed while it reads a block: the result is the same, to the last bit."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.distributed.conftest import written
from unseen import make_zero_shot
from unseen.estimators import EXEM, GFZSL
from unseen.estimators.eszsl import ESZSL
from unseen.estimators.gaussian_match import GaussianMatch
from unseen.estimators.sae import SAE

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("CI" in os.environ, reason="twenty kills take a minute: not on each push"),
]


def _deadly(block: np.ndarray, folder: str, block_id: Any) -> np.ndarray:
    """Ends the process if a file says so for this block; the file goes first, so only once."""
    try:
        os.remove(Path(folder) / f"kill-{block_id[0]}")
    except FileNotFoundError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
    return block


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(
        n_seen=8, n_unseen=3, rows_per_class=50, n_features=16, n_attributes=10, random_state=3
    )


def blocks_of(X: np.ndarray, folder: Path, place: Path) -> Any:
    """Rows in files, whose reading kills."""
    rows = written(X, place).to_dask(block_rows=60)
    return rows.map_blocks(_deadly, folder=str(folder), dtype=X.dtype, meta=X[:0])


def condemn(folder: Path, *blocks: int) -> None:
    for block in blocks:
        (folder / f"kill-{block}").touch()


def check_killed(folder: Path) -> None:
    assert not list(folder.iterdir()), "a block was never read"


@pytest.mark.parametrize("kind", [GaussianMatch, GFZSL, ESZSL, SAE, EXEM])
def test_fits_survive(kind: Any, mortals: Any, data: Any, tmp_path: Path) -> None:
    X, y = data.training_set()
    folder = tmp_path / "kills"
    folder.mkdir()
    rows = blocks_of(X, folder, tmp_path / "rows")
    calm = kind().fit(rows, y, data.classes)
    condemn(folder, 0, 5)
    hit = kind().fit(rows, y, data.classes)
    check_killed(folder)
    test = data.unseen_set()[0]
    np.testing.assert_array_equal(hit.similarities(test), calm.similarities(test))


WORK: dict[str, Callable[..., Any]] = {
    "predict": lambda model, rows: model.predict(rows, "all").compute(),
    "similarities": lambda model, rows: model.similarities(rows, "all").compute(),
    "transform": lambda model, rows: model.transform(rows).compute(),
    "rank": lambda model, rows: model.rank(model.unseen_classes_[0], rows, 20).rows,
    "rank against others": lambda model, rows: (
        model.rank(model.unseen_classes_[0], rows, 20, "unseen").rows
    ),
}


@pytest.mark.parametrize("what", WORK)
def test_prediction_and_retrieval_survive(
    what: str, mortals: Any, data: Any, tmp_path: Path
) -> None:
    X, y = data.training_set()
    model = GaussianMatch().fit(X, y, data.classes)
    folder = tmp_path / "kills"
    folder.mkdir()
    rows = blocks_of(X, folder, tmp_path / "rows")
    calm = WORK[what](model, rows)
    condemn(folder, 2, 6)
    np.testing.assert_array_equal(WORK[what](model, rows), calm)
    check_killed(folder)
