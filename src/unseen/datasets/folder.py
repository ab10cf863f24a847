"""A user's own data: a folder or a .npz file is a data set. docs/own-data.md is the manual."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen.classes import ClassTable
from unseen.classes.given import of_arrays, read_given
from unseen.classes.learning import learn_recipe
from unseen.classes.recipe import Given
from unseen.datasets.bare_rows import check_described
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.encoder_file import ENCODER, read_encoder
from unseen.datasets.feature_file import FEATURE_ARRAYS, LABEL_ARRAYS
from unseen.datasets.findings import Findings, oddities
from unseen.datasets.layouts import find_layout, is_feature_file, read_layout
from unseen.datasets.published import below
from unseen.datasets.row_files import (
    FEATURE_SUFFIXES,
    LABEL_SUFFIXES,
    ROW_NUMBER_COLUMNS,
    Rows,
    as_strings,
    by_rows,
    existing,
    part,
    read_feature_rows,
    read_labels,
)
from unseen.datasets.stores import open_features, rows_beside, store_in
from unseen.errors import InputError, listed, naming, nearest
from unseen.files import reading
from unseen.files.tables import TABLE_SUFFIXES, is_unique
from unseen.rows.store import RowStore
from unseen.support.text import words

CLASS_SUFFIXES = (".npz", ".mat", *TABLE_SUFFIXES)
_OF_CLASSES = ("class_names", "class_vectors", "class_attributes")


def read_dataset(
    path: str | os.PathLike[str],
    *,
    encoder: Any = "tfidf",
    missing: str = "error",
    like: ClassTable | None = None,
    pictures: str | os.PathLike[str] | None = None,
) -> ZeroShotDataset:
    """Read a data set from a folder or a file, or say in one sentence what is wrong.

    Published data sets are recognised by their files; docs/own-data.md describes a user's own. A
    data set need not have unseen classes: they can be revealed later.

    Parameters
    ----------
    encoder, missing : what makes numbers of texts in the class table, and what stands for missing
        values, as for `ClassTable.read`; both are learned from the seen classes. Published data
        sets have no texts, and are read in their own way.
    like : a class table with the same columns, such as that of a model; what it has learned is used
        instead.
    pictures : a further folder whose pictures may be shown; those elsewhere outside of the data are
        not, as files of strangers must not choose which of yours a report shows.
    """
    findings = examine(path, pictures, encoder=encoder, missing=missing, like=like)
    if findings.dataset is None:
        more = len(findings.wrong) - 1
        hint = f" (and {more} more; 'unseen check {path}' lists them)" if more else ""
        raise InputError(findings.wrong[0] + hint)
    return findings.dataset


def examine(
    path: str | os.PathLike[str], pictures: str | os.PathLike[str] | None = None, **classes: Any
) -> Findings:
    """Read as much of a data set as can be read, and note everything that is wrong with it.

    `pictures`, and `classes`, which say how to read the class table, are as for `read_dataset`.
    """
    check_described(path)
    path, findings = existing(path), Findings()
    layout = find_layout(path) if path.is_dir() or is_feature_file(path) else None
    if layout is not None:
        findings.attempt(path, lambda: findings.add(read_layout(path, layout)))
    elif path.is_dir() or path.suffix == ".npz":
        _Own(path, findings, TableOptions(**classes), pictures).read()
    else:
        findings.wrong.append(f"{path}: a data set is a folder or a .npz file")
    dataset = findings.dataset
    if dataset is not None:
        # The first look at the rows of a store, which may be broken.
        odd = findings.attempt(path, lambda: oddities(dataset))
        findings.odd += odd or []
        findings.dataset = None if odd is None else dataset
    return findings


# -- a user's own data --------------------------------------------------------------------------


class TableOptions(NamedTuple):
    """How to read the class table, as for `read_dataset`."""

    encoder: Any = "tfidf"
    missing: str = "error"
    like: ClassTable | None = None


class _Own:
    """The parts that could be read, by their names in `ZeroShotDataset`.

    A folder has one file per part; labels and images may be in that of the features. A .npz file
    has all parts.
    """

    def __init__(
        self, path: Path, findings: Findings, options: TableOptions, pictures: Any = None
    ) -> None:
        self.path, self.findings, self.options = path, findings, options
        self.sources = reading.Sources(path if path.is_dir() else path.parent)
        further = [] if pictures is None else [existing(pictures)]
        self.shown = [self.sources.folder, *further]
        self.parts: dict[str, Any] = {}
        self.rows = Rows(np.empty((0, 0)))
        self.labels_by = ""
        self.told: list[str] = []

    def read(self) -> None:
        if self.path.is_dir():
            self.attempt(self.features, self.labels, self.classes)
            self.attempt(
                lambda: self.list_beside("unseen.txt", "unseen", self.unseen),
                lambda: self.list_beside("test_rows.txt", "test_rows", _row_numbers),
                lambda: self.list_beside("images.txt", "image_paths", self.images),
                lambda: self.list_beside(ENCODER, "encoder", read_encoder),
            )
            self.findings.odd += [
                f"{other.name} is ignored; the list must be called {stem}.txt"
                for stem in ("unseen", "test_rows", "images")
                for other in sorted(self.path.glob(f"{stem}.*"))
                if other.suffix != ".txt"
            ]
        else:
            self.attempt(self.archive)
        self.describe()
        if not self.findings.wrong:
            self.findings.dataset = self.findings.attempt(self.path, self.assemble)

    def attempt(self, *steps: Callable[[], dict[str, Any]]) -> None:
        """Take steps, each of which gives some of the parts."""
        for step in steps:
            self.parts |= self.findings.attempt(self.path, step) or {}

    def describe(self) -> None:
        """Say what was read, and which columns may have been misunderstood."""
        found, odd, parts = self.findings.found, self.findings.odd, self.parts
        beside, X, table = self.rows.beside, parts.get("X"), parts.get("classes")
        if X is not None and X.ndim == 2:
            found.append(f"features: {X.shape[0]:,} rows of {X.shape[1]:,} numbers ({X.dtype})")
        if beside:
            found.append(f"column {listed(beside)} names or numbers the rows and is left out")
        odd += [
            f"column {c!r} is left out although it repeats values; rename it if it is a feature"
            for c in ROW_NUMBER_COLUMNS
            if c in beside and not is_unique(beside[c])
        ]
        if "y" in parts:
            n_names = np.unique(parts["y"]).size
            met = f"by column {self.labels_by!r}" if self.labels_by else "by position"
            found.append(f"labels: {parts['y'].size:,} of {n_names:,} classes, matched {met}")
        if table is not None:
            size = f"{table.n_classes:,} classes described by {table.n_attributes:,} numbers each"
            found += [f"class table: {size}", *self.told]
            odd += [
                f"column {name!r} of the class table counts as an attribute; remove it if it "
                "numbers the classes"
                for name in table.attributes or ()
                if name.casefold() in ROW_NUMBER_COLUMNS
            ]
        if "unseen" in parts:
            found.append(f"unseen classes: {listed(parts['unseen'].tolist())}")
        if np.size(parts.get("test_rows", ())):
            found.append(f"test rows: {parts['test_rows'].size:,} rows kept out of training")
        if "encoder" in parts:
            found.append(f"encoder of the pictures: {parts['encoder']['images']['name']}")
        if "image_paths" in parts:
            found.append(f"images: {parts['image_paths'].size:,} paths")

    def assemble(self) -> ZeroShotDataset:
        y, table = self.parts["y"], self.parts["classes"]
        empty = np.flatnonzero(y == "")
        if empty.size:
            raise InputError(f"row {empty[0]} (counted from 0) has no label ({empty.size} in all)")
        return ZeroShotDataset(
            name=self.path.resolve().name if self.path.is_dir() else self.path.stem,
            notes=(f"read from {self.path}", *self.findings.odd),
            sources=self.sources.digests(),
            **{"unseen": np.setdiff1d(table.names, y), **self.parts},
        )

    # -- one file

    def archive(self) -> dict[str, Any]:
        readers = {"unseen": as_strings, "test_rows": np.ravel, "image_paths": self.pictures}
        names = [*FEATURE_ARRAYS, *LABEL_ARRAYS, *_OF_CLASSES, *readers]
        arrays = reading.read_npz(self.sources.use_path(self.path), names)

        def pick(names: tuple[str, ...], what: str) -> Any:
            return reading.pick(arrays, names, self.path, what)

        def classes() -> ClassTable:
            names, vectors, attributes = _OF_CLASSES
            described = of_arrays(
                as_strings(pick((names,), "class names")),
                pick((vectors,), "class vectors"),
                arrays.get(attributes),
            )
            unseen = as_strings(arrays["unseen"]) if "unseen" in arrays else ()
            return self.table(described, unseen)

        self.attempt(
            lambda: {"X": pick(FEATURE_ARRAYS, "features")},
            lambda: {"y": as_strings(pick(LABEL_ARRAYS, "labels"))},
            lambda: {"classes": classes()},
            lambda: {k: read(arrays[k]) for k, read in readers.items() if k in arrays},
        )
        return {}

    # -- a folder

    def features(self) -> dict[str, Any]:
        store = store_in(self.path)
        if store is not None:  # too large, perhaps, for a checksum
            opened = open_features(store)
            self.rows = Rows(np.empty((0, 0)), opened.labels, columns=opened.columns)
            found = {"X": opened, "y": opened.labels, "feature_names": opened.columns}
            return {name: value for name, value in found.items() if value is not None}
        path = self.sources.use_path(part(self.path, "features", FEATURE_SUFFIXES))
        rows = self.rows = read_feature_rows(path)
        found = {"X": rows.X, "y": rows.labels, "feature_names": rows.columns}
        if rows.image_paths is not None:
            found["image_paths"] = self.pictures(rows.image_paths)
        return {name: value for name, value in found.items() if value is not None}

    def labels(self) -> dict[str, Any]:
        path = part(self.path, "labels", LABEL_SUFFIXES, required=False)
        X, y = self.parts.get("X"), self.parts.get("y")
        tables = [f"features{s}" for s in FEATURE_SUFFIXES if s != ".npy"]
        if path is not None:
            if y is not None:
                self.findings.odd.append(f"{path.name} overrides the labels in the features file")
            if isinstance(self.parts.get("X"), RowStore) and path.suffix in TABLE_SUFFIXES:
                self.rows = rows_beside(self.parts["X"])
            y, self.labels_by, odd = read_labels(self.sources.use_path(path), self.rows)
            self.findings.odd += odd
        # Labels inside a features file that could not be read are not missing.
        elif y is None and (X is not None or not any(map(self.sources.has, tables))):
            beside = listed(self.rows.beside)
            hint = f"; if column {beside} holds the class of each row, call it 'label'"
            part(self.path, "labels", LABEL_SUFFIXES, hint=hint if beside else "")
        if X is not None and y is not None and self.sources.has("features.mat"):
            X = by_rows(X, y.size)
        return {name: value for name, value in (("X", X), ("y", y)) if value is not None}

    def classes(self) -> dict[str, Any]:
        path = self.sources.use_path(part(self.path, "classes", CLASS_SUFFIXES))
        try:
            unseen = reading.read_lines(self.path / "unseen.txt")
        except InputError:  # there is none, or it is reported when it is its turn
            unseen = ()
        with naming(path):
            described = read_given(path)
            described = described._replace(names=as_strings(described.names))
            return {"classes": self.table(described, unseen)}

    def table(self, described: Given, unseen: Any) -> ClassTable:
        """The class table; what it learns, it learns from seen classes alone."""
        encoder, missing, like = self.options
        if like is not None and like.recipe is not None:
            return ClassTable.of_given(described, like.recipe)
        seen = np.setdiff1d(self.parts["y"], unseen) if "y" in self.parts else None
        learned = learn_recipe(described, encoder, missing, seen)
        self.told = learned.told
        self.findings.odd += learned.odd
        return ClassTable.of_given(described, learned.recipe)

    def list_beside(self, name: str, part: str, read: Callable[[Path], Any]) -> dict[str, Any]:
        """One of the lists beside the data, if it is there."""
        return {part: read(self.sources.use(name))} if self.sources.has(name) else {}

    def pictures(self, names: Any) -> np.ndarray:
        """The paths of pictures, which must lie in a folder whose pictures may be shown."""
        folder = self.sources.folder
        given = np.array([str(folder / name) if name else "" for name in as_strings(names)])
        inside = [below(shown, given) != "" for shown in self.shown]
        return np.where(np.logical_or.reduce(inside), given, "")

    def unseen(self, path: Path) -> np.ndarray:
        return _name_list(path, self.parts.get("classes"))

    def images(self, path: Path) -> np.ndarray:
        return self.pictures(words(reading.read_lines(path), str(path)))


def _name_list(path: Path, table: ClassTable | None) -> np.ndarray:
    """Names of classes, one per line, all of which the table describes."""
    lines = enumerate(reading.read_lines(path), start=1)
    names = {number: line for number, line in lines if line}
    if not names:
        raise InputError(f"{path} names no class; list classes in it, one per line, or delete it")
    for number, name in names.items():
        if table is None or name in table:
            continue
        if any(part.strip() in table for part in name.split(",")):
            raise InputError(f"{path}, line {number}: write one name per line, without commas")
        hint = nearest(name, table.names.tolist())
        raise InputError(f"{path}, line {number}: class {name!r} has no line in the table{hint}")
    return words(names.values(), str(path))


def _row_numbers(path: Path) -> np.ndarray:
    lines = [line for line in reading.read_lines(path) if line]
    # Eighteen digits fit in 64 bits.
    bad = next((line for line in lines if not line.isdecimal() or len(line) > 18), None)
    if bad is not None:
        raise InputError(f"{path}: {bad[:30]!r} is not a row number (whole, counted from 0)")
    return np.array([int(line) for line in lines], dtype=np.intp)
