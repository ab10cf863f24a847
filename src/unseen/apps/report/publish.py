"""Figures and pictures on their way to a page: drawn light and dark, written as files, inlined."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen.apps.plots.canvas import DARK, LIGHT, Look, encoded
from unseen.apps.report import page
from unseen.datasets import ZeroShotDataset
from unseen.encoders.pictures import PictureError, quiet, small_picture
from unseen.files.writing import writing

_SIDE = 128


class Shown(NamedTuple):
    """A figure of a page: the name of its files, what it shows, and how it is drawn.

    One that is made of photographs is no drawing, so it has no SVG file.
    """

    name: str
    alt: str
    caption: str
    draw: Callable[[Look], Any]
    photographs: bool = False


def publish(shown: Shown | None, folder: Path) -> str:
    """Write NAME.png, NAME.svg and the same with -dark; returns the figure as a part of a page,
    empty where there is nothing to show."""
    if shown is None:
        return ""
    uris, width = [], 0
    for look, ending in ((LIGHT, ""), (DARK, "-dark")):
        figure = shown.draw(look)
        write(folder / f"{shown.name}{ending}.png", encoded(figure, "png"))
        inlined = encoded(figure, "jpeg" if shown.photographs else "svg")
        if not shown.photographs:
            write(folder / f"{shown.name}{ending}.svg", inlined)
        kind = "jpeg" if shown.photographs else "svg+xml"
        uris.append(f"data:image/{kind};base64,{base64.b64encode(inlined).decode()}")
        # A CSS pixel is 1/96 of an inch.
        width = round(96 * figure.get_figwidth())
    return page.picture(uris[0], uris[1], width, shown.alt, shown.caption)


def write_page(path: Path, title: str, body: str) -> Path:
    """Write a whole page; returns its path."""
    write(path, page.page(title, body).encode())
    return path


def write(path: Path, content: bytes) -> None:
    with writing(path) as temporary:
        temporary.write_bytes(content)


def has_pictures(data: ZeroShotDataset) -> bool:
    return data.images is not None or bool(data.image_paths is not None and any(data.image_paths))


def row_picture(data: ZeroShotDataset, row: int) -> np.ndarray | None:
    """The picture for a figure: grey, with dark ink on white, or coloured; None without."""
    if data.images is not None:
        return np.asarray(data.images[row])
    path = "" if data.image_paths is None else str(data.image_paths[row])
    return _small(path) if path else None


@lru_cache(maxsize=1000)
def _small(path: str) -> np.ndarray | None:
    """A picture file, made small; None if it cannot be read: a report is worth having without."""
    try:
        with quiet():
            return np.asarray(small_picture(path, _SIDE))
    except PictureError:
        return None
