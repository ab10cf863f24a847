"""Pictures of rows, from the data set's images or from the files it names, made small."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from unseen.apps.report.publish import data_uri
from unseen.datasets import ZeroShotDataset
from unseen.errors import require

_SIDE = 128


class RowPictures:
    """The picture of each row of a data set that has one; each file is read once."""

    def __init__(self, data: ZeroShotDataset) -> None:
        self._images, self._paths = data.images, data.image_paths
        self._read: dict[int, Any] = {}

    @property
    def any(self) -> bool:
        return self._images is not None or self._paths is not None

    @property
    def tiny(self) -> bool:
        """Pictures of a few dozen pixels, which should not be smoothed."""
        return self._images is not None and max(self._images.shape[1:3]) <= 64

    def array(self, row: int) -> np.ndarray | None:
        """The picture for a figure: grey, with dark ink on white, or coloured; None without."""
        if self._images is not None:
            return np.asarray(self._images[row])
        picture = self._thumbnail(row)
        return None if picture is None else np.asarray(picture)

    def uri(self, row: int) -> str:
        """The picture for a page, an empty drawing where there is none."""
        if self._images is not None:
            return data_uri(_grey_png(np.asarray(self._images[row])), "png")
        picture = self._thumbnail(row)
        if picture is None:
            empty = b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'
            return data_uri(empty, "svg+xml")
        buffer = io.BytesIO()
        picture.save(buffer, format="JPEG", quality=85)
        return data_uri(buffer.getvalue(), "jpeg")

    def _thumbnail(self, row: int) -> Any:
        if row not in self._read:
            path = "" if self._paths is None else str(self._paths[row])
            self._read[row] = _small(path) if path else None
        return self._read[row]


def _small(path: str) -> Any:
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
    return picture


def _grey_png(image: np.ndarray) -> bytes:
    """Dark ink on white."""
    pictures = require("matplotlib.image", "report", "drawing an image")
    buffer = io.BytesIO()
    pictures.imsave(buffer, image, cmap="gray_r", format="png")
    return buffer.getvalue()
