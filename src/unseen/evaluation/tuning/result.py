"""What a search has found: what is kept, all trials, and what each parameter did."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unseen.estimators.base import ZeroShotClassifier
from unseen.evaluation.tuning.choice import Choice, choose
from unseen.evaluation.tuning.effects import Effect, effects_of
from unseen.evaluation.tuning.trial import Trial


@dataclass(frozen=True)
class Tuning:
    """What `tune` found: all trials, best first, and the setting that is kept, fitted on all rows.

    default : the trial of the estimator as it was given. It is kept unless the best other setting
        beats it by more than two standard errors of their differences, split by split.
    n_splits : how many splits there were; a trial says how many of them it was scored on.
    n_fits : how many fits the search made.
    budget, spent : seconds that the search was allowed (None: no limit) and that it took; the fit
        of `estimator` is not counted.
    finished : whether all that the strategy asks for was done within the budget.
    drawn : parameters whose values were drawn from a range.
    """

    trials: tuple[Trial, ...]
    default: Trial
    scoring: str
    estimator: ZeroShotClassifier
    strategy: str
    n_splits: int
    n_fits: int
    budget: float | None
    spent: float
    finished: bool
    drawn: frozenset[str] = frozenset()

    @cached_property
    def choice(self) -> Choice:
        """The default beside the winner, and which of the two is kept."""
        return choose(self.trials, self.default)

    @property
    def kept_default(self) -> bool:
        """Whether the estimator was kept as it was given."""
        return self.choice.kept_default

    @property
    def gain(self) -> float:
        """By how much the best other setting is better than the default, on the splits of both."""
        return self.choice.gain

    @property
    def gain_error(self) -> float:
        """The standard error of `gain`."""
        return self.choice.error

    @property
    def best_parameters(self) -> dict[str, Any]:
        """The parameters that are kept."""
        return self.choice.kept.parameters

    @property
    def best_score(self) -> float:
        return self.choice.kept.mean

    @property
    def n_tried(self) -> int:
        """How many settings were scored on at least one split, or failed."""
        return sum(t.n_splits > 0 or t.error is not None for t in self.trials)

    def effects(self) -> dict[str, list[Effect]]:
        """For each parameter of the grid, what each of its values reached; where values were drawn
        from a range, what each fifth of them reached.

        Only splits on which every setting was scored are counted, as splits differ in difficulty
        more than settings do: with strategy "halving" that is the first.
        """
        return effects_of(self.trials, self.drawn)
