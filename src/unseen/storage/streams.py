"""The safetensors format without another copy of its numbers in memory: arrays may be memory maps
that are larger than it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from unseen.rows.blocks import chunks
from unseen.rows.layout import let_go
from unseen.support.memory import free_memory

# A file is mapped if it is larger than this share of the memory that is free.
MEMORY_SHARE = 0.25
_LITTLE = 64 * 2**20
_AT_ONCE = 2**22
_TYPES = {"f8": "F64", "f4": "F32", "f2": "F16", "b1": "BOOL"}
_TYPES |= {f"i{n}": f"I{8 * n}" for n in (1, 2, 4, 8)} | {
    f"u{n}": f"U{8 * n}" for n in (1, 2, 4, 8)
}
_DTYPES = {word: np.dtype(f"<{code}") for code, word in _TYPES.items()}


def save(
    arrays: Mapping[str, np.ndarray], path: str | os.PathLike[str], metadata: dict[str, str]
) -> None:
    """Write arrays in C order to a file, one after the other."""
    # The widest first: so each number lies where a map can use it.
    names, end = sorted(arrays, key=lambda name: -arrays[name].itemsize), 0
    header: dict[str, Any] = {"__metadata__": metadata}
    for name in names:
        array = arrays[name]
        start, end = end, end + array.nbytes
        kind = _TYPES[array.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            file.write(arrays[name].reshape(-1).view(np.uint8).data)
            let_go(arrays[name])


def is_large(path: str | os.PathLike[str]) -> bool:
    """Should the arrays of a file be mapped rather than read?"""
    size = os.path.getsize(path)
    free = free_memory() if size > _LITTLE else None
    return free is not None and size > MEMORY_SHARE * free


def mapped(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a file that safetensors has found sound, as memory maps."""
    raw = np.memmap(path, np.uint8, "r")
    first = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    found = {}
    for name, facts in json.loads(raw[8:first].tobytes()).items():
        if name != "__metadata__":
            start, end = (first + at for at in facts["data_offsets"])
            array = np.asarray(raw[start:end]).view(_DTYPES[facts["dtype"]])
            found[name] = array.reshape(facts["shape"])
    return found


def is_finite(array: np.ndarray) -> bool:
    """Is no number of an array in C order NaN or infinite?"""
    flat = array.reshape(-1)
    found = all(np.isfinite(flat[part]).all() for part in chunks(flat.size, _AT_ONCE))
    let_go(array)
    return found
