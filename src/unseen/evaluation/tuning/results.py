"""What a search has found: trials, and whether the best of them beats the default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev
from typing import Any, NamedTuple, Self

from unseen.errors import require
from unseen.estimators.base import ZeroShotClassifier
from unseen.evaluation.estimates import Estimate, estimate
from unseen.evaluation.tuning.protocol import Protocol
from unseen.support.parameters import plain
from unseen.support.shown import Shown


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


class Choice(NamedTuple):
    """The default setting and the winner, the best of all others, on the splits of both.

    gain : by how much the winner is better on these splits: the mean and its standard error, which
        allows for splits that share classes.
    n_splits : how many splits these are.
    kept_default : whether the default is kept.
    """

    default: Trial
    winner: Trial
    gain: Estimate
    n_splits: int
    kept_default: bool

    @property
    def kept(self) -> Trial:
        """The trial whose setting is kept."""
        return self.default if self.kept_default else self.winner


def choose(trials: Sequence[Trial], default: Trial, n_held: int, n_classes: int) -> Choice:
    """Keep the default unless the winner beats it by more than the margin of the difference.

    The best of many settings is partly luck: its own splits speak for it. Differences are taken
    split by split, as splits differ in difficulty more than settings do. A default that failed is
    not kept. `trials` come best first; `default` is one of them. Each split held out `n_held` of
    `n_classes` classes.
    """
    able = [t for t in trials if t is not default and t.scores and t.error is None]
    if not able:
        return Choice(
            default, default, Estimate(0.0, 0.0, default.n_splits), default.n_splits, True
        )
    winner = able[0]
    n = min(winner.n_splits, default.n_splits)
    gains = [a - b for a, b in zip(winner.scores, default.scores, strict=False)]
    gain = estimate(gains, n_held, n_classes)
    kept = default.error is None and not gain.is_clear
    return Choice(default, winner, gain, n, kept)


@dataclass(frozen=True, repr=False)
class Tuning(Shown):
    """What `tune` found: all trials, best first, and the setting that is kept, fitted on all rows.

    choice : the estimator as it was given beside the best other setting, and which of the two is
        kept.
    protocol : by what the settings were compared; a trial says on how many splits it was scored.
    n_fits : how many fits the search made.
    budget, spent : seconds that the search was allowed (None: no limit) and that it took; the fit
        of `estimator` is not counted.
    finished : whether all that the strategy asks for was done within the budget.
    """

    trials: tuple[Trial, ...]
    choice: Choice
    estimator: ZeroShotClassifier
    protocol: Protocol
    n_fits: int
    budget: float | None
    spent: float
    finished: bool

    @property
    def default(self) -> Trial:
        """The trial of the estimator as it was given."""
        return self.choice.default

    @property
    def kept_default(self) -> bool:
        """Whether the estimator was kept as it was given."""
        return self.choice.kept_default

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

    def to_frame(self) -> Any:
        """The settings as a pandas DataFrame, best first (needs the extra `data`)."""
        pandas = require("pandas", "data", "a DataFrame")
        lines = [
            {**t.parameters, "mean": t.mean, "deviation": t.deviation, "splits": t.n_splits}
            | {"is_default": t is self.default, "error": t.error}
            for t in self.trials
        ]
        return pandas.DataFrame(lines)

    def _facts(self) -> Iterator[tuple[str, object]]:
        default, winner, gain, n_splits, kept = self.choice
        yield "kept", "the default" if kept else plain(self.best_parameters)
        yield "by", f"{self.protocol.scoring}, {n_splits} splits of held-out seen classes"
        yield "default", f"{default.mean:.3f}"
        if winner is not default:
            yield "best other setting", f"{winner.mean:.3f}: {plain(winner.parameters)}"
            yield "gain", f"{gain.mean:+.3f}, standard error {gain.error:.3f}"
        done = "" if self.finished else ", ended by the budget"
        yield "search", f"{self.n_tried} settings, {self.n_fits} fits, {self.spent:.1f} s{done}"
