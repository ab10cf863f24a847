"""Model files: arrays as safetensors, everything else as JSON, in one file. No code.

The manifest has the format version, the method, its parameters, its fitted state (class table,
preprocessing and checksum of the training data included), library versions, and checksums of every
array and of itself; in it an array is a reference `{"array": name}` and a list of names is
`{"names": [...]}`. A part of the method is its kind, a word of `_PARTS`, with its parameters; one
that was left to the method is `{"default": part}`. A damaged file is refused rather than used, and
so is one whose arrays and names do not belong together. `old_formats` reads older files.
"""

from __future__ import annotations

import io
import os
from dataclasses import fields
from typing import Any, BinaryIO

import numpy as np
import scipy
import sklearn

import unseen
from unseen import files
from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.estimators import METHODS, ZeroShotClassifier, method
from unseen.inference.embedding import Algorithm4
from unseen.inference.pairwise import Algorithm3
from unseen.inference.scorer import DataFit
from unseen.model.latent import LatentModel
from unseen.model.spaces import Spaces
from unseen.rows.kernel import KernelFeatures
from unseen.rows.scaling import ClassScaler, ClassScaling, RowScaler, RowScaling
from unseen.storage import tensors
from unseen.storage.old_formats import upgraded
from unseen.storage.tensors import Arrays, DamagedError
from unseen.support.checks import check_number
from unseen.support.parts import Composite, plain
from unseen.training.alternating import Algorithm2
from unseen.training.pairwise import Algorithm1

KIND = "unseen"
FORMAT = 2
_VALUES = {
    "row scaling": RowScaling,
    "class scaling": ClassScaling,
    "row kernel": KernelFeatures,
    "spaces": Spaces,
    "latent model": LatentModel,
}
_PARTS: dict[str, type[Composite]] = {
    "row scaler": RowScaler,
    "class scaler": ClassScaler,
    "algorithm 1": Algorithm1,
    "algorithm 2": Algorithm2,
    "algorithm 3": Algorithm3,
    "algorithm 4": Algorithm4,
    "data fit": DataFit,
}


