"""What must hold of a Zarr folder from a stranger before a library reads it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError, listed
from unseen.files.limits import check_unpacked
from unseen.files.reading import checked_path

_METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
_CODECS = ("codecs", "index_codecs", "compressor", "filters")
# Those that turn bytes into numbers or text and can do nothing else. Not among them: pickle, which
# older versions of numcodecs run, at times when an array is only opened.
_HARMLESS = {"bytes", "crc32c", "sharding_indexed", "transpose", "vlen-bytes", "vlen-utf8"}
_HARMLESS |= {"blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"}
_HARMLESS |= {"astype", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle"}
_HARMLESS |= {"adler32", "crc32", "fletcher32", "jenkins_lookup3"}

# How many times the bytes of the folder an array may have.
_TIMES_WHOLE, _TIMES_IN_BLOCKS = 100, 10_000


def check_zarr(path: Path, names: tuple[str, ...]) -> int:
    """An error unless the arrays `names` of a folder, or the folder itself as an array, consist of
    regular files and name harmless codecs only; how many bytes they have."""
    size = sum(_sizes(path))
    for folder in (path, *(path / name for name in names)):
        for file in (folder / name for name in _METADATA):
            if file.exists():
                try:
                    content = json.loads(checked_path(file).read_bytes())
                    named = set(_codecs(content))
                except (ValueError, RecursionError) as error:
                    raise InputError(f"{file} is not a JSON file, or it is truncated") from error
                if strange := sorted(named - _HARMLESS):
                    raise InputError(
                        f"{file} names the codec {listed(strange)}, which is not known to be "
                        "harmless; if you trust it, save it again with 'zstd' or 'blosc'"
                    )
    return size


def check_shape(array: Any, path: Path, size: int, in_blocks: bool = False) -> None:
    """An error if an array is far larger than so many bytes can hold: chunks that are not there
    are zeros to Zarr, so rows without end cost a stranger nothing. What is read `in_blocks` may
    well be zero for the most part."""
    shape, chunks, item = array.shape, array.chunks, max(1, np.dtype(array.dtype).itemsize)
    if min((*shape, *chunks), default=0) < 0:
        raise InputError(f"{path}: an array cannot have the shape {shape}")
    check_unpacked(f"{path}: a chunk", math.prod(chunks) * item, size)
    check_unpacked(f"{path}: a row", math.prod(shape[1:]) * item, size)
    times = _TIMES_IN_BLOCKS if in_blocks else _TIMES_WHOLE
    check_unpacked(f"{path}: the whole", math.prod(shape) * item, size, times)


def _sizes(folder: Path) -> Iterator[int]:
    """Of all files below a folder."""
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir():
                yield from _sizes(Path(entry.path))
            elif entry.is_file():
                yield entry.stat().st_size
            else:
                raise InputError(f"{entry.path} is no regular file (a device, a pipe, or gone)")


def _codecs(value: Any, is_codec: bool = False) -> Iterator[str]:
    """The names of all codecs in metadata, of arrays inside a group too."""
    if isinstance(value, dict):
        if is_codec:
            name = str(value.get("id", value.get("name", "one without a name")))
            yield name.removeprefix("numcodecs.")
        for key, part in value.items():
            yield from _codecs(part, key in _CODECS)
    elif isinstance(value, list):
        for part in value:
            yield from _codecs(part, is_codec)
    elif is_codec and isinstance(value, str):
        yield value.removeprefix("numcodecs.")
