"""How much memory work takes."""

from __future__ import annotations

import ctypes
import gc
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def with_peak(work: Callable[[], Any]) -> tuple[Any, float | None]:
    """What `work` returns, and by how many MB the peak of memory rose above what was taken before,
    where the system reports it (Linux)."""
    # Memory that earlier work has freed goes back to the system; else it would count as taken.
    gc.collect()
    with suppress(AttributeError, OSError):  # C libraries other than glibc
        ctypes.CDLL(None).malloc_trim(0)
    before = resident("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # starts the peak anew
    except OSError:
        before = None
    result = work()
    peak = resident("VmHWM")
    return result, None if before is None or peak is None else max(peak - before, 0.0)


def resident(field: str) -> float | None:
    """Resident memory of this process in MB, now (VmRSS) or at its peak (VmHWM)."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = re.search(rf"^{field}:\s+(\d+)", status, re.MULTILINE)
    return None if found is None else int(found[1]) / 1024
