"""Rows alone: files of rows that are no data set, as no class table belongs to them."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

import numpy as np

from unseen.datasets.findings import Findings
from unseen.datasets.layouts import find_layout
from unseen.datasets.row_files import Rows, with_images
from unseen.datasets.stores import is_zarr, open_rows, row_files, rows_alone, store_in
from unseen.errors import InputError, counted
from unseen.rows.store import RowStore

# What only a data set has beside its rows.
_OF_A_DATASET = ("features.*", "classes.*", "unseen.*", "test_rows.*")


def is_bare(source: str | os.PathLike[str]) -> bool:
    """Whether a path means rows alone: a pattern, a Zarr array, a folder of files of rows."""
    path = Path(source)
    if not os.path.exists(path):
        return glob.has_magic(str(path)) and bool(glob.glob(str(path)))
    if not path.is_dir() or is_zarr(path):
        return path.is_dir()
    if store_in(path) is not None or any(any(path.glob(name)) for name in _OF_A_DATASET):
        return False
    return bool(row_files(path)) and find_layout(path) is None


def check_described(source: str | os.PathLike[str]) -> None:
    """An error if a path means rows alone, where a data set is needed."""
    if is_bare(source):
        raise InputError(
            f"{source} has rows but no class table: make a folder of labels.*, classes.csv and a "
            "folder features/ with these files, which is a data set"
        )


def examine_rows(source: str) -> tuple[Findings, dict[str, int]]:
    """What there is to tell of rows alone, all of which are read, and their numbers."""
    findings, facts = Findings(), {}
    folder = Path(source) if os.path.isdir(source) else Path(source).parent
    rows = findings.attempt(folder, lambda: rows_alone(source))
    if rows is not None:
        facts = _described(rows, findings)
        labelled = findings.attempt(folder, lambda: open_rows(source))
        if labelled is not None:
            facts |= _labels(labelled, findings)
            findings.attempt(folder, lambda: _pictures(labelled, source, findings))
        findings.attempt(folder, rows.check)
    return findings, facts


def _described(rows: RowStore, findings: Findings) -> dict[str, int]:
    n_files, (n_rows, n_columns) = len(rows.paths), rows.shape
    kinds = ", ".join(sorted({Path(path).suffix or "Zarr" for path in rows.paths}))
    findings.found += [
        f"files: {n_files:,} of kind {kinds}",
        f"features: {counted(n_rows, 'row')} of {counted(n_columns, 'number')} "
        f"({', '.join(rows.stored)})",
    ]
    return {"files": n_files, "rows": n_rows, "features": n_columns}


def _labels(rows: RowStore, findings: Findings) -> dict[str, int]:
    labels: Any = rows.labels
    if labels is None:
        findings.found.append("labels: none")
        findings.odd += [f"{rows.unlabelled}, so these have none"] if rows.unlabelled else []
        return {}
    n_classes = np.unique(labels[labels != ""]).size
    findings.found.append(f"labels: {labels.size:,} of {counted(n_classes, 'class')}")
    empty = np.flatnonzero(labels == "")
    if empty.size:
        findings.odd.append(f"row {empty[0]} (counted from 0) has no label ({empty.size:,} in all)")
    return {"classes": n_classes}


def _pictures(rows: RowStore, source: str, findings: Findings) -> None:
    images = with_images(Rows(rows, rows.labels), Path(source)).image_paths
    if images is not None:
        findings.found.append(f"images: {images.size:,} paths")
