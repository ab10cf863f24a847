"""Figures on their way to a page: drawn light and dark, written as files, inlined."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from unseen.apps.plots.canvas import LOOKS, MAKER, Look, jpeg, png, svg
from unseen.apps.report import page
from unseen.files.writing import writing


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
    for look in LOOKS:
        figure, place = shown.draw(look), _place(shown.name, look, folder)
        write(place.with_suffix(".png"), png(figure))
        if shown.photographs:
            uris.append(data_uri(jpeg(figure), "jpeg"))
        else:
            drawing = svg(figure).encode()
            write(place.with_suffix(".svg"), drawing)
            uris.append(data_uri(drawing, "svg+xml"))
        # A CSS pixel is 1/96 of an inch.
        width = round(96 * figure.get_figwidth())
    return page.picture(uris[0], uris[1], width, shown.alt, shown.caption)


def _place(name: str, look: Look, folder: Path) -> Path:
    return folder / (name if look is LOOKS[0] else f"{name}-{look.name}")


@contextmanager
def replacing_figures(folder: Path) -> Iterator[None]:
    """Figures of an earlier page in the folder that this one does not make again are removed."""
    before = {path: path.stat().st_mtime_ns for path in _figures_in(folder)}
    yield
    for path, time in before.items():
        if path.exists() and path.stat().st_mtime_ns == time:
            path.unlink()


def _figures_in(folder: Path) -> Iterator[Path]:
    """What `publish` has written there; a user's own files do not bear the library's name."""
    for path in folder.glob("*.png"):
        with path.open("rb") as file:
            if f"Software\0{MAKER}".encode() not in file.read(200):
                continue
        yield path
        if path.with_suffix(".svg").exists():
            yield path.with_suffix(".svg")


def write(path: Path, content: bytes) -> None:
    with writing(path) as temporary:
        temporary.write_bytes(content)


def data_uri(content: bytes, kind: str) -> str:
    """An image as a data URI."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
