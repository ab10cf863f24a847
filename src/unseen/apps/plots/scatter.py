"""Embeddings in the plane: t-SNE of rows, coloured by class, method beside method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from unseen.apps.plots.canvas import LIGHT, Look, legend, mark_look, new_figure, plain
from unseen.errors import InputError

_N_COMPONENTS = 50


def tsne_points(codes: np.ndarray, random_state: int = 0) -> np.ndarray:
    """Rows of `codes` (n x h) as points (n x 2) by t-SNE on their directions (cosine).

    The first 50 principal components stand for the codes, as is usual.
    """
    n_rows = len(codes)
    if n_rows < 4:
        raise InputError(f"t-SNE needs at least 4 rows, not {n_rows}")
    Z = np.asarray(normalize(np.asarray(codes, dtype=np.float64)))
    if np.ptp(Z, axis=0).max() == 0:
        return np.zeros((n_rows, 2))
    n_components = min(_N_COMPONENTS, n_rows, Z.shape[1])
    reduced = PCA(n_components, svd_solver="full", random_state=random_state).fit_transform(Z)
    perplexity = min(30.0, (n_rows - 1) / 3)
    start = "pca" if n_components > 1 else "random"
    # Its threads wait for one another in a busy loop: on a machine that has other work to do, one
    # is many times faster than several.
    with threadpool_limits(1):
        return TSNE(perplexity=perplexity, init=start, random_state=random_state).fit_transform(
            reduced
        )


def tsne_figure(
    points: Mapping[str, np.ndarray],
    labels: np.ndarray,
    names: Sequence[str],
    look: Look = LIGHT,
) -> Any:
    """Points of rows (n x 2 for each method), a colour and a shape for each class of `names`."""
    panel, n_columns = (4.2, 4) if len(points) > 1 else (5.6, 3)
    n_columns = min(n_columns, len(names))
    height = panel + 0.6 + 0.17 * -(-len(names) // n_columns)
    figure = new_figure(panel * len(points), height, look)
    panels = figure.subplots(1, len(points), squeeze=False).flat
    style = {"s": 14, "alpha": 0.75, "linewidths": 0, "rasterized": True}
    marks = []
    for axes, (title, place) in zip(panels, points.items(), strict=True):
        marks = [
            axes.scatter(*place[labels == name].T, **style, **mark_look(k, look))
            for k, name in enumerate(names)
        ]
        axes.set(xticks=[], yticks=[], facecolor=look.paper)
        axes.set_title(plain(title, 40), color=look.ink, fontsize=11)
        for spine in axes.spines.values():
            spine.set_color(look.line)
    tight = {"handletextpad": 0.2, "columnspacing": 1.2, "labelspacing": 0.35, "borderpad": 0.2}
    listed = {"handles": marks, "labels": [plain(name, 26) for name in names], "fontsize": 8}
    legend(figure, look, loc="outside lower center", ncols=n_columns, **listed, **tight)
    return figure
