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
    close = _closest(str(name).casefold(), list(spellings))
    if close is None:
        return ""
    spelled = spellings[close]
    same_letters = normalize("NFC", str(name)) == normalize("NFC", spelled)
    is_form = same_letters and str(name) != spelled
    form = ", in another form of Unicode: bring both to NFC" if is_form else ""
    return f"; nearest name: {spelled!r}{form}"


def _closest(name: str, spellings: list[str]) -> str | None:
    """The spelling with the most letters in common; of several, as where a number is a part of the
    name, the one that begins and ends most alike, which is the one with the fewest slips."""
    close = difflib.get_close_matches(name, spellings, n=_MOST_COMPARED, cutoff=0.6)
    matcher = difflib.SequenceMatcher(b=name)

    def ratio(key: str) -> float:
        matcher.set_seq1(key)
        return matcher.ratio()

    best = ratio(close[0]) if close else 0.0
    tied = takewhile(lambda key: ratio(key) == best, close)
    return max(sorted(tied), key=lambda key: _ends_in_common(key, name), default=None)


def _likely(name: str, spellings: dict[str, str]) -> dict[str, str]:
    """The spellings worth a closer look: of very many those with the most threes of letters in
    common, and among these those that begin and end most alike."""
    if len(spellings) <= _MOST_COMPARED:
        return spellings
    threes = {name[k : k + 3] for k in range(max(1, len(name) - 2))}
    counts = {key: sum([three in key for three in threes]) for key in spellings}
    least = heapq.nlargest(_MOST_COMPARED, counts.values())[-1]
    likely = [key for key, count in counts.items() if count > least]
    others = [key for key, count in counts.items() if count == least]
    likely += heapq.nlargest(
        _MOST_COMPARED - len(likely), others, lambda key: _ends_in_common(key, name)
    )
    return {key: spellings[key] for key in likely}


def _ends_in_common(one: str, other: str) -> int:
    return _in_common(one, other) + _in_common(reversed(one), reversed(other))


def _in_common(one: Iterable[str], other: Iterable[str]) -> int:
    """How many letters two words begin with alike."""
    number = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        number += 1
    return number


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
