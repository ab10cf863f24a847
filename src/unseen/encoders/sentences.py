"""Sentence encoders of the library sentence-transformers, known by a name or a folder.

A folder is found, looked into and hashed before anything of it is loaded. What is kept of an
encoder is its name and its hash, never its weights.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError, counted, require
from unseen.files.reading import sha256
from unseen.support.registry import register

DEFAULT = "all-MiniLM-L6-v2"
_HUB = "sentence-transformers"
_NAME = re.compile(r"[\w.-]{1,96}(/[\w.-]{1,96})?")
# Weights in other formats than the one that is used.
_UNUSED = ["onnx/*", "openvino/*", "*.onnx", "*.h5", "*.ot", "*.msgpack", "*.bin", "*.ckpt"]
_USED = (".json", ".txt", ".safetensors", ".model", ".bin")


@register("sentence encoder")
@dataclass(frozen=True)
class SentenceEncoder:
    """A sentence encoder: its name, the hash of its files, and how many numbers it gives."""

    name: str
    sha256: str
    width: int

    def __call__(self, texts: Sequence[str], batch_size: int = 32) -> np.ndarray:
        """Texts as numbers of length one, float32. The encoder must be on this machine, and the
        same as it was."""
        folder = find(self.name, offline=True)
        found = fingerprint(folder)
        if found != self.sha256:
            raise InputError(
                f"the text encoder {self.name!r} is another one now: its files have the hash "
                f"{found[:12]}…, not {self.sha256[:12]}…; get that version, or fit the model again"
            )
        vectors = loaded(str(folder)).encode(
            list(texts), batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    def columns(self) -> None:
        """The columns have no names."""

    def told(self, n_texts: int, of_seen: bool) -> str:
        """What it makes of texts, in words."""
        return f"encoded by {self.name} as {counted(self.width, 'number')}"

    def why_nothing(self) -> str:
        return "becomes zeros; describe it in other words"

    def check(self) -> None:
        """An error unless the parts, which may come from a file, make sense."""
        words = (self.name, self.sha256)
        if not all(isinstance(word, str) for word in words) or type(self.width) is not int:
            raise InputError("what it says of its text encoder makes no sense")
        if not re.fullmatch(r"[0-9a-f]{64}", self.sha256) or self.width < 1:
            raise InputError("what it says of its text encoder makes no sense")


def sentence_encoder(name: str, offline: bool) -> SentenceEncoder:
    """The encoder of a name or a folder; nothing is fetched if `offline`."""
    folder = find(name, offline)
    model = loaded(str(folder))
    # Its method got a new name.
    ask = getattr(model, "get_embedding_dimension", None)
    width = model.get_sentence_embedding_dimension() if ask is None else ask()
    return SentenceEncoder(name, fingerprint(folder), int(width))


def find(name: str, offline: bool) -> Path:
    """The folder of an encoder; an error that gives the command if it is not on this machine."""
    if os.path.isdir(name):
        folder = Path(name)
    elif name.casefold().replace("-", "") == "tfidf":
        raise InputError(f"{name!r} is no text encoder; write 'tfidf'")
    elif os.path.isabs(name) or not _NAME.fullmatch(name) or name.startswith("."):
        raise InputError(
            f"{name!r} is neither a folder nor the name of a text encoder, such as {DEFAULT!r}; "
            "'tfidf' needs no other files"
        )
    else:
        folder = _from_hub(name, offline)
    _check_modules(folder)
    return folder


def _from_hub(name: str, offline: bool) -> Path:
    hub: Any = require("huggingface_hub", "encode", f"the text encoder {name!r}")
    place = name if "/" in name else f"{_HUB}/{name}"
    try:
        return Path(hub.snapshot_download(place, local_files_only=True))
    except Exception as error:  # the library has several errors for a name that it has not got
        excluded = " ".join(f"--exclude '{pattern}'" for pattern in _UNUSED[:2])
        get = f"get it with: hf download {place} {excluded}"
        if offline:
            raise InputError(
                f"the text encoder {name!r} is not on this machine, and nothing is fetched; {get}"
            ) from error
    try:
        return Path(hub.snapshot_download(place, ignore_patterns=_UNUSED))
    except Exception as error:
        raise InputError(
            f"the text encoder {name!r} could not be fetched ({type(error).__name__}); {get}, or "
            "give the folder that holds it"
        ) from error


def _check_modules(folder: Path) -> None:
    """An error unless a folder is a sentence encoder whose parts are all of the library: no code of
    the folder is run."""
    try:
        parts = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(part["type"]) for part in parts]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{folder} is not a folder of sentence-transformers: it has no modules.json that can "
            "be read"
        ) from error
    odd = next((kind for kind in kinds if not kind.startswith("sentence_transformers.")), None)
    if odd is not None or list(folder.glob("*.py")):
        raise InputError(f"{folder} wants to run code of its own, which is refused")


def fingerprint(folder: Path) -> str:
    """One hash of the files that an encoder is made of, each by its path in the folder."""
    files = sorted(p for p in folder.rglob("*") if p.suffix in _USED and p.is_file())
    about = [(p.relative_to(folder).as_posix(), str(p), p.stat().st_mtime_ns) for p in files]
    return _fingerprint(tuple(about))


@lru_cache(maxsize=8)
def _fingerprint(files: tuple[tuple[str, str, int], ...]) -> str:
    found = hashlib.sha256()
    for name, path, _ in files:
        if os.path.getsize(path):
            found.update(f"{name} {sha256(path)}\n".encode())
    return found.hexdigest()


@lru_cache(maxsize=2)
def loaded(folder: str) -> Any:
    """The encoder itself, which is loaded once."""
    library: Any = require("sentence_transformers", "encode", "a sentence encoder")
    try:
        return library.SentenceTransformer(folder, device="cpu", local_files_only=True)
    except Exception as error:
        raise InputError(
            f"{folder} cannot be loaded as a sentence encoder ({type(error).__name__}: "
            f"{str(error)[:200]})"
        ) from error
