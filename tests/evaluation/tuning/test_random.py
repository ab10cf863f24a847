"""Settings drawn from ranges: reproducible, around the defaults, as few fits as can be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import loguniform, randint, uniform

from tests.evaluation.tuning.spies import SMALL, Counted, Spy
from unseen import ESZSL, JLSE, KernelJLSE, tune
from unseen.evaluation import Protocol
from unseen.evaluation.tuning.settings import described, is_range, settings_of
from unseen.inference.embedding import Algorithm4
from unseen.inference.scorer import DataFit
from unseen.training.pairwise import Algorithm1

SPACE = {"row_penalty": loguniform(1e-4, 1e-1), "class_penalty": [1e-3, 1e-2, 1.0]}


def values(settings: Any, name: str) -> list[Any]:
    return [setting.parameters[name] for setting in settings]


# -- what is drawn ------------------------------------------------------------------------------


def test_the_estimators_own_setting_is_the_first_of_as_many_as_asked_for() -> None:
    settings = settings_of(ESZSL(), SPACE, 12)
    assert len(settings) == 12
    own = {name: ESZSL().get_params()[name] for name in SPACE}
    assert settings[0].parameters == own
    drawn = values(settings[1:], "row_penalty")
    assert min(drawn) >= 1e-4
    assert max(drawn) <= 1e-1
    assert len(set(drawn)) == 11
    assert set(values(settings[1:], "class_penalty")) == set(SPACE["class_penalty"])
    assert len(settings_of(ESZSL(), SPACE)) == 40
    assert settings_of(ESZSL(), SPACE, 1) == settings[:1]


def test_draws_repeat_by_their_seed() -> None:
    one, again, other = (settings_of(ESZSL(), SPACE, 9, seed) for seed in (3, 3, 4))
    assert one == again != other


@given(st.integers(0, 10_000))
def test_a_drawn_number_is_the_one_that_is_printed(seed: int) -> None:
    for value in values(settings_of(ESZSL(), SPACE, 4, seed), "row_penalty"):
        assert float(f"{value:.3g}") == value


def test_whole_numbers_are_drawn_where_they_are_needed() -> None:
    """By what the parameter takes, whatever number it has."""
    space = {
        "n_target_atoms": loguniform(5, 40), "training__max_iter": uniform(0, 3),
        "n_source_atoms": randint(3, 9), "source_fit": uniform(1, 2),
    }  # fmt: skip
    settings = settings_of(JLSE(source_fit=2), space, 20)
    for name in ("n_target_atoms", "training__max_iter", "n_source_atoms"):
        drawn = values(settings[1:], name)
        assert all(type(value) is int for value in drawn)
        assert len(set(drawn)) > 2
    assert len({value for value in values(settings[1:], "source_fit") if value % 1}) > 10


def test_all_that_is_tried_at_test_time_shares_the_fits() -> None:
    space = {"source_fit": uniform(1, 2), "testing": [DataFit(), Algorithm4()], "decision": [1, 2]}
    settings = settings_of(JLSE(), space, 5)
    assert Counter(s.fit_key for s in settings).most_common() == [
        (key, 4) for key in dict.fromkeys(s.fit_key for s in settings)
    ]
    assert len(settings) == 5 * 4
    extra = settings_of(JLSE(testing=Algorithm4(offset=0.2)), space, 5)
    assert len(extra) == 5 * 4 + 1, "the estimator's own test time is not in the lists"
    assert len({s.fit_key for s in extra}) == 5


def test_anything_with_rvs_will_do() -> None:
    class Either:
        def rvs(self, random_state: Any) -> float:
            return random_state.choice([0.25, 0.5])

    settings = settings_of(ESZSL(), {"row_penalty": Either()}, 20)
    assert set(values(settings[1:], "row_penalty")) == {0.25, 0.5}


# -- the space of JLSE --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [JLSE, KernelJLSE])
def test_the_ranges_of_jlse_lie_around_its_defaults(kind: type[JLSE]) -> None:
    usual = kind().get_params()
    grid = kind.default_grid()
    for name in ("source_fit", "source_shrinkage", "target_fit", "target_shrinkage",
                 "similarity_penalty"):  # fmt: skip
        low, high = grid[name].support()
        assert usual[name] / low == pytest.approx(high / usual[name])
        assert 4 <= usual[name] / low <= 8
    for name in ("n_target_atoms", "training__max_iter", "positive_weight"):
        assert not is_range(grid[name])
        assert usual[name] in grid[name]
    assert ("kernel_width" in grid) == (kind is KernelJLSE)


def test_a_range_moves_with_the_default() -> None:
    class Other(JLSE):
        def __init__(self, source_fit: float = 80.0) -> None:
            super().__init__(source_fit=source_fit)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {**JLSE().get_params(deep), "source_fit": self.source_fit}

    assert Other.default_grid()["source_fit"].support() == pytest.approx((20.0, 320.0))


def test_a_range_in_words() -> None:
    assert described(loguniform(0.25, 4)).startswith("0.25 to 4")
    assert described([1, 2]) == [1, 2]


def test_jlse_is_tuned_by_drawn_settings(data: Any) -> None:
    X, y = data.training_set()
    Counted.n_fits = 0
    found = tune(Counted(**SMALL), X, y, data.classes, protocol=Protocol(2, 2, n_settings=4))
    assert found.n_fits + 1 == Counted.n_fits == 4 * 2 + 1
    assert found.default.n_splits == 2
    assert found.default.parameters["n_target_atoms"] == SMALL["n_target_atoms"]


def test_another_kind_of_part_is_tuned_as_far_as_it_goes(data: Any) -> None:
    X, y = data.training_set()
    estimator = JLSE(8, training=Algorithm1(max_iter=1))
    protocol = Protocol(2, 1, n_settings=1)
    found = tune(estimator, X[:40], y[:40], data.classes, protocol=protocol)
    assert isinstance(found.estimator.get_params()["training"], Algorithm1)


# -- the search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["halving", "grid"])
def test_the_same_search_finds_the_same(data: Any, strategy: str) -> None:
    X, y = data.training_set()
    own = [Protocol(strategy=strategy, n_settings=10, random_state=seed) for seed in (1, 1, 2)]
    a, b, c = (tune(ESZSL(), X, y, data.classes, SPACE, protocol=protocol) for protocol in own)
    assert a.trials == b.trials
    assert {t.parameters["row_penalty"] for t in a.trials[1:]} != {
        t.parameters["row_penalty"] for t in c.trials[1:]
    }
    lengths = sorted((t.n_splits for t in a.trials), reverse=True)
    assert lengths == ([5] * 4 + [2] + [1] * 5 if strategy == "halving" else [5] * 10)
    assert a.default.n_splits == 5


def test_a_search_that_was_stopped_goes_on_to_the_same_result(data: Any, tmp_path: Path) -> None:
    X, y = data.training_set()
    kept: dict[str, Any] = {"grid": SPACE, "protocol": Protocol(n_settings=8)}
    whole = tune(ESZSL(), X, y, data.classes, **kept)
    kept |= {"checkpoint": tmp_path / "state"}
    first = tune(ESZSL(), X, y, data.classes, budget=1e-9, **kept)
    assert (first.n_fits, first.finished) == (5, False)
    assert first.kept_default
    Spy.tables.clear()
    rest = tune(ESZSL(), X, y, data.classes, **kept)
    assert rest.trials == whole.trials
    assert rest.n_fits == whole.n_fits
