"""Pairs: how well matches are told apart, as ROC and precision-recall curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unseen.metrics import precision_recall_curve, roc_curve
from unseen.plots.canvas import COLOURS, STYLES, new_figure
from unseen.protocols import PairEvaluation


def pair_figure(
    results: Mapping[str, PairEvaluation], ceilings: Mapping[str, PairEvaluation] | None = None
) -> Any:
    """Both curves of each result side by side; its ceiling, if one is known, dashed beside it.

    `ceilings` go by the names of the results.
    """
    figure = new_figure(8.4, 3.9)
    left, right = figure.subplots(1, 2)
    left.set(xlabel="false positive rate", ylabel="true positive rate", title="ROC")
    right.set(xlabel="recall", ylabel="precision", title="precision and recall")
    for k, (name, found) in enumerate(results.items()):
        for kind, result in (("", found), (" ceiling", (ceilings or {}).get(name))):
            if result is None:
                continue
            look = {
                "color": COLOURS[k % len(COLOURS)],
                "linestyle": STYLES[bool(kind)],
                "linewidth": 1.2 if kind else 2,
            }
            roc = roc_curve(result.relevant, result.scores)
            label = f"{name}{kind} ({result.roc_auc:.3f})"
            left.plot(roc.false_positive_rate, roc.true_positive_rate, label=label, **look)
            curve = precision_recall_curve(result.relevant, result.scores)
            label = f"{name}{kind} ({result.average_precision:.3f})"
            right.plot(curve.recall, curve.precision, drawstyle="steps-post", label=label, **look)
    left.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
    for axes in (left, right):
        axes.set(xlim=(0, 1), ylim=(0, 1.03))
        axes.grid(alpha=0.25)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="lower right" if axes is left else "lower left")
    return figure
