"""Reading pictures from files that may be anything: 8-bit RGB, or one sentence that says why not.

Only the formats below are opened, sizes are looked at before pixels are decoded, and whatever a
decoder raises becomes a `PictureError`.
"""

from __future__ import annotations

import io
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from unseen.errors import InputError, require

# The formats that Pillow may open. Others run programs (EPS) or serve no photograph.
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM")
# Pillow's own limit, at which it warns of a decompression bomb.
MOST_PIXELS = 89_478_485
MOST_BYTES = 500_000_000
# A picture that is far longer than wide would grow without bound when its short side is scaled.
_LONGEST = 100
# A change of how pictures become RGB changes what encoders see; caches depend on this number.
RULES = 1


class PictureError(InputError):
    """A file is no picture that can be used; the message says why."""


def pillow() -> Any:
    """Pillow, which is optional; errors name the extra that brings it."""
    require("PIL", "encode-onnx", "reading pictures")
    return require("PIL.Image", "encode-onnx", "reading pictures")


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings of Pillow about odd files, which are read or refused.

    Warning filters belong to the whole process: enter this before threads that decode are started,
    and leave it when they are done.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        yield


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file; devices and pipes, which may never end, are not read."""
    if "\0" in os.fspath(path):
        raise PictureError("its path is not that of a file")
    try:
        # Without O_NONBLOCK a pipe would wait for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise PictureError("it is not a regular file")
            if about.st_size > MOST_BYTES:
                raise PictureError(f"it is larger than {MOST_BYTES:,} bytes")
            content = file.read(MOST_BYTES)
    except OSError as error:
        raise PictureError(f"it cannot be read: {error.strerror or error}") from error
    if not content:
        raise PictureError("it is empty (0 bytes)")
    return content


def decode(content: bytes, most_pixels: int = MOST_PIXELS) -> Any:
    """The picture in the content of a file, 8-bit RGB, upright."""
    with _opened(content, most_pixels) as opened:
        return as_rgb(opened)


def check_picture(content: bytes, most_pixels: int = MOST_PIXELS) -> None:
    """An error unless it is a picture of a size that may be decoded; nothing is decoded."""
    with _opened(content, most_pixels):
        pass


def small_picture(source: Any, side: int, most_pixels: int = MOST_PIXELS) -> Any:
    """A picture, of a path or the content of a file, with no side longer than `side`; 8-bit RGB."""
    content = source if isinstance(source, bytes) else read_bytes(source)
    with _opened(content, most_pixels) as opened:
        # A JPEG is then decoded at a fraction of its size, which takes a fraction of the time.
        opened.draft(None, (2 * side, 2 * side))
        picture = as_rgb(opened)
    picture.thumbnail((side, side))
    return picture


def _opened(content: bytes, most_pixels: int) -> Any:
    """A picture whose size is known to be fine, and whose pixels are not decoded yet."""
    image = pillow()
    try:
        opened = image.open(io.BytesIO(content), formats=FORMATS)
    except image.UnidentifiedImageError as error:
        kinds = ", ".join(FORMATS)
        raise PictureError(f"it is not a picture of a known format ({kinds})") from error
    except (image.DecompressionBombError, image.DecompressionBombWarning) as error:
        raise PictureError(f"it has more than {most_pixels:,} pixels") from error
    except Exception as error:
        raise PictureError(f"it is truncated or damaged ({_words(error)})") from error
    width, height = opened.size
    _check_size(width, height, most_pixels)
    return opened


def as_rgb(picture: Any) -> Any:
    """A picture of Pillow as 8-bit RGB: the first frame, upright, on white where it is clear."""
    image = pillow()
    _check_size(*picture.size)
    try:
        picture.load()
        picture = _eight_bits(_upright(picture))
        if picture.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in picture.info:
            # Through RGBA in one step or two, as some modes know only one way.
            two = {"La": "LA", "PA": "RGBA", "RGBa": "RGBA"}.get(picture.mode)
            clear = (picture.convert(two) if two else picture).convert("RGBA")
            white = image.new("RGBA", clear.size, "white")
            return image.alpha_composite(white, clear).convert("RGB")
        return picture if picture.mode == "RGB" else picture.convert("RGB")
    except PictureError:
        raise
    except Exception as error:
        raise PictureError(f"it is truncated or damaged ({_words(error)})") from error


def _words(error: Exception) -> str:
    text = " ".join(str(error).split())[:100]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _check_size(width: int, height: int, most_pixels: int = MOST_PIXELS) -> None:
    if width < 1 or height < 1:
        raise PictureError("it has no pixels")
    if width * height > most_pixels:
        raise PictureError(f"it has more than {most_pixels:,} pixels ({width:,} x {height:,})")
    if max(width, height) > _LONGEST * min(width, height):
        raise PictureError(
            f"its {width:,} x {height:,} pixels are too long a strip (more than {_LONGEST} to 1)"
        )


def _upright(picture: Any) -> Any:
    """Turned as its EXIF data say; damaged ones say nothing."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(picture) or picture
    except Exception:
        return picture


def _eight_bits(picture: Any) -> Any:
    """Sixteen bits a pixel become eight; Pillow itself would cut at 255."""
    if picture.mode == "F":
        raise PictureError("its pixels are fractions, without a scale: save it with 8 bits")
    if picture.mode != "I" and not picture.mode.startswith("I;16"):
        return picture
    values = np.asarray(picture)
    if values.min() < 0 or values.max() > 65535:
        raise PictureError("its pixels have more than 16 bits: save it with 8 bits")
    return pillow().fromarray((values >> 8).astype(np.uint8))


def read_picture(source: Any) -> Any:
    """A picture of a path, of the content of a file, or of Pillow, as 8-bit RGB."""
    if isinstance(source, (str, os.PathLike)):
        return decode(read_bytes(source))
    if isinstance(source, bytes):
        return decode(source)
    if isinstance(source, pillow().Image):
        return as_rgb(source)
    raise PictureError(f"a picture is a path or an image of Pillow, not {type(source).__name__}")
