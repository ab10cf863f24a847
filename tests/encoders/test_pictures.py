"""Pictures from files that may be anything."""

from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

from unseen.encoders.pictures import (  # noqa: E402
    FORMATS,
    MOST_PIXELS,
    PictureError,
    check_picture,
    decode,
    quiet,
    read_bytes,
    read_picture,
    small_picture,
)


def content(picture: Any, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def coloured(mode: str = "RGB", size: tuple[int, int] = (40, 30)) -> Any:
    """The left half is red, the right half blue."""
    picture = Image.new("RGB", size, "blue")
    picture.paste("red", (0, 0, size[0] // 2, size[1]))
    return picture.convert(mode)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_pixels(kind: str) -> None:
    options = {"WEBP": {"lossless": True}, "JPEG": {"quality": 95}}.get(kind, {})
    found = decode(content(coloured(), kind, **options))
    assert (found.mode, found.size) == ("RGB", (40, 30))
    assert np.abs(np.asarray(found, int) - np.asarray(coloured(), int))[:, :15].max() <= 8


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "LA", "CMYK", "YCbCr", "HSV", "I;16"])
def test_every_mode_becomes_rgb(mode: str) -> None:
    plain = coloured().convert("L") if mode in ("1", "L", "LA", "I;16") else coloured()
    picture = Image.fromarray(np.asarray(plain, np.uint16) << 8) if mode == "I;16" else plain
    found = read_picture(picture if mode == "I;16" else plain.convert(mode))
    assert found.mode == "RGB"
    same = np.asarray(plain.convert("1") if mode == "1" else plain.convert("RGB"), int)
    expected = np.asarray(Image.fromarray(same.astype(np.uint8) * (255 if mode == "1" else 1)))
    expected = expected if expected.ndim == 3 else expected[..., None]
    assert np.abs(np.asarray(found, int) - expected).max() <= 6


def test_sixteen_bits_are_scaled_and_not_cut() -> None:
    ramp = np.linspace(0, 65535, 1200).astype(np.uint16).reshape(30, 40)
    for kind in ("PNG", "TIFF"):
        found = np.asarray(decode(content(Image.fromarray(ramp), kind)))
        np.testing.assert_array_equal(found[..., 0], ramp >> 8)


def test_what_is_clear_is_white() -> None:
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    assert np.asarray(decode(content(clear))).min() == 255
    indexed = Image.new("P", (4, 4), 0)
    assert np.asarray(decode(content(indexed, transparency=0))).min() == 255


def test_the_first_frame_of_many() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "lime", "blue")]
    for kind in ("GIF", "WEBP", "TIFF", "PNG"):
        made = content(frames[0], kind, save_all=True, append_images=frames[1:])
        np.testing.assert_allclose(np.asarray(decode(made))[0, 0], [255, 0, 0], atol=3)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_turns_it_upright(orientation: int) -> None:
    turns = {
        2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }  # fmt: skip
    upright = coloured()
    upright.paste("white", (0, 0, 40, 10))
    stored = upright.transpose(turns[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    for kind in ("PNG", "TIFF"):
        np.testing.assert_array_equal(decode(content(stored, kind, exif=exif)), upright)


def test_damaged_exif_says_nothing() -> None:
    made = content(coloured(), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")
    with quiet():
        assert decode(made).size == (40, 30)


def png(width: int, height: int) -> bytes:
    """A PNG file that says it is so large."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        sum_ = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + sum_

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (b"", "empty"),
        (b"not a picture", "not a picture of a known format"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture of a known format"),
        (content(coloured(), "JPEG")[:300], "truncated or damaged"),
        (content(coloured())[:-30], "truncated or damaged"),
        (png(9459, 9460), f"more than {MOST_PIXELS:,} pixels"),
        (png(60_000, 60_000), f"more than {MOST_PIXELS:,} pixels"),
        (png(2, 201), "too long a strip"),
        (content(Image.new("F", (3, 3)), "TIFF"), "fractions"),
        (content(Image.new("I", (3, 3), 70_000), "TIFF"), "more than 16 bits"),
    ],
)
def test_what_is_refused_says_why(made: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_bytes(made)
    with quiet(), pytest.raises(PictureError, match=reason) as error:
        read_picture(tmp_path / "x.jpg")
    assert "\n" not in str(error.value)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    for path in (tmp_path / "pipe.jpg", Path("/dev/zero"), tmp_path):
        with pytest.raises(PictureError, match=r"not a regular file|cannot be read"):
            read_bytes(path)
    with pytest.raises(PictureError, match="cannot be read: No such file"):
        read_bytes(tmp_path / "absent.jpg")
    with pytest.raises(PictureError, match="its path is not"):
        read_bytes("a\0b")
    with pytest.raises(PictureError, match="a path or an image of Pillow, not int"):
        read_picture(3)


def mutated(n: int) -> Any:
    """Pictures of all formats, each with bytes changed, cut out, doubled or cut off."""
    random = np.random.default_rng(0)
    noise = Image.fromarray(random.integers(0, 256, (24, 32, 3), dtype=np.uint8))
    seeds = [content(p, kind) for kind in FORMATS for p in (noise, coloured())]
    seeds += [content(coloured("P"), "GIF"), content(coloured("CMYK"), "JPEG")]
    seeds += [content(coloured("L").convert("I;16"), "TIFF"), content(coloured("RGBA"), "WEBP")]
    for number in range(n):
        made = bytearray(seeds[number % len(seeds)])
        for _ in range(random.integers(1, 6)):
            a, b = sorted(random.integers(0, len(made) + 1, 2).tolist())
            way = random.integers(5)
            if way == 0:
                made = made[:b]
            elif way == 1:
                del made[a : min(b, a + 40)]
            elif way == 2:
                made[a:a] = made[a : min(b, a + 40)]
            elif a < len(made):
                # Numbers in headers, where sizes and offsets are, more often than pixels.
                place = a if way == 3 else a % 64 % len(made)
                made[place] = random.integers(256)
            if not made:
                break
        yield bytes(made)


@pytest.mark.parametrize("n", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_mutated_files_are_read_or_refused(n: int) -> None:
    read = 0
    with quiet():
        for made in mutated(n):
            reason = ""
            try:
                read += read_picture(made).mode == "RGB"
            except PictureError as error:
                reason = str(error)
            assert "\n" not in reason
    assert n // 20 < read < n


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_small_picture_is_the_large_one_scaled(kind: str, tmp_path: Path) -> None:
    made = content(coloured(size=(1200, 800)), kind)
    (tmp_path / "x").write_bytes(made)
    small = small_picture(tmp_path / "x", 60)
    assert small.size == (60, 40)
    whole = decode(made)
    whole.thumbnail((60, 40))
    assert np.abs(np.asarray(small, int) - np.asarray(whole, int))[:, :25].max() <= 4
    exif = Image.Exif()
    exif[0x0112] = 6
    assert small_picture(content(coloured(size=(1200, 800)), exif=exif), 60).size == (40, 60)


def test_sizes_are_looked_at_before_anything_is_decoded() -> None:
    made = content(coloured(size=(40, 30)))
    check_picture(made, 1200)
    for look in (check_picture, decode, lambda c, n: small_picture(c, 9, n)):
        with pytest.raises(PictureError, match="more than 1,199 pixels"):
            look(made, 1199)
