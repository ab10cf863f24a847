"""The one kind of error a user meets when what they gave cannot be used."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from unicodedata import normalize


class InputError(ValueError):
    """What was given cannot be used; the message says what, where, and the way out."""


class TrustWarning(UserWarning):
    """A model or an answer that may mean nothing; the message says why."""


class NotLearnedError(InputError, AttributeError):
    """The model has not learned what a call needs; the message names the call that teaches it.

    Also an AttributeError, so that `hasattr` tells whether the call can be made.
    """


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional module late, or say which extra installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {top}, which is not installed; install the extra {extra!r}: "
            f"pip install 'unseen[{extra}]', or pip install '.[{extra}]' in a clone"
        ) from error


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the path before the message of an InputError raised inside, unless it is there."""
    try:
        yield
    except InputError as error:
        if str(path) in str(error):
            raise
        raise InputError(f"{path}: {error}") from error


def nearest(name: object, known: Iterable[object]) -> str:
    """A hint naming the closest known spelling of `name`, or an empty string."""
    spellings = {str(k).casefold(): str(k) for k in known}
    close = difflib.get_close_matches(str(name).casefold(), list(spellings), n=1, cutoff=0.6)
    if not close:
        return ""
    spelled = spellings[close[0]]
    same_letters = normalize("NFC", str(name)) == normalize("NFC", spelled)
    is_form = same_letters and str(name) != spelled
    form = ", in another form of Unicode: bring both to NFC" if is_form else ""
    return f"; nearest name: {spelled!r}{form}"


def counted(number: int, what: str) -> str:
    """A number with its noun: "1 class", "2 classes", "1,797 rows"."""
    plural = what + ("es" if what.endswith("s") else "s")
    return f"{number:,} {what if number == 1 else plural}"


def listed(names: Iterable[object], most: int = 5) -> str:
    """Names for a message: the first few, quoted, and how many more."""
    names = list(names)
    shown = ", ".join(repr(str(n)) for n in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
