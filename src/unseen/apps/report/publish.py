"""Figures on their way to a page: drawn light and dark, written as files, inlined."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from unseen.apps.plots.canvas import DARK, LIGHT, Look, encoded
from unseen.apps.report import page
from unseen.files import writing


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
