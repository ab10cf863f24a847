"""Checks of parameters that more than one module makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.errors import InputError


def check_positive(value: Any, name: str) -> None:
    """An error unless a parameter is a finite number above zero."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not (number and 0 < value < np.inf):
        raise InputError(f"{name} must be a positive number, not {value!r}")


def check_number(
    value: Any, name: str, least: float | None = None, most: float | None = None
) -> None:
    """An error unless a parameter is a finite number, not below `least` nor above `most`."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    inside = number and (least is None or value >= least) and (most is None or value <= most)
    if not (inside and np.isfinite(value)):
        bounds = "" if least is None else f" of at least {least}"
        bounds += "" if most is None else f" and at most {most}"
        raise InputError(f"{name} must be a number{bounds}, not {value!r}")


def check_whole(value: Any, name: str, least: int) -> None:
    """An error unless a parameter is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")


def is_float_array(value: Any, n_dimensions: int) -> bool:
    """Whether it is an array of so many dimensions in a precision that the library computes in."""
    return (
        isinstance(value, np.ndarray)
        and value.ndim == n_dimensions
        and value.dtype in (np.float32, np.float64)
    )
