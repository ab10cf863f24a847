"""Pictures that go with rows, where they are on disk."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

_FOLDERS = ("images", "JPEGImages", "thumbs")


def existing_pictures(folder: Path, paths: np.ndarray | None) -> np.ndarray | None:
    """The picture of each row below `folder`, empty where there is none; None if there are none.

    Public files keep the paths of the machine that made them, so only what follows the folder of
    all pictures is looked up. A path that leads out of that folder has no picture: a report shows
    pictures, and the files of a stranger must not choose which of the reader's own it shows.
    """
    roots = [folder / name for name in _FOLDERS if (folder / name).is_dir()]
    if paths is None or not roots:
        return None
    found = np.array([_picture(roots, str(path)) for path in paths], dtype=str)
    return found if (found != "").any() else None


def _picture(roots: list[Path], path: str) -> str:
    for name in _FOLDERS:
        path = path.rpartition(f"/{name}/")[2]
    if os.path.isabs(path) or ".." in re.split(r"[\\/]", path):
        return ""
    places = (os.path.join(root, path) for root in roots)
    return next((place for place in places if os.path.isfile(place)), "")
