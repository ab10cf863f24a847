"""Small drawn pictures whose classes are all combinations of a colour, a filling and a shape."""

from __future__ import annotations

from itertools import product

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import InputError

INKS = {
    "red": (0.85, 0.15, 0.15),
    "yellow": (0.95, 0.75, 0.10),
    "green": (0.15, 0.60, 0.25),
    "blue": (0.15, 0.35, 0.85),
}
FILLINGS = ("plain", "striped", "hollow")
SHAPES = ("circle", "square", "triangle", "cross", "star")
_SIDE = 32
_CELLS = 4
_DIRECTIONS = 8
_SHADES = 4


def shape_table() -> ClassTable:
    """The sixty classes, such as "red striped star", each described by three of twelve words."""
    words = [*INKS, *FILLINGS, *SHAPES]
    classes = list(product(INKS, FILLINGS, SHAPES))
    vectors = [[float(word in described) for word in words] for described in classes]
    return ClassTable([" ".join(described) for described in classes], np.array(vectors), words)


def shape_splits(rounds: int = 4, random_state: int = 0) -> list[tuple[str, ...]]:
    """Sets of twelve classes to keep as unseen: five a round, in which every class is once."""
    rng = np.random.default_rng(random_state)
    names = shape_table().names
    orders = (rng.permutation(names) for _ in range(rounds))
    return [tuple(part.tolist()) for order in orders for part in np.split(order, 5)]


def make_shapes(rows_per_class: int = 30, *, random_state: int = 0) -> ZeroShotDataset:
    """Sixty classes of drawn 32 x 32 pictures, of which twelve are unseen.

    A picture has a shape of random place, size, slant and shade on a random pale ground, with
    three spots of any colour behind it and noise on all. Rows are what `picture_features` makes of
    the pictures, which are kept in `images`; `shape_splits` lists other ways to choose the twelve.
    """
    if rows_per_class < 1:
        raise InputError(f"rows_per_class must be at least 1, not {rows_per_class}")
    table = shape_table()
    pictures = np.concatenate(
        [
            _draw(name, rows_per_class, np.random.default_rng([random_state, c]))
            for c, name in enumerate(table.names.tolist())
        ]
    )
    return ZeroShotDataset(
        name="shapes",
        X=picture_features(pictures),
        y=np.repeat(table.names, rows_per_class),
        classes=table,
        unseen=np.array(shape_splits(1)[0]),
        images=pictures,
        notes=("drawn pictures, described by words of colour, filling and shape",),
    )


def picture_features(pictures: np.ndarray) -> np.ndarray:
    """Two histograms of each coloured picture (n x 32 x 32 x 3), with nothing learned: n x 192.

    The strength of edges in eight directions, in each of 4 x 4 cells, as a share of all edges; and
    the share of pixels that have each of 4 x 4 x 4 colours. Shares are replaced by their roots, so
    that a few large ones do not drown the others.
    """
    n, side = len(pictures), pictures.shape[1]
    down, across = np.gradient(pictures.mean(axis=3), axis=(1, 2))
    turn = np.arctan2(down, across) / np.pi % 1
    direction = (turn * _DIRECTIONS).astype(int) % _DIRECTIONS
    line = np.arange(side) * _CELLS // side
    cell = line[:, None] * _CELLS + line
    edges = _histograms(
        cell * _DIRECTIONS + direction, _CELLS**2 * _DIRECTIONS, np.hypot(down, across)
    )
    shades = np.minimum((pictures * _SHADES).astype(int), _SHADES - 1)
    colour = shades @ np.array([_SHADES**2, _SHADES, 1])
    colours = _histograms(colour, _SHADES**3, np.ones((n, side, side)))
    return np.sqrt(np.hstack([edges, colours])).astype(np.float32)


