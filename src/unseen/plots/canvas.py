"""What all figures share: a look, colours that colour-blind people can tell apart, and export."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from unseen.errors import require

# Okabe and Ito's colours, without yellow, which is too faint on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
STYLES = ("-", "--", "-.", ":")


def new_figure(width: float, height: float) -> Any:
    """An empty figure that belongs to no window and no global state."""
    figures = require("matplotlib.figure", "report", "drawing a figure")
    return figures.Figure(figsize=(width, height), layout="constrained")


def line_look(k: int) -> dict[str, Any]:
    """Colour and dashes of the k-th line: different for the first 28."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": STYLES[k // len(COLOURS) % 4]}


def svg(figure: Any) -> str:
    """A figure as an <svg> element; text stays text, and the same figure gives the same bytes."""
    matplotlib = require("matplotlib", "report", "drawing a figure")
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "unseen"}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=nothing, transparent=True)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def grey_png(image: np.ndarray) -> str:
    """A grey image as a data URI, dark ink on white."""
    pictures = require("matplotlib.image", "report", "drawing an image")
    buffer = io.BytesIO()
    pictures.imsave(buffer, image, cmap="gray_r", format="png")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
