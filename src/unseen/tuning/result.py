"""What a search has found: a trial a setting, their ranking, and what each parameter did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev
from typing import Any, NamedTuple, Self

from unseen.estimators.base import ZeroShotClassifier


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


class Effect(NamedTuple):
    """One value of a parameter: the mean and the best score of the settings that have it."""

    value: Any
    n_settings: int
    mean: float
    best: float


@dataclass(frozen=True)
class Tuning:
    """What `tune` found: all trials, best first, and the best estimator, fitted on all rows.

    n_splits : how many splits there were; a trial says how many of them it was scored on.
    n_fits : how many fits the search made.
    budget, spent : seconds that the search was allowed (None: no limit) and that it took; the fit
        of `estimator` is not counted.
    finished : whether all that the strategy asks for was done within the budget.
    """

    trials: tuple[Trial, ...]
    scoring: str
    estimator: ZeroShotClassifier
    strategy: str
    n_splits: int
    n_fits: int
    budget: float | None
    spent: float
    finished: bool

    @property
    def best_parameters(self) -> dict[str, Any]:
        return self.trials[0].parameters

    @property
    def best_score(self) -> float:
        return self.trials[0].mean

    @property
    def n_tried(self) -> int:
        """How many settings were scored on at least one split, or failed."""
        return sum(t.n_splits > 0 or t.error is not None for t in self.trials)

    def effects(self) -> dict[str, list[Effect]]:
        """For each parameter of the grid, what each of its values reached.

        Only splits on which every setting was scored are counted, as splits differ in difficulty
        more than settings do: with strategy "halving" that is the first.
        """
        scored = [t for t in self.trials if t.scores and t.error is None]
        n_common = min(t.n_splits for t in scored)
        found: dict[str, dict[str, tuple[Any, list[float]]]] = {}
        for trial in scored:
            for name, value in trial.parameters.items():
                _, means = found.setdefault(name, {}).setdefault(repr(value), (value, []))
                means.append(fmean(trial.scores[:n_common]))
        return {
            name: [Effect(v, len(means), fmean(means), max(means)) for v, means in _sorted(by)]
            for name, by in sorted(found.items())
        }


def _sorted(by_value: dict[str, tuple[Any, list[float]]]) -> list[tuple[Any, list[float]]]:
    """Words first, then numbers from small to large."""

    def key(text: str) -> tuple[bool, float, str]:
        value, _ = by_value[text]
        is_number = isinstance(value, (int, float))
        return is_number, value if is_number else 0.0, text

    return [by_value[text] for text in sorted(by_value, key=key)]
