"""What must hold of a Parquet file from a stranger before its cells are read.

Equal cells cost next to nothing to write, so a small file may promise numbers or text without end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import require
from unseen.files.limits import check_unpacked

_CELL_BYTES = 8


def check_cells(path: Path, by_groups: bool = False) -> None:
    """An error if a file, or with `by_groups` one of its groups of rows, has far more cells than so
    many bytes can hold."""
    with _opened(path) as file:
        facts = file.metadata
    groups = [_size_of(facts.row_group(k)) for k in range(facts.num_row_groups)]
    largest = max(groups, default=0) if by_groups else sum(groups)
    what = "a group of rows" if by_groups else "the whole"
    check_unpacked(f"{path}: {what}", largest, path.stat().st_size)


def _size_of(group: Any) -> int:
    columns = [group.column(k) for k in range(group.num_columns)]
    return sum(max(_CELL_BYTES * c.num_values, c.total_uncompressed_size) for c in columns)


def check_text(path: Path) -> None:
    """The same for the letters in all columns of text, of which each different one is read once."""
    with _opened(path) as file:
        names = [field.name for field in file.schema_arrow if _is_text(field.type)]
    if not names:
        return
    with _opened(path, names) as file:
        table = file.read(columns=names)
    for name, column in zip(table.column_names, table.columns, strict=True):
        check_unpacked(f"{path}: column {name!r}", _n_letters(column), path.stat().st_size)


def _n_letters(column: Any) -> int:
    compute: Any = require("pyarrow.compute", "data", "reading .parquet")
    n_letters = 0
    for chunk in column.chunks:
        lengths = compute.binary_length(chunk.dictionary).fill_null(0).to_numpy()
        used = chunk.indices.drop_null().to_numpy()
        n_letters += int(np.bincount(used, minlength=len(lengths)) @ lengths.astype(np.int64))
    return n_letters


def _is_text(kind: Any) -> bool:
    kind = getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind
    return str(kind) in ("string", "binary", "large_string", "large_binary")


def _opened(path: Path, as_dictionaries: list[str] | None = None) -> Any:
    parquet: Any = require("pyarrow.parquet", "data", f"reading {path.name}")
    return parquet.ParquetFile(path, read_dictionary=as_dictionaries)
