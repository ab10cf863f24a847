"""Vectors that were computed before, by the content of the picture and the encoder.

A folder per encoder, named by its hash, holds files of some thousand vectors each. A file is
written whole or not at all and is named by the hash of what it holds, so that a damaged one is not
used. Programs may write to one folder at the same time; a stopped one loses the last seconds.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError
from unseen.files.writing import remove_left, writing

_KEY = 16
_MOST = 4096
_SECONDS = 10.0


def cache_folder() -> Path:
    """Where vectors are kept: the folder that UNSEEN_CACHE names, else one in ~/.cache."""
    given = os.environ.get("UNSEEN_CACHE")
    return Path(given) if given else Path("~/.cache/unseen/embeddings").expanduser()


def key_of(content: bytes) -> bytes:
    """What a file of this content is known by, wherever it lies."""
    return hashlib.blake2b(content, digest_size=_KEY).digest()


class Cache:
    """The vectors of one encoder in a folder; those added are written from time to time."""

    def __init__(self, folder: str | os.PathLike[str], sha256: str, width: int) -> None:
        self._folder = Path(folder) / sha256[:32]
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise InputError(f"{folder} is not a folder: vectors cannot be kept in it")
        self._type = np.dtype([("key", np.void, _KEY), ("vector", np.float32, (width,))])
        self._parts: list[np.ndarray] = []
        self._places: dict[bytes, tuple[int, int]] = {}
        self._new: dict[bytes, np.ndarray] = {}
        self._written = time.monotonic()
        remove_left(self._folder / "any.npy", everything=True)
        for path in sorted(self._folder.glob("*.npy")):
            self._open(path)

    def _open(self, path: Path) -> None:
        """A file that is damaged, or has just gone, holds nothing."""
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, _hash).hexdigest()
            if digest != path.stem:
                return
            rows = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception:  # numpy raises those of a parser too
            return
        if not isinstance(rows, np.ndarray) or rows.dtype != self._type or rows.ndim != 1:
            return
        number = len(self._parts)
        self._parts.append(rows)
        keys = rows["key"].tobytes()
        for k in range(len(rows)):
            self._places[keys[_KEY * k : _KEY * (k + 1)]] = number, k

    def get(self, key: bytes) -> np.ndarray | None:
        place = self._places.get(key)
        if place is not None:
            return np.array(self._parts[place[0]]["vector"][place[1]])
        return self._new.get(key)

    def add(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        self._new |= vectors
        if len(self._new) >= _MOST or time.monotonic() - self._written > _SECONDS:
            self.write()

    def write(self) -> None:
        """Write what was added since the last time."""
        if self._new:
            rows = np.empty(len(self._new), dtype=self._type)
            rows["key"] = np.frombuffer(b"".join(self._new), dtype=self._type["key"])
            rows["vector"] = list(self._new.values())
            content = io.BytesIO()
            np.save(content, rows, allow_pickle=False)
            digest = hashlib.blake2b(content.getvalue(), digest_size=_KEY).hexdigest()
            path = self._folder / f"{digest}.npy"
            with writing(path) as temporary:
                temporary.write_bytes(content.getvalue())
            self._new = {}
            self._open(path)
        self._written = time.monotonic()


def _hash() -> Any:
    return hashlib.blake2b(digest_size=_KEY)
