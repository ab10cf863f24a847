"""What parameters of methods and of their parts may be."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
import pytest

from unseen import InputError
from unseen.estimators import METHODS
from unseen.inference.embedding import Algorithm4
from unseen.inference.pairwise import Algorithm3
from unseen.rows.scaling import ClassScaler, RowScaler
from unseen.support.parameters import (
    POSITIVE,
    SHARE,
    Choice,
    Composite,
    Number,
    check_number,
    check_values,
)
from unseen.training.alternating import Algorithm2
from unseen.training.pairwise import Algorithm1

PARTS = (Algorithm1, Algorithm2, Algorithm3, Algorithm4, RowScaler, ClassScaler)
KINDS: list[type[Composite]] = [*METHODS.values(), *PARTS]


def cases() -> list[Any]:
    found = [(kind, name) for kind in KINDS for name in kind._parameter_constraints]
    return [pytest.param(*case, id=f"{case[0].__name__}-{case[1]}") for case in found]


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_has_constraints_or_is_a_part(kind: type[Composite]) -> None:
    names = kind()._get_param_names()
    assert set(names) == {*kind._parameter_constraints, *kind._parts}
    kind()._check_parameters()


@pytest.mark.parametrize(("kind", "name"), cases())
def test_no_parameter_takes_just_anything(kind: type[Composite], name: str) -> None:
    allowed = kind._parameter_constraints[name]
    for bad in (math.nan, math.inf, -math.inf, -1, "x", [1], object()):
        with pytest.raises(InputError, match=f"^{name} must be .*, not "):
            kind(**{name: bad})._check_parameters()
    if "boolean" not in allowed:
        for bad in (True, np.True_):
            with pytest.raises(InputError, match=f"^{name} must be .*, not "):
                kind(**{name: bad})._check_parameters()
    for number in (c for c in allowed if isinstance(c, Number)):
        for value in [np.int64(1)] if number.type is Integral else [np.float32(1), np.float64(1)]:
            kind(**{name: value})._check_parameters()


@pytest.mark.parametrize(
    ("constraint", "value", "message"),
    [
        (SHARE, 1.5, "it must be a number of at least 0 and at most 1, not 1.5"),
        (Number(Integral, 2, None, closed="left"), 2.0, "it must be a whole number of at least 2"),
        (Choice("a", "b"), "c", "it must be 'a' or 'b', not 'c'"),
        (Choice(1, 2), True, "it must be 1 or 2, not True"),
        ("boolean", 1, "it must be True or False, not 1"),
    ],
)
def test_errors_say_what_is_allowed(constraint: Any, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_values({"it": [constraint]}, {"it": value})


def test_choices_are_joined_and_other_names_left_alone() -> None:
    with pytest.raises(InputError, match="it must be 'a', None or a positive number, not 0"):
        check_values({"it": [Choice("a"), None, POSITIVE]}, {"it": 0})
    check_values({"it": [Choice("a")]}, {"other": 3})


def test_a_number_of_a_model_file_is_finite_and_within_its_bounds() -> None:
    check_number(np.float32(-2), "it")
    check_number(1e30, "it", 1e-30, 1e30)
    wrong = ((math.inf, ()), (-1e-9, (0,)), (2e30, (1e-30, 1e30)), ("1", ()), (True, ()))
    for value, bounds in wrong:
        with pytest.raises(InputError, match="it must be a number"):
            check_number(value, "it", *bounds)
