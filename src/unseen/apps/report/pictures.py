"""Pictures of rows, from the data set's images or from the files it names, made small."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from unseen.datasets import ZeroShotDataset
from unseen.errors import require

_SIDE = 128


def has_pictures(data: ZeroShotDataset) -> bool:
    return data.images is not None or data.image_paths is not None


def row_picture(data: ZeroShotDataset, row: int) -> np.ndarray | None:
    """The picture for a figure: grey, with dark ink on white, or coloured; None without."""
    if data.images is not None:
        return np.asarray(data.images[row])
    path = "" if data.image_paths is None else str(data.image_paths[row])
    return _small(path) if path else None


@lru_cache(maxsize=1000)
def _small(path: str) -> np.ndarray | None:
    """A picture file, made small; None if it cannot be read, as a report is worth having without.

    A file that says it is larger than 50 million pixels is left alone.
    """
    pictures = require("PIL.Image", "report", "showing pictures")
    try:
        with pictures.open(path) as file:
            if file.width * file.height > 50_000_000:
                return None
            file.draft("RGB", (2 * _SIDE, 2 * _SIDE))
            picture = file.convert("RGB")
    except (OSError, ValueError, SyntaxError):
        return None
    picture.thumbnail((_SIDE, _SIDE))
    return np.asarray(picture)
