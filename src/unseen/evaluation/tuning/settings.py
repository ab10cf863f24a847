"""Settings to try, from lists and ranges of values, and which of them can share a fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler

from unseen.estimators.base import ZeroShotClassifier
from unseen.support.parameters import check_names, plain_parameters, without

# By name a list of values, or a range: a distribution, anything with `rvs`.
Grid = Mapping[str, Any]
# Settings that are drawn where nothing else is said.
N_DRAWN = 40
# Digits that a drawn number keeps, so that the one that is printed is the one that was tried.
_DIGITS = 3


class Setting(NamedTuple):
    """Values of some parameters; one fit serves all settings of the same `fit_key`."""

    parameters: dict[str, Any]
    fit_key: str


def settings_of(
    estimator: ZeroShotClassifier, grid: Grid, n_settings: int | None = None, random_state: Any = 0
) -> list[Setting]:
    """The settings to try; the first is the estimator's own, whether the grid has it or not.

    All combinations of lists; or, with a range (`N_DRAWN` settings) or a number of settings, so
    many drawn at random, the estimator's own being one of them. Each of those is crossed with all
    lists of parameters of test time, which need no fit of their own.
    """
    check_names(grid, plain_parameters(estimator), type(estimator).__name__)
    own = own_values(estimator, grid)
    if n_settings is None and not any(map(is_range, grid.values())):
        return _own_first(estimator, own, ParameterGrid(grid))
    n_settings = n_settings or N_DRAWN
    crossed = {k: v for k, v in grid.items() if not is_range(v) and _is_free(estimator, k)}
    space = {k: v for k, v in grid.items() if k not in crossed}
    first, choices = {k: own[k] for k in space}, ParameterGrid(crossed)
    drawn = [d for d in draw(estimator, space, n_settings, random_state) if d != first]
    settings = _own_first(estimator, own, [d | c for d in [first, *drawn] for c in choices])
    fits = by_fit(settings, range(len(settings)))[:n_settings]
    return [settings[number] for fit in fits for number in fit]


def grid_of(estimator: ZeroShotClassifier) -> dict[str, Any]:
    """The grid of a method, without what the parts of this estimator do not have."""
    known = plain_parameters(estimator)
    return {k: v for k, v in estimator.default_grid().items() if k in known}


def is_range(values: Any) -> bool:
    """Whether values are drawn from a distribution; else they are a list."""
    return hasattr(values, "rvs")


def described(values: Any) -> Any:
    """A range in words; a list as it is."""
    if not is_range(values):
        return list(values)
    if not hasattr(values, "support"):
        return str(values)
    low, high = (float(f"{end:.{_DIGITS}g}") for end in values.support())
    name = getattr(getattr(values, "dist", None), "name", "")
    return f"{low:g} to {high:g}" + (f" ({name})" if name else "")


def own_values(estimator: ZeroShotClassifier, names: Iterable[str]) -> dict[str, Any]:
    """The estimator's own values; a part that was left to the method is its default."""
    values = estimator.get_params()
    return {k: estimator._part(k) if k in estimator._parts else values[k] for k in names}


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


def draw(
    estimator: ZeroShotClassifier, space: Grid, n_settings: int, random_state: Any
) -> list[dict[str, Any]]:
    """Values drawn at random: whole numbers where the parameter takes them, others rounded."""
    if not any(map(is_range, space.values())):
        n_settings = min(n_settings, len(ParameterGrid(space)))
    sampler = ParameterSampler(space, n_settings, random_state=random_state)
    whole = {k: _is_whole(estimator, k) for k, values in space.items() if is_range(values)}
    return [{k: _tidy(v, whole[k]) if k in whole else v for k, v in p.items()} for p in sampler]


def _is_free(estimator: ZeroShotClassifier, name: str) -> bool:
    """Whether a parameter, or the part it belongs to, is obeyed after the fit."""
    return not without({name: None}, estimator.test_time_parameters)


def _is_whole(estimator: Any, name: str) -> bool:
    """Whether a parameter takes whole numbers alone, by its annotation: a number that takes any
    may have a whole one as its value."""
    *owners, last = name.split("__")
    for owner in owners:
        estimator = estimator._part(owner)
    words = re.findall(r"\w+", str(signature(type(estimator)).parameters[last].annotation))
    return "int" in words and "float" not in words


def _tidy(value: Any, whole: bool) -> Any:
    value = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
    if whole:
        return round(value)
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _own_first(
    estimator: ZeroShotClassifier, own: dict[str, Any], parameters: Iterable[dict[str, Any]]
) -> list[Setting]:
    """Settings in their order behind the estimator's own, which may be among them or not."""
    usual = plain_parameters(estimator)
    first, others = [Setting(own, fit_key(estimator))], []
    for p in parameters:
        model = with_parameters(estimator, p)
        if plain_parameters(model) == usual:
            first = [Setting(p, fit_key(model))]
        else:
            others.append(Setting(p, fit_key(model)))
    return [*first, *others]
