"""Thumbnails of rows, which a browser gets by number."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import numpy as np
from PIL import Image

from unseen.encoders.pictures import PictureError, small_picture

_SIDE = 192
_KEPT = 4096


class Thumbnails:
    """Small pictures of rows by number; the last ones are kept."""

    def __init__(
        self,
        images: np.ndarray | None = None,
        paths: Sequence[str] | None = None,
        folders: Sequence[Path] = (),
        most_pixels: int = 40_000_000,
    ) -> None:
        self.images, self.paths, self.most = images, paths, most_pixels
        self.folders = [folder.resolve() for folder in folders]
        self._kept: OrderedDict[int, tuple[str, bytes]] = OrderedDict()
        self._lock = Lock()
        # All grey pictures have one scale.
        self._top = 1.0 if images is None else max(float(np.max(images)), 1e-12)

    def known(self, rows: Sequence[int]) -> list[bool]:
        """Which rows have a picture, or at least the path of one."""
        return [self.images is not None or bool((self.paths or [""])[row]) for row in rows]

    def get(self, row: int) -> tuple[str, bytes] | None:
        """The type and content of a row's thumbnail, or None where there is none."""
        with self._lock:
            if row in self._kept:
                self._kept.move_to_end(row)
                return self._kept[row]
        made = self._from_array(row) if self.images is not None else self._from_file(row)
        if made is not None:
            with self._lock:
                self._kept[row] = made
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return made

    def _from_array(self, row: int) -> tuple[str, bytes]:
        assert self.images is not None
        picture = self.images[row].astype(np.float64)
        scaled = np.clip(
            picture / (1.0 if picture.ndim == 3 and self._top <= 1 else self._top), 0, 1
        )
        # Grey pictures are dark ink on white.
        pixels = np.uint8(255 * (scaled if picture.ndim == 3 else 1 - scaled) + 0.5)
        return "image/png", _saved(Image.fromarray(pixels), "PNG")

    def _from_file(self, row: int) -> tuple[str, bytes] | None:
        """Of a file inside the folders; one that a link leads out of them is not read."""
        if self.paths is None or not self.paths[row]:
            return None
        try:
            path = Path(self.paths[row]).resolve()
            if not any(map(path.is_relative_to, self.folders)):
                return None
            picture = small_picture(path, _SIDE, self.most)
        except (OSError, PictureError):
            return None
        return "image/jpeg", _saved(picture, "JPEG")


def _saved(picture: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()
