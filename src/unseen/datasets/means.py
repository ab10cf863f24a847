"""Class descriptions made of image descriptions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import InputError


def class_means(
    y: np.ndarray, per_image: np.ndarray, attributes: np.ndarray, where: Path
) -> ClassTable:
    """A table with one row a class: the mean of the attributes (N x d) of its images."""
    if per_image.ndim != 2 or per_image.shape != (y.size, attributes.size):
        raise InputError(
            f"{where} has attributes of shape {per_image.shape} for {y.size} images and "
            f"{attributes.size} attribute names"
        )
    names, position = np.unique(y, return_inverse=True)
    sums = np.zeros((names.size, attributes.size))
    np.add.at(sums, position, per_image)
    return ClassTable(names, sums / np.bincount(position)[:, None], attributes)
