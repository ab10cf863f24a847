"""One shape for every data set: rows, labels, class table, split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from unseen.classes import ClassTable
from unseen.classes.checks import as_names, check_unmasked
from unseen.errors import InputError, listed, nearest
from unseen.rows.blocks import array_blocks, as_float64
from unseen.rows.store import RowStore, chosen_rows
from unseen.support.shown import Shown

_NO_ROWS = np.empty(0, dtype=np.intp)


class Split(NamedTuple):
    """One way to divide a data set: the classes kept as unseen, and rows of seen ones to test."""

    unseen: np.ndarray
    test_rows: np.ndarray = _NO_ROWS


@dataclass(frozen=True, eq=False, repr=False)
class ZeroShotDataset(Shown):
    """Rows X (N x d_t) with labels y, a class table, and which classes are kept as unseen.

    X is an array or a `RowStore`. Rows of unseen classes are for testing only. `test_rows` are rows
    of seen classes that are kept out of training too, for the generalised setting. `images` (N x
    height x width, grey, or with a last axis of three colours) or `image_paths` belong to the rows
    and are for display only. `feature_names` names the columns of X, if its file does. `notes` says
    where the data come from and what was noticed while reading them. `splits` are the splits that
    come with the data, `split` is the name of the one in use or empty. `sources` maps each file
    that was read, by its path inside the folder, to its SHA-256. `encoder` says what made the rows
    of pictures, if 'unseen embed' did; models remember it.
    """

    name: str
    X: Any
    y: np.ndarray
    classes: ClassTable
    unseen: np.ndarray
    test_rows: np.ndarray = field(default_factory=lambda: _NO_ROWS)
    images: np.ndarray | None = None
    image_paths: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    splits: Mapping[str, Split] = field(default_factory=dict)
    split: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    encoder: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_unmasked(self.X, "the features")
        X: Any = self.X if isinstance(self.X, RowStore) else np.asanyarray(self.X)
        labels = as_names(self.y, "labels")
        unseen = np.unique(as_names(self.unseen, "unseen classes"))
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", labels)
        object.__setattr__(self, "unseen", unseen if unseen.size else self.classes.names[:0])
        test_rows = np.ravel(self.test_rows)
        if test_rows.size and test_rows.dtype.kind not in "iu":
            raise InputError(f"test rows must be row numbers counted from 0, not {test_rows.dtype}")
        object.__setattr__(self, "test_rows", test_rows.astype(np.intp))
        check_features(X)
        if X.shape[0] != labels.size:
            more = labels.size - X.shape[0]
            hint = {-1: "; was the first label taken for a header?"}.get(more, "")
            if more == 1:
                hint = f"; is the first label, {str(labels[0])!r}, a header?"
            raise InputError(f"{X.shape[0]} rows of features but {labels.size} labels{hint}")
        check_finite(X, self.feature_names)
        self._check_split()

    def _facts(self) -> Iterator[tuple[str, object]]:
        rows, columns = self.X.shape
        yield "name", self.name
        yield "rows", f"{rows:,} of {columns:,} columns ({self.X.dtype})"
        yield "classes", f"{self.classes.n_classes:,} of {self.classes.n_attributes:,} attributes"
        yield "seen", f"{self.seen.size:,}: {listed(self.seen.tolist(), 3)}"
        yield "unseen", f"{self.unseen.size:,}: {listed(self.unseen.tolist(), 3)}"
        n_train, n_unseen = self.train_rows.size, self.unseen_rows.size
        kept = f", {self.seen_test_rows.size:,} of seen classes to test"
        yield "division", f"{n_train:,} rows to train, {n_unseen:,} of unseen classes{kept}"
        if self.split:
            yield "split", self.split

    def _check_split(self) -> None:
        self.classes.rows(self.y)
        self.classes.rows(self.unseen)
        n_rows = self.y.size
        if self.test_rows.size and not 0 <= self.test_rows.min() <= self.test_rows.max() < n_rows:
            raise InputError(f"test rows must be between 0 and {n_rows - 1}")
        for rows, what in ((self.image_paths, "image paths"), (self.images, "images")):
            if rows is not None and len(rows) != n_rows:
                raise InputError(f"{n_rows} rows but {len(rows)} {what}")
        if self.seen.size < 2:
            only = f"only {listed(self.seen.tolist())} has" if self.seen.size else "no class has"
            raise InputError(f"{only} rows to train on: at least two classes are needed")
        if untrained := np.setdiff1d(self.y[self.seen_test_rows], self.seen).tolist():
            raise InputError(
                f"all rows of {listed(untrained)} are kept for testing: leave some for training "
                "or call the class unseen"
            )

    @property
    def seen(self) -> np.ndarray:
        """Classes with training rows, sorted."""
        return np.unique(self.y[self.train_rows])

    @property
    def train_rows(self) -> np.ndarray:
        """Rows of seen classes that are not kept for testing."""
        keep = ~np.isin(self.y, self.unseen)
        keep[self.test_rows] = False
        return np.flatnonzero(keep)

    @property
    def unseen_rows(self) -> np.ndarray:
        """Rows of unseen classes: the test rows of zero-shot recognition and retrieval."""
        return np.flatnonzero(np.isin(self.y, self.unseen))

    @property
    def seen_test_rows(self) -> np.ndarray:
        """Rows of seen classes kept for testing in the generalised setting."""
        return np.setdiff1d(self.test_rows, self.unseen_rows)

    def with_unseen(self, unseen: Any) -> ZeroShotDataset:
        """The same data with other classes kept as unseen."""
        return replace(self, unseen=as_names(unseen, "unseen classes"), split="")

    def with_split(self, name: str) -> ZeroShotDataset:
        """The same data under another of the splits that come with them."""
        if name not in self.splits:
            known = f"it has {listed(self.splits)}" if self.splits else "it has no named split"
            hint = nearest(name, self.splits)
            raise InputError(f"data set {self.name!r} has no split {name!r}{hint}; {known}")
        unseen, test_rows = self.splits[name]
        return replace(self, unseen=unseen, test_rows=test_rows, split=name)

    def with_columns(self, names: tuple[str, ...] | None) -> ZeroShotDataset:
        """The same data with these feature columns, in this order, if both sides have names."""
        X = in_order(self.X, self.feature_names, names, f"data set {self.name!r}")
        return self if X is self.X else replace(self, X=X, feature_names=names)

    def training_set(self) -> tuple[Any, np.ndarray]:
        """Rows and labels to train on; rows of a `RowStore` are not read yet, and consecutive
        ones of a memory-mapped file not copied."""
        rows = self.train_rows
        follow = rows.size > 0 and rows[-1] - rows[0] + 1 == rows.size
        if follow and isinstance(self.X, np.memmap):
            return self.X[rows[0] : rows[-1] + 1], self.y[rows]
        return chosen_rows(self.X, rows), self.y[rows]

    def unseen_set(self) -> tuple[Any, np.ndarray]:
        """Rows and labels of the unseen classes, to test on."""
        rows = self.unseen_rows
        if rows.size == 0:
            raise InputError(
                f"data set {self.name!r} has no rows of unseen classes to test on; list classes to "
                "keep out of training in unseen.txt, one per line"
            )
        return chosen_rows(self.X, rows), self.y[rows]

    def facts(self) -> dict[str, int]:
        """The numbers of the paper's data-set table, and a few more."""
        return {
            "rows": self.y.size,
            "features": self.X.shape[1],
            "attributes": self.classes.n_attributes,
            "classes": self.classes.n_classes,
            "seen classes": self.seen.size,
            "unseen classes": np.setdiff1d(self.classes.names, self.seen).size,
            "training rows": self.train_rows.size,
            "unseen rows": self.unseen_rows.size,
            "seen test rows": self.seen_test_rows.size,
        }


