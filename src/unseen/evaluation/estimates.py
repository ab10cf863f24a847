"""Means over splits, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, inf, nan, sqrt
from statistics import fmean, variance
from typing import NamedTuple

# A mean of more standard errors than this is clear, if there are many splits.
CLEAR = 2.0


class Estimate(NamedTuple):
    """A mean over `n_splits` with its standard error, which is infinite for a single split."""

    mean: float
    error: float
    n_splits: int

    @property
    def in_errors(self) -> float:
        """The mean in units of its standard error."""
        if self.error == 0:
            return 0.0 if self.mean == 0 else inf if self.mean > 0 else -inf
        return self.mean / self.error

    @property
    def margin(self) -> float:
        """What the mean may be off by: two standard errors, and more where splits are few.

        A standard error is itself estimated. Student's t with n - 1 degrees of freedom allows for
        that: 4.5 standard errors for 3 splits, 2.3 for 10, with the same chance of a false alarm.
        """
        if self.n_splits < 2:
            return inf
        from scipy.special import stdtrit

        return float(stdtrit(self.n_splits - 1, 1 - erfc(CLEAR / sqrt(2)) / 2)) * self.error

    @property
    def is_clear(self) -> bool:
        """Whether the mean is above zero by more than its margin."""
        return self.mean > 0 and self.mean > self.margin


def estimate(values: Sequence[float], n_held: int, n_classes: int) -> Estimate:
    """The mean over random splits that each hold out `n_held` of `n_classes` classes.

    Splits share classes, so that n of them tell less than n independent ones: the standard error is
    sqrt((1/n + h/(c - h)) · variance), after Nadeau and Bengio, "Inference for the generalization
    error", Machine Learning 52, 2003.
    """
    if len(values) < 2:
        return Estimate(values[0] if len(values) else nan, inf, len(values))
    overlap = n_held / (n_classes - n_held)
    error = sqrt((1 / len(values) + overlap) * variance(values))
    return Estimate(fmean(values), error, len(values))
