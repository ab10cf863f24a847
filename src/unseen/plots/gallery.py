"""Galleries: what a class description brings back, false returns framed red."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unseen.plots.canvas import new_figure

FALSE_RETURN = "#d1242f"
_QUIET = "#c4cad1"


class Strip(NamedTuple):
    """One class: its name, a picture of its description if there is one, and what came back."""

    name: str
    description: np.ndarray | None
    images: Sequence[np.ndarray]
    right: Sequence[bool]


def gallery_figure(strips: Sequence[Strip], title: str = "") -> Any:
    """A row of pictures a class: the description, then the rows that fit it best, in order."""
    n_images = max(len(s.images) for s in strips)
    figure = new_figure(1.15 * (n_images + 1) + 1.2, 1.2 * len(strips) + 0.5)
    axes = figure.subplots(len(strips), n_images + 1, squeeze=False)
    for strip, line in zip(strips, axes, strict=True):
        _blank(line[0])
        if strip.description is not None:
            line[0].imshow(strip.description, cmap="gray_r", vmin=0, vmax=1)
        line[0].set_ylabel(strip.name, rotation=0, ha="right", va="center", fontsize=12)
        for k, axis in enumerate(line[1:]):
            _blank(axis)
            if k < len(strip.images):
                axis.imshow(strip.images[k], cmap="gray_r")
                _frame(axis, _QUIET if strip.right[k] else FALSE_RETURN, strip.right[k])
    axes[0, 0].set_title("description", fontsize=10)
    axes[0, 1].set_title("best fit", fontsize=10)
    figure.suptitle(title)
    return figure


def _blank(axis: Any) -> None:
    axis.set(xticks=[], yticks=[])
    for spine in axis.spines.values():
        spine.set_visible(False)


def _frame(axis: Any, colour: str, right: bool) -> None:
    for spine in axis.spines.values():
        spine.set(visible=True, color=colour, linewidth=1 if right else 3)
