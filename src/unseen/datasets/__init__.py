"""Data sets: embedded and published ones by name, a user's own by path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from unseen.datasets.bare_rows import check_described
from unseen.datasets.catalogue import CATALOGUE, data_folder, find_benchmark, open_benchmark
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.embedded import (
    EMBEDDED,
    PairDataset,
    digit_splits,
    load_digits_zero_shot,
    make_pairs,
    make_zero_shot,
)
from unseen.datasets.folder import examine, read_dataset
from unseen.datasets.row_files import read_rows
from unseen.datasets.shapes import make_shapes, shape_splits
from unseen.datasets.stores import is_store, open_rows
from unseen.errors import InputError, listed


def open_dataset(name_or_path: str, split: str | None = None, **classes: Any) -> ZeroShotDataset:
    """A data set by its path or its name, on the named split if one is given.

    A path is a folder or a file: a user's own data, or a published data set in its own layout. A
    name is that of an embedded data set, or one of the catalogue such as "CUB vgg_fc7" or "awa1".
    How the class table of a user's own data is read can be said as for `read_dataset`.
    """
    check_exists(name := str(name_or_path))
    known = find_benchmark(name)
    if os.path.exists(name):
        dataset = read_dataset(name, **classes)
    elif known is None:
        dataset = EMBEDDED[name]()
    else:
        dataset = open_benchmark(*known)
    return dataset if split is None else dataset.with_split(split)


def check_exists(name_or_path: str) -> None:
    """An error if this is neither a path nor the name of a data set, or rows alone; nothing is
    read."""
    check_described(name_or_path)
    if os.path.exists(name_or_path) or name_or_path in EMBEDDED or find_benchmark(name_or_path):
        return
    hint = f"; {listed(EMBEDDED)} come with unseen, 'unseen datasets' lists published data sets"
    raise InputError(f"{name_or_path} does not exist" + ("" if Path(name_or_path).suffix else hint))
