"""Peak memory of a piece of work, where the system tells it (Linux)."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def with_peak(work: Callable[[], Any]) -> tuple[Any, float | None]:
    """What `work` returns, and by how many MB the peak rose above what was taken before."""
    _give_back()
    before = resident("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # starts the peak anew
    except OSError:
        before = None
    result = work()
    peak = resident("VmHWM")
    return result, None if before is None or peak is None else max(peak - before, 0.0)


def _give_back() -> None:
    """Return to the system what earlier work has freed; else it would count as taken before."""
    gc.collect()
    with suppress(AttributeError, OSError):  # other C libraries than glibc
        ctypes.CDLL(None).malloc_trim(0)


def resident(field: str) -> float | None:
    """Resident memory of this process in MB, now (VmRSS) or at its peak (VmHWM)."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return None
