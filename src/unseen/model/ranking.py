"""Losses that ask a row's own class to outscore the others: values and gradients in the scores.

Every loss takes scores F (n x C) and the number of each row's own class, and is made of the slacks

    h_c = [Δ + F_c - F_y]_+        for c ≠ y, and h_y = 0.

Each returns the loss of each row (n values) and its gradient in F (n x C). At a kink the gradient
is that of the flat side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class RankingLoss(NamedTuple):
    """The loss of each row (n) and its gradient in the scores (n x C)."""

    values: np.ndarray
    gradient: np.ndarray


Ranking = Callable[[np.ndarray, np.ndarray], RankingLoss]


def sum_of_hinges(scores: np.ndarray, labels: np.ndarray, margin: float = 1.0) -> RankingLoss:
    """Σ_c h_c, every class that comes too near counts (DeViSE, LatEm)."""
    slack = _slacks(scores, labels, margin)
    return RankingLoss(slack.sum(axis=1), _against_own((slack > 0).astype(slack.dtype), labels))


def worst_hinge(scores: np.ndarray, labels: np.ndarray, margin: float = 1.0) -> RankingLoss:
    """max_c h_c, only the class that comes nearest counts (SJE); the first one of equals."""
    slack = _slacks(scores, labels, margin)
    rows, worst = np.arange(labels.size), slack.argmax(axis=1)
    values = slack[rows, worst]
    pushed = np.zeros_like(slack)
    pushed[rows, worst] = values > 0
    return RankingLoss(values, _against_own(pushed, labels))


def weighted_ranking(scores: np.ndarray, labels: np.ndarray, margin: float = 1.0) -> RankingLoss:
    """l_r / r Σ_c h_c, with r the number of positive h_c and l_r = 1 + 1/2 + ... + 1/r (ALE).

    The first few classes that come too near cost the most, so what counts is the top of the
    ranking. The factor is constant between kinks, and the gradient takes it so.
    """
    slack = _slacks(scores, labels, margin)
    near = slack > 0
    rank = near.sum(axis=1)
    harmonic = np.cumsum(1 / np.arange(1, scores.shape[1] + 1))
    factor = np.where(rank > 0, harmonic[rank - 1] / np.maximum(rank, 1), 0).astype(slack.dtype)
    return RankingLoss(factor * slack.sum(axis=1), _against_own(near * factor[:, None], labels))


def _slacks(scores: np.ndarray, labels: np.ndarray, margin: float) -> np.ndarray:
    rows = np.arange(labels.size)
    slack = scores - (scores[rows, labels] - scores.dtype.type(margin))[:, None]
    np.maximum(slack, 0, out=slack)
    slack[rows, labels] = 0
    return slack


def _against_own(pushed: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """What pushes other classes down pushes the own class up by as much; in place."""
    pushed[np.arange(labels.size), labels] = -pushed.sum(axis=1)
    return pushed
