"""Pictures of rows, from the data set's images or from the files it names, made small."""

from __future__ import annotations

import numpy as np

from unseen.datasets import ZeroShotDataset
from unseen.errors import require

_SIDE = 128


class RowPictures:
    """The picture of each row of a data set that has one; each file is read once."""

    def __init__(self, data: ZeroShotDataset) -> None:
        self._images, self._paths = data.images, data.image_paths
        self._read: dict[int, np.ndarray | None] = {}

    @property
    def any(self) -> bool:
        return self._images is not None or self._paths is not None

    def array(self, row: int) -> np.ndarray | None:
        """The picture for a figure: grey, with dark ink on white, or coloured; None without."""
        if self._images is not None:
            return np.asarray(self._images[row])
        if row not in self._read:
            path = "" if self._paths is None else str(self._paths[row])
            self._read[row] = _small(path) if path else None
        return self._read[row]


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
