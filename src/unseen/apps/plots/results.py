"""What `plot` draws of results: classes one by one, and settings that were tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.apps.plots.canvas import LIGHT, Look, legend, new_figure, plain, text_width, tidy
from unseen.evaluation.protocols import Evaluation
from unseen.evaluation.tuning.results import Tuning

# More lines than this are too many for a screen: the best and the worst are drawn.
_MOST = 40


def evaluation_figure(found: Evaluation, look: Look = LIGHT) -> Any:
    """The accuracy and the average precision of each unseen class, best first, beside the mean of
    the accuracies with its interval, and chance."""
    classes = sorted(found.by_class, key=lambda c: -c.accuracy)
    left_out = max(len(classes) - _MOST, 0)
    if left_out:
        classes = classes[: _MOST // 2] + classes[-_MOST // 2 :]
    names = [plain(c.name) for c in classes]
    figure = new_figure(5.2 + text_width(names, 9), 0.26 * len(names) + 1.3, look)
    axes = figure.subplots()
    places = np.arange(len(classes))
    low, high = 100 * found.per_class_interval.low, 100 * found.per_class_interval.high
    mean = 100 * found.per_class_accuracy
    axes.axvspan(low, high, color=look.colours[0], alpha=0.12, linewidth=0)
    axes.axvline(mean, color=look.colours[0], label=f"mean accuracy {mean:.1f} %")
    chance = {"color": look.soft, "linestyle": ":", "label": f"chance {100 * found.chance:.1f} %"}
    axes.axvline(100 * found.chance, **chance)
    accuracy, precision = np.array([[c.accuracy, c.average_precision] for c in classes]).T * 100
    axes.plot(accuracy, places, "o", color=look.colours[0], label="accuracy")
    ring = {"markerfacecolor": look.paper, "label": "average precision"}
    axes.plot(precision, places, "D", color=look.colours[1], markersize=5, **ring)
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    lacking = f"; {left_out} classes between them left out" if left_out else ""
    axes.set_xlabel(f"% of the rows of a class, with the 95 % interval of the mean{lacking}")
    tidy(axes, look)
    legend(figure, look, loc="outside upper center", ncols=2, fontsize=9)
    return figure


def tuning_figure(found: Tuning, look: Look = LIGHT) -> Any:
    """Every setting that was tried, best first: its splits as faint dots and their mean. The
    default is a ring on a line of its own across the figure."""
    trials = [t for t in found.trials if t.n_splits]
    figure = new_figure(7.0, 3.6, look)
    axes = figure.subplots()
    for place, trial in enumerate(trials, start=1):
        scores, is_kept = 100 * np.asarray(trial.scores), trial is found.choice.kept
        colour = look.colours[0] if is_kept else look.soft
        dots = {"markersize": 4, "alpha": 0.3, "markeredgewidth": 0}
        axes.plot(np.full(scores.size, place), scores, "o", color=colour, **dots)
        ring = {"markerfacecolor": look.paper} if trial is found.default else {}
        words = "the default" if trial is found.default else "the setting that is kept"
        told = {"label": words} if is_kept or trial is found.default else {}
        axes.plot(place, scores.mean(), "o", color=colour, markersize=7, **ring, **told)
    mean = {"color": look.colours[1], "linestyle": "--", "linewidth": 1.2}
    if found.default.n_splits:
        axes.axhline(100 * float(np.mean(found.default.scores)), **mean)
    axes.set_xlabel("setting, best first; those that were given fewer splits come last")
    axes.set_ylabel("held-out seen classes (%)")
    tidy(axes, look)
    legend(axes, look, fontsize=9)
    return figure
