"""Classes: the table that describes them, their names, groups of attributes, splits."""

from unseen.classes.table import ClassTable

__all__ = ["ClassTable"]
