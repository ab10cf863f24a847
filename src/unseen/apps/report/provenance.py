"""What a result depends on beside its seeds: versions, machine, checksums of the data."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

import unseen
from unseen.datasets import ZeroShotDataset


def provenance(data: ZeroShotDataset) -> dict[str, Any]:
    """Versions, machine, files and notes of the data, and the time."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    versions = {"unseen": unseen.__version__, "python": platform.python_version()}
    return {
        "versions": versions | {name: version(name) for name in packages},
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
        "sources": sources(data),
        "notes": list(data.notes),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def made_with(facts: Sequence[Mapping[str, Any]]) -> str:
    """Versions and machines in words, each once."""
    versions = [", ".join(f"{k} {v}" for k, v in f["versions"].items()) for f in facts]
    machines = [f"{f['machine']['system']}, {f['machine']['cores']} cores" for f in facts]
    words = ("; ".join(dict.fromkeys(texts)) for texts in (versions, machines))
    return f"Made with {' on '.join(words)}."


def sources(data: ZeroShotDataset) -> dict[str, str]:
    """Checksums of the files of a data set, or of what it holds if it comes from none."""
    if data.sources:
        return dict(data.sources)
    digest = hashlib.sha256(np.ascontiguousarray(data.X).data)
    digest.update("\n".join(map(str, data.y.tolist())).encode())
    digest.update(np.ascontiguousarray(data.classes.vectors).data)
    return {"in memory": digest.hexdigest()}
