"""Methods side by side: what each reached, and how far it is behind the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.apps.plots.canvas import LIGHT, Look, new_figure, plain, text_width, tidy
from unseen.evaluation.comparison import MEASURES, Comparison


def comparison_figure(found: Comparison, look: Look = LIGHT) -> Any:
    """Left every split as a faint dot, with the mean and its standard error; right the distance to
    the best, split by split, with its margin as a bar.

    A bar that does not reach the line at zero is a clear difference; its mark is filled.
    """
    names = [one.method for one in found.measured]
    height = 0.3 * len(names) + 1.1
    figure = new_figure(6.8 + text_width(names, 9), height, look)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.25, 1])
    for place, name in enumerate(names):
        colour = look.colours[0] if place == 0 else look.soft
        _draw_reached(left, place, found, name, colour)
        if place:
            _draw_behind(right, place, found, name, look)
    right.axvline(0, color=look.colours[0], linewidth=1.4)
    left.set_yticks(range(len(names)), [plain(name) for name in names])
    left.set_ylim(len(names) - 0.5, -0.5)
    measure = MEASURES[found.scoring]
    left.set_xlabel(f"{measure} on held-out classes (%)")
    right.set_xlabel(f"behind {plain(names[0])} (points)")
    for axes in (left, right):
        tidy(axes, look)
        axes.tick_params(axis="y", length=0)
    return figure


def _draw_reached(axes: Any, place: int, found: Comparison, name: str, colour: str) -> None:
    values = 100 * np.asarray(getattr(found.of(name), found.scoring))
    dots = np.full(values.size, place)
    axes.plot(values, dots, "o", color=colour, markersize=4, alpha=0.3, markeredgewidth=0)
    mean, error, _ = found.estimate(name)
    bar = 100 * error if np.isfinite(error) else None
    axes.errorbar(100 * mean, place, xerr=bar, fmt="o", color=colour, markersize=7, capsize=3)


def _draw_behind(axes: Any, place: int, found: Comparison, name: str, look: Look) -> None:
    behind = found.behind(name)
    bar = 100 * behind.margin if np.isfinite(behind.margin) else None
    colour = look.wrong if behind.is_clear else look.soft
    fill = colour if behind.is_clear else look.paper
    style = {"color": colour, "markerfacecolor": fill, "markersize": 7, "capsize": 3}
    axes.errorbar(100 * behind.mean, place, xerr=bar, fmt="o", **style)
