"""What all figures share: light and dark, colours that colour-blind people tell apart, export."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

from unseen.errors import require
from unseen.support.text import visible

STYLES = ("-", "--", "-.", ":")
_DPI = {"png": 130, "jpeg": 110, "svg": 150}
# What an SVG file would tell of its making.
_UNNAMED = ("Creator", "Date", "Format", "Type")
MARKERS = ("o", "^", "s", "X", "D", "v", "P", "*")


class Look(NamedTuple):
    """Colours of a figure: its paper, ink, fainter ink, lines, errors, and those of data."""

    paper: str
    ink: str
    soft: str
    line: str
    wrong: str
    colours: tuple[str, ...]


# Okabe and Ito's colours, without yellow, which is too faint on white.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1a1d21")
LIGHT = Look("#ffffff", "#1a1d21", "#5b6470", "#d9dee4", "#d1242f", _COLOURS)
# The same hues, brighter where they would drown in the dark.
_BRIGHTER = ("#3d9be0", "#e8702a", "#1fbf92", "#dd92bd", "#a9d8ff", "#f0d04a", "#e8eaed")
DARK = Look("#16191d", "#e8eaed", "#a3abb5", "#353b43", "#ff6b6b", _BRIGHTER)


def new_figure(width: float, height: float, look: Look = LIGHT, layout: str = "constrained") -> Any:
    """An empty figure that belongs to no window and no global state."""
    figures = require("matplotlib.figure", "report", "drawing a figure")
    return figures.Figure(figsize=(width, height), layout=layout, facecolor=look.paper)


def tidy(axes: Any, look: Look, *, grid: bool = True, size: float = 9) -> None:
    """Axes in the colours of a look; with `grid` a faint grid and two sides, else neither."""
    axes.set_facecolor(look.paper)
    axes.tick_params(colors=look.soft, labelcolor=look.ink, labelsize=size)
    for side, spine in axes.spines.items():
        spine.set(color=look.soft, visible=grid and side in ("left", "bottom"))
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        text.set(color=look.ink, fontsize=size + 1)
    if grid:
        axes.grid(color=look.line, linewidth=0.8)
        axes.set_axisbelow(True)


def legend(target: Any, look: Look, **where: Any) -> Any:
    """A legend without a frame, in the ink of the look."""
    return target.legend(frameon=False, labelcolor=look.ink, **where)


def line_look(k: int, look: Look = LIGHT) -> dict[str, Any]:
    """Colour and dashes of the k-th line: different for the first 28."""
    n = len(look.colours)
    return {"color": look.colours[k % n], "linestyle": STYLES[k // n % len(STYLES)]}


def mark_look(k: int, look: Look = LIGHT) -> dict[str, Any]:
    """Colour and shape of the k-th kind of mark: different for the first 56."""
    n = len(look.colours)
    return {"color": look.colours[k % n], "marker": MARKERS[k // n % len(MARKERS)]}


def plain(name: object, most: int = 30) -> str:
    """A name as a figure can show it: no mathematics, not hidden, the middle left out if long."""
    text = visible(" ".join(str(name).split()))
    if len(text) > most:
        text = f"{text[: (most - 1) // 2].rstrip()}…{text[-(most // 2) :].lstrip()}"
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def text_width(names: Any, size: float, most: int = 30) -> float:
    """About how many inches the longest of some names takes."""
    return 0.0085 * size * max((len(plain(name, most)) for name in names), default=0)


def encoded(figure: Any, kind: str) -> bytes:
    """A figure as a file: "png"; "jpeg", small where it holds photographs; or "svg", as an element
    in which text stays text. The same figure gives the same bytes."""
    matplotlib = require("matplotlib", "report", "drawing a figure")
    buffer = io.BytesIO()
    named = {"png": {"Software": "unseen"}, "svg": dict.fromkeys(_UNNAMED)}
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "unseen"}):
        figure.savefig(buffer, format=kind, dpi=_DPI[kind], metadata=named.get(kind))
    content = buffer.getvalue()
    return content[content.index(b"<svg") :] if kind == "svg" else content
