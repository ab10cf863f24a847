"""A small encoder without weights: colours and edges of a picture. It needs Pillow alone.

It serves drawn shapes, tests and tutorials. For photographs take a network.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.encoders.backend import Identity

_SIDE = 64
# Levels of each colour, directions of edges, and cells of each side.
_LEVELS, _DIRECTIONS, _CELLS = 4, 8, 4
_COLOURS = _LEVELS**3
_WIDTH = _COLOURS + 3 * _CELLS**2 + _DIRECTIONS * (1 + _CELLS**2)


class Basic:
    """Colour histogram (64), mean colours of 4 x 4 cells (48), directions of edges over the whole
    (8) and in each cell (128)."""

    def __init__(self) -> None:
        preprocessing = {"resize": [_SIDE, _SIDE], "resample": "bilinear"}
        self.identity = Identity("basic", "basic 1", _WIDTH, preprocessing)

    def prepare(self, picture: Any) -> np.ndarray:
        return np.asarray(picture.resize((_SIDE, _SIDE), 2))

    def encode(self, batch: np.ndarray) -> np.ndarray:
        values = batch.astype(np.float32) / 255
        parts = [_histogram(batch), _cells(values).reshape(len(batch), -1), _edges(values)]
        return np.concatenate(parts, axis=1, dtype=np.float32)


def _histogram(batch: np.ndarray) -> np.ndarray:
    """The share of pixels of each colour, square roots, so that rare colours count."""
    levels = batch.reshape(len(batch), -1, 3).astype(np.intp) * _LEVELS // 256
    colours = levels @ np.array([_LEVELS**2, _LEVELS, 1])
    colours += _COLOURS * np.arange(len(batch))[:, None]
    counts = np.bincount(colours.ravel(), minlength=_COLOURS * len(batch))
    return np.sqrt(counts.reshape(len(batch), -1) / _SIDE**2)


def _cells(values: np.ndarray) -> np.ndarray:
    """Means over the cells of a grid: n x cells x cells x depth."""
    n, side, depth = len(values), _SIDE // _CELLS, values.shape[-1]
    return values.reshape(n, _CELLS, side, _CELLS, side, depth).mean(axis=(2, 4))


def _edges(values: np.ndarray) -> np.ndarray:
    """How strong the edges of each direction are; the strongest colour counts."""
    down, across = np.gradient(values, axis=(1, 2))
    size = np.hypot(down, across)
    best = size.argmax(axis=-1)[..., None]
    down, across, size = (np.take_along_axis(v, best, -1)[..., 0] for v in (down, across, size))
    angle = np.arctan2(down, across) % np.pi
    direction = np.minimum((angle * _DIRECTIONS / np.pi).astype(np.intp), _DIRECTIONS - 1)
    strength = np.eye(_DIRECTIONS, dtype=np.float32)[direction] * size[..., None]
    grid = _cells(strength)
    whole = grid.mean(axis=(1, 2))
    parts = [whole, grid.reshape(len(values), -1)]
    return np.concatenate([v / (np.linalg.norm(v, axis=1, keepdims=True) + 1e-6) for v in parts], 1)