def in_order(
    X: Any, names: tuple[str, ...] | None, wanted: tuple[str, ...] | None, where: Any
) -> Any:
    """Columns in the order of training, matched by name if both sides have names."""
    if names is None or wanted is None or names == wanted:
        return X
    places = {name: place for place, name in enumerate(names)}
    missing = [name for name in wanted if name not in places]
    if missing:
        raise InputError(
            f"{where} has no column {missing[0]!r}, which the model was trained on"
            f"{nearest(missing[0], names)}; columns are matched by name"
        )
    if isinstance(X, RowStore):
        return X.with_columns(wanted)
    return np.take(X, [places[name] for name in wanted], axis=1)


def check_features(X: Any) -> None:
    """An error if X is not a table of numbers; its cells are not read."""
    if X.ndim != 2:
        raise InputError(f"features must be a table of rows and columns, not of shape {X.shape}")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InputError(f"the features are empty: {X.shape[0]} rows of {X.shape[1]} columns")
    if X.dtype.kind not in "fiub":
        raise InputError(f"features must be numbers, not {X.dtype}")


def check_finite(X: Any, columns: tuple[str, ...] | None = None) -> None:
    """An error naming the first cell that is NaN or infinite; X is read in blocks,
    and a store checks them itself when they are used. Beyond float64 is infinite."""
    if X.dtype.kind != "f" or isinstance(X, RowStore):
        return
    is_long = X.dtype.itemsize > np.dtype(np.float64).itemsize
    for rows in array_blocks(X):
        finite = np.isfinite(as_float64(X[rows]) if is_long else X[rows])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            where = column if columns is None else repr(columns[column])
            raise InputError(
                f"the features are NaN or infinite in row {rows.start + row}, column {where} "
                "(counted from 0); fill or drop such rows first"
            )
