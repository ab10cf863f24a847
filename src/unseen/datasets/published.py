"""A published data set while it is read: what the readers of all layouts share."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.att_splits import SplitFile, read_att_splits
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.feature_file import FeatureRows, read_feature_file
from unseen.files import reading
from unseen.files.limits import is_below

_PICTURES = ("images", "JPEGImages", "thumbs")


class Published(reading.Sources):
    """The folder of a published data set, its feature file, and notes made while reading; the
    first of them calls the data set `what`."""

    def __init__(self, folder: Path, features: Path, what: str) -> None:
        super().__init__(folder)
        self.features = features
        self.notes = [f"read from {folder}, {what}"]

    @cached_property
    def rows(self) -> FeatureRows:
        return read_feature_file(self.features, self)

    @cached_property
    def split_file(self) -> SplitFile | None:
        """The split file of Xian et al., if it lies in the folder."""
        is_there = self.has("att_splits.mat")
        return read_att_splits(self.use("att_splits.mat")) if is_there else None

    def dataset(
        self,
        name: str,
        y: np.ndarray,
        classes: ClassTable,
        splits: Mapping[str, Split],
        image_paths: np.ndarray | None = None,
    ) -> ZeroShotDataset:
        """The last step of every reader: the data set, on the first of its splits."""
        active = next(iter(splits), "")
        if not splits:
            self.notes.append("these files come with no split, so no class is unseen")
        unseen, test_rows = splits.get(active, Split(classes.names[:0]))
        return ZeroShotDataset(
            name=name,
            X=self.rows.X,
            y=y,
            classes=classes,
            unseen=unseen,
            test_rows=test_rows,
            image_paths=image_paths,
            notes=tuple(self.notes),
            splits=splits,
            split=active,
            sources=self.digests(),
        )


def existing_pictures(folder: Path, paths: np.ndarray | None) -> np.ndarray | None:
    """The picture of each row below `folder`, empty where there is none; None if there are none.

    Public files hold paths of the machine they were made on, so only what follows the folder of
    pictures is looked up. A path that leads out of that folder has no picture.
    """
    roots = [folder / name for name in _PICTURES if (folder / name).is_dir()]
    if paths is None or not roots:
        return None
    found = below(folder, np.array([_picture(roots, str(path)) for path in paths], dtype=str))
    return found if (found != "").any() else None


def _picture(roots: list[Path], path: str) -> str:
    for name in _PICTURES:
        path = path.rpartition(f"/{name}/")[2]
    if os.path.isabs(path) or ".." in re.split(r"[\\/]", path):
        return ""
    places = (os.path.join(root, path) for root in roots)
    return next((place for place in places if os.path.isfile(place)), "")


def below(folder: Path, paths: np.ndarray) -> np.ndarray:
    """Paths that lead, all links followed, to a place inside the folder; empty where they do not:
    a stranger's file must not choose which of the reader's own files a report shows."""
    inside = cache(lambda place: is_below(place, folder))

    def is_inside(path: str) -> bool:
        return inside(path if os.path.islink(path) else os.path.dirname(path) or ".")

    return np.array(
        [path if path and is_inside(path) else "" for path in paths.tolist()], dtype=str
    )
