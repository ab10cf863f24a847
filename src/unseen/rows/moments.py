"""What a Gaussian needs to know of rows: counts and sums of classes, and one matrix of products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
import scipy.sparse

from unseen.errors import InputError
from unseen.rows.blocks import Sums, add_up
from unseen.rows.scaling import RowScaling
from unseen.support.registry import register

_PANEL = 256


@register("row moments")
@dataclass(frozen=True)
class Moments:
    """Sufficient statistics of rows with class labels; rows may come in any number of batches.

    counts : rows of each class, C.
    sums : Σ x of each class, C x d.
    products : Σ x x' over all rows, its upper triangle in panels of 256 rows one after the other,
        so that half the matrix is kept.

    Sums are kept in float64, whatever the precision of the rows.
    """

    counts: np.ndarray
    sums: np.ndarray
    products: np.ndarray

    @classmethod
    def empty(cls, n_classes: int, n_columns: int) -> Self:
        size = sum(height * width for _, height, width in _panels(n_columns))
        return cls(np.zeros(n_classes), np.zeros((n_classes, n_columns)), np.zeros(size))

    @classmethod
    def of(cls, X: Any, labels: Any, n_classes: int, scaling: RowScaling) -> Self:
        """Those of rows X (N x d), scaled block by block; without labels all are of class 0."""
        found = cls.empty(n_classes, X.shape[1])
        found.add(X, labels, scaling)
        return found

    @property
    def n_columns(self) -> int:
        return self.sums.shape[1]

    def add(self, X: Any, labels: Any, scaling: RowScaling) -> None:
        """Take in rows X (N x d), scaled block by block; labels are numbers of classes."""
        own = (self.counts, self.sums, self.products)
        add_up(own, X, labels, partial(_take_moments, scaling=scaling))

    def _take(self, block: np.ndarray, labels: np.ndarray) -> None:
        self.counts[:] += np.bincount(labels, minlength=self.counts.size)
        self.sums[:] += _members(labels, self.counts.size, block.dtype) @ block
        for start, panel in self._views():
            panel += block[:, start : start + _PANEL].T @ block[:, start:]

    def with_classes(self, numbers: np.ndarray, n_classes: int) -> Moments:
        """The same rows among more classes, of which `numbers` are those that were there."""
        counts, sums = np.zeros(n_classes), np.zeros((n_classes, self.n_columns))
        counts[numbers], sums[numbers] = self.counts, self.sums
        return Moments(counts, sums, self.products)

    def means(self) -> np.ndarray:
        """The mean of each class, C x d."""
        return self.sums / self.counts[:, None]

    def gram(self, dtype: Any = np.float64) -> np.ndarray:
        """Σ x x' / N over all N rows, d x d, in this precision."""
        whole, n_rows = np.empty((self.n_columns, self.n_columns), dtype), self.counts.sum()
        for start, panel in self._views():
            stop = start + len(panel)
            np.divide(panel, n_rows, out=whole[start:stop, start:], casting="same_kind")
            whole[stop:, start:stop] = whole[start:stop, stop:].T
        return whole

    def shrunk_factor(self, shrinkage: float, n_directions: int, dtype: Any) -> np.ndarray:
        """U with U'U = (1 - a) Σ_w + a tr(Σ_w)/r I, in the upper triangle of a d x d array.

        Σ_w is the covariance within classes, pooled over all rows; a the shrinkage, and r =
        `n_directions` the number of directions that its variance is thought of as spread over.
        """
        weighted = self.sums / np.sqrt(self.counts)[:, None]
        within = np.zeros((self.n_columns, self.n_columns), dtype, order="F")
        freedom = max(self.counts.sum() - self.counts.size, 1.0)
        trace = total = 0.0
        for start, panel in self._views():
            left = weighted[:, start : start + _PANEL]
            here = left.T @ weighted[:, start:]
            np.subtract(panel, here, out=here)
            trace, total = trace + here.diagonal().sum(), total + panel.diagonal().sum()
            here *= (1.0 - shrinkage) / freedom
            within[start : start + len(here), start:] = here
        if trace <= 1e-10 * total:
            # One row per class, or rows that equal each other: nothing is known of the spread.
            within[:], trace, shrinkage = 0.0, total, 1.0
        within.flat[:: self.n_columns + 1] += max(shrinkage * trace, 1e-30) / freedom / n_directions
        try:
            return scipy.linalg.cholesky(within, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise InputError(
                f"the shrinkage {shrinkage:g} is too small for these rows: their covariance within "
                "classes has no inverse"
            ) from error

    def _views(self) -> Iterator[tuple[int, np.ndarray]]:
        """The panels of `products`: the number of the first row, and columns from that on."""
        at = 0
        for start, height, width in _panels(self.n_columns):
            yield start, self.products[at : at + height * width].reshape(height, width)
            at += height * width

    def check(self, n_columns: int, n_classes: int) -> None:
        """An error unless the parts fit together and to such rows."""
        expected = sum(height * width for _, height, width in _panels(n_columns))
        fits = self.sums.shape == (n_classes, n_columns) and self.counts.shape == (n_classes,)
        finite = all(np.isfinite(part).all() for part in (self.counts, self.sums, self.products))
        if not fits or self.products.shape != (expected,) or not finite or self.counts.min() < 1:
            raise InputError("its sums over training rows do not fit together")


class ClassMoments(NamedTuple):
    """Rows of each class (C), their means and their variances around them (C x h each)."""

    counts: np.ndarray
    means: np.ndarray
    variances: np.ndarray


def class_moments(
    X: Any, labels: Any, n_classes: int, code: Callable[[np.ndarray], np.ndarray]
) -> ClassMoments:
    """Moments of code(x) (h columns) within each class, in one pass over blocks of rows X."""
    width = code(np.zeros((1, X.shape[1]), X.dtype)).shape[1]
    counts, sums = np.zeros(n_classes), np.zeros((n_classes, width))
    squares = np.zeros_like(sums)
    add_up((counts, sums, squares), X, labels, partial(_take_squares, code=code))
    means = sums / counts[:, None]
    return ClassMoments(counts, means, np.maximum(squares / counts[:, None] - means**2, 0.0))


def _take_moments(sums: Sums, block: np.ndarray, labels: Any, scaling: RowScaling) -> None:
    labels = np.zeros(len(block), np.intp) if labels is None else labels
    Moments(*sums)._take(scaling(block), labels)


def _take_squares(
    sums: Sums, block: np.ndarray, labels: np.ndarray, code: Callable[[np.ndarray], np.ndarray]
) -> None:
    counts, totals, squares = sums
    codes = code(block).astype(np.float64)
    members = _members(labels, counts.size, np.float64)
    counts += np.bincount(labels, minlength=counts.size)
    totals += members @ codes
    squares += members @ (codes * codes)


def _members(labels: np.ndarray, n_classes: int, dtype: Any) -> Any:
    """1 where a row is of a class, C x n, sparse."""
    ones, places = np.ones(labels.size, dtype), (labels, np.arange(labels.size))
    return scipy.sparse.csr_array((ones, places), (n_classes, labels.size))


def _panels(n_columns: int) -> Iterator[tuple[int, int, int]]:
    """First row, height and width of each panel."""
    for start in range(0, n_columns, _PANEL):
        yield start, min(_PANEL, n_columns - start), n_columns - start
