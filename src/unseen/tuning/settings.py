"""Settings of a grid, and which of them can share a fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import joblib
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state

from unseen.errors import InputError
from unseen.estimators.base import ZeroShotClassifier
from unseen.parts import check_names, plain_parameters, without

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


class Setting(NamedTuple):
    """Values of some parameters; one fit serves all settings of the same `fit_key`."""

    parameters: dict[str, Any]
    fit_key: str


def expand(estimator: ZeroShotClassifier, grid: Grid) -> list[Setting]:
    """All settings of a grid, in its order."""
    known = plain_parameters(estimator)
    for part in [grid] if isinstance(grid, Mapping) else grid:
        check_names(part, known, type(estimator).__name__)
    settings = [Setting(p, fit_key(with_parameters(estimator, p))) for p in ParameterGrid(grid)]
    if not settings:
        raise InputError("the grid is empty: it has no setting to try")
    return settings


def with_parameters(
    estimator: ZeroShotClassifier, parameters: dict[str, Any]
) -> ZeroShotClassifier:
    """An unfitted copy with other parameters."""
    fresh: Any = clone(estimator)
    return fresh.set_params(**parameters)


def fit_key(estimator: ZeroShotClassifier) -> str:
    """What the fit depends on: all parameters but those that are obeyed after it."""
    free = estimator.test_time_parameters
    return str(joblib.hash((sorted(free), without(plain_parameters(estimator), free))))


def by_fit(settings: Sequence[Setting], numbers: Iterable[int]) -> list[list[int]]:
    """Numbers of settings that share a fit put together, in the order in which they come first."""
    groups: dict[str, list[int]] = {}
    for number in numbers:
        groups.setdefault(settings[number].fit_key, []).append(number)
    return list(groups.values())


def sample(settings: list[Setting], n_settings: int | None, random_state: Any) -> list[Setting]:
    """At most so many settings, drawn at random, in their order.

    Settings that share a fit are drawn together, as all but the first of them cost next to nothing.
    """
    if n_settings is None or n_settings >= len(settings):
        return settings
    groups = by_fit(settings, range(len(settings)))
    order = check_random_state(random_state).permutation(len(groups))
    drawn = [number for k in order for number in groups[k]][:n_settings]
    return [settings[number] for number in sorted(drawn)]
