"""Names of classes: labels and tables are matched by them, so they are checked in one place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from unseen.errors import InputError


def as_names(names: Any, what: str) -> np.ndarray:
    """A 1-d array of names of one kind: strings (numpy's own, not objects) or numbers."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"{what} must be a list, not {names!r}")
    try:
        array = names if isinstance(names, np.ndarray) else np.asarray(_listed(names))
    except ValueError as error:
        raise InputError(f"{what} must be a flat list of strings or numbers") from error
    if array.ndim != 1:
        raise InputError(f"{what} must be a flat list, not of {array.ndim} dimensions")
    if array.dtype.kind in "OT":
        array = _uniform(array, what)
    if array.dtype.kind not in "Ubiuf":
        raise InputError(f"{what} must be strings or numbers, not {array.dtype}")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise InputError(f"{what} contain NaN or infinity")
    return array


def _listed(names: Iterable[Any]) -> Any:
    """The names as an array, except that mixed kinds stay objects so that they can be refused."""
    names = list(names)
    kinds = {isinstance(n, str) for n in names}
    return np.array(names, dtype=object) if len(kinds) > 1 else names


def _uniform(array: np.ndarray, what: str) -> np.ndarray:
    if all(isinstance(n, str) for n in array):
        return np.array(array.tolist(), dtype=str)
    number = (int, float, np.number, np.bool_)
    if all(isinstance(n, number) for n in array):
        return np.array(array.tolist())
    strange = [n for n in array if not isinstance(n, (str, *number))]
    if strange:
        raise InputError(f"{what} must be strings or numbers, not {strange[0]!r}")
    word = next(n for n in array if isinstance(n, str))
    odd = next(n for n in array if not isinstance(n, str))
    raise InputError(f"{what} are of mixed kinds: {word!r} is a string, {odd!r} is not")
