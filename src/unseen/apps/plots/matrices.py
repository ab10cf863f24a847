"""Matrices over classes: how alike they are, and which are taken for which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import normalize

from unseen.apps.plots.canvas import LIGHT, Look, new_figure, plain, text_width, tidy
from unseen.errors import require
from unseen.metrics import ConfusionMatrix

_FEW = 12
_MOST_NAMED = 100


def cosine_similarities(vectors: np.ndarray) -> np.ndarray:
    """cos(v_a - m, v_b - m) for all pairs of rows, m their mean; C x C.

    Attributes are never negative, so unless the mean is subtracted all classes look alike.
    """
    V = np.asarray(vectors, dtype=np.float64)
    V = V - V.mean(axis=0)
    return np.clip(cosine_similarity(V), -1, 1)


def alike_order(similarities: np.ndarray) -> np.ndarray:
    """An order of classes in which those that are alike stand together (average linkage)."""
    if len(similarities) < 3:
        return np.arange(len(similarities))
    upper = np.triu_indices(len(similarities), 1)
    tree = linkage(1 - similarities[upper], method="average", optimal_ordering=True)
    return leaves_list(tree)


def similarity_figure(
    matrices: Mapping[str, np.ndarray], names: Sequence[str], look: Look = LIGHT
) -> Any:
    """Matrices of similarities between the same classes (C x C), on one scale of colours.

    They are symmetric, so names stand at one side only. Few classes: panels side by side; many:
    one below the other.
    """
    n, few = len(names), len(names) <= _FEW
    side = 2.2 if few else max(4.5, 0.135 * n)
    shape = (1, len(matrices)) if few else (len(matrices), 1)
    width = side * shape[1] + text_width(names, _size(n)) + 0.8
    figure = new_figure(width, side * shape[0] + 0.5, look, layout="compressed")
    off = ~np.eye(n, dtype=bool)
    low = min((float(m[off].min()) for m in matrices.values() if n > 1), default=0.0)
    panels, image = figure.subplots(*shape, squeeze=False), None
    for k, (axes, (title, matrix)) in enumerate(zip(panels.flat, matrices.items(), strict=True)):
        image = axes.imshow(matrix, cmap="cividis", vmin=min(low, 0.99), vmax=1)
        axes.set_title(plain(title, 40))
        tidy(axes, look, grid=False)
        _name_side(axes.yaxis, names if k == 0 or not few else [], look)
        axes.set_xticks([])
    _scale(figure, image, look, "cosine", panels)
    return figure


def confusion_figure(confusion: ConfusionMatrix, look: Look = LIGHT) -> Any:
    """Shares of the rows of a class (lines) that are given each name (columns), in percent.

    Few classes have their numbers in the cells.
    """
    names, shares = confusion.names.tolist(), 100 * np.asarray(normalize(confusion.values, "l1"))
    n, few = len(names), len(names) <= _FEW
    side = max(2.2, 0.42 * n) if few else max(4.5, 0.135 * n)
    room = text_width(names, _size(n)) + 0.45
    figure = new_figure(side + room + (0 if few else 0.8), side + room, look)
    axes = figure.add_subplot(xlabel="named", ylabel="true class")
    colours = require("matplotlib.colors", "report", "drawing a figure")
    shades = colours.LinearSegmentedColormap.from_list("shades", [look.paper, look.colours[0]])
    # By the square root, so that what is rare can be seen too.
    image = axes.imshow(np.sqrt(shares), cmap=shades, vmin=0, vmax=10)
    tidy(axes, look, grid=False)
    _name_side(axes.yaxis, names, look)
    _name_side(axes.xaxis, names, look)
    axes.tick_params(axis="x", rotation=90)
    if few:
        for a, b in np.ndindex(n, n):
            ink = look.paper if shares[a, b] > 40 else look.ink
            axes.text(b, a, f"{shares[a, b]:.0f}", color=ink, ha="center", va="center", fontsize=8)
    else:
        # Lines to lead the eye from a cell to its names.
        axes.set_xticks(np.arange(4.5, n - 1, 5), minor=True)
        axes.set_yticks(np.arange(4.5, n - 1, 5), minor=True)
        axes.grid(which="minor", color=look.line, linewidth=0.6)
        axes.tick_params(which="minor", length=0)
        bar = _scale(figure, image, look, "% of the rows of a class", axes)
        bar.set_ticks(np.sqrt([0, 5, 20, 50, 100]), labels=["0", "5", "20", "50", "100"])
    return figure


def _name_side(axis: Any, names: Sequence[str], look: Look) -> None:
    shown = names if len(names) <= _MOST_NAMED else []
    axis.set_ticks(range(len(shown)), [plain(name) for name in shown])
    axis.set_tick_params(length=0, labelcolor=look.ink, labelsize=_size(len(names)))


def _size(n_names: int) -> float:
    """Size of the letters at the side of a matrix."""
    return 9 if n_names <= _FEW else 7


def _scale(figure: Any, image: Any, look: Look, label: str, beside: Any) -> Any:
    bar = figure.colorbar(image, ax=beside, shrink=0.6, aspect=30)
    bar.set_label(label, color=look.ink, fontsize=9)
    bar.ax.tick_params(colors=look.soft, labelcolor=look.ink, labelsize=8)
    bar.outline.set_visible(False)
    return bar
