"""Training: the objective and its parts, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unseen.apps.plots.canvas import LIGHT, Look, new_figure, tidy
from unseen.errors import InputError

PARTS = (
    "fit of the classes",
    "fit of the rows",
    "loss of the pairs",
    "penalty on W",
    "J, their sum",
)


def objective_figure(history: np.ndarray, parts: Sequence[str] = PARTS, look: Look = LIGHT) -> Any:
    """The objective by round: `history` is rounds x parts, such as `JLSE.history_`.

    The parts differ by orders of magnitude, so each has a panel and a scale of its own; a history
    of one column has one panel.
    """
    values = np.asarray(history, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    titles = ["objective"] if values.shape[1] == 1 else list(parts)
    if values.shape[1] != len(titles) or not len(values):
        raise InputError(
            f"a history of shape {values.shape} has not the {len(titles)} parts {', '.join(titles)}"
        )
    figure = new_figure(max(3.6, 1.75 * len(titles)), 2.3, look)
    rounds = np.arange(len(values))
    for k, (axes, title) in enumerate(
        zip(figure.subplots(1, len(titles), squeeze=False).flat, titles, strict=True)
    ):
        marker = "o" if len(rounds) <= 30 else None
        axes.plot(rounds, values[:, k], marker=marker, linewidth=2, color=look.colours[0])
        axes.set_title(title)
        axes.margins(x=0.08, y=0.15)
        axes.locator_params(axis="x", integer=True, nbins=4, min_n_ticks=1)
        axes.locator_params(axis="y", nbins=4)
        axes.ticklabel_format(axis="y", useOffset=False, style="plain")
        tidy(axes, look, size=8)
    figure.supxlabel("round", color=look.ink, fontsize=9)
    return figure
