"""Methods that an object has once it can carry them out."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any


class Guarded:
    """A method behind a check, which raises where the object is not ready for it.

    As the error of the check is an AttributeError, `hasattr` tells whether the method can be
    called, and scikit-learn asks that way. Of the class it is a plain function.
    """

    def __init__(self, function: Callable[..., Any], check: Callable[[Any], None]) -> None:
        self.function, self.check, self.__doc__ = function, check, function.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> Callable[..., Any]:
        if owner is None:
            return self.function
        self.check(owner)
        return MethodType(self.function, owner)


def guarded(check: Callable[[Any], None]) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a method that is there once `check` does not raise."""
    return lambda function: Guarded(function, check)
