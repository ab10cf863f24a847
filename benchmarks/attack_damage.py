"""How `benchmarks.attack` damages and forges files."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save as as_tensors

from unseen.storage import tensors

Rng = np.random.Generator
Damage = Callable[[Rng, bytes], bytes]

_NUMBERS = [0, 1, 2, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1]
_WORDS = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e300",
    "1e999",
    "9" * 30,
    "",
    " ",
    "\x00",
    "\x1b[31m",
    '"',
    ",",
]
_WORDS += ["\ud7ff", "x" * 1500, "=1+1", "\r", "../x", "\ufeff", "١٢", "True", "[]", "{}"]


def bytes_damaged(rng: Rng, raw: bytes) -> bytes:
    """Some bytes changed, cut out, put in, repeated, or a number replaced by an odd one."""
    start = int(rng.integers(max(1, len(raw))))
    size = int(rng.choice([1, 1, 1, 2, 4, 8, 60, 1000]))
    piece = raw[start : start + size]
    kind = int(rng.integers(8))
    if kind <= 1:
        flipped = bytes(b ^ (1 << int(rng.integers(8))) for b in raw[start : start + min(size, 4)])
        return raw[:start] + flipped + raw[start + len(flipped) :]
    if kind == 2:
        filling = [bytes(size), b"\xff" * size, rng.bytes(size), b" " * size][int(rng.integers(4))]
        return raw[:start] + filling[: len(piece)] + raw[start + size :]
    if kind == 3:
        return raw[:start]
    if kind == 4:
        return raw[:start] + raw[start + size :]
    if kind == 5:
        return raw[:start] + piece * int(rng.integers(2, 5)) + raw[start:]
    if kind == 6:
        odd = int(rng.choice(_NUMBERS)).to_bytes(4, rng.choice(["little", "big"]))
        return raw[:start] + odd + raw[start + 4 :]
    other = int(rng.integers(max(1, len(raw))))
    return raw[:other] + piece + raw[other + size :]


def words_damaged(rng: Rng, raw: bytes) -> bytes:
    """A word of a text replaced by an odd one, or a line lost or repeated."""
    if rng.random() < 0.4:
        return bytes_damaged(rng, raw)
    lines = raw.decode().split("\n")
    number = int(rng.integers(len(lines)))
    if rng.random() < 0.3:
        lines[number : number + 1] = [lines[number]] * int(rng.choice([0, 2, 3]))
    else:
        mark = "," if "," in lines[number] else " "
        words = lines[number].split(mark)
        words[int(rng.integers(len(words)))] = str(rng.choice(_WORDS))
        lines[number] = mark.join(words)
    return "\n".join(lines).encode()


def npz_damaged(rng: Rng, raw: bytes) -> bytes:
    """A .npz file in which the checksums of the archive are right, whatever its arrays."""
    if rng.random() < 0.4:
        return bytes_damaged(rng, raw)
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(made, "w") as new:
        members = old.namelist()
        hit = members[int(rng.integers(len(members)))]
        for name in members:
            content = old.read(name)
            if name == hit and rng.random() < 0.1:
                continue
            new.writestr(name, bytes_damaged(rng, content) if name == hit else content)
    return made.getvalue()


JUNK: list[Any] = [None, True, -1, 0, 3, 10**25, 1e300, "x", "", "\x00", [], {}, [[]], {"a": [{}]}]
JUNK += [{"array": "array0"}, {"array": "array99"}, {"names": ["a", "b"]}, {"names": ["x" * 2000]}]
JUNK += [{"names": [1]}, {"list": []}, {"dict": {}}, {"class table": []}, {"fitted": {}}]
_SHAPES: list[Callable[[np.ndarray], np.ndarray]] = [
    np.ravel,
    np.transpose,
    lambda a: a[:-1],
    lambda a: a[..., :-1],
    lambda a: a[None],
    lambda a: np.zeros((0, *a.shape)),
    lambda a: a.astype(np.int16),
    lambda a: np.full_like(a, 1),
    lambda a: np.repeat(a, 2, axis=0),
    lambda a: a.astype(np.float64) * 1e200,
]


def resealed(kind: str) -> Damage:
    """A file of tensors with something else in it, and checksums that are right again."""

    def damaged(rng: Rng, raw: bytes) -> bytes:
        size = int.from_bytes(raw[:8], "little")
        content = json.loads(json.loads(raw[8 : 8 + size])["__metadata__"][kind])
        arrays = dict(tensors_of(raw))
        if rng.random() < 0.6:
            put_junk(rng, content)
        else:
            name = list(arrays)[int(rng.integers(len(arrays)))]
            changed = _SHAPES[int(rng.integers(len(_SHAPES)))](arrays[name])
            arrays[name] = np.ascontiguousarray(changed)
        content["arrays"] = {name: tensors.digest(array) for name, array in arrays.items()}
        return as_tensors(arrays, {kind: tensors.sealed(content)})

    return damaged


def places(value: Any) -> list[tuple[Any, Any]]:
    """Where a value of JSON has others: what holds them, and by which key."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    inner = [p for key in keys if isinstance(value[key], (dict, list)) for p in places(value[key])]
    return [(value, key) for key in keys] + inner


def put_junk(rng: Rng, content: Any) -> None:
    """Something odd in place of some value, or a value lost."""
    spots = places(content)
    holder, key = spots[int(rng.integers(len(spots)))]
    if rng.random() < 0.2 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = copy.deepcopy(JUNK[int(rng.integers(len(JUNK)))])


def record_damaged(rng: Rng, raw: bytes) -> bytes:
    """A line of results with something else in it."""
    if rng.random() < 0.3:
        return words_damaged(rng, raw)
    record = json.loads(raw)
    put_junk(rng, record)
    return json.dumps(record).encode() + b"\n"
