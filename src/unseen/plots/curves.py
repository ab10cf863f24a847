"""Curves: precision against recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
