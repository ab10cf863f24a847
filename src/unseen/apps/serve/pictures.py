"""Pictures that strangers send and thumbnails that a browser gets; sizes are looked at first."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from PIL import Image

from unseen.errors import InputError

# Formats that Pillow reads itself; others run programs or serve no photograph.
_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP")
_SIDE = 192
_KEPT = 4096

# Pictures (of Pillow, RGB) to rows.
Encoder = Callable[[list[Any]], np.ndarray]


def read_picture(content: bytes | Path, most_pixels: int) -> Image.Image:
    """A picture as RGB; its size is known before it is decoded."""
    source = io.BytesIO(content) if isinstance(content, bytes) else content
    try:
        picture = Image.open(source, formats=_FORMATS)
        width, height = picture.size
        if width * height > most_pixels:
            raise Image.DecompressionBombError
        with picture:
            return picture.convert("RGB")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise InputError(
            f"the picture has more than {most_pixels:,} pixels; make it smaller"
        ) from None
    except Exception:  # whatever a decoder raises for a stranger's bytes
        raise InputError(
            "the file is not a picture that can be read: JPEG, PNG, GIF, BMP or WebP is needed"
        ) from None


class Thumbnails:
    """Small pictures of rows by number; the last ones are kept."""

    def __init__(
        self,
        images: np.ndarray | None = None,
        paths: Sequence[str] | None = None,
        folder: Path | None = None,
        most_pixels: int = 40_000_000,
    ) -> None:
        self.images, self.paths, self.most = images, paths, most_pixels
        self.folder = None if folder is None else folder.resolve()
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
        """Of a file inside the folder of the data; one that a link leads out of it is not read."""
        if self.paths is None or self.folder is None or not self.paths[row]:
            return None
        try:
            path = Path(self.paths[row]).resolve()
            if not path.is_relative_to(self.folder) or not path.is_file():
                return None
            picture = read_picture(path, self.most)
        except (OSError, InputError):
            return None
        picture.thumbnail((_SIDE, _SIDE))
        return "image/jpeg", _saved(picture, "JPEG")


def _saved(picture: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()
