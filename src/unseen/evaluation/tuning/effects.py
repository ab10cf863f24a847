"""What each parameter did in a search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from unseen.evaluation.tuning.trial import Trial

# The most ranges that drawn values of a parameter are put into.
_N_RANGES = 5


class Range(NamedTuple):
    """Values from `low` to `high`, both among them."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


class Effect(NamedTuple):
    """One value of a parameter, or a `Range`: the mean and the best score of its settings."""

    value: Any
    n_settings: int
    mean: float
    best: float

    def holds(self, value: Any) -> bool:
        """Whether the value is this one, or within the range."""
        return _holds(self.value, value)


def effects_of(trials: Iterable[Trial], drawn: Collection[str]) -> dict[str, list[Effect]]:
    """For each parameter what each of its values reached, on the splits of all trials; for those
    that were `drawn` from a range, what each fifth of the values reached."""
    scored = [t for t in trials if t.scores and t.error is None]
    n_common = min(t.n_splits for t in scored)
    found: dict[str, list[tuple[Any, float]]] = {}
    for trial in scored:
        for name, value in trial.parameters.items():
            found.setdefault(name, []).append((value, fmean(trial.scores[:n_common])))
    return {name: _effects(pairs, name in drawn) for name, pairs in sorted(found.items())}


def _effects(pairs: Sequence[tuple[Any, float]], drawn: bool) -> list[Effect]:
    effects = []
    for group in _groups([value for value, _ in pairs], drawn):
        means = [mean for value, mean in pairs if _holds(group, value)]
        effects.append(Effect(group, len(means), fmean(means), max(means)))
    return effects


def _groups(values: Iterable[Any], drawn: bool) -> list[Any]:
    """Distinct values, words first, then numbers from small to large, in ranges where drawn."""
    by_text = {repr(value): value for value in values}
    words = [by_text[text] for text in sorted(by_text) if not _is_number(by_text[text])]
    numbers = sorted({value for value in by_text.values() if _is_number(value)})
    if not drawn or len(numbers) <= _N_RANGES:
        return [*words, *numbers]
    parts = np.array_split(np.asarray(numbers), _N_RANGES)
    return [*words, *(Range(part[0].item(), part[-1].item()) for part in parts)]


def _holds(group: Any, value: Any) -> bool:
    if isinstance(group, Range):
        return _is_number(value) and group.low <= value <= group.high
    # Parts are equal if they read the same.
    return group == value or repr(group) == repr(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
