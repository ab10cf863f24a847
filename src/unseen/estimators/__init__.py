"""The methods. A new one is a file in this folder and a line in `METHODS`."""

from __future__ import annotations

from unseen.errors import InputError, listed, nearest
from unseen.estimators.base import ZeroShotClassifier
from unseen.estimators.eszsl import ESZSL
from unseen.estimators.jlse import JLSE

METHODS: dict[str, type[ZeroShotClassifier]] = {
    "jlse": JLSE,
    "eszsl": ESZSL,
}


def method(name: str) -> type[ZeroShotClassifier]:
    """The estimator of a method by the name it has on the command line and in model files."""
    try:
        return METHODS[name.casefold()]
    except KeyError:
        hint = nearest(name, METHODS)
        known = listed(METHODS, len(METHODS))
        raise InputError(f"unknown method {name!r}{hint}; there are {known}") from None


__all__ = ["ESZSL", "JLSE", "METHODS", "ZeroShotClassifier", "method"]
