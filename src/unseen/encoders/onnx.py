"""Encoders in an .onnx file, run by onnxruntime.

Settings for pictures are read from a JSON file beside it: `net.json` for `net.onnx`, with the
fields of `Preprocessing`, and "output" for the name of the output to take. Without it the custom of
ImageNet is taken; `encoder.json` says which settings were used.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from unseen.encoders.backend import Identity, digests, read_preprocessing
from unseen.errors import InputError, listed, nearest, require
from unseen.files import reading

# Outputs that hold one vector per picture, by the names that exporters give them.
_POOLED = ("image_embeds", "pooler_output", "embedding", "features")


class Onnx:
    """A network of one input, pictures as n x 3 x side x side or n x side x side x 3."""

    def __init__(self, path: Path, threads: int | None) -> None:
        runtime = require("onnxruntime", "encode-onnx", f"the encoder {path.name}")
        path = reading.checked_path(path).absolute()
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads or 0
        # Threads that wait for the next batch leave the cores to those that read pictures.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = runtime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has errors of many kinds, without a base of theirs
            text = " ".join(str(error).split())[:200]
            raise InputError(f"{path} cannot be loaded as an ONNX network: {text}") from error
        beside = path.with_suffix(".json")
        self._input = _picture_input(self._session, path)
        shape = list(self._input.shape)
        self._last = shape[1] != 3 and shape[3] == 3
        sides = [n for n in (shape[1:3] if self._last else shape[2:4]) if isinstance(n, int)]
        self._transform = read_preprocessing(beside, sides[0] if sides else None)
        self._batch = shape[0] if isinstance(shape[0], int) else None
        self._output = _output(self._session, beside, path)
        side = self._transform.size
        if sides and set(sides) != {side}:
            raise InputError(f"{path} takes pictures of {sides}, but {beside.name} says {side}")
        self.identity = Identity(str(path), "onnx", 1, {})
        width = self.encode(np.zeros((1, 3, side, side), dtype=np.float32)).shape[1]
        data = [p.name for p in sorted(path.parent.glob(path.name + "[._]*")) if p.is_file()]
        self.identity = Identity(
            name=str(path),
            kind="onnx",
            width=width,
            preprocessing=asdict(self._transform) | {"output": self._output},
            files=digests(path.parent, [path.name, *data]),
        )

    def prepare(self, picture: Any) -> np.ndarray:
        return self._transform(picture)

    def encode(self, batch: np.ndarray) -> np.ndarray:
        if self._last:
            batch = np.ascontiguousarray(batch.transpose(0, 2, 3, 1))
        size = self._batch or len(batch)
        parts = [self._run(batch[k : k + size], size) for k in range(0, len(batch), size)]
        return np.concatenate(parts).astype(np.float32, copy=False)

    def _run(self, batch: np.ndarray, size: int) -> np.ndarray:
        """A network exported for a fixed number of pictures gets the last of them repeatedly."""
        n = len(batch)
        if n < size:
            batch = np.concatenate([batch, np.repeat(batch[-1:], size - n, axis=0)])
        try:
            (out,) = self._session.run([self._output], {self._input.name: batch})
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            raise InputError(f"{self.identity.name} cannot encode pictures: {text}") from error
        return pooled(np.asarray(out))[:n]


def pooled(out: np.ndarray) -> np.ndarray:
    """One vector per picture: the first token, or the mean over places."""
    if out.ndim == 4:
        return out.mean(axis=(2, 3)) if out.shape[1] >= out.shape[3] else out.mean(axis=(1, 2))
    if out.ndim == 3:
        return out[:, 0]
    if out.ndim == 2:
        return out
    raise InputError(f"the output of the encoder has shape {out.shape}, which is no vector each")


def _picture_input(session: Any, path: Path) -> Any:
    inputs = session.get_inputs()
    found = inputs[0] if len(inputs) == 1 else None
    fits = found is not None and found.type == "tensor(float)" and len(found.shape) == 4
    if found is None or not fits or 3 not in (found.shape[1], found.shape[3]):
        shapes = ", ".join(f"{i.name} {i.type} {i.shape}" for i in inputs)
        raise InputError(
            f"{path} takes {shapes}; an encoder of pictures takes one float input of n x 3 x side "
            "x side or n x side x side x 3"
        )
    return found


def _output(session: Any, beside: Path, path: Path) -> str:
    names = [out.name for out in session.get_outputs()]
    wanted = None
    if beside.exists():
        wanted = json.loads(beside.read_text(encoding="utf-8")).get("output")
    if wanted is None:
        return next((name for name in _POOLED if name in names), names[0])
    if wanted not in names:
        raise InputError(
            f"{path} has no output {wanted!r}{nearest(wanted, names)}; it has {listed(names)}"
        )
    return wanted
