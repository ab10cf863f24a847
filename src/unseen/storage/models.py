"""Model files: arrays as safetensors, everything else as JSON, in one file. No code.

The manifest has the format version, the method, its parameters, its fitted state (class table,
preprocessing and checksum of the training data included), library versions, and checksums of every
array and of itself, all as `values` writes them. A class is the word by which it is registered
(`support.registry`); a part that was left to the method is `{"default": part}`. A damaged file is
refused rather than used, and so is one whose arrays and names do not belong together.
`old_formats` reads older files.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy
import sklearn

import unseen
from unseen.errors import InputError
from unseen.files import reading
from unseen.storage import tensors
from unseen.storage.old_formats import upgraded
from unseen.storage.tensors import Arrays, DamagedError
from unseen.storage.values import decode_model, encode, encode_model, state_of
from unseen.support.parameters import check_number

KIND = "unseen"
FORMAT = 2
# Letters of a sentence that may quote what a stranger wrote.
_LONGEST = 1000
# What scores of single precision can be divided by, and the most that can be taken off them.
_LARGEST = float(np.finfo(np.float32).max)
_TEMPERATURES = (float(np.finfo(np.float32).tiny), _LARGEST)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted `ZeroShotClassifier`, whole or not at all; only a model is ever replaced."""
    check_replaceable(path)
    if not state_of(model):
        raise InputError(f"this {type(model).__name__} is not fitted yet: nothing to save")
    arrays = Arrays()
    made = encode_model(model, arrays)
    if model._trained_on is not None and (checksum := model._trained_on.checksum()):
        trained = model.training_data_ | {"sha256": checksum}
        made["state"]["training_data_"] = encode(trained, arrays)
    manifest = {
        "format": FORMAT,
        **made,
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
    """A model may replace a model or an empty file, but nothing else."""
    if not os.path.exists(path) or (os.path.isfile(path) and not os.path.getsize(path)):
        return
    if not os.path.isfile(path) or KIND not in tensors.kind_of(path):
        raise InputError(
            f"cannot write {os.fspath(path)}: it exists and is not a model of unseen; choose "
            "another name or remove it first"
        )


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; any other or damaged file is a clear error.

    For a class outside the library, import the module that defines it first.
    """
    path = reading.checked_path(path)
    try:
        manifest, arrays = tensors.read(path, KIND)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except DamagedError as error:
        raise InputError(
            f"{path} is not a model file of unseen, or it is damaged: {error}; fit the model "
            "again, or copy the file again"
        ) from error
    version = manifest.get("format")
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise InputError(
            f"{path} has format {repr(version)[:50]}; this version of unseen reads 1 to {FORMAT}: "
            "update unseen, or save the model again with this version"
        )
    try:
        model = _rebuilt(upgraded(manifest, arrays), arrays)
        _check(model, arrays)
    except InputError as error:
        said = " ".join(str(error).split())  # it may quote a part of the file
        raise InputError(f"{path} cannot be used: {said[:_LONGEST]}") from error
    except Exception as error:  # a stranger's file may hold anything in place of anything
        raise InputError(f"{path} is damaged: its manifest cannot be understood") from error
    return model


def _rebuilt(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    model = decode_model(manifest, arrays)
    # Files of the first format do not say what a model was trained on.
    trained = vars(model).setdefault("training_data_", {})
    if not isinstance(trained, dict) or not all(map(_makes_sense, trained, trained.values())):
        raise InputError("what it says about its training data makes no sense")
    return model


def _makes_sense(name: str, value: Any) -> bool:
    """Whether a fact about training data is of the kind that its name says."""
    if name == "files":
        return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    if name in ("rows", "columns"):
        return type(value) is int and value >= 0
    if name == "encoder":
        return _names_encoder(value)
    return isinstance(value, str)


def _names_encoder(value: Any) -> bool:
    """Whether it says what made vectors of pictures, and numbers of words if it says so."""
    if not isinstance(value, dict) or not set(value) <= {"images", "text"}:
        return False
    images, text = value.get("images"), value.get("text")
    named = isinstance(images, dict) and all(
        type(images.get(key)) is kind
        for key, kind in (("name", str), ("sha256", str), ("width", int))
    )
    return named and (text is None or _names_text_encoder(text))


def _names_text_encoder(text: Any) -> bool:
    if not isinstance(text, dict) or not isinstance(text.get("name"), str):
        return False
    templates = text.get("templates")
    return isinstance(templates, list) and all(isinstance(t, str) for t in templates)


def _check(model: Any, arrays: dict[str, np.ndarray]) -> None:
    """An error unless names agree and arrays fit together."""
    width = model.n_features_in_
    # Some array is as wide as the rows, perhaps with a constant feature, so that a forged number
    # cannot ask for endless memory.
    wide = {size for array in arrays.values() if array.size for size in array.shape}
    if type(width) is not int or not wide & {width, width + 1}:
        raise InputError("no array in it fits the number of feature columns")
    check_parts(model)


def check_parts(model: Any) -> None:
    """An error unless parameters, classes and state of a model from a file belong together."""
    model._check_parameters()
    known, seen, unseen_ = model.class_table_.names, model.seen_classes_, model.unseen_classes_
    parted = np.sort(np.concatenate([seen, unseen_]) if unseen_.size else seen)
    is_known = np.isin(model.classes_, known).all() and model.classes_.size > 0
    is_known = is_known and np.unique(model.classes_).size == model.classes_.size
    least = 2 if model.needs_rows else 0
    if seen.size < least or not np.array_equal(np.sort(known), parted) or not is_known:
        raise InputError("its lists of classes contradict each other")
    _check_columns(vars(model).get("feature_names_in_"), model.n_features_in_)
    if "temperature_" in vars(model) and not model.fits_temperature:
        _check_there(model, "seen_penalty_")  # one call learns both
    penalty = vars(model).get("seen_penalty_", 0.0)
    check_number(penalty, "what it takes off seen classes", -_LARGEST, _LARGEST)
    check_number(vars(model).get("temperature_", 1.0), "its temperature", *_TEMPERATURES)
    model._check_state()


def _check_there(model: Any, name: str) -> None:
    if name not in vars(model):
        raise InputError(f"it lacks {name}, which belongs to the rest of what it has learned")


def _check_columns(names: Any, width: int) -> None:
    """An error unless the names of columns, if there are any, are as many different strings."""
    if names is None:
        return
    is_list = isinstance(names, np.ndarray) and names.shape == (width,)
    if not is_list or names.dtype.kind != "U" or np.unique(names).size < width:
        raise InputError("the names of its feature columns make no sense")
