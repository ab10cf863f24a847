"""Figures: each function takes results and returns a matplotlib Figure (extra `report`)."""

from __future__ import annotations

from unseen.plots.curves import precision_recall_figure

__all__ = ["precision_recall_figure"]
