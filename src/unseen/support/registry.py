"""Classes that model files may hold, by the words that stand for them there.

A file holds words and never code. A class is known by its place, "module:Class", as soon as the
module that defines it is imported; `register` gives it a word of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from unseen.errors import InputError

Class = TypeVar("Class", bound=type)

_classes: dict[str, type] = {}  # by place
_places: dict[str, str] = {}  # by word


def register(word: str) -> Callable[[Class], Class]:
    """A decorator that gives a class its word in model files.

    >>> @register("a doctest's value")
    ... class Value: ...
    >>> class_of("a doctest's value") is Value
    True
    """

    def registered(kind: Class) -> Class:
        add(kind)
        if word_of(kind) is None:
            raise InputError(f"{kind.__name__} is defined inside a function: give it a module")
        promise(word, _place(kind))
        return kind

    return registered


def promise(word: str, place: str) -> None:
    """Give the class at a place its word; the module is imported when a file asks for it."""
    if _places.setdefault(word, place) != place:
        raise InputError(f"{word!r} already stands for {_places[word]}; choose another word")


def add(kind: type) -> None:
    """Make a class known by its place. One that is defined again, as in a notebook, replaces the
    former; one inside a function has no place where it could be found again."""
    if "<locals>" not in kind.__qualname__:
        _classes[_place(kind)] = kind


def word_of(kind: type) -> str | None:
    """What stands for a class in a file; None if it is not known."""
    place = _place(kind)
    if _classes.get(place) is not kind:
        return None
    return next((word for word in _places if _places[word] == place), place)


def class_of(word: str) -> type | None:
    """The class that a word of a file stands for; None if it is not known."""
    place = _places.get(word, word)
    if word in _places and place not in _classes:
        import_module(place.partition(":")[0])
    return _classes.get(place)


def _place(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"
