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
from sklearn.utils import check_random_state

from unseen.errors import InputError
from unseen.estimators.base import ZeroShotClassifier
from unseen.support.parameters import check_names, plain_parameters, without

# By name a list of values, or a range: a distribution, anything with `rvs`.
Grid = Mapping[str, Any] | Sequence[Mapping[str, Any]]
# Settings that are drawn where nothing else is said.
N_DRAWN = 40
# Digits that a drawn number keeps, so that the one that is printed is the one that was tried.
_DIGITS = 3
_CROSSED = ""


class Setting(NamedTuple):
    """Values of some parameters; one fit serves all settings of the same `fit_key`."""

    parameters: dict[str, Any]
    fit_key: str


def settings_of(
    estimator: ZeroShotClassifier, grid: Grid, n_settings: int | None = None, random_state: Any = 0
) -> list[Setting]:
    """The settings to try; the first is the estimator's own, whether the grid has it or not.

    Lists alone are crossed, and at most `n_settings` of all combinations are taken. With a range
    `n_settings` settings are drawn, `N_DRAWN` if None, the estimator's own being one of them; each
    is crossed with all lists of parameters of test time, which need no fit of their own.
    """
    grids = [grid] if isinstance(grid, Mapping) else list(grid)
    if not grids:
        raise InputError("the grid is empty: it has no setting to try")
    known = plain_parameters(estimator)
    for part in grids:
        check_names(part, known, type(estimator).__name__)
    own = own_values(estimator, [name for part in grids for name in part])
    if ranges(grids):
        drawn = _drawn(estimator, grids, own, n_settings or N_DRAWN, random_state)
        return _own_first(estimator, own, drawn)
    settings = _own_first(estimator, own, ParameterGrid(grids))
    return _sample(settings, n_settings, random_state)


def is_range(values: Any) -> bool:
    """Whether values are drawn from a distribution; else they are a list."""
    return hasattr(values, "rvs")


def ranges(grid: Grid) -> frozenset[str]:
    """Parameters that a grid has a range for."""
    grids = [grid] if isinstance(grid, Mapping) else grid
    return frozenset(k for part in grids for k, values in part.items() if is_range(values))


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
    parts = {k: estimator._part(k) for k in estimator._parts if values[k] is None}
    return {name: parts.get(name, values[name]) for name in names}


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
    sampler = ParameterSampler(space, n_settings, random_state=random_state)
    whole = {name: _is_whole(estimator, name) for name in ranges(space)}
    return [{k: _tidy(v, whole[k]) if k in whole else v for k, v in p.items()} for p in sampler]


def _drawn(
    estimator: ZeroShotClassifier,
    grids: list[Mapping[str, Any]],
    own: dict[str, Any],
    n_settings: int,
    random_state: Any,
) -> list[dict[str, Any]]:
    """Drawn values, the estimator's own before them, each with every choice of test time."""
    spaces = []
    for grid in grids:
        crossed = {k: v for k, v in grid.items() if not is_range(v) and _is_free(estimator, k)}
        kept = {k: v for k, v in grid.items() if k not in crossed}
        spaces.append(kept | {_CROSSED: [ParameterGrid(crossed)]})
    first = [{k: own.get(k, s[_CROSSED][0]) for k in s} for s in spaces]
    more = draw(estimator, spaces, n_settings - 1, random_state) if n_settings > 1 else []
    return [drawn | choice for drawn in [*first, *more] for choice in drawn.pop(_CROSSED)]


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


def _sample(settings: list[Setting], n_settings: int | None, random_state: Any) -> list[Setting]:
    """At most so many settings, the first and others drawn at random, in their order.

    Settings that share a fit are drawn together, as all but the first of them cost next to nothing.
    """
    if n_settings is None or n_settings >= len(settings):
        return settings
    own, *groups = by_fit(settings, range(len(settings)))
    order = check_random_state(random_state).permutation(len(groups))
    drawn = [*own, *(number for k in order for number in groups[k])][:n_settings]
    return [settings[number] for number in sorted(drawn)]
