"""A cluster of two processes on this machine, shared by the tests of a module."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        )
    with cluster, distributed.Client(cluster) as client:
        yield client
    # A client that is closed gives back the scheduler of the process, some time later: the next
    # test would be sent to a cluster that is gone.
    dask, start = pytest.importorskip("dask"), time.monotonic()
    while dask.config.get("scheduler", None) and time.monotonic() < start + 5:
        time.sleep(0.01)
    dask.config.config.pop("scheduler", None)
