"""Which parameters a benchmark takes, and that the unseen classes have no say in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen import make_zero_shot
from unseen.bench.tuned import chosen, tuned_parameters
from unseen.bench.variants import LABELS, NUMERALS, table_rows, variants
from unseen.tuning import Trial

DEFAULTS = {"a": 1, "b": 2, "c": 3}


def trial(scores: Any, **parameters: Any) -> Trial:
    return Trial(parameters, tuple(scores))


def test_a_clear_gain_takes_the_place_of_the_defaults() -> None:
    trials = [trial([0.6, 0.7, 0.65], a=5), trial([0.5, 0.61, 0.55], a=1)]
    assert chosen(trials, DEFAULTS) == {"a": 5}


def test_a_gain_within_its_error_does_not() -> None:
    trials = [trial([0.6, 0.5, 0.9], a=5), trial([0.62, 0.58, 0.55], a=1)]
    assert chosen(trials, DEFAULTS) == {}
    trials = [trial([0.60, 0.62, 0.68], a=5), trial([0.58, 0.62, 0.62], a=1)]
    assert chosen(trials, DEFAULTS) == {}, "one and a half standard errors"


def test_only_common_splits_are_compared() -> None:
    trials = [trial([0.6, 0.7, 0.8, 0.9], a=5), trial([0.65, 0.75], a=1)]
    assert chosen(trials, DEFAULTS) == {}


def test_one_split_is_no_reason_to_leave_the_defaults() -> None:
    assert chosen([trial([0.9], a=5), trial([0.1], a=1)], DEFAULTS) == {}


def test_without_the_defaults_in_the_grid_the_best_is_taken() -> None:
    assert chosen([trial([0.9, 0.8], a=5), trial([0.1, 0.1], a=7)], DEFAULTS) == {"a": 5}


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(8, 3, 8, 12, 10, 4, noise=0.5, random_state=1)


def test_default_parameters_are_none_but_the_variants_own(data: Any) -> None:
    X, y = data.training_set()
    assert tuned_parameters(["eszsl"], "default", X, y, data.classes, 0) == ({"eszsl": {}}, 0.0)
    assert tuned_parameters(NUMERALS, "default", X, y, data.classes, 0) == (variants(), 0.0)


@pytest.mark.parametrize("tuning", ["holdout", "paper"])
def test_each_variant_keeps_what_makes_it_one(data: Any, tuning: str) -> None:
    X, y = data.training_set()
    found, seconds = tuned_parameters(LABELS, tuning, X, y, data.classes, 0)
    assert seconds > 0
    assert list(found) == list(LABELS)
    for label, parameters in found.items():
        assert table_rows()[label].items() <= parameters.items()


@pytest.mark.parametrize("label", ["eszsl", "(viii)"])
def test_descriptions_of_unseen_classes_have_no_say(data: Any, label: str) -> None:
    X, y = data.training_set()
    vectors = np.array(data.classes.vectors)
    is_unseen = np.isin(data.classes.names, data.unseen)
    vectors[is_unseen] = np.random.default_rng(0).standard_normal(vectors[is_unseen].shape)
    other = type(data.classes)(data.classes.names, vectors)
    first = tuned_parameters([label], "holdout", X, y, data.classes, 0)
    again = tuned_parameters([label], "holdout", X, y, other, 0)
    assert first.parameters == again.parameters


def test_a_spent_budget_leaves_the_defaults(data: Any) -> None:
    X, y = data.training_set()
    found = tuned_parameters(["ale"], "holdout", X, y, data.classes, 0, budget=1e-9)
    assert found.parameters == {"ale": {}}
    found = tuned_parameters(NUMERALS, "holdout", X, y, data.classes, 0, budget=1e-9)
    assert found.parameters == variants()


def test_trials_that_were_never_made_are_not_taken() -> None:
    assert chosen([trial([], a=5), trial([], a=1)], DEFAULTS) == {}
