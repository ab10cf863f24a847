"""Whether the best of many settings is better than the default one, or was lucky."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unseen.evaluation.tuning.trial import Trial

# Standard errors by which a setting must beat the default.
_ERRORS = 2.0


class Choice(NamedTuple):
    """The default setting and the winner, the best of all others, on the splits of both.

    gain, error : the mean by which the winner is better on these splits, and its standard error.
    n_splits : how many splits these are.
    kept_default : whether the default is kept.
    """

    default: Trial
    winner: Trial
    gain: float
    error: float
    n_splits: int
    kept_default: bool

    @property
    def kept(self) -> Trial:
        """The trial whose setting is kept."""
        return self.default if self.kept_default else self.winner


def choose(trials: Sequence[Trial], default: Trial) -> Choice:
    """Keep the default unless the winner beats it by more than two standard errors.

    The best of many settings is partly luck: its own splits speak for it. Differences are taken
    split by split, as splits differ in difficulty more than settings do. A default that failed is
    not kept. `trials` come best first; `default` is one of them.
    """
    able = [t for t in trials if t is not default and t.scores and t.error is None]
    if not able:
        return Choice(default, default, 0.0, 0.0, default.n_splits, True)
    winner = able[0]
    n = min(winner.n_splits, default.n_splits)
    gains = np.subtract(winner.scores[:n], default.scores[:n])
    gain = float(gains.mean()) if n else float("nan")
    error = float(gains.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    kept = default.error is None and not gain > _ERRORS * error
    return Choice(default, winner, gain, error, n, kept)
