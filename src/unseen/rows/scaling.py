"""Scaling of rows and of class descriptions: learned from training data only.

`RowScaler` and `ClassScaler` say how to scale and are parameters of the methods; `RowScaling` and
`ClassScaling` are what they learn, and what a fitted model keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unseen.errors import InputError
from unseen.rows.blocks import (
    Sums,
    add_up,
    any_block,
    array_blocks,
    checked_array,
    float_type,
    signed_power,
    sum_of_squares,
    unit_rows,
)
from unseen.support import parameters
from unseen.support.parameters import POSITIVE, Choice, Composite, has_parameters, parameter
from unseen.support.registry import register


@register("row scaling")
@dataclass(frozen=True)
class RowScaling:
    """x -> [(t / |t| - mean) / scale, constant], t = sign(x) |x|^power, each only if asked for.

    `mean` (d_t) is that of the training rows after the first part; `scale` makes the mean square
    length of the training rows one, the constant included.
    """

    unit_length: bool
    mean: np.ndarray | None
    scale: float = 1.0
    constant: float = 0.0
    power: float = 1.0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """A scaled copy of a block of rows; a row of zeros keeps its length of zero."""
        raised = signed_power(X, self.power)
        scaled = unit_rows(raised) if self.unit_length else raised.astype(float_type(X))
        if self.mean is not None:
            scaled -= self.mean.astype(scaled.dtype, copy=False)
        if self.scale != 1.0:
            scaled /= scaled.dtype.type(self.scale)
        if self.constant:
            ones = np.full((scaled.shape[0], 1), self.constant, scaled.dtype)
            return np.hstack([scaled, ones])
        return scaled

    def check(self, n_columns: int) -> int:
        """How wide scaled rows are; an error unless the parts fit together and to such rows."""
        _check_scaling(self, n_columns)
        parameters.check_positive(self.scale, "the scale of its rows")
        parameters.check_number(self.constant, "the constant feature of its rows", 0)
        parameters.check_positive(self.power, "the power of its rows")
        return n_columns + (self.constant > 0)


@register("class scaling")
@dataclass(frozen=True)
class ClassScaling:
    """s -> V V' (t - mean) / |t - mean| with t = sign(s) |s|^power, each part only if asked for.

    `mean` (d_s) is that of the descriptions of the seen classes; the columns of `span` = V
    (d_s x rank) are an orthonormal basis of theirs, scaled.
    """

    unit_length: bool
    mean: np.ndarray | None
    power: float = 1.0
    span: np.ndarray | None = None

    def __call__(self, S: np.ndarray) -> np.ndarray:
        """Scaled descriptions; one equal to the mean becomes zero."""
        scaled = signed_power(S, self.power)
        scaled = scaled if self.mean is None else scaled - self.mean
        scaled = unit_rows(scaled) if self.unit_length else scaled
        return scaled if self.span is None else (scaled @ self.span) @ self.span.T

    def check(self, n_columns: int) -> None:
        """An error unless the parts fit to descriptions so wide."""
        _check_scaling(self, n_columns)
        parameters.check_positive(self.power, "the power of its descriptions")
        span = self.span
        if span is not None and not (
            parameters.is_float_array(span, 2) and span.shape[0] == n_columns
        ):
            raise InputError(f"its scaling is not for descriptions of {n_columns} columns")


@register("grouped class scaling")
@dataclass(frozen=True)
class GroupedScaling:
    """Several descriptions side by side: each scaled by itself, then counted by a factor.

    `first_columns` are those at which the descriptions begin.
    """

    scalings: list[ClassScaling]
    first_columns: list[int]
    factors: list[float]

    def __call__(self, S: np.ndarray) -> np.ndarray:
        """Scaled descriptions, side by side again."""
        parts = np.split(S, self.first_columns[1:], axis=1)
        scaled = zip(self.factors, self.scalings, parts, strict=True)
        return np.hstack([factor * scaling(part) for factor, scaling, part in scaled])

    def check(self, n_columns: int) -> None:
        """An error unless the parts fit to descriptions so wide."""
        bounds = [*self.first_columns, n_columns]
        for (first, last), scaling in zip(pairwise(bounds), self.scalings, strict=True):
            scaling.check(last - first)
        for factor in self.factors:
            parameters.check_number(factor, "the weight of a description", 0)


def _row_basis(S: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the space that the rows of S span, as columns."""
    _, sizes, directions = np.linalg.svd(S, full_matrices=False)
    return np.ascontiguousarray(directions[sizes > 1e-6 * max(sizes[0], 1e-300)].T)


