"""Model files: one safetensors file, arrays as tensors and everything else as JSON. No code.

The header's metadata holds one entry, `unseen`: a JSON manifest with the format version, the
method, its parameters and its fitted state, in which each array is a reference `{"array": name}`
and each list of names a reference `{"names": [...]}`. The manifest carries the SHA-256 of every
array and of itself, so a damaged file is refused rather than used.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import fields
from typing import Any

import numpy as np
import scipy
import sklearn
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import unseen
from unseen import files
from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators import METHODS, ZeroShotClassifier, method
from unseen.preprocessing import ClassScaling, RowScaling
from unseen.row_kernel import RowKernel

FORMAT = 1
_SCALINGS = {"row scaling": RowScaling, "class scaling": ClassScaling, "row kernel": RowKernel}


def save(model: ZeroShotClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to `path`, whole or not at all."""
    fitted = {k: v for k, v in vars(model).items() if _is_state(type(model), k)}
    if not fitted:
        raise InputError(f"this {type(model).__name__} is not fitted yet: nothing to save")
    names = [name for name, kind in METHODS.items() if kind is type(model)]
    if not names:
        raise InputError(f"{type(model).__name__} is not in the library's registry of methods")
    arrays: dict[str, np.ndarray] = {}
    manifest = {
        "format": FORMAT,
        "method": names[0],
        "parameters": {k: _encode(v, arrays) for k, v in model.get_params(deep=False).items()},
        "state": {k: _encode(v, arrays) for k, v in fitted.items()},
        "arrays": {name: _digest(array) for name, array in arrays.items()},
        "versions": {
            "unseen": unseen.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }
    with files.writing(path) as temporary:
        try:
            save_file(arrays, temporary, metadata={"unseen": _sealed(manifest)})
        except SafetensorError as error:  # a full disk, for one
            raise InputError(f"cannot write {path}: {error}") from error


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; anything else, or a damaged file, is a clear error."""
    path = files.checked_path(path)
    try:
        with safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {})["unseen"]
            manifest = json.loads(text)
            version = manifest["format"]
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(f"{path} is not a model file of unseen, or it is damaged") from error
    if version != FORMAT:
        raise InputError(f"{path} has format {version!r}; this version of unseen reads {FORMAT}")
    digests = {name: _digest(array) for name, array in arrays.items()}
    if text != _sealed(manifest) or digests != manifest.get("arrays"):
        raise InputError(f"{path} is damaged: its content does not match its checksums")
    try:
        return _rebuilt(manifest, arrays)
    except InputError as error:
        raise InputError(f"{path} cannot be used: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path} is damaged: its manifest cannot be understood") from error


def _rebuilt(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> ZeroShotClassifier:
    kind = method(manifest["method"])
    model = kind(**{k: _decode(v, arrays) for k, v in manifest["parameters"].items()})
    for name, value in manifest["state"].items():
        if not _is_state(kind, name):
            raise KeyError(name)
        setattr(model, name, _decode(value, arrays))
    return model


def _is_state(kind: type[ZeroShotClassifier], name: str) -> bool:
    """Is it the name of a fitted attribute? A file must not put its own in place of a method."""
    return name.endswith("_") and not name.startswith("_") and not hasattr(kind, name)


def _digest(array: np.ndarray) -> str:
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _sealed(manifest: dict[str, Any]) -> str:
    """The manifest as JSON, with the checksum of all its other entries as the last one."""
    content = {k: v for k, v in manifest.items() if k != "sha256"}
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return json.dumps(content | {"sha256": digest})


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON; arrays of numbers go to `arrays` and leave a reference."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays)
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays)
    if isinstance(value, (list, tuple)):
        return {"list": [_encode(v, arrays) for v in value]}
    if isinstance(value, dict):
        return {"dict": {str(k): _encode(v, arrays) for k, v in value.items()}}
    if isinstance(value, ClassTable):
        parts = [value.names, value.vectors, value.attributes]
        parts += [value.groups] if value.groups else []
        return {"class table": [_encode(v, arrays) for v in parts]}
    for word, kind in _SCALINGS.items():
        if isinstance(value, kind):
            return {word: [_encode(getattr(value, f.name), arrays) for f in fields(value)]}
    raise InputError(f"a {type(value).__name__} cannot be saved in a model file")


def _encode_array(value: np.ndarray, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    if value.dtype.kind in "OU":
        if value.ndim != 1 or not all(isinstance(v, str) for v in value):
            raise InputError("an array of Python objects cannot be saved in a model file")
        return {"names": value.tolist()}
    name = f"array{len(arrays)}"
    arrays[name] = np.asarray(value, dtype=value.dtype.newbyteorder("<"), order="C")
    return {"array": name}


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "names":
        return np.array(content, dtype=str)
    if kind == "list":
        return [_decode(v, arrays) for v in content]
    if kind == "dict":
        return {k: _decode(v, arrays) for k, v in content.items()}
    if kind == "class table":
        return ClassTable(*[_decode(v, arrays) for v in content])
    if kind in _SCALINGS:
        return _SCALINGS[kind](*(_decode(v, arrays) for v in content))
    raise KeyError(kind)
