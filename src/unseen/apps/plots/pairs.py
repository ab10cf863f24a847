"""Pairs: how well matches are told apart, as ROC and precision-recall curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unseen.apps.plots.canvas import LIGHT, Look, legend, line_look, new_figure, plain, tidy
from unseen.evaluation.protocols import PairEvaluation
from unseen.metrics import precision_recall_curve, roc_curve


def pair_figure(
    results: Mapping[str, PairEvaluation],
    ceilings: Mapping[str, PairEvaluation] | None = None,
    look: Look = LIGHT,
) -> Any:
    """Both curves of each result side by side; its ceiling, if one is known, thin beside it.

    `ceilings` go by the names of the results.
    """
    figure = new_figure(8.4, 3.9, look)
    left, right = figure.subplots(1, 2)
    left.set(xlabel="false positive rate", ylabel="true positive rate", title="ROC")
    right.set(xlabel="recall", ylabel="precision", title="precision and recall")
    left.plot([0, 1], [0, 1], color=look.soft, linewidth=0.8)
    for k, (name, found) in enumerate(results.items()):
        style = line_look(k, look)
        _draw(left, right, plain(name), found, {**style, "linewidth": 2})
        ceiling = (ceilings or {}).get(name)
        if ceiling is not None:
            thin = {**style, "linestyle": "--", "linewidth": 1.2}
            _draw(left, right, f"{plain(name)} ceiling", ceiling, thin)
    for axes, corner in ((left, "lower right"), (right, "lower left")):
        axes.set(xlim=(0, 1), ylim=(0, 1.03))
        tidy(axes, look)
        legend(axes, look, fontsize=8, loc=corner)
    return figure


def _draw(left: Any, right: Any, name: str, found: PairEvaluation, style: dict[str, Any]) -> None:
    roc = roc_curve(found.relevant, found.scores)
    label = f"{name} ({found.roc_auc:.3f})"
    left.plot(roc.false_positive_rate, roc.true_positive_rate, label=label, **style)
    curve = precision_recall_curve(found.relevant, found.scores)
    label = f"{name} ({found.average_precision:.3f})"
    right.plot(curve.recall, curve.precision, drawstyle="steps-post", label=label, **style)
