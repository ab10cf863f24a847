"""Latent links: which source atoms of a class go with which target atoms of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.apps.plots.canvas import LIGHT, Look, new_figure, plain
from unseen.apps.plots.gallery import draw_picture
from unseen.errors import InputError
from unseen.estimators import JLSE, ZeroShotClassifier

_GAP = 0.62


@dataclass(frozen=True)
class LatentLinks:
    """The terms z_s[k] W[k, l] z_t[l] of the similarity of a class and a row, the strongest atoms.

    source, target : names of the atoms; source_weights, target_weights : z_s and z_t at them.
    terms : what each pair of them adds, source x target; `total` is the sum over all atoms.
    examples : for each target atom the numbers of the rows, of those given, that have most of it
    with the same sign, most first.
    """

    name: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    source_weights: np.ndarray
    target_weights: np.ndarray
    terms: np.ndarray
    total: float
    examples: np.ndarray


def latent_links(
    model: ZeroShotClassifier, X: Any, row: int, name: str, top: int = 8, n_examples: int = 4
) -> LatentLinks:
    """Σ_kl z_s[k] W[k, l] z_t[l] of class `name` and row `row` of X, its `top` atoms on each side.

    An atom is strong by what all its links add together, for or against.
    """
    if not isinstance(model, JLSE):
        raise InputError(
            f"latent links are those of JLSE and KernelJLSE; {type(model).__name__} has none"
        )
    Zt, z_s = model.transform(X), model.transform_classes([name])[0]
    terms = z_s[:, None] * model.latent_.W * Zt[row]
    sources, targets = (
        np.argsort(-np.abs(terms.sum(axis=axis)), kind="stable")[:top] for axis in (1, 0)
    )
    signed = Zt[:, targets] * np.sign(Zt[row, targets])
    seen = model.seen_classes_.tolist()
    n_atoms = terms.shape[0]
    names = seen if n_atoms == len(seen) else [f"source atom {k}" for k in range(n_atoms)]
    return LatentLinks(
        name=str(name),
        source=tuple(str(names[k]) for k in sources),
        target=tuple(f"target atom {k}" for k in targets),
        source_weights=z_s[sources],
        target_weights=Zt[row, targets],
        terms=terms[np.ix_(sources, targets)],
        total=float(terms.sum()),
        examples=np.argsort(-signed, axis=0, kind="stable")[:n_examples].T,
    )


def links_figure(
    links: LatentLinks,
    pictures: Sequence[Sequence[np.ndarray | None]] | None = None,
    row_picture: np.ndarray | None = None,
    row_name: str = "row",
    look: Look = LIGHT,
) -> Any:
    """The class with its source atoms to the left, the row with its target atoms to the right.

    Bars are weights in the codes (the sign of a target atom means nothing, so its bar is grey); a
    line is as thick as what the pair of atoms adds to the similarity, in the first colour for it,
    in the second against it. `pictures` are those of `links.examples`.
    """
    n = max(len(links.source), len(links.target))
    width, height = 9.0, _GAP * n + 1.15
    figure = new_figure(width, height, look, layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    left, right = (
        1.25 + _GAP * (np.arange(len(side)) + (n - len(side)) / 2)
        for side in (links.source, links.target)
    )
    _lines(axes, links, left, right, look)
    _source_side(axes, links, left, look)
    _target_side(axes, links, right, pictures, look)
    style = {"color": look.ink, "fontsize": 11, "weight": "bold", "va": "center"}
    axes.text(3.35, 0.42, plain(links.name, 34), ha="right", **style)
    if row_picture is not None:
        draw_picture(axes, row_picture, 5.75, 0.05, 0.72)
    axes.text(5.75 if row_picture is None else 6.55, 0.42, plain(row_name, 34), ha="left", **style)
    return figure


def _lines(axes: Any, links: LatentLinks, left: np.ndarray, right: np.ndarray, look: Look) -> None:
    largest = np.abs(links.terms).max() or 1.0
    along = np.linspace(0, 1, 30)
    ease = along**2 * (3 - 2 * along)
    for a, b in np.argwhere(np.abs(links.terms) > 0.02 * largest):
        term = float(links.terms[a, b])
        height = left[a] + (right[b] - left[a]) * ease
        style = {"linewidth": 9 * abs(term) / largest, "color": look.colours[int(term <= 0)]}
        axes.plot(3.5 + 2.1 * along, height, solid_capstyle="butt", alpha=0.55, **style)


def _source_side(axes: Any, links: LatentLinks, heights: np.ndarray, look: Look) -> None:
    scale = 0.75 / (np.abs(links.source_weights).max() or 1.0)
    style = {"va": "center", "fontsize": 9, "color": look.ink}
    for name, weight, y in zip(links.source, links.source_weights, heights, strict=True):
        colour = look.colours[int(weight <= 0)]
        axes.barh(y, -scale * abs(weight), 0.3, left=3.45, color=colour)
        axes.text(2.6, y, plain(name, 28), ha="right", **style)


def _target_side(
    axes: Any, links: LatentLinks, heights: np.ndarray, pictures: Any, look: Look
) -> None:
    lengths = np.abs(links.target_weights)
    axes.barh(heights, 0.75 / (lengths.max() or 1.0) * lengths, 0.3, left=5.65, color=look.soft)
    style = {"va": "center", "fontsize": 9, "color": look.ink}
    for k, (name, y) in enumerate(zip(links.target, heights, strict=True)):
        if pictures is None:
            axes.text(6.5, y, plain(name), ha="left", **style)
            continue
        for e, picture in enumerate(p for p in pictures[k] if p is not None):
            draw_picture(axes, picture, 6.5 + 0.6 * e, y - 0.28, 0.56)
