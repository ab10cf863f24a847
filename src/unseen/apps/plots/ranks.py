"""Methods over many data sets: mean ranks with their intervals, and accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unseen.apps.plots.canvas import LIGHT, Look, legend, mark_look, new_figure, plain, tidy

# From the middle of a method's line to its first mark.
_REACH = 0.3


def suite_figure(
    methods: Sequence[str],
    ranks: Mapping[str, np.ndarray],
    scores: Mapping[str, np.ndarray],
    look: Look = LIGHT,
) -> Any:
    """Ranks on the left, accuracies on the right, methods down with the best on top.

    `ranks[measure]` holds means, lower and upper ends (3 x methods), `scores[data]` shares (splits
    x methods). The order is that of the first measure.
    """
    order = np.argsort(next(iter(ranks.values()))[0], kind="stable")
    height = max(1.6, (0.24 + 0.07 * len(scores)) * len(methods)) + 1.2
    figure = new_figure(9.2, height, look)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(4, 5))
    _draw_ranks(left, ranks, order, look)
    _draw_scores(right, scores, order, look)
    left.set_yticks(range(len(methods)), [plain(methods[k], 24) for k in order])
    left.set(xlabel="mean rank, 1 is the best", ylim=(len(methods) - 0.5, -0.5))
    right.set(xlabel="per-class top-1 (%)")
    for axes in (left, right):
        tidy(axes, look)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        for edge in np.arange(len(methods) - 1) + 0.5:
            axes.axhline(edge, color=look.line, linewidth=0.8, zorder=0)
        columns = 2 if axes is left else 3
        handles, labels = axes.get_legend_handles_labels()
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": columns}
        legend(axes, look, handles=handles, labels=labels, fontsize=8, **place)
    return figure


def _lines(n: int) -> np.ndarray:
    """Where n kinds of marks stand in the line of a method."""
    return np.linspace(-_REACH, _REACH, n) if n > 1 else np.zeros(1)


def _draw_ranks(axes: Any, ranks: Mapping[str, np.ndarray], order: np.ndarray, look: Look) -> None:
    """A mark with its interval per method; the second measure is hollow."""
    y = np.arange(order.size)
    shifts = _lines(len(ranks)) / 2
    for k, (word, values) in enumerate(ranks.items()):
        mean, low, high = values[:, order]
        colour = look.colours[k % len(look.colours)]
        axes.hlines(y + shifts[k], low, high, color=colour, linewidth=2)
        face = colour if k == 0 else look.paper
        style = {"markerfacecolor": face, "markeredgecolor": colour, "markeredgewidth": 1.6}
        axes.plot(mean, y + shifts[k], "os"[k % 2], markersize=7, label=plain(word), **style)
    axes.locator_params(axis="x", integer=True)


def _draw_scores(
    axes: Any, scores: Mapping[str, np.ndarray], order: np.ndarray, look: Look
) -> None:
    """Faint marks for splits and a full one for their mean, a colour and a line per data set."""
    y = np.arange(order.size)
    shapes = ("o", "^", "s", "D", "v", "P", "X", "*")
    for k, (shift, (name, shares)) in enumerate(
        zip(_lines(len(scores)), scores.items(), strict=True)
    ):
        colour, shape = mark_look(k, look)["color"], shapes[k % len(shapes)]
        values = 100 * shares[:, order]
        places = np.broadcast_to(y + shift, values.shape)
        faint = {"s": 9, "alpha": 0.5, "linewidths": 0}
        axes.scatter(values, places, color=colour, marker=shape, **faint)
        style = {"markeredgecolor": look.paper, "markeredgewidth": 0.8, "markersize": 7}
        axes.plot(
            values.mean(axis=0), y + shift, shape, color=colour, label=plain(name, 20), **style
        )
