"""Model files: one safetensors file, arrays as tensors and everything else as JSON. No code.

The header's metadata holds one entry, `unseen`: a JSON manifest with the format version, the
method, its parameters and its fitted state, in which each array is a reference `{"array": name}`
and each list of names a reference `{"names": [...]}`. The manifest carries the SHA-256 of every
array, so a damaged file is refused rather than used.
"""

from __future__ import annotations

import hashlib
import json
import os
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
from unseen.estimators import METHODS, ZeroShotClassifier
from unseen.preprocessing import RowScaling

FORMAT = 1


def save(model: ZeroShotClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to `path`, whole or not at all."""
    fitted = {k: v for k, v in vars(model).items() if k.endswith("_") and not k.startswith("_")}
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
        "sha256": {name: _digest(array) for name, array in arrays.items()},
        "versions": {
            "unseen": unseen.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }
    with files.writing(path) as temporary:
        save_file(arrays, temporary, metadata={"unseen": json.dumps(manifest)})


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; anything else, or a damaged file, is a clear error."""
    path = files.checked_path(path)
    try:
        with safe_open(path, framework="numpy") as file:
            manifest = json.loads((file.metadata() or {})["unseen"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise InputError(f"{path} is not a model file of unseen, or it is damaged") from error
    if manifest.get("format") != FORMAT:
        raise InputError(
            f"{path} has format {manifest.get('format')!r}; this version of unseen reads {FORMAT}"
        )
    try:
        if {name: _digest(array) for name, array in arrays.items()} != manifest["sha256"]:
            raise InputError(f"{path} is damaged: an array does not match its checksum")
        parameters = {k: _decode(v, arrays) for k, v in manifest["parameters"].items()}
        model = METHODS[manifest["method"]](**parameters)
        for name, value in manifest["state"].items():
            setattr(model, name, _decode(value, arrays))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged: its manifest cannot be understood") from error
    return model


def _digest(array: np.ndarray) -> str:
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()


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
        return {"class table": [_encode(v, arrays) for v in parts]}
    if isinstance(value, RowScaling):
        return {"row scaling": [value.unit_length, _encode(value.mean, arrays)]}
    raise InputError(f"a {type(value).__name__} cannot be saved in a model file")


def _encode_array(value: np.ndarray, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    if value.dtype.kind in "OU":
        return {"names": [str(v) for v in value]}
    name = f"array{len(arrays)}"
    arrays[name] = np.ascontiguousarray(value)
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
    if kind == "row scaling":
        return RowScaling(content[0], _decode(content[1], arrays))
    raise KeyError(kind)
