"""Checks of values by the parameter constraints of scikit-learn, with errors in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    make_constraint,
    validate_parameter_constraints,
)

from unseen.errors import InputError

# What each parameter may be: any of the constraints of its name.
Constraints = Mapping[str, list[Any]]


class Number(Interval):
    """A finite number within bounds. To scikit-learn True is a number, here it is not."""

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and super().is_satisfied_by(val)

    def __str__(self) -> str:
        if self.left == 0 and self.closed == "neither":
            return "a positive number"
        least = "" if self.left is None else f" of at least {self.left}"
        most = "" if self.right is None else f" and at most {self.right}"
        return f"a {'whole ' if self.type is Integral else ''}number{least}{most}"


class Choice(Options):
    """One of a few strings or whole numbers."""

    def __init__(self, *options: str | int) -> None:
        kind = str if isinstance(options[0], str) else Integral
        super().__init__(kind, dict.fromkeys(options).keys())

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and super().is_satisfied_by(val)


POSITIVE = Number(Real, 0, None, closed="neither")
NOT_NEGATIVE = Number(Real, 0, None, closed="left")
SHARE = Number(Real, 0, 1, closed="both")


def at_least(least: int) -> Number:
    """A whole number that is not below `least`."""
    return Number(Integral, least, None, closed="left")


def check_values(constraints: Constraints, values: Mapping[str, Any]) -> None:
    """An error unless each value satisfies one of the constraints of its name, if it has any."""
    for name, value in values.items():
        try:
            validate_parameter_constraints(dict(constraints), {name: value}, "")
        except InvalidParameterError:
            *others, last = [word for c in constraints[name] for word in _in_words(c)]
            words = f"{', '.join(others)} or {last}" if others else last
            raise InputError(f"{name} must be {words}, not {value!r}") from None


def _in_words(constraint: Any) -> list[str]:
    if isinstance(constraint, Choice):
        return [repr(option) for option in constraint.options]
    words = {"boolean": "True or False", Mapping: "a mapping of names to numbers"}
    return [words.get(constraint) or str(make_constraint(constraint))]


def check_positive(value: Any, name: str) -> None:
    """An error unless a value is a finite number above zero."""
    check_values({name: [POSITIVE]}, {name: value})


def check_number(
    value: Any, name: str, least: float | None = None, most: float | None = None
) -> None:
    """An error unless a value is a finite number, not below `least` nor above `most`."""
    closed = "neither" if least is None else "left" if most is None else "both"
    check_values({name: [Number(Real, least, most, closed=closed)]}, {name: value})


def is_float_array(value: Any, n_dimensions: int) -> bool:
    """Whether it is an array of so many dimensions in a precision that the library computes in."""
    return (
        isinstance(value, np.ndarray)
        and value.ndim == n_dimensions
        and value.dtype in (np.float32, np.float64)
    )
