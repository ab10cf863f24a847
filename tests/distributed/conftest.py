"""A cluster of two processes on this machine, shared by the tests of a module."""

from __future__ import annotations

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
    # Not the default of the process: a later test that wants none would still be given it.
    with cluster, distributed.Client(cluster, set_as_default=False) as client, client.as_current():
        yield client
