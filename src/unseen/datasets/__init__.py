"""Data sets: embedded ones by name, a user's own by path."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.digits import digit_splits, load_digits_zero_shot, seven_segments
from unseen.datasets.folder import examine, read_dataset, read_features, read_rows
from unseen.datasets.synthetic import make_zero_shot
from unseen.errors import InputError, listed

EMBEDDED: dict[str, Callable[[], ZeroShotDataset]] = {
    "digits": load_digits_zero_shot,
    "synthetic": make_zero_shot,
}


def open_dataset(name_or_path: str) -> ZeroShotDataset:
    """An embedded data set by its name, else a folder or .npz file by its path."""
    if name_or_path in EMBEDDED and not Path(name_or_path).exists():
        return EMBEDDED[name_or_path]()
    if not os.path.exists(name_or_path) and not Path(name_or_path).suffix:
        raise InputError(
            f"{name_or_path} does not exist; the data sets that come with unseen are "
            f"{listed(EMBEDDED)}"
        )
    return read_dataset(name_or_path)


__all__ = [
    "EMBEDDED",
    "ZeroShotDataset",
    "digit_splits",
    "examine",
    "load_digits_zero_shot",
    "make_zero_shot",
    "open_dataset",
    "read_dataset",
    "read_features",
    "read_rows",
    "seven_segments",
]
