"""Options and fixtures shared by all tests."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says nothing where other work runs beside it.
settings.register_profile("unseen", deadline=None)
settings.load_profile("unseen")

# Workers side by side have a core each; set before numpy and numba are imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(threads, "1")

# The same data for every test and for the processes that tests start.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("UNSEEN_DATA", str(_BESIDE))

# Vectors of pictures are not kept in the folder of whoever runs the tests.
os.environ["UNSEEN_CACHE"] = tempfile.mkdtemp(prefix="unseen-cache-")
atexit.register(shutil.rmtree, os.environ["UNSEEN_CACHE"], ignore_errors=True)

# A shell that starts the tests in the background lets them, and the processes they start, ignore
# Ctrl-C; tests of what it does need it back.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow tests too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="slow; run with --slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real benchmark data; tests that use it skip where it is absent."""
    folder = Path(os.environ.get("UNSEEN_DATA", _BESIDE)).resolve()
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set UNSEEN_DATA to the folder that holds them")
    return folder
