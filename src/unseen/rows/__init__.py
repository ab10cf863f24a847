"""Rows of data: blocks, scaling, kernel features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unseen.support.lazy import lazy_names

if TYPE_CHECKING:
    from unseen.rows.scaling import ClassScaler, RowScaler

__all__ = ["ClassScaler", "RowScaler"]

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, "unseen.rows.scaling"))
