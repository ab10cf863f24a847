"""Values as JSON: arrays become references, and classes the words they are registered by.

{"array": name}  {"names": [...]}  {"list": [...]}  {"dict": {...}}
{word of a value: [its fields]}  {word of a part: {its parameters}}
{"fitted": {"method": word, "parameters": {...}, "state": {...}}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from unseen.classes import ClassTable
from unseen.errors import InputError
from unseen.storage.tensors import Arrays
from unseen.support.parameters import Composite, plain
from unseen.support.registry import class_of, register, word_of
from unseen.support.text import words

register("class table")(ClassTable)


def encode(value: Any, arrays: Arrays, exact: bool = False) -> Any:
    """A value as JSON; arrays of numbers go to `arrays`.

    `exact` keeps the memory layout of arrays, so that sums over them are the same to the last bit,
    and the precision of numbers.
    """
    if isinstance(value, np.generic):
        if exact:
            return {"number": arrays.add(np.asarray(value))}
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays, exact)
    if isinstance(value, (list, tuple)):
        return {"list": [encode(v, arrays, exact) for v in value]}
    if isinstance(value, dict):
        return {"dict": {str(k): encode(v, arrays, exact) for k, v in value.items()}}
    word = word_of(type(value))
    if word is None:
        raise InputError(
            f"a {type(value).__name__} cannot be saved: only numbers, arrays, names, lists and "
            "classes that are registered or defined at the top of a module can"
        )
    if isinstance(value, Composite):
        return {word: encode_parameters(value, arrays)}
    return {word: [encode(v, arrays, exact) for v in _fields(value)]}


def _encode_array(value: np.ndarray, arrays: Arrays, exact: bool) -> dict[str, Any]:
    if value.dtype.kind in "OU":
        if value.ndim != 1 or not all(isinstance(v, str) for v in value):
            raise InputError("an array of Python objects cannot be saved")
        return {"names": value.tolist()}
    if exact and value.flags.f_contiguous and not value.flags.c_contiguous:
        return {"columns": arrays.add(value.T)}
    return {"array": arrays.add(value)}


def _fields(value: Any) -> list[Any]:
    if isinstance(value, ClassTable):
        found = [value.names, value.vectors, value.attributes]
        if value.recipe is not None:
            return [*found, value.groups, value.recipe]
        return [*found, value.groups] if value.groups else found
    return [getattr(value, field.name) for field in fields(value)]


def decode(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value that `encode` was given; anything else raises some error."""
    if not isinstance(value, dict):
        return value
    ((word, content),) = value.items()
    if word == "array":
        return arrays[content]
    if word == "columns":
        return arrays[content].T
    if word == "number":
        return arrays[content][()]
    if word == "names":
        return words(content, "names")
    if word == "list":
        return [decode(v, arrays) for v in content]
    if word == "dict":
        return {k: decode(v, arrays) for k, v in content.items()}
    if word == "fitted":
        return decode_model(content, arrays)
    kind = known_class(word)
    if issubclass(kind, Composite):
        return kind(**decode_parameters(kind, content, arrays))
    return kind(*(decode(v, arrays) for v in content))


def known_class(word: str) -> type:
    """The class that a word of a file stands for."""
    kind = class_of(word)
    if kind is None:
        module, _, name = word.partition(":")
        is_place = all(part.isidentifier() for part in f"{module}.{name}".split("."))
        way_out = f"import {module} first, if you trust it" if is_place else "update unseen"
        raise InputError(f"it holds the unknown class {word!r}: {way_out}"[:300])
    return kind


def encode_parameters(model: Composite, arrays: Arrays) -> dict[str, Any]:
    """Parameters as JSON; for a part that is None, the present default."""
    found = {}
    for name, value in model.get_params(deep=False).items():
        is_default = value is None and name in model._parts
        encoded = encode(model._part(name) if is_default else value, arrays)
        found[name] = {"default": encoded} if is_default else encoded
    return found


def decode_parameters(
    kind: type[Composite], encoded: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """Parameters from JSON; a part that was the default then and is not now stays as it was."""
    found = {}
    for name, value in encoded.items():
        if isinstance(value, dict) and set(value) == {"default"}:
            part, usual = decode(value["default"], arrays), kind._parts[name].default()
            found[name] = None if plain({name: part}) == plain({name: usual}) else part
        else:
            found[name] = decode(value, arrays)
    return found


def encode_model(model: Composite, arrays: Arrays) -> dict[str, Any]:
    """A fitted model as JSON: its method, its parameters and what it has learned."""
    word = word_of(type(model))
    if word is None:
        raise InputError(
            f"{type(model).__name__} could not be loaded: define it once, at the top of a module"
        )
    return {
        "method": word,
        "parameters": encode_parameters(model, arrays),
        "state": {k: _encode_learned(v, arrays) for k, v in state_of(model).items()},
    }


def _encode_learned(value: Any, arrays: Arrays) -> Any:
    """A part of what a model has learned, in which other models are fitted ones."""
    if isinstance(value, list):
        return {"list": [_encode_learned(v, arrays) for v in value]}
    if isinstance(value, Composite) and isinstance(value, ClassifierMixin):
        return {"fitted": encode_model(value, arrays)}
    return encode(value, arrays)


def decode_model(content: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """A fitted model from JSON. Whether its parts belong together is not checked yet."""
    kind = known_class(content["method"])
    if not issubclass(kind, Composite) or not issubclass(kind, ClassifierMixin):
        raise InputError(f"{kind.__name__} is not a method")
    model = kind(**decode_parameters(kind, content["parameters"], arrays))
    for name, value in content["state"].items():
        if not _is_state(kind, name):
            raise KeyError(name)
        setattr(model, name, decode(value, arrays))
    return model


def state_of(model: Composite) -> dict[str, Any]:
    """The fitted attributes of a model."""
    return {k: v for k, v in vars(model).items() if _is_state(type(model), k)}


def _is_state(kind: type, name: str) -> bool:
    """Is it the name of a fitted attribute? A file must not put its own in place of a method."""
    return name.endswith("_") and not name.startswith("_") and not hasattr(kind, name)
