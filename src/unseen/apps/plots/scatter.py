"""Embeddings in the plane: t-SNE of rows, coloured by class, method beside method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from unseen.apps.plots.canvas import LIGHT, Look, legend, mark_look, new_figure, plain
from unseen.errors import InputError

_FEW = 10
_BADGE = (0.24, 0.16)
_N_COMPONENTS = 50


def tsne_points(codes: np.ndarray, random_state: int = 0) -> np.ndarray:
    """Rows of `codes` (n x h) as points (n x 2) by t-SNE on their directions (cosine).

    The first 50 principal components stand for the codes, as is usual.
    """
    n_rows = len(codes)
    if n_rows < 4:
        raise InputError(f"t-SNE needs at least 4 rows, not {n_rows}")
    Z = np.asarray(codes, dtype=np.float64)
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    Z = Z / np.where(lengths > 0, lengths, 1)
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
    """Points of rows (n x 2 for each method), a colour and a shape for each class of `names`.

    More classes than ten have a number each, at the middle of their points and in the list below.
    """
    numbered = len(names) > _FEW
    panel = 4.2 if len(points) > 1 else 5.6
    n_panels = len(points)
    n_lines = -(-len(names) // _legend_columns(n_panels))
    width, list_height = panel * n_panels + 0.3, 0.165 * n_lines + 0.2
    height = panel + 0.4 + list_height
    figure = new_figure(width, height, look, layout="none")
    inside = panel - 0.2
    for p, (title, place) in enumerate(points.items()):
        left, bottom = (0.2 + p * panel) / width, list_height / height
        axes = figure.add_axes((left, bottom, inside / width, inside / height))
        _panel(axes, place, labels, names, look)
        axes.set_title(plain(title, 40), color=look.ink, fontsize=11)
        if numbered:
            _badges(axes, _unit(place), labels, names, inside, look)
    _list(figure, names, numbered, list_height / height, look, n_panels)
    return figure


def _legend_columns(n_panels: int) -> int:
    return 3 if n_panels == 1 else 4


def _unit(place: np.ndarray) -> np.ndarray:
    """Points scaled into the unit square, with a margin."""
    low, high = place.min(axis=0), place.max(axis=0)
    return 0.04 + 0.92 * (place - low) / np.where(high > low, high - low, 1)


def _panel(axes: Any, place: np.ndarray, labels: np.ndarray, names: Any, look: Look) -> None:
    unit = _unit(place)
    for k, name in enumerate(names):
        mine = unit[labels == name]
        style = {"s": 14, "alpha": 0.75, "linewidths": 0, "rasterized": True}
        axes.scatter(mine[:, 0], mine[:, 1], **style, **mark_look(k, look))
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], facecolor=look.paper)
    for spine in axes.spines.values():
        spine.set_color(look.line)


def _badges(
    axes: Any, unit: np.ndarray, labels: np.ndarray, names: Any, inches: float, look: Look
) -> None:
    present = [k for k, name in enumerate(names) if (labels == name).any()]
    middles = np.array([np.median(unit[labels == names[k]], axis=0) for k in present])
    places = spread_apart(middles * inches, _BADGE, inches) / inches
    style = {"fontsize": 7, "color": look.ink, "ha": "center", "va": "center"}
    for k, place, middle in zip(present, places, middles, strict=True):
        box = {"facecolor": look.paper, "edgecolor": mark_look(k, look)["color"]}
        axes.plot(*np.transpose([middle, place]), color=look.ink, linewidth=0.6, zorder=4)
        axes.text(*place, str(k + 1), zorder=5, bbox={"boxstyle": "round,pad=0.18", **box}, **style)


def spread_apart(
    centres: np.ndarray, size: tuple[float, float], side: float, n_steps: int = 400
) -> np.ndarray:
    """Centres of boxes of one size, moved inside a square until no two boxes overlap.

    Each pair that overlaps is pushed apart along the axis on which less is missing.
    """
    half = np.array(size) / 2
    # Boxes at the very same place have no direction to part in.
    place = centres + 1e-3 * np.random.default_rng(0).standard_normal(centres.shape)
    for _ in range(n_steps):
        gap = place[:, None] - place
        missing = np.array(size) * 1.04 - np.abs(gap)
        overlap = (missing > 0).all(axis=2) & ~np.eye(len(place), dtype=bool)
        if not overlap.any():
            break
        axis = missing.argmin(axis=2)
        push = np.zeros_like(gap)
        for k in range(2):
            mine = overlap & (axis == k)
            push[..., k][mine] = 0.5 * (np.where(gap >= 0, 1, -1) * missing)[..., k][mine]
        place = np.clip(place + 0.7 * push.sum(axis=1), half, side - half)
    return place


def _list(
    figure: Any, names: Sequence[str], numbered: bool, top: float, look: Look, n_panels: int
) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", markersize=6, **mark_look(k, look)) for k in range(len(names))
    ]
    shown = [f"{k + 1} {plain(n, 26)}" if numbered else plain(n, 26) for k, n in enumerate(names)]
    tight = {"handletextpad": 0.2, "columnspacing": 1.2, "labelspacing": 0.35, "borderpad": 0.2}
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, top), "handles": handles}
    ncols = min(_legend_columns(n_panels), len(names))
    legend(figure, look, labels=shown, ncols=ncols, fontsize=8, **place, **tight)
