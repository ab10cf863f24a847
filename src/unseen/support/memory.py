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


def free_memory() -> float | None:
    """Bytes that this process may still take: what the system has free, what its control group and
    its own limits leave. None where the system does not say."""
    found = [_free_in_system(), _free_in_group(), _free_by_limits()]
    return min((free for free in found if free is not None), default=None)


def _free_in_system() -> float | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s+(\d+)", text, re.MULTILINE)
    return None if found is None else int(found[1]) * 1024.0


def _free_in_group(folder: Path = Path("/sys/fs/cgroup")) -> float | None:
    try:
        most = int((folder / "memory.max").read_text())
        taken = int((folder / "memory.current").read_text())
        cached = re.search(r"^file (\d+)", (folder / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):  # no such group, or no limit ("max")
        return None
    return float(most - taken + (int(cached[1]) if cached else 0))


def _free_by_limits() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    free = []
    for limit, field in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most, taken = resource.getrlimit(limit)[0], resident(field)
        if most != resource.RLIM_INFINITY and taken is not None:
            free.append(most - taken * 2**20)
    return max(min(free), 0.0) if free else None
