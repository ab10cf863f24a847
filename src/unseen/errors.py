"""The one kind of error a user meets when what they gave cannot be used."""

from __future__ import annotations

import difflib
import heapq
import importlib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from types import ModuleType
from unicodedata import normalize

# A name longer than this is no slip of the pen, and comparing with so many takes a moment.
_MOST_LETTERS = 200
_MOST_COMPARED = 2000
# Packages through which a user's call comes here: a warning points at the line before them.
_BETWEEN = ("unseen", "sklearn", "joblib")


class InputError(ValueError):
    """What was given cannot be used; the message says what, where, and the way out."""


class TrustWarning(UserWarning):
    """A model or an answer that may mean nothing; the message says why."""


class UnableError(InputError, AttributeError):
    """The model cannot answer such a call, or not yet; the message says why, and the way out.

    Also an AttributeError, so that `hasattr` tells whether the call can be made.
    """


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, pointing at the line of the user, through however many calls it came."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


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
    if len(str(name)) > _MOST_LETTERS:
        return ""
    spellings = _likely(str(name).casefold(), {str(k).casefold(): str(k) for k in known})
    close = difflib.get_close_matches(str(name).casefold(), list(spellings), n=1, cutoff=0.6)
    if not close:
        return ""
    spelled = spellings[close[0]]
    same_letters = normalize("NFC", str(name)) == normalize("NFC", spelled)
    is_form = same_letters and str(name) != spelled
    form = ", in another form of Unicode: bring both to NFC" if is_form else ""
    return f"; nearest name: {spelled!r}{form}"


def _likely(name: str, spellings: dict[str, str]) -> dict[str, str]:
    """The spellings worth a closer look: of very many those that begin and end most alike."""
    if len(spellings) <= _MOST_COMPARED:
        return spellings

    def alike(key: str) -> int:
        return _in_common(key, name) + _in_common(reversed(key), reversed(name))

    return {key: spellings[key] for key in heapq.nlargest(_MOST_COMPARED, spellings, alike)}


def _in_common(one: Iterable[str], other: Iterable[str]) -> int:
    """How many letters two words begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def counted(number: int, what: str) -> str:
    """A number with its noun: "1 class", "2 classes", "1,797 rows"."""
    plural = what + ("es" if what.endswith("s") else "s")
    return f"{number:,} {what if number == 1 else plural}"


def listed(names: Iterable[object], most: int = 5) -> str:
    """Names for a message: the first few, quoted, and how many more."""
    names = list(names)
    shown = ", ".join(_quoted(str(n)) for n in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _quoted(name: str) -> str:
    return repr(name if len(name) <= _MOST_LETTERS else f"{name[:_MOST_LETTERS]}...")
