"""A cluster of processes on this machine: one for the tests of a module, or one for each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unseen import open_rows
from unseen.rows.store import RowStore


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with _cluster() as client:
        yield client


@pytest.fixture
def mortal() -> Iterator[Any]:
    """A client of workers of which a test may kill one."""
    with _cluster() as client:
        yield client


@pytest.fixture
def mortals() -> Iterator[Any]:
    """A client of workers of which a test may kill two: Dask does not start one again that is
    killed while it starts, so there must be more than are killed."""
    with _cluster(3) as client:
        yield client


@contextmanager
def _cluster(n_workers: int = 2) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        )
    with cluster, distributed.Client(cluster) as client:
        yield client
    # A client that is closed gives back the scheduler of the process, some time later: the next
    # test would be sent to a cluster that is gone.
    dask, start = pytest.importorskip("dask"), time.monotonic()
    while dask.config.get("scheduler", None) and time.monotonic() < start + 5:
        time.sleep(0.01)
    dask.config.config.pop("scheduler", None)


def written(X: np.ndarray, folder: Path) -> RowStore:
    """Rows in three files."""
    folder.mkdir()
    for k, rows in enumerate(np.array_split(X, 3)):
        np.save(folder / f"part-{k}.npy", rows)
    return open_rows(folder)
