"""The search: settings on splits, one after the other, within a budget."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import joblib
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from unseen.errors import counted
from unseen.estimators.base import ZeroShotClassifier
from unseen.evaluation.tuning.protocol import Protocol
from unseen.evaluation.tuning.results import Outcome, Trial, best_first
from unseen.evaluation.tuning.scoring import Split, TrainingData, score_settings
from unseen.evaluation.tuning.settings import Setting, by_fit
from unseen.rows.store import store_or_array
from unseen.storage.checkpoint import Checkpoint, data_checksum
from unseen.support.parameters import plain, plain_parameters
from unseen.support.work import tell

# A split holds out few classes, so the last splits decide between more than one or two settings.
_FEWEST = 4
# A job is handed out when another ends and not before, as the budget is looked at then.
_ONE_BY_ONE: Any = {"return_as": "generator", "batch_size": 1, "pre_dispatch": "n_jobs"}


@dataclass
class Search:
    """Settings, each on as many splits as the strategy of the protocol gives it.

    The splits come one after the other, better settings first. The first split takes no more
    settings than the budget suffices for on all splits, by the pace so far, since one split tells
    little; where the budget ends within a later split, the settings it left out are the less
    promising ones.

    The first `n_defaults` settings are those that the others have to beat: they come first on
    every split, are never dropped and are scored on all splits even beyond the budget, so that no
    other takes their place by the luck of few splits.
    """

    estimator: ZeroShotClassifier
    settings: Sequence[Setting]
    protocol: Protocol
    budget: float | None = None
    n_jobs: int | None = None
    n_defaults: int = 1
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self.trials = [Trial(setting.parameters) for setting in self.settings]
        self.n_fits, self.spent, self.finished = 0, 0.0, True
        # The defaults, then the others, shuffled, so that a budget that ends in the first split
        # leaves no corner of the grid untried.
        rng = check_random_state(self.protocol.random_state)
        shuffled = rng.permutation(len(self.settings)).tolist()
        self.order = [*range(self.n_defaults), *(k for k in shuffled if k >= self.n_defaults)]
        self._outcomes: dict[tuple[int, int], Outcome] = {}  # by split and setting
        self._laps: list[float] = []  # seconds of each fit

    def run(self, data: TrainingData, checkpoint: str | os.PathLike[str] | None = None) -> None:
        """Fill in `trials`, `n_fits`, `spent` and `finished`.

        The checkpoint has the outcome of every fit; a fit that is known is not made again, and its
        seconds count.
        """
        rows = list(self.protocol.holdout.split(data.X, data.labels))
        belongs = {} if checkpoint is None else self._belongs(data, rows)
        with Checkpoint(checkpoint, belongs) as kept, Parallel(self.n_jobs, **_ONE_BY_ONE) as pool:
            if found := kept.state("outcomes"):
                self._outcomes = {(k, n): Outcome(*o) for k, n, *o in found["outcomes"]}
                self._laps, self.spent = found["laps"], found["spent"]
            self._begin, done, alive = self.clock() - self.spent, 0, self.order
            for number, split in enumerate(data.split(rows)):
                total = done + self._n_planned(len(alive), len(rows) - number)
                for fit, outcomes in self._scored(pool, alive, number, split):
                    for k, outcome in zip(fit, outcomes, strict=True):
                        self._outcomes[number, k] = outcome
                        self.trials[k] = self.trials[k].after(outcome)
                    done += len(fit)
                    self.spent = self.clock() - self._begin
                    kept.note("outcomes", self._state())
                    tell(f"{done} of {total} scores{self._best()}")
                alive = self._survivors(alive, number + 1)
                if self._is_over() and number + 1 < len(rows):
                    self.finished = self.finished and all(map(self._is_default, alive))
                    alive = list(filter(self._is_default, alive))
                if not alive:
                    break
            if all(trial.error is not None for trial in self.trials if trial.seconds):
                kept.discard()  # by the next call the cause may be fixed

    def _belongs(self, data: TrainingData, rows: list[Any]) -> dict[str, Any]:
        """What a search must have in common with the stopped one that it resumes."""
        return {
            "method": type(self.estimator).__name__,
            "data": data_checksum(store_or_array(data.X), data.labels, data.table),
            "settings": joblib.hash([plain(self.settings[k].parameters) for k in self.order]),
            "splits": joblib.hash(rows),
            "scoring": self.protocol.scoring,
            "strategy": self.protocol.strategy,
            "parameters": plain_parameters(self.estimator),
        }

    def _scored(
        self, pool: Any, alive: list[int], number: int, split: Split
    ) -> Iterator[tuple[list[int], list[Outcome]]]:
        """Settings that share a fit, with their outcomes on a split: first those that are known."""
        fits = by_fit(self.settings, alive)
        known = [fit for fit in fits if all((number, k) in self._outcomes for k in fit)]
        for fit in known:
            self.n_fits += 1
            yield fit, [self._outcomes[number, k] for k in fit]
        new = [fit for fit in fits if fit not in known]
        score, scoring = delayed(_score), self.protocol.scoring
        # Arrays one by one, as joblib sends each of them only once to where jobs are done.
        jobs = (
            score(self.estimator, [self.settings[k].parameters for k in fit], scoring, *split)
            for fit in self._affordable(new, sum(map(len, known)), number)
        )
        # In order, so that the result is the same whatever the number of jobs.
        last = self.clock()
        for fit, outcomes in zip(new, pool(jobs) if new else [], strict=False):
            self._laps.append(self.clock() - last)
            last = self.clock()
            yield fit, outcomes

    def _state(self) -> dict[str, Any]:
        outcomes = [[*key, *outcome] for key, outcome in self._outcomes.items()]
        return {"outcomes": outcomes, "laps": self._laps[:], "spent": self.spent}

    def _best(self) -> str:
        best = self.trials[best_first(self.trials, range(len(self.trials)))[0]]
        splits = counted(best.n_splits, "split")
        return f", the best {100 * best.mean:.1f} % on {splits}" if best.scores else ""

    def _is_over(self) -> bool:
        return self.budget is not None and self.clock() - self._begin >= self.budget

    def _affordable(self, fits: list[list[int]], n_taken: int, number: int) -> Iterator[list[int]]:
        """Those of the defaults, and others until the budget is spent, or in the first split until
        it suffices for no more."""
        for fit in fits:
            n_taken += len(fit)
            is_too_much = number == 0 and self._is_too_much(n_taken)
            if (self._is_over() or is_too_much) and not any(map(self._is_default, fit)):
                self.finished = False
                return
            self.n_fits += 1
            yield fit

    def _is_too_much(self, n_settings: int) -> bool:
        """Whether so many settings on all splits would take longer than the budget.

        By the mean of all fits but the longest: the first may have to compile what it runs. It
        takes a few fits to know the pace.
        """
        if self.budget is None or len(self._laps) < _FEWEST:
            return False
        pace = fmean(sorted(self._laps)[:-1])
        per_setting = pace * len(by_fit(self.settings, self.order)) / len(self.order)
        return per_setting * self._n_planned(n_settings, self.protocol.n_splits) > self.budget

    def _survivors(self, alive: list[int], n_splits: int) -> list[int]:
        """Those that stay after so many splits: the defaults, and the others best first."""
        scored = [k for k in sorted(alive) if self.trials[k].n_splits == n_splits]
        able = [k for k in scored if self.trials[k].error is None]
        defaults = list(filter(self._is_default, able))
        others = best_first(self.trials, able[len(defaults) :])
        return [*defaults, *others][: max(self._n_next(len(scored)), len(defaults))]

    def _is_default(self, k: int) -> bool:
        return k < self.n_defaults

    def _n_next(self, n: int) -> int:
        return n if self.protocol.strategy == "grid" else max(-(-n // 2), min(n, _FEWEST))

    def _n_planned(self, n: int, n_splits: int) -> int:
        """How many scores n settings take on so many splits."""
        total = 0
        for _ in range(n_splits):
            total, n = total + n, self._n_next(n)
        return total


def _score(
    estimator: ZeroShotClassifier, settings: list[dict[str, Any]], scoring: str, *split: Any
) -> list[Outcome]:
    return score_settings(estimator, settings, Split(*split), scoring)
