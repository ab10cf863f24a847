"""Figures: each function takes results and returns a matplotlib Figure (extra `report`).

The last argument of each is a look, `LIGHT` or `DARK`.
"""

from __future__ import annotations

from unseen.apps.plots.canvas import DARK, LIGHT, Look
from unseen.apps.plots.comparison import comparison_figure
from unseen.apps.plots.curves import (
    PARTS,
    objective_figure,
    pair_figure,
    precision_recall_figure,
    seen_unseen_figure,
    sweep_figure,
)
from unseen.apps.plots.gallery import Strip, gallery_figure
from unseen.apps.plots.links import LatentLinks, latent_links, links_figure
from unseen.apps.plots.matrices import (
    alike_order,
    confusion_figure,
    cosine_similarities,
    similarity_figure,
)
from unseen.apps.plots.ranks import suite_figure
from unseen.apps.plots.scatter import tsne_figure, tsne_points

__all__ = [
    "DARK",
    "LIGHT",
    "PARTS",
    "LatentLinks",
    "Look",
    "Strip",
    "alike_order",
    "comparison_figure",
    "confusion_figure",
    "cosine_similarities",
    "gallery_figure",
    "latent_links",
    "links_figure",
    "objective_figure",
    "pair_figure",
    "precision_recall_figure",
    "seen_unseen_figure",
    "similarity_figure",
    "suite_figure",
    "sweep_figure",
    "tsne_figure",
    "tsne_points",
]
