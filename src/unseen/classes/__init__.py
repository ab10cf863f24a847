"""Classes: the table that describes them, their names, groups of attributes, splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unseen.support.lazy import lazy_names

if TYPE_CHECKING:
    from unseen.classes.splits import ClassHoldout
    from unseen.classes.table import ClassTable

__all__ = ["ClassHoldout", "ClassTable"]

_PLACES = {"ClassHoldout": "unseen.classes.splits", "ClassTable": "unseen.classes.table"}
__getattr__, __dir__ = lazy_names(__name__, _PLACES)
