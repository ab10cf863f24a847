"""Galleries: what a class description brings back, false returns framed red."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unseen.apps.plots.canvas import LIGHT, Look, new_figure, plain

# So many pictures beside each other are as wide as a title.
_WIDE = 5
_ONE_COLUMN = 8
_STEP = 1.08
_FEW_PIXELS = 48


class Strip(NamedTuple):
    """One class: its name, a picture of its description if there is one, and what came back.

    Pictures are height x width (dark ink on white) or height x width x 3; None where there is none.
    """

    name: str
    description: np.ndarray | None
    images: Sequence[np.ndarray | None]
    right: Sequence[bool]


def gallery_figure(
    strips: Sequence[Strip], title: str = "", look: Look = LIGHT, side: float = 0.9
) -> Any:
    """A row of pictures per class: the description, then the rows that fit it best, in order.

    A false return has a thick red frame and a cross. Many classes stand in two columns.
    A picture is `side` inches wide.
    """
    described = any(s.description is not None for s in strips)
    cells = max(len(s.images) for s in strips) + described
    n_columns = 1 if len(strips) <= _ONE_COLUMN else 2
    n_lines = -(-len(strips) // n_columns)
    room = 1.9
    block = room + _STEP * cells
    # Lengths below are in units of one picture.
    figure = new_figure(
        side * (block * n_columns + 0.2), side * (_STEP * n_lines + 0.7), look, layout="none"
    )
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, block * n_columns + 0.2), ylim=(_STEP * n_lines + 0.1, -0.6))
    axes.axis("off")
    style = {"color": look.ink, "fontsize": 9, "ha": "right", "va": "center"}
    for k, strip in enumerate(strips):
        left, top = (k // n_lines) * block + room, (k % n_lines) * _STEP
        axes.text(left - 0.12, top + 0.5, _name(strip, side), **style)
        _strip(axes, strip, left, top, described, look)
    # Above the pictures, unless they are too few for a line of words.
    start = room if cells * n_columns >= _WIDE else 0.1
    axes.text(start, -0.35, plain(title, 80), color=look.ink, fontsize=12, va="center")
    return figure


def _name(strip: Strip, side: float) -> str:
    """A name in up to four lines, of some twenty letters beside pictures of the usual size."""
    letters = round(21 * side)
    lines = textwrap.wrap(str(strip.name), letters)[:4]
    return "\n".join(plain(line, letters + 3) for line in lines)


def _strip(axes: Any, strip: Strip, left: float, top: float, described: bool, look: Look) -> None:
    if strip.description is not None:
        draw_picture(axes, strip.description, left, top)
    for k, (image, right) in enumerate(zip(strip.images, strip.right, strict=True)):
        x = left + _STEP * (k + described)
        if image is not None:
            draw_picture(axes, image, x, top)
        _frame(axes, x, top, right, look)


def draw_picture(axes: Any, image: np.ndarray, x: float, y: float, side: float = 1.0) -> None:
    """A picture, whole, in the middle of a square whose upper left corner is (x, y)."""
    height, width = image.shape[:2]
    w, h = side * width / max(width, height), side * height / max(width, height)
    x, y = x + (side - w) / 2, y + (side - h) / 2
    style = {"cmap": "gray_r"} if image.ndim == 2 else {}
    # Of a picture of few pixels each is shown as it is.
    style["interpolation"] = "nearest" if max(width, height) <= _FEW_PIXELS else "auto"
    axes.imshow(image, extent=(x, x + w, y + h, y), aspect="auto", zorder=2, **style)


def _frame(axes: Any, x: float, y: float, right: bool, look: Look) -> None:
    from matplotlib.patches import Rectangle

    colour, width = (look.line, 1.0) if right else (look.wrong, 3.0)
    axes.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor=colour, linewidth=width, zorder=3))
    if not right:
        style = {"color": look.wrong, "markersize": 9, "markeredgecolor": look.paper}
        axes.plot(x + 0.9, y + 0.1, "X", zorder=4, **style)
