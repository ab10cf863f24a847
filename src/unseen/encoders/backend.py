"""What encodes pictures: one interface over the libraries that do the work."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unseen.encoders.hub import check_name
from unseen.encoders.pictures import RULES
from unseen.errors import InputError
from unseen.files import reading

# The mean and standard deviation of ImageNet's pictures, the custom of most networks.
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@dataclass(frozen=True)
class Identity:
    """Which encoder it is: what `encoder.json` and model files say, and what is compared.

    `files` are the SHA-256 of weights and settings, by their names. `revision` is that of the hub.
    """

    name: str
    kind: str
    width: int
    preprocessing: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    revision: str = ""

    @property
    def sha256(self) -> str:
        """The hash of all that decides what a picture becomes; the name is none of it."""
        parts = [
            self.kind,
            self.width,
            dict(self.preprocessing),
            sorted(self.files.values()),
            RULES,
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        facts = {"name": self.name, "kind": self.kind, "width": self.width, "sha256": self.sha256}
        if self.revision:
            facts["revision"] = self.revision
        return facts | {"preprocessing": dict(self.preprocessing), "files": dict(self.files)}


class Backend(Protocol):
    """An encoder that is loaded. `prepare` runs in threads, one picture at a time."""

    identity: Identity

    def prepare(self, picture: Any) -> np.ndarray:
        """An RGB picture as the array that the encoder takes."""
        ...

    def encode(self, batch: np.ndarray) -> np.ndarray:
        """Vectors (n x width, float32) of n prepared pictures."""
        ...


def open_backend(name: str, offline: bool = False, threads: int | None = None) -> Backend:
    """The encoder of a name, a folder or an .onnx file, loaded."""
    if not isinstance(name, str | os.PathLike) or not os.fspath(name):
        raise InputError(f"an encoder is a name, a folder or an .onnx file, not {name!r}")
    name = os.fspath(name)
    if name.casefold() == "basic" and not os.path.isdir(name):
        from unseen.encoders.basic import Basic

        return Basic()
    if Path(name).suffix == ".onnx":
        reading.checked_path(name)
        from unseen.encoders.onnx import Onnx

        return Onnx(Path(name), threads)
    check_name(name)
    from unseen.encoders.transformer import Transformer

    return Transformer(name, offline, threads)


def digests(folder: Path, names: list[str]) -> dict[str, str]:
    """The SHA-256 of files of a folder, by their names."""
    return {name: _digest(folder / name) for name in sorted(names)}


def _digest(path: Path) -> str:
    about = path.stat()
    return _digest_of(str(path.resolve()), about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest_of(path: str, size: int, changed: int) -> str:
    """Weights may be gigabytes: as long as a file is the same, it is read once."""
    return reading.sha256(path)


@dataclass(frozen=True)
class Preprocessing:
    """How a picture becomes numbers: the short side scaled, the middle cut out, each colour scaled.

    resize : the length of the shorter side after scaling.
    size : the side of the square that is cut out of the middle.
    mean, std : of each colour, for values between 0 and 1.
    """

    resize: int = 256
    size: int = 224
    mean: tuple[float, ...] = IMAGENET[0]
    std: tuple[float, ...] = IMAGENET[1]
    resample: str = "bicubic"

    def __call__(self, picture: Any) -> np.ndarray:
        """3 x size x size, float32."""
        width, height = picture.size
        scale = self.resize / min(width, height)
        sides = max(self.size, round(width * scale)), max(self.size, round(height * scale))
        # Only what is kept is computed: the box of the middle, in the picture as it is.
        left, top = (sides[0] - self.size) // 2, (sides[1] - self.size) // 2
        across, down = width / sides[0], height / sides[1]
        box = (left * across, top * down, (left + self.size) * across, (top + self.size) * down)
        box = (box[0], box[1], min(box[2], width), min(box[3], height))
        way = _WAYS[self.resample]
        small = picture.resize((self.size, self.size), way, box=box)
        out = np.empty((3, self.size, self.size), dtype=np.float32)
        # Colour by colour, in place: four times as fast as the plain formula.
        for colour, mean, std, values in zip(small.split(), self.mean, self.std, out, strict=True):
            np.multiply(np.asarray(colour), np.float32(1 / (255 * std)), out=values)
            values -= np.float32(mean / std)
        return out


_WAYS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3}


def read_preprocessing(path: Path, size: int | None) -> Preprocessing:
    """Settings from a JSON file with the fields of `Preprocessing`, as far as it has them."""
    usual: dict[str, Any] = (
        {} if size is None else {"size": size, "resize": round(size * 256 / 224)}
    )
    if not path.exists():
        return Preprocessing(**usual)
    try:
        given: dict[str, Any] = json.loads(reading.checked_path(path).read_text(encoding="utf-8"))
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        known = {k: v for k, v in given.items() if k in Preprocessing.__dataclass_fields__}
        made = Preprocessing(**usual | known)
        sides = [type(n) is int and 1 <= n <= 4096 for n in (made.size, made.resize)]
        colours = [len(v) == 3 and all(float(x) == x for x in v) for v in (made.mean, made.std)]
        fine = all(sides) and all(colours) and min(made.std) > 0 and made.resample in _WAYS
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a JSON file of preprocessing settings") from error
    if not fine or made.resize < made.size:
        raise InputError(
            f"{path}: size and resize must be whole numbers up to 4096, resize not below size, "
            f"mean and std three numbers each, resample one of {', '.join(_WAYS)}"
        )
    return made