def _check_scaling(scaling: RowScaling | ClassScaling, n_columns: int) -> None:
    mean = scaling.mean
    fits = mean is None or (parameters.is_float_array(mean, 1) and mean.shape == (n_columns,))
    if not fits or not isinstance(scaling.unit_length, bool):
        raise InputError(f"its scaling is not for rows or descriptions of {n_columns} columns")


class _Scaler(OneToOneFeatureMixin, TransformerMixin, Composite):
    """What both scalers share: blocks of rows, and numbers in the precision they come in."""

    learn: Callable[[Any], Any]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from training rows X (N x d), which may be memory-mapped."""
        self.scaling_ = self.learn(checked_array(self, X))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Scaled copies of rows, N x d."""
        check_is_fitted(self)
        X = checked_array(self, X, reset=False)
        scaled = np.empty(X.shape, X.dtype)
        for rows in array_blocks(X):
            scaled[rows] = self.scaling_(X[rows])
        return scaled

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@register("row scaler")
@has_parameters
class RowScaler(_Scaler):
    """Scales rows: x -> t / |t| - mean with t = sign(x) |x|^power.

    A row of zeros has no direction; it stays zero before the mean is taken off.

    Parameters
    ----------
    unit_length : scale each row to length one.
    center : take off the mean of the training rows, after that.
    power : of the entries, before that. "auto" is 0.5 if no entry of the training rows is negative,
        which suits counts and the features of many networks, and else 1.

    >>> RowScaler(center=False).fit_transform([[3.0, 4.0], [0.0, 0.0]]).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """

    unit_length: bool = parameter(True, "boolean")
    center: bool = parameter(True, "boolean")
    power: float | str = parameter(1.0, POSITIVE, Choice("auto"))

    def learn(self, X: np.ndarray, unit_scale: bool = False, constant: float = 0.0) -> RowScaling:
        """What `fit` learns, in one pass over blocks of X, leaving the scaler as it is.

        With `unit_scale` the training rows get a mean square length of one, which some methods
        count their penalties in. A `constant` is a last feature that is the same for every row, in
        units of their root mean square length.
        """
        self._check_parameters()
        power = _power_for(X) if self.power == "auto" else float(self.power)
        plain = RowScaling(bool(self.unit_length), None, power=power)
        if not (self.center or unit_scale or constant):
            return plain
        total, squares = np.zeros(X.shape[1]), np.zeros(1)
        add_up((total, squares), X, None, partial(_take_lengths, scaling=plain))
        square = float(squares[0])
        mean = total / X.shape[0] if self.center else np.zeros(X.shape[1])
        variance = square / X.shape[0] - float(mean @ mean)
        is_spread = variance > 1e-12 * square / X.shape[0]
        length = float(np.sqrt(variance)) if is_spread else 1.0
        kept = mean.astype(float_type(X)) if self.center else None
        if not unit_scale:
            return replace(plain, mean=kept, constant=constant * length)
        whole = float(np.hypot(1.0, constant))
        return replace(plain, mean=kept, scale=length * whole, constant=constant / whole)


def _power_for(X: np.ndarray) -> float:
    """The square root for rows without a negative entry."""
    return 1.0 if any_block(X, _has_negative) else 0.5


def _has_negative(block: np.ndarray) -> bool:
    return bool((block < 0).any())


def _take_lengths(sums: Sums, block: np.ndarray, _: Any, scaling: RowScaling) -> None:
    total, squares = sums
    scaled = scaling(block)
    total += scaled.sum(axis=0, dtype=np.float64)
    squares += sum_of_squares(scaled)


@register("class scaler")
@has_parameters
class ClassScaler(_Scaler):
    """Scales class descriptions: s -> (t - mean) / |t - mean| with t = sign(s) |s|^power.

    A description equal to the mean becomes zero.

    Parameters
    ----------
    center : take off the mean of the descriptions of the seen classes.
    unit_length : scale each description to length one, after that.
    power : below one it brings large entries nearer to small ones; tables of zeros and ones stay
        as they are.
    in_span : leave out, last of all, what no mixture of seen classes can have: the part outside
        the space that their descriptions span.

    >>> ClassScaler().fit([[1.0, 0.0], [1.0, 2.0]]).transform([[4.0, 5.0]]).tolist()
    [[0.6, 0.8]]
    """

    center: bool = parameter(True, "boolean")
    unit_length: bool = parameter(True, "boolean")
    power: float = parameter(1.0, POSITIVE)
    in_span: bool = parameter(False, "boolean")

    def learn(self, X: np.ndarray) -> ClassScaling:
        """What `fit` learns from the descriptions of the seen classes (C x d_s)."""
        self._check_parameters()
        power = float(self.power)
        mean = signed_power(X, power).mean(axis=0) if self.center else None
        scaling = ClassScaling(bool(self.unit_length), mean, power)
        return replace(scaling, span=_row_basis(scaling(X))) if self.in_span else scaling
