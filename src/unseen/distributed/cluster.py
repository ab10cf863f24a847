"""Jobs of a search or a benchmark on a Dask cluster, by joblib's own way to one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import joblib

import unseen
from unseen.errors import InputError, listed, require

_PATIENCE = 5.0


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Inside, jobs go to the Dask scheduler at this address; None leaves them where they are.

    "local" starts a process per core here, which end with the work. In Python a client and
    `joblib.parallel_config("dask")` do the same.
    """
    if address is None:
        yield
        return
    if not address.strip():
        raise InputError("no Dask scheduler answers at '': give its address, or 'local'")
    distributed: Any = require("distributed", "dask", "work on a Dask cluster")
    with ExitStack() as stack:
        if address == "local":
            cluster: Any = stack.enter_context(
                distributed.LocalCluster(
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.ERROR,
                )
            )
            client = stack.enter_context(distributed.Client(cluster))
        else:
            client = stack.enter_context(_connected(distributed, address))
        _check_workers(client, address)
        stack.enter_context(joblib.parallel_config(backend="dask", client=client))
        yield


def _connected(distributed: Any, address: str) -> Any:
    # It would log, with its trace, what the sentence below says.
    log = logging.getLogger("distributed")
    level, log.level = log.level, logging.CRITICAL
    try:
        asyncio.run(_check_answer(distributed, address))
        return distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address}: {_first_line(error)}. 'dask scheduler' "
            "starts one and prints its address, 'local' needs none"
        ) from error
    finally:
        log.level = level


async def _check_answer(distributed: Any, address: str) -> None:
    """An error unless a scheduler answers.

    A client of its own, closed whatever happens: the one with a thread, which `Client(address)`
    makes, would after a failure be closed by the garbage collector, and that may come while the
    same thread holds the lock that closing waits for.
    """
    client = distributed.Client(address, asynchronous=True, set_as_default=False, timeout=_PATIENCE)
    try:
        await client
    finally:
        await client.close()


def _check_workers(client: Any, address: str) -> None:
    """An error unless there are workers, and they run this version of the library."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise InputError(
            f"the Dask scheduler at {address} has no workers: 'dask worker {address}' starts one"
        ) from error
    try:
        found = set(client.run(_version).values())
    except Exception as error:
        raise InputError(
            f"the workers of the Dask scheduler at {address} cannot run unseen: "
            f"{_first_line(error)}. Install the same version on all of them"
        ) from error
    if found != {_version()}:
        raise InputError(
            f"the workers of the Dask scheduler at {address} run unseen {listed(sorted(found))}, "
            f"and this is {_version()}: install the same version on all of them"
        )


def _version() -> str:
    return unseen.__version__


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(". ")
