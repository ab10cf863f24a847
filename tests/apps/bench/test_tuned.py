"""Which parameters a benchmark takes, and that the unseen classes have no say in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unseen import JLSE, ZeroShotDataset, make_zero_shot
from unseen.apps.bench import tuned
from unseen.apps.bench.paper import LABELS, NUMERALS, table_rows
from unseen.apps.bench.tuned import tuned_parameters
from unseen.evaluation.tuning.run import TrainingData
from unseen.support.parameters import built, plain


def training_of(data: ZeroShotDataset) -> TrainingData:
    return TrainingData.of(*data.training_set(), data.classes)


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(8, 3, 8, 12, 10, 4, noise=0.5, random_state=1)


def test_default_parameters_are_none_but_the_variants_own(data: Any) -> None:
    assert tuned_parameters(["eszsl"], "default", training_of(data), 0) == ({"eszsl": {}}, 0.0)
    variants = {label: table_rows()[label] for label in NUMERALS}
    assert tuned_parameters(NUMERALS, "default", training_of(data), 0) == (variants, 0.0)


@pytest.mark.parametrize("tuning", ["holdout", "paper"])
def test_each_variant_keeps_what_makes_it_one(
    data: Any, tuning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuned, "_N_SETTINGS", 3)
    found, seconds = tuned_parameters(LABELS, tuning, training_of(data), 0)
    assert seconds > 0
    assert list(found) == list(LABELS)
    for label, parameters in found.items():
        assert table_rows()[label].items() <= parameters.items()
        assert parameters.keys() <= JLSE.default_grid().keys() | table_rows()[label].keys()
        built(JLSE, parameters)._check_parameters()


def test_variants_share_the_fits_of_one_search() -> None:
    settings = tuned._settings_of_variants(LABELS, 0)
    assert len(settings) == tuned._N_SETTINGS * len(LABELS)
    assert len({s.fit_key for s in settings}) == tuned._N_SETTINGS * 2
    usual = JLSE().get_params()
    for label, setting in zip(LABELS, settings, strict=False):
        row = table_rows()[label]
        assert plain(setting.parameters).items() >= row.items()
        others = {k: v for k, v in setting.parameters.items() if k not in row}
        assert others == {k: usual[k] for k in others}, "the defaults come first"


def test_a_variant_takes_what_beats_its_default(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice of each is that of a search of its own among the same settings."""
    monkeypatch.setattr(tuned, "_N_SETTINGS", 4)
    labels = ["(i)", "(viii)"]
    both = tuned_parameters(labels, "holdout", training_of(data), 1)[0]
    for label in labels:
        alone = tuned_parameters([label], "holdout", training_of(data), 1)[0]
        assert alone[label] == both[label]


def test_algorithm_3_is_tuned_with_algorithm_4_where_it_would_take_too_long() -> None:
    assert [tuned._scored_by(label, "paper") for label in LABELS] == list(LABELS)
    assert [tuned._scored_by(label, "holdout") for label in LABELS] == [
        *NUMERALS,
        "(vii)",
        "(viii)",
    ]


@pytest.mark.parametrize("label", ["eszsl", "(viii)"])
def test_descriptions_of_unseen_classes_have_no_say(
    data: Any, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuned, "_N_SETTINGS", 4)
    vectors = np.array(data.classes.vectors)
    is_unseen = np.isin(data.classes.names, data.unseen)
    vectors[is_unseen] = np.random.default_rng(0).standard_normal(vectors[is_unseen].shape)
    other = type(data.classes)(data.classes.names, vectors)
    first = tuned_parameters([label], "holdout", training_of(data), 0)
    again = tuned_parameters([label], "holdout", training_of(replace(data, classes=other)), 0)
    assert first[0] == again[0]


def test_a_spent_budget_leaves_the_defaults(data: Any) -> None:
    found = tuned_parameters(["ale"], "holdout", training_of(data), 0, budget=1e-9)
    assert found[0] == {"ale": {}}
    found = tuned_parameters(NUMERALS, "holdout", training_of(data), 0, budget=1e-9)
    assert found[0] == {x: table_rows()[x] for x in NUMERALS}
