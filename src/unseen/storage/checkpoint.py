"""Checkpoints: the state of a long fit on disk, from which it resumes to the same result; and
checksums of training data, by which a checkpoint or a model knows what it was made from.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np

import unseen
from unseen.classes import ClassTable
from unseen.classes.checks import as_names
from unseen.errors import InputError
from unseen.files.writing import remove_left
from unseen.rows.blocks import array_blocks
from unseen.rows.store import RowStore, store_or_array
from unseen.storage import tensors
from unseen.storage.tensors import Arrays, DamagedError, add_array
from unseen.storage.values import decode, encode


def data_checksum(X: Any, labels: np.ndarray, table: ClassTable, dtype: Any = None) -> str:
    """The SHA-256 of rows, labels and class table: types, shapes, names and numbers.

    `labels` are names of classes, or a matrix of numbers for pairs; `dtype` is the precision in
    which the rows were used, if not their own. X is read in blocks and may be larger than memory;
    of a `RowStore` a thousand rows stand for all, and of rows on workers sums.
    """
    dtype = np.dtype(X.dtype if dtype is None else dtype)
    found = hashlib.sha256(f"{dtype.str}{X.shape}".encode())
    elsewhere = getattr(X, "checksum", None)
    if elsewhere is not None:
        found.update(elsewhere(labels, table.n_classes))
        labels = np.empty(0, "U1")
    elif isinstance(X, RowStore):
        found.update(X.fingerprint().encode())
    else:
        for rows in array_blocks(X):
            found.update(np.ascontiguousarray(X[rows], dtype).data)
    if labels.ndim == 2:
        add_array(found, labels)
        labels = labels[:0, 0]
    for names in (labels, table.names, table.attributes or ()):
        found.update(repr(list(map(str, names))).encode())
    if table.groups:
        found.update(repr([tuple(group) for group in table.groups]).encode())
    add_array(found, table.vectors)
    return found.hexdigest()


class TrainedOn:
    """The rows and labels that a model was trained on, as long as somebody else keeps them.

    Their checksum is computed on demand, as not every model is saved.
    """

    def __init__(self, X: Any, y: Any, dtype: np.dtype, table: ClassTable) -> None:
        try:
            self._rows, self._labels = weakref.ref(X), weakref.ref(y)
        except TypeError:  # lists have no weak references
            self._rows = self._labels = lambda: None
        self._dtype, self._table = dtype, table
        self._found: str | None = None

    def checksum(self) -> str | None:
        """The checksum of the data when first asked for; None if they were gone by then."""
        X, y = self._rows(), self._labels()
        if self._found is None and X is not None and y is not None:
            labels = as_names(np.asarray(y), "y")
            self._found = data_checksum(store_or_array(X), labels, self._table, self._dtype)
        return self._found


KIND = "unseen checkpoint"
FORMAT = 3
# Work between two writes, in units of the time that the last write took.
_WORK_A_WRITE = 20.0

# What is compared by a checksum, in words.
_NOT_SHOWN = {
    "data": "the rows, labels or classes",
    "settings": "the settings to try",
    "splits": "the classes held out",
}

# What a state raises in which something is not what it should be.
_OF_ODD_STATE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)

Note = Callable[[list[Any] | None], None]


class Checkpoint:
    """A file that holds the last state of a fit: `stage`, and named arrays, numbers and lists.

    `belongs` (parameters, checksum of the data) identifies the fit; the state of another one is
    refused. Used as a context: when the fit is stopped, for instance by Ctrl-C, the last state is
    written first. Without a path nothing is kept.

    >>> with Checkpoint(None, {}) as checkpoint:
    ...     checkpoint.note("rounds", {"n_rounds": 1})
    ...     print(checkpoint.state("rounds"))
    None
    """

    def __init__(self, path: str | os.PathLike[str] | None, belongs: dict[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        made = belongs | {"unseen": unseen.__version__}
        self._belongs = json.loads(json.dumps(made, default=_shown))  # as the file gives it back
        self._pending: tuple[str, dict[str, Any]] | None = None
        self._written, self._cost = 0.0, 0.0
        self._found = self._read() if self.path is not None and os.path.exists(self.path) else None

    def state(self, stage: str) -> dict[str, Any] | None:
        """The state of this stage in the file, or None."""
        return self._found[1] if self._found is not None and self._found[0] == stage else None

    def note(self, stage: str, state: dict[str, Any]) -> None:
        """Keep a state, and write it if the last write was long enough ago.

        Arrays are not copied, so they must not be changed in place.
        """
        if self.path is None:
            return
        self._pending = stage, state
        if time.monotonic() - self._written >= _WORK_A_WRITE * self._cost:
            self.flush()

    def flush(self) -> None:
        """Write the last state, if it is not on the disk yet."""
        if self.path is None or self._pending is None:
            return
        start = time.monotonic()
        stage, state = self._pending
        arrays = Arrays()
        content = {"format": FORMAT, "belongs": self._belongs, "stage": stage}
        content["state"] = encode(state, arrays, exact=True)
        tensors.write(self.path, KIND, content, arrays)
        self._pending = None
        self._written = time.monotonic()
        self._cost = self._written - start

    def discard(self) -> None:
        """Forget the state, on the disk too."""
        self._pending = None
        if self.path is not None:
            remove(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if self._found is not None and isinstance(error, _OF_ODD_STATE):
            if isinstance(error, InputError):
                return
            why = f"{self.path} holds a state that this work cannot resume from"
            raise InputError(f"{why}; remove it or give another file") from error
        self.flush()

    def _read(self) -> tuple[str, dict[str, Any]]:
        assert self.path is not None
        try:
            content, arrays = tensors.read(self.path, KIND)
            if content["format"] != FORMAT:
                raise DamagedError(f"its format is {content['format']}, not {FORMAT}")
            belongs, stage = dict(content["belongs"]), str(content["stage"])
            state = dict(decode(content["state"], arrays))
        except (OSError, DamagedError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{self.path} is not a checkpoint of unseen, or it is damaged: {error}; remove it "
                "or give another file"
            ) from error
        if different := _difference(belongs, self._belongs):
            raise InputError(
                f"{self.path} is the checkpoint of another fit: {different}; restore that, remove "
                "the file, or give another one"
            )
        return stage, state


class Steps:
    """The checkpoint of a fit that consists of several trainings, one after the other.

    It keeps the results of those that are over and the state of the running one, as lists of
    arrays, numbers and lists. A resumed fit must make the same trainings in the same order.

    >>> Steps().run(lambda found, note: [found, 1])
    [None, 1]
    """

    def __init__(self, checkpoint: Checkpoint | None = None) -> None:
        self._checkpoint = Checkpoint(None, {}) if checkpoint is None else checkpoint
        found = self._checkpoint.state("steps") or {"over": [], "running": None}
        self._over, self._running = found["over"], found["running"]
        self._number = 0

    def run(self, train: Callable[[list[Any] | None, Note | None], list[Any]]) -> list[Any]:
        """The result of the next training, from the file if it is there.

        `train(found, note)` gets the state in which it was stopped, or None, and calls `note` with
        new ones; `note` is None if nothing is kept.
        """
        if self._checkpoint.path is None:
            return train(None, None)
        self._number += 1
        if self._number > len(self._over):
            found, self._running = self._running, None
            self._over.append(train(found, self._note))
            self._note(None)
        return self._over[self._number - 1]

    def _note(self, state: list[Any] | None) -> None:
        self._checkpoint.note("steps", {"over": self._over[:], "running": state})


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a checkpoint, and what a killed process may have left of one."""
    Path(path).unlink(missing_ok=True)
    shutil.rmtree(f"{path}.rows", ignore_errors=True)
    remove_left(path)


def _difference(then: dict[str, Any], now: dict[str, Any]) -> str:
    """The first difference, in words."""
    for name in dict.fromkeys([*now, *then]):
        if then.get(name) == now.get(name):
            continue
        if isinstance(now.get(name), dict) and isinstance(then.get(name), dict):
            return _difference(then[name], now[name])
        if name in _NOT_SHOWN:
            return f"{_NOT_SHOWN[name]} were different"
        return f"{name} was {then.get(name)!r} and is now {now.get(name)!r}"
    return ""


def _shown(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else repr(value)
