"""A user's own data: one folder, or one .npz file, a data set. docs/own-data.md is its manual."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unseen import files
from unseen.classes import ClassTable
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.label_files import (
    LABEL_SUFFIXES,
    ROW_NUMBER_COLUMNS,
    as_strings,
    key_columns,
    read_labels,
)
from unseen.datasets.layouts import find_layout, is_feature_file, read_layout
from unseen.datasets.oddities import oddities
from unseen.datasets.row_files import (
    FEATURE_ARRAYS,
    FEATURE_SUFFIXES,
    LABEL_ARRAYS,
    Rows,
    by_rows,
    existing,
    part,
    read_feature_rows,
)
from unseen.datasets.sources import Sources
from unseen.errors import InputError, counted, listed, naming, nearest
from unseen.files.tables import TABLE_SUFFIXES, is_numeric

CLASS_SUFFIXES = (".npz", ".mat", *TABLE_SUFFIXES)


@dataclass
class _Parts:
    """What has been read of a data set so far; labels and images may stand beside the features."""

    X: np.ndarray | None = None
    y: np.ndarray | None = None
    classes: ClassTable | None = None
    unseen: np.ndarray | None = None
    test_rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    image_paths: np.ndarray | None = None
    rows: Rows | None = None
    columns: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()
    labels_by: str = ""
    files: list[Path] = field(default_factory=list)


@dataclass
class Findings:
    """What `examine` saw: what is there, what is odd, and what makes the data unusable."""

    found: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    dataset: ZeroShotDataset | None = None

    def add(self, dataset: ZeroShotDataset) -> None:
        """A data set that was read whole: where it comes from was found, other notes are odd."""
        self.dataset = dataset
        self.found += dataset.notes[:1]
        self.odd += dataset.notes[1:]


def read_dataset(path: str | os.PathLike[str]) -> ZeroShotDataset:
    """Read a data set from a folder or a file, or say in one sentence what is wrong.

    Folders of published data sets are known by their files, a user's own are read as
    docs/own-data.md says. A data set without unseen classes is read all the same: classes can be
    revealed later.
    """
    findings = examine(path)
    if findings.dataset is None:
        more = len(findings.wrong) - 1
        hint = f" (and {more} more; 'unseen check {path}' lists them)" if more else ""
        raise InputError(findings.wrong[0] + hint)
    return findings.dataset


def examine(path: str | os.PathLike[str]) -> Findings:
    """Read all that can be read of a data set, and note everything that is wrong with it."""
    path = existing(path)
    findings, parts = Findings(), _Parts()
    layout = find_layout(path) if path.is_dir() or is_feature_file(path) else None
    if layout is not None:
        _attempt(findings, path, lambda: findings.add(read_layout(path, layout)))
    elif path.is_dir():
        _read_folder(path, parts, findings)
    elif path.suffix == ".npz":
        _attempt(findings, path, lambda: _read_archive(path, parts, findings))
    else:
        findings.wrong.append(f"{path}: a data set is a folder or a .npz file")
    _describe(parts, findings)
    if layout is None and not findings.wrong:
        _attempt(findings, path, lambda: _assemble(path, parts, findings))
    if findings.dataset is not None:
        findings.odd += oddities(findings.dataset)
        if findings.dataset.unseen.size == 0:
            findings.odd.append(
                "every class of the table has training rows, so nothing is zero-shot yet: name "
                "classes to keep out of training in unseen.txt, add classes without rows to the "
                "table, or give them to 'predict' with --classes"
            )
    return findings


def _attempt(findings: Findings, path: Path, step: Callable[[], Any]) -> None:
    try:
        with naming(path):
            step()
    except InputError as error:
        findings.wrong.append(str(error))


# -- reading the parts --------------------------------------------------------------------------


def _read_folder(folder: Path, parts: _Parts, findings: Findings) -> None:
    def used(path: Path) -> Path:
        parts.files.append(path)
        return path

    def features() -> None:
        path = used(part(folder, "features", FEATURE_SUFFIXES))
        beside = [folder / f"labels{s}" for s in LABEL_SUFFIXES if (folder / f"labels{s}").exists()]
        keys = key_columns(beside[0] if len(beside) == 1 else None, path)
        rows = parts.rows = read_feature_rows(path, keys=keys)
        findings.odd += [
            f"column {c!r} is in {beside[0].name} too and taken for the number of each row, not "
            "for a feature"
            for c, cells in rows.beside.items()
            if c.casefold() in keys and c.casefold() not in ROW_NUMBER_COLUMNS and is_numeric(cells)
        ]
        parts.X, parts.y, parts.image_paths = rows.X, rows.labels, rows.image_paths
        parts.columns, parts.left_out = rows.columns, tuple(rows.beside)

    def labels() -> None:
        path = part(folder, "labels", LABEL_SUFFIXES, required=False)
        if path is not None:
            if parts.y is not None:
                findings.odd.append(
                    f"{path.name} is used, the labels inside the features file are not"
                )
            _use_labels(used(path), parts, findings)
        # Labels inside a features file that could not be read are not missing.
        elif parts.y is None and not (parts.X is None and _may_hold_labels(folder)):
            part(folder, "labels", LABEL_SUFFIXES, hint=_label_hint(parts.left_out))
        if parts.X is not None and parts.y is not None and (folder / "features.mat").exists():
            parts.X = by_rows(parts.X, parts.y.size)

    def classes() -> None:
        table = ClassTable.read(used(part(folder, "classes", CLASS_SUFFIXES)))
        parts.classes = ClassTable(
            as_strings(table.names), table.vectors, table.attributes, table.groups
        )

    def unseen() -> None:
        if (folder / "unseen.txt").exists():
            parts.unseen = _name_list(used(folder / "unseen.txt"), parts.classes)

    def test_rows() -> None:
        if (folder / "test_rows.txt").exists():
            parts.test_rows = _row_numbers(used(folder / "test_rows.txt"))

    def images() -> None:
        if (folder / "images.txt").exists():
            parts.image_paths = np.array(files.read_lines(used(folder / "images.txt")))
        if parts.image_paths is not None:
            parts.image_paths = np.array([str(folder / p) for p in parts.image_paths])

    for step in (features, labels, classes, unseen, test_rows, images):
        _attempt(findings, folder, step)
    for stem in ("unseen", "test_rows", "images"):
        for other in sorted(folder.glob(f"{stem}.*")):
            if other.suffix != ".txt":
                findings.odd.append(f"{other.name} is not read; the list is called {stem}.txt")


def _use_labels(path: Path, parts: _Parts, findings: Findings) -> None:
    """The labels of a file of their own, and what is odd about how they met the rows."""
    rows = Rows(np.empty((0, 0))) if parts.rows is None else parts.rows
    read = read_labels(path, rows.beside, rows.image_paths)
    parts.y, parts.labels_by = read.names, read.by
    if read.left:
        findings.odd.append(f"{counted(read.left, 'line')} of {path.name} match no row")
    if read.unused:
        findings.odd.append(
            f"{path.name} has column {listed(read.unused)}, which the features have not: labels "
            "are taken in their order"
        )


def _may_hold_labels(folder: Path) -> bool:
    return any((folder / f"features{s}").exists() for s in FEATURE_SUFFIXES if s != ".npy")


def _label_hint(left_out: tuple[str, ...]) -> str:
    columns = listed(left_out)
    return f"; if column {columns} is the class of each row, call it 'label'" if left_out else ""


def _name_list(path: Path, table: ClassTable | None) -> np.ndarray:
    """Names of classes, one a line, all of which the table describes."""
    lines = files.read_lines(path) if path.stat().st_size else []
    names = {number: line for number, line in enumerate(lines, start=1) if line}
    if not names:
        raise InputError(f"{path} names no class; name classes in it, one a line, or delete it")
    for number, name in names.items():
        if table is None or name in table:
            continue
        if any(part.strip() in table for part in name.split(",")):
            raise InputError(f"{path}, line {number}: write one name a line, without commas")
        hint = nearest(name, table.names.tolist())
        raise InputError(f"{path}, line {number}: class {name!r} has no line in the table{hint}")
    return np.array(list(names.values()), dtype=str)


def _row_numbers(path: Path) -> np.ndarray:
    lines = [line for line in files.read_lines(path) if line]
    # Eighteen digits fit in 64 bits.
    bad = next((line for line in lines if not line.isdecimal() or len(line) > 18), None)
    if bad is not None:
        raise InputError(f"{path}: {bad[:30]!r} is not a row number (whole, counted from 0)")
    return np.array([int(line) for line in lines], dtype=np.intp)


def _read_archive(path: Path, parts: _Parts, findings: Findings) -> None:
    arrays = files.read_npz(path)
    parts.files.append(path)

    def features() -> None:
        parts.X = files.pick(arrays, FEATURE_ARRAYS, path, "features")

    def labels() -> None:
        parts.y = as_strings(files.pick(arrays, LABEL_ARRAYS, path, "labels"))

    def classes() -> None:
        names = as_strings(files.pick(arrays, ("class_names",), path, "class names"))
        vectors = files.pick(arrays, ("class_vectors",), path, "class vectors")
        parts.classes = ClassTable(names, vectors, arrays.get("class_attributes"))

    def lists() -> None:
        if "unseen" in arrays:
            parts.unseen = as_strings(arrays["unseen"])
        if "test_rows" in arrays:
            parts.test_rows = np.ravel(arrays["test_rows"])
        if "image_paths" in arrays:
            parts.image_paths = as_strings(arrays["image_paths"])

    for step in (features, labels, classes, lists):
        _attempt(findings, path, step)


# -- putting them together ----------------------------------------------------------------------


def _describe(parts: _Parts, findings: Findings) -> None:
    if parts.X is not None and parts.X.ndim == 2:
        rows, columns = parts.X.shape
        findings.found.append(f"features: {rows:,} rows of {columns:,} numbers ({parts.X.dtype})")
    if parts.left_out:
        findings.found.append(
            f"column {listed(parts.left_out)} names or numbers the rows and is left out"
        )
    findings.odd += [
        f"column {c!r} is used as a feature: it does not hold whole numbers, each once"
        for c in parts.columns or ()
        if c.casefold() in ROW_NUMBER_COLUMNS
    ]
    if parts.y is not None:
        n_names = np.unique(parts.y).size
        met = f"by column {parts.labels_by!r}" if parts.labels_by else "in their order"
        findings.found.append(
            f"labels: {parts.y.size:,} labels, {n_names:,} different names, matched with rows {met}"
        )
    if parts.classes is not None:
        table = parts.classes
        findings.found.append(
            f"class table: {table.n_classes:,} classes, each described by {table.n_attributes:,} "
            "numbers"
        )
        findings.odd += [
            f"column {name!r} of the class table is used as an attribute; take it out if it "
            "numbers the classes"
            for name in table.attributes or ()
            if name.casefold() in ROW_NUMBER_COLUMNS
        ]
    if parts.unseen is not None:
        findings.found.append(f"unseen classes: {listed(parts.unseen.tolist())}")
    if parts.test_rows.size:
        findings.found.append(f"test rows: {parts.test_rows.size:,} rows kept out of training")
    if parts.image_paths is not None:
        findings.found.append(f"images: {parts.image_paths.size:,} paths")


def _assemble(path: Path, parts: _Parts, findings: Findings) -> None:
    assert parts.X is not None
    assert parts.y is not None
    assert parts.classes is not None
    empty = np.flatnonzero(parts.y == "")
    if empty.size:
        raise InputError(f"row {empty[0]} (counted from 0) has no label ({empty.size} in all)")
    unseen = parts.unseen
    if unseen is None:
        unseen = np.setdiff1d(parts.classes.names, parts.y)
    sources = Sources(path if path.is_dir() else path.parent)
    for file in parts.files:
        sources.use_path(file)
    findings.dataset = ZeroShotDataset(
        name=path.resolve().name if path.is_dir() else path.stem,
        X=parts.X,
        y=parts.y,
        classes=parts.classes,
        unseen=unseen,
        test_rows=parts.test_rows,
        image_paths=parts.image_paths,
        feature_names=parts.columns,
        notes=(f"read from {path}", *findings.odd),
        sources=sources.digests(),
    )
