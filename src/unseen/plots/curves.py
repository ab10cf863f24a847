"""Curves: precision against recall, accuracy against a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unseen.metrics import PrecisionRecallCurve
from unseen.plots.canvas import line_look, new_figure


def precision_recall_figure(
    curves: Mapping[str, PrecisionRecallCurve], average_precision: Mapping[str, float]
) -> Any:
    """One precision-recall curve a class, with its average precision in the legend."""
    # Small in inches, so that its letters are large enough on a telephone.
    figure = new_figure(4.2, 3.3)
    axes = figure.add_subplot(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.03))
    for k, (name, curve) in enumerate(curves.items()):
        label = f"{name} (AP {100 * average_precision[name]:.1f} %)"
        axes.plot(
            curve.recall, curve.precision, drawstyle="steps-post", linewidth=2, label=label,
            **line_look(k),
        )  # fmt: skip
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, loc="best")
    return figure


def sweep_figure(
    parameter: str, lines: Mapping[str, tuple[Sequence[Any], Sequence[float], Sequence[float]]]
) -> Any:
    """Accuracy against a parameter: one line a data set, a band of one standard deviation.

    `lines` holds values of the parameter, means and deviations as shares. Numbers that span more
    than a factor of ten stand on a logarithmic axis, words side by side.
    """
    figure = new_figure(5.2, 3.6)
    axes = figure.add_subplot(xlabel=parameter, ylabel="per-class top-1 (%)")
    values = next(iter(lines.values()))[0]
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    for k, (name, (points, means, deviations)) in enumerate(lines.items()):
        x = np.asarray(points, float) if numbers else np.arange(len(points))
        mean, spread = 100 * np.asarray(means), 100 * np.asarray(deviations)
        look = line_look(k)
        axes.plot(x, mean, marker="o", linewidth=2, label=name, **look)
        axes.fill_between(x, mean - spread, mean + spread, color=look["color"], alpha=0.15)
    if not numbers:
        axes.set_xticks(range(len(values)), [str(v) for v in values])
    elif min(values) > 0 and max(values) > 10 * min(values):
        axes.set_xscale("log")
        axes.set_xticks(values, [f"{v:g}" for v in values])
        axes.minorticks_off()
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, loc="best")
    return figure
