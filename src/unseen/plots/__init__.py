"""Figures: each function takes results and returns a matplotlib Figure (extra `report`)."""

from __future__ import annotations

from unseen.plots.curves import precision_recall_figure
from unseen.plots.gallery import Strip, gallery_figure
from unseen.plots.pairs import pair_figure

__all__ = ["Strip", "gallery_figure", "pair_figure", "precision_recall_figure"]
