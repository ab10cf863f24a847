"""Data sets that come with the library, by name: handwritten digits described by the segments of a
display, drawn shapes, and synthetic problems driven by shared factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit

from unseen.classes import ClassTable
from unseen.classes.checks import as_names
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.shapes import make_shapes
from unseen.errors import InputError
from unseen.support.shown import Shown

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SEGMENTS = ("top", "upper right", "lower right", "bottom", "lower left", "upper left", "middle")
# Which of the segments, in the order above, are on when a display shows 0, 1, ... 9.
_CODES = "1111110 0110000 1101101 1111001 0110011 1011011 1011111 1110000 1111111 1111011"


def seven_segments() -> ClassTable:
    """The ten digits, each described by 14 columns: segment on, segment off."""
    on = np.array([[int(bit) for bit in code] for code in _CODES.split()], dtype=np.float64)
    attributes = [f"{s} {state}" for state in ("on", "off") for s in SEGMENTS]
    return ClassTable(DIGITS, np.hstack([on, 1 - on]), attributes)


def digit_splits() -> list[tuple[str, str, str]]:
    """All 120 ways to keep three of the ten digits as unseen."""
    return list(combinations(DIGITS, 3))


def load_digits_zero_shot(unseen: Iterable[str] = ("one", "two", "five")) -> ZeroShotDataset:
    """The 1,797 handwritten digits that ship inside scikit-learn, as a zero-shot data set.

    Rows are the 64 grey values of an 8 x 8 image, kept in `images` too.

    Parameters
    ----------
    unseen : names of digits to keep out of training; `digit_splits` lists all triples. By default
        the three whose codes differ most.
    """
    from sklearn.datasets import load_digits

    source: Any = load_digits()
    pixels, digits = source.data, source.target
    return ZeroShotDataset(
        name="digits",
        X=pixels,
        y=np.array(DIGITS)[digits],
        classes=seven_segments(),
        unseen=as_names(unseen, "unseen classes"),
        images=pixels.reshape(-1, 8, 8),
        notes=("handwritten digits of scikit-learn, described by seven-segment codes",),
    )


# -- synthetic problems ----------------------------------------------------------------------------


def make_zero_shot(
    n_seen: int = 20,
    n_unseen: int = 5,
    rows_per_class: int = 50,
    n_features: int = 64,
    n_attributes: int = 30,
    n_factors: int = 10,
    *,
    noise: float = 0.5,
    table_noise: float = 0.0,
    random_state: int = 0,
    dtype: type = np.float32,
) -> ZeroShotDataset:
    """Rows and class table driven by the same latent factors.

        s_c = A f_c + τ ε                    the line of class c in the class table
        x   = P (f_c + σ ε') + σ ε''         a row of the class

    with Gaussian factors f, noise ε, A and P. Each class has its own random stream, so more rows
    per class leave the first ones as they are.

    Parameters
    ----------
    noise, table_noise : σ and τ; without noise every row of a class is the same.
    """
    _check_sizes(n_seen=n_seen, rows_per_class=rows_per_class, n_features=n_features)
    _check_sizes(n_attributes=n_attributes, n_factors=n_factors)
    _check_sizes(0, n_unseen=n_unseen)
    n_classes = n_seen + n_unseen
    shared = np.random.default_rng(random_state)
    # The first line belongs to no class; without it the data of a seed would change.
    factors = shared.standard_normal((1 + n_classes, n_factors))[1:]
    A = shared.standard_normal((n_factors, n_attributes)) / np.sqrt(n_factors)
    P = shared.standard_normal((n_factors, n_features)) / np.sqrt(n_factors)
    table = factors @ A + table_noise * shared.standard_normal((n_classes, n_attributes))
    names = np.array([f"class {c:0{len(str(n_classes - 1))}d}" for c in range(n_classes)])
    X = np.empty((n_classes, rows_per_class, n_features), dtype=dtype)
    for c, factor in enumerate(factors):
        stream = np.random.default_rng([random_state, c])
        random = noise * stream.standard_normal((rows_per_class, n_factors + n_features))
        X[c] = (factor + random[:, :n_factors]) @ P + random[:, n_factors:]
    return ZeroShotDataset(
        name="synthetic",
        X=X.reshape(-1, n_features),
        y=np.repeat(names, rows_per_class),
        classes=ClassTable(names, table),
        unseen=names[n_seen:],
        notes=(f"synthetic, {n_factors} shared factors, random_state {random_state}",),
    )


# -- pairs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class PairDataset(Shown):
    """Sources S (C x d_s), targets X (N x d_t) and labels Y (N x C) of +1, -1 and 0 = unknown.

    `probabilities(S, X)` is what nobody can know about real data: the true p(+1 | x_s, x_t).
    """

    S: np.ndarray
    X: np.ndarray
    Y: np.ndarray
    link: np.ndarray
    offset: float

    def _facts(self) -> Iterator[tuple[str, object]]:
        for name, side in (("sources", self.S), ("targets", self.X)):
            yield name, f"{side.shape[0]:,} of {side.shape[1]:,} columns ({side.dtype})"
        match, known = int(np.sum(self.Y > 0)), int(np.count_nonzero(self.Y))
        yield "pairs", f"{known:,} known of {self.Y.size:,}, {match:,} of these match"

    def probabilities(self, S: np.ndarray, X: np.ndarray) -> np.ndarray:
        """p(+1 | x_s, x_t) = σ(x_s' G x_t + c) of all pairs, N' x C'.

        No score ranks pairs better, so its measures are the ceiling of all methods.
        """
        return expit(X @ (S @ self.link).T + self.offset)


def make_pairs(
    n_sources: int = 60,
    n_targets: int = 300,
    n_source_features: int = 30,
    n_target_features: int = 60,
    n_factors: int = 6,
    *,
    sharpness: float = 4.0,
    positives: float = 0.15,
    known: float = 0.5,
    noise: float = 0.7,
    random_state: int = 0,
) -> PairDataset:
    """Sources and targets that match by chance, more likely the better their factors agree.

        x_s = A'f + σ ε,  x_t = P'g + σ ε'         ε ⊥ A, ε' ⊥ P
        p(y = +1) = σ(α f'M g / std + c)

    with Gaussian f, g, M, ε and ε', and orthonormal A and P. The noise is orthogonal to the
    factors, so the vectors determine p.

    Parameters
    ----------
    sharpness : α; the larger, the less random the labels.
    positives : share of pairs that match, which sets c.
    known : share of pairs whose label is given; the others are 0.
    noise : σ.
    """
    from scipy.optimize import brentq

    _check_sizes(n_sources=n_sources, n_targets=n_targets, n_factors=n_factors)
    widths = {"n_source_features": n_source_features, "n_target_features": n_target_features}
    _check_sizes(n_factors, **widths)
    for name, share in (("positives", positives), ("known", known)):
        if not 0 < share <= 1 or (name == "positives" and share == 1):
            raise InputError(f"{name} must be a share between 0 and 1, not {share}")
    rng = np.random.default_rng(random_state)
    A, S = _domain(rng, n_sources, n_source_features, n_factors, noise)
    P, X = _domain(rng, n_targets, n_target_features, n_factors, noise)
    M = rng.standard_normal((n_factors, n_factors))
    strength = X @ (S @ A.T @ M @ P).T
    scale = sharpness / strength.std()
    offset: Any = brentq(lambda c: expit(scale * strength + c).mean() - positives, -1e3, 1e3)
    chances = expit(scale * strength + offset)
    Y = np.where(rng.random(chances.shape) < chances, 1, -1).astype(np.int8)
    Y[rng.random(Y.shape) >= known] = 0
    return PairDataset(S, X, Y, scale * (A.T @ M @ P), float(offset))


def _domain(
    rng: np.random.Generator, n: int, width: int, n_factors: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Directions of the factors (k x d) and vectors (n x d)."""
    A = np.linalg.qr(rng.standard_normal((width, n_factors)))[0].T
    across = noise * rng.standard_normal((n, width))
    across -= (across @ A.T) @ A
    return A, rng.standard_normal((n, n_factors)) @ A + across


def _check_sizes(least: int = 1, **sizes: int) -> None:
    for name, size in sizes.items():
        if size < least:
            raise InputError(f"{name} must be at least {least}, not {size}")


EMBEDDED: dict[str, Callable[[], ZeroShotDataset]] = {
    "digits": load_digits_zero_shot,
    "shapes": make_shapes,
    "synthetic": make_zero_shot,
}