def _histograms(bins: np.ndarray, n_bins: int, weights: np.ndarray) -> np.ndarray:
    """For each picture, the share of its weights that falls into each bin: n x n_bins."""
    n = len(bins)
    place = bins + n_bins * np.arange(n)[:, None, None]
    sums = np.bincount(place.ravel(), weights.ravel(), n * n_bins).reshape(n, n_bins)
    # A picture of one colour has no edges.
    return sums / np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def draw_shape(name: str) -> np.ndarray:
    """What a class such as "red striped star" looks like without chance: 32 x 32 x 3, on white."""
    colour, filling, shape = name.split()
    x, y = _grid()
    inked = _inked(shape, filling, x / 0.8, y / 0.8, 0.25)
    return _shrunk(np.where(inked[..., None], INKS[colour], 1.0)[None])[0]


# -- drawing ---------------------------------------------------------------------------------------


def _draw(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Pictures of a class, n x 32 x 32 x 3, from 0 to 1."""
    colour, filling, shape = name.split()
    x, y = _grid()
    # Which of its inks each pixel has, later ones over earlier ones.
    inks = [rng.uniform(0.6, 0.95, (n, 3))]
    layer = np.zeros((n, *x.shape), dtype=np.intp)
    for spot in (1, 2, 3):
        left, top = rng.uniform(-1, 1, (2, n, 1, 1))
        layer[np.hypot(x - left, y - top) < rng.uniform(0.1, 0.3, (n, 1, 1))] = spot
        inks.append(rng.uniform(0.2, 1, (n, 3)))
    left, top = rng.uniform(-0.25, 0.25, (2, n, 1, 1))
    size = rng.uniform(0.5, 0.75, (n, 1, 1))
    slant = np.deg2rad(rng.uniform(-20, 20, (n, 1, 1)))
    u = ((x - left) * np.cos(slant) + (y - top) * np.sin(slant)) / size
    v = ((y - top) * np.cos(slant) - (x - left) * np.sin(slant)) / size
    layer[_inked(shape, filling, u, v, rng.random((n, 1, 1)))] = len(inks)
    inks.append(np.clip(INKS[colour] + rng.normal(0, 0.12, (n, 3)), 0, 1))
    pictures = _shrunk(np.stack(inks, axis=1)[np.arange(n)[:, None, None], layer])
    noisy = pictures + rng.normal(0, 0.08, pictures.shape)
    return np.clip(noisy, 0, 1).astype(np.float32)


def _grid() -> tuple[np.ndarray, np.ndarray]:
    """Coordinates from -1 to 1, y downwards, of a picture drawn at twice its size."""
    axis = (np.arange(2 * _SIDE) + 0.5) / _SIDE - 1
    x, y = np.meshgrid(axis, axis)
    return x, y


def _shrunk(pictures: np.ndarray) -> np.ndarray:
    """Half as large; the mean of four pixels smooths the edges."""
    return pictures.reshape(-1, _SIDE, 2, _SIDE, 2, 3).mean(axis=(2, 4))


def _inked(shape: str, filling: str, u: np.ndarray, v: np.ndarray, phase: object) -> np.ndarray:
    inside = _inside(shape, u, v)
    if filling == "striped":
        return inside & ((2 * v + phase) % 1 < 0.55)
    return inside & ~_inside(shape, u / 0.6, v / 0.6) if filling == "hollow" else inside


def _inside(shape: str, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Which points lie in a shape about the origin, of radius 1 or so."""
    across, along = np.abs(u), np.abs(v)
    if shape == "circle":
        return np.hypot(u, v) < 0.95
    if shape == "square":
        return np.maximum(across, along) < 0.8
    if shape == "triangle":
        return (v < 0.6) & (np.sqrt(3) * across - v < 1.1)
    if shape == "cross":
        return (np.minimum(across, along) < 0.32) & (np.maximum(across, along) < 1.0)
    return _in_star(u, v)


def _in_star(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Five points at radius 1.1, with valleys at 0.45 between them."""
    half = np.pi / 5
    # All ten halves of points are folded onto one, from a tip at angle 0 to a valley at `half`.
    angle = np.abs((np.arctan2(u, -v) + half) % (2 * half) - half)
    radius = np.hypot(u, v)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    tip, valley = (1.1, 0.0), (0.45 * np.cos(half), 0.45 * np.sin(half))
    return (valley[0] - tip[0]) * y > (valley[1] - tip[1]) * (x - tip[0])