def save(model: ZeroShotClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to `path`, whole or not at all; a file that is no model stays."""
    check_replaceable(path)
    fitted = {k: v for k, v in vars(model).items() if _is_state(type(model), k)}
    if not fitted:
        raise InputError(f"this {type(model).__name__} is not fitted yet: nothing to save")
    names = [name for name, kind in METHODS.items() if kind is type(model)]
    if not names:
        raise InputError(f"{type(model).__name__} is not in the library's registry of methods")
    if model._trained_on is not None and (checksum := model._trained_on.checksum()):
        fitted["training_data_"] = fitted["training_data_"] | {"sha256": checksum}
    arrays = Arrays()
    manifest = {
        "format": FORMAT,
        "method": names[0],
        "parameters": _encode_parameters(model, arrays),
        "state": {k: _encode(v, arrays) for k, v in fitted.items()},
        "arrays": {},
        "versions": {
            "unseen": unseen.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }
    tensors.write(path, KIND, manifest, arrays)


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """A model may replace a model or an empty file, but nothing else that a user has."""
    if not os.path.exists(path) or (os.path.isfile(path) and not os.path.getsize(path)):
        return
    if not os.path.isfile(path) or KIND not in tensors.kind_of(path):
        raise InputError(
            f"cannot write {os.fspath(path)}: the file is there already and is not a model of "
            "unseen; choose another name or remove it first"
        )


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; anything else, or a damaged file, is a clear error."""
    path = files.checked_path(path)
    try:
        with path.open("rb") as file:
            return _read(file, str(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def loads(content: bytes, name: str = "the model") -> Any:
    """A model from the bytes of its file; `name` is what errors call it."""
    return _read(io.BytesIO(content), name)


def _read(file: BinaryIO, name: str) -> ZeroShotClassifier:
    try:
        manifest, arrays = tensors.read(file, KIND)
    except DamagedError as error:
        raise InputError(
            f"{name} is not a model file of unseen, or it is damaged: {error}; fit the model "
            "again, or copy the file again from where it is whole"
        ) from error
    version = manifest.get("format")
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise InputError(
            f"{name} has format {version!r}; this version of unseen reads {FORMAT}: update unseen, "
            "or save the model again with this version"
        )
    try:
        model = _rebuilt(upgraded(manifest, arrays), arrays)
        _check(model, arrays)
    except InputError as error:
        raise InputError(f"{name} cannot be used: {error}") from error
    except Exception as error:  # a stranger's file may hold anything in place of anything
        raise InputError(f"{name} is damaged: its manifest cannot be understood") from error
    return model


def _rebuilt(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> ZeroShotClassifier:
    kind = method(manifest["method"])
    model = kind(**_decode_parameters(kind, manifest["parameters"], arrays))
    for name, value in manifest["state"].items():
        if not _is_state(kind, name):
            raise KeyError(name)
        setattr(model, name, _decode(value, arrays))
    # Files of the first format do not tell what a model was trained on.
    trained = vars(model).setdefault("training_data_", {})
    if not isinstance(trained, dict) or type(trained.get("rows", 0)) is not int:
        raise InputError("what it says of its training data makes no sense")
    return model


def _check(model: ZeroShotClassifier, arrays: dict[str, np.ndarray]) -> None:
    """An error unless the parts belong together: names agree, and arrays fit."""
    model._check_parameters()
    known, seen, unseen_ = model.class_table_.names, model.seen_classes_, model.unseen_classes_
    parted = np.sort(np.concatenate([seen, unseen_]) if unseen_.size else seen)
    is_known = np.isin(model.classes_, known).all() and model.classes_.size > 0
    if seen.size < 2 or not np.array_equal(np.sort(known), parted) or not is_known:
        raise InputError("its lists of classes contradict each other")
    width = model.n_features_in_
    # Some array is as wide as the rows, or has a constant feature beside them, so that a forged
    # number cannot ask for endless memory.
    wide = {size for array in arrays.values() for size in array.shape}
    if type(width) is not int or not wide & {width, width + 1}:
        raise InputError("no array in it fits the number of feature columns")
    check_number(vars(model).get("seen_penalty_", 0.0), "what it takes off seen classes")
    model._check_state()


def _is_state(kind: type[ZeroShotClassifier], name: str) -> bool:
    """Is it the name of a fitted attribute? A file must not put its own in place of a method."""
    return name.endswith("_") and not name.startswith("_") and not hasattr(kind, name)


def _encode_parameters(model: Composite, arrays: Arrays) -> dict[str, Any]:
    """Parameters as JSON. Of a part that is None the file has what that stands for now."""
    found = {}
    for name, value in model.get_params(deep=False).items():
        is_default = value is None and name in model._parts
        encoded = _encode(model._part(name) if is_default else value, arrays)
        found[name] = {"default": encoded} if is_default else encoded
    return found


def _decode_parameters(
    kind: type[Composite], encoded: dict[str, Any], arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Parameters from JSON. A part that was the default then and is not now stays as it was."""
    found = {}
    for name, value in encoded.items():
        if isinstance(value, dict) and set(value) == {"default"}:
            part, usual = _decode(value["default"], arrays), kind._parts[name].default()
            found[name] = None if plain({name: part}) == plain({name: usual}) else part
        else:
            found[name] = _decode(value, arrays)
    return found


def _encode(value: Any, arrays: Arrays) -> Any:
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
    for word, kind in _VALUES.items():
        if isinstance(value, kind):
            return {word: [_encode(getattr(value, f.name), arrays) for f in fields(value)]}
    for word, kind in _PARTS.items():
        if type(value) is kind:
            return {word: _encode_parameters(value, arrays)}
    raise InputError(f"a {type(value).__name__} cannot be saved in a model file")


def _encode_array(value: np.ndarray, arrays: Arrays) -> dict[str, Any]:
    if value.dtype.kind in "OU":
        if value.ndim != 1 or not all(isinstance(v, str) for v in value):
            raise InputError("an array of Python objects cannot be saved in a model file")
        return {"names": value.tolist()}
    return {"array": arrays.add(value)}


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
    if kind in _VALUES:
        return _VALUES[kind](*(_decode(v, arrays) for v in content))
    if kind in _PARTS:
        return _PARTS[kind](**_decode_parameters(_PARTS[kind], content, arrays))
    raise KeyError(kind)
