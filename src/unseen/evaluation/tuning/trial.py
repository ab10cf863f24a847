"""One setting on the splits it was given, and the order of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev
from typing import Any, NamedTuple, Self


@dataclass(frozen=True)
class Trial:
    """One setting: its score on each split it was given, or the error that stopped it.

    seconds : what each split took, fit and score; a fit that settings share counts for each.
    """

    parameters: dict[str, Any]
    scores: tuple[float, ...] = ()
    error: str | None = None
    seconds: tuple[float, ...] = field(default=(), compare=False)

    @property
    def n_splits(self) -> int:
        """How many splits it was scored on."""
        return len(self.scores)

    @property
    def mean(self) -> float:
        return fmean(self.scores) if self.scores else float("nan")

    @property
    def deviation(self) -> float:
        return pstdev(self.scores) if self.scores else float("nan")

    def after(self, outcome: Outcome) -> Self:
        """The trial with one more split."""
        seconds = (*self.seconds, outcome.seconds)
        if outcome.score is None:
            return replace(self, error=outcome.error, seconds=seconds)
        return replace(self, scores=(*self.scores, outcome.score), seconds=seconds)


class Outcome(NamedTuple):
    """One setting on one split: its score, or the error that took its place."""

    score: float | None
    seconds: float
    error: str | None = None


def best_first(trials: Sequence[Trial], among: Iterable[int]) -> list[int]:
    """Numbers of trials by splits completed, then by mean score; those with an error come last.

    A mean of fewer splits is luck more often, so it never stands before one of more splits. Equal
    trials stay in the order of `among`.
    """

    def key(number: int) -> tuple[bool, int, float]:
        trial = trials[number]
        return trial.error is not None, -trial.n_splits, -trial.mean if trial.scores else 0.0

    return sorted(among, key=key)
