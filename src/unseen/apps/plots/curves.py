"""Curves: precision against recall, ROC, seen against unseen, a parameter, rounds of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unseen.apps.plots.canvas import LIGHT, Look, legend, line_look, new_figure, plain, tidy
from unseen.errors import InputError, listed
from unseen.evaluation.protocols import PairEvaluation
from unseen.metrics import (
    PrecisionRecallCurve,
    SeenUnseenCurve,
    precision_recall_curve,
    roc_curve,
)

_COLUMNS = 5
PARTS = (
    "fit of the classes",
    "fit of the rows",
    "loss of the pairs",
    "penalty on W",
    "J, their sum",
)


def precision_recall_figure(
    curves: Mapping[str, Mapping[str, PrecisionRecallCurve]],
    average_precision: Mapping[str, Mapping[str, float]],
    look: Look = LIGHT,
) -> Any:
    """A small panel per class, in it one curve per method; `curves[method][name]`.

    Under the name of the class stand the average precisions, in the order of the methods.
    """
    names = list(next(iter(curves.values())))
    n_columns = min(_COLUMNS, len(names))
    n_lines = -(-len(names) // n_columns)
    figure = new_figure(max(1.68 * n_columns, 4.2), 1.6 * n_lines + 0.9, look)
    panels = figure.subplots(n_lines, n_columns, squeeze=False, sharex=True, sharey=True)
    for axes, name in zip(panels.flat, names, strict=False):
        for k, method in enumerate(curves):
            _step(axes, curves[method][name], linewidth=1.6, **line_look(k, look))
        shares = " / ".join(f"{100 * average_precision[m][name]:.0f}" for m in curves)
        axes.set_title(f"{plain(name, 24)}\nAP {shares} %")
        axes.set(xlim=(0, 1), ylim=(0, 1.05), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        tidy(axes, look, size=7)
        axes.title.set_fontsize(7.5)
    for axes in panels.flat[len(names) :]:
        axes.set_visible(False)
    named = {"handles": panels.flat[0].lines, "labels": [plain(m) for m in curves]}
    legend(figure, look, loc="outside upper center", ncols=len(curves), fontsize=9, **named)
    figure.supxlabel("recall", color=look.ink, fontsize=9)
    figure.supylabel("precision", color=look.ink, fontsize=9)
    return figure


def _step(axes: Any, curve: PrecisionRecallCurve, **style: Any) -> None:
    """The curve as a staircase, without the points at which nothing new is recalled.

    Each precision reaches over the recall that it was won with, so the area is the average
    precision. The last point, precision 1 at recall 0, stands for no row and would be a spike.
    """
    kept = np.append(np.diff(curve.recall) != 0, True)
    recall, precision = curve.recall[kept], curve.precision[kept].copy()
    precision[-1] = precision[-2]
    axes.plot(recall, precision, drawstyle="steps-post", **style)


def seen_unseen_figure(
    curves: Mapping[str, SeenUnseenCurve],
    chosen: Mapping[str, Any],
    look: Look = LIGHT,
) -> Any:
    """Accuracy on seen against unseen classes when they compete, one line per method.

    A line runs over all numbers that could be subtracted from the scores of seen classes; the area
    under it is AUSUC. The mark is where the method stands as it is, by what `chosen` has of it.
    """
    figure = new_figure(4.6, 4.2, look)
    axes = figure.add_subplot(
        xlabel="per-class accuracy, unseen (%)", ylabel="per-class accuracy, seen (%)"
    )
    for k, (name, curve) in enumerate(curves.items()):
        style = line_look(k, look)
        label = f"{plain(name)} (AUSUC {curve.ausuc:.3f})"
        axes.plot(100 * curve.unseen, 100 * curve.seen, linewidth=2, label=label, **style)
        stands = 100 * chosen[name].unseen, 100 * chosen[name].seen
        mark = {"markeredgecolor": look.paper, "markeredgewidth": 1.5, "markersize": 9}
        axes.plot(*stands, "o", color=style["color"], **mark)
    axes.set(xlim=(0, None), ylim=(0, None))
    tidy(axes, look)
    legend(axes, look, loc="lower left")
    return figure


def sweep_figure(
    parameter: str,
    lines: Mapping[str, tuple[Sequence[Any], Sequence[float], Sequence[float]]],
    look: Look = LIGHT,
) -> Any:
    """Accuracy against a parameter: one line per data set, a band of one standard deviation.

    `lines` holds values of the parameter, means and deviations as shares. Numbers that span more
    than a factor of ten stand on a logarithmic axis, words side by side.
    """
    figure = new_figure(5.2, 3.6, look)
    axes = figure.add_subplot(xlabel=parameter, ylabel="per-class top-1 (%)")
    values = next(iter(lines.values()))[0]
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    for k, (name, (points, means, deviations)) in enumerate(lines.items()):
        x = np.asarray(points, float) if numbers else np.arange(len(points))
        mean, spread = 100 * np.asarray(means), 100 * np.asarray(deviations)
        style = line_look(k, look)
        axes.plot(x, mean, marker="o", linewidth=2, label=plain(name), **style)
        axes.fill_between(x, mean - spread, mean + spread, color=style["color"], alpha=0.15)
    if not numbers:
        axes.set_xticks(range(len(values)), [plain(v) for v in values])
    elif min(values) > 0 and max(values) > 10 * min(values):
        axes.set_xscale("log")
        axes.set_xticks(values, [f"{v:g}" for v in values])
        axes.minorticks_off()
    tidy(axes, look)
    legend(axes, look, loc="best")
    return figure


def objective_figure(history: np.ndarray, look: Look = LIGHT) -> Any:
    """The objective by round: `history` is rounds x parts, such as `JLSE.history_`.

    The parts differ by orders of magnitude, so each has a panel and a scale of its own; a history
    of one column has one panel.
    """
    values = np.asarray(history, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    titles = ["objective"] if values.shape[1] == 1 else list(PARTS)
    if values.shape[1] != len(titles) or not len(values):
        raise InputError(
            f"a history of shape {values.shape} does not have the parts {listed(PARTS)}"
        )
    figure = new_figure(max(3.6, 1.75 * len(titles)), 2.3, look)
    panels = figure.subplots(1, len(titles), squeeze=False).flat
    marker = "o" if len(values) <= 30 else None
    for axes, title, part in zip(panels, titles, values.T, strict=True):
        axes.plot(part, marker=marker, linewidth=2, color=look.colours[0])
        axes.set_title(title)
        axes.margins(x=0.08, y=0.15)
        axes.locator_params(axis="x", integer=True, nbins=4, min_n_ticks=1)
        axes.locator_params(axis="y", nbins=4)
        axes.ticklabel_format(axis="y", useOffset=False, style="plain")
        tidy(axes, look, size=8)
    figure.supxlabel("round", color=look.ink, fontsize=9)
    return figure


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
