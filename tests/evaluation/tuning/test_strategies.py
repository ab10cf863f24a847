"""Choosing parameters: with few fits, and within a budget."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.base import clone

from tests.evaluation.tuning.spies import SMALL, TEST_TIME_GRID, Clock, Counted, Spy, Uneven
from unseen import ESZSL, JLSE, tune
from unseen.classes import ClassHoldout
from unseen.evaluation.tuning import Protocol, Trial, Tuning
from unseen.evaluation.tuning.results import best_first
from unseen.evaluation.tuning.scoring import Split, TrainingData, score_settings
from unseen.evaluation.tuning.search import Search
from unseen.evaluation.tuning.settings import settings_of
from unseen.inference.embedding import Algorithm4
from unseen.inference.pairwise import Algorithm3
from unseen.inference.scorer import DataFit
from unseen.metrics import per_class_accuracy

# -- one fit for many settings ------------------------------------------------------------------


def separately(estimator: JLSE, tuning: Tuning, data: Any, cv: ClassHoldout) -> list[tuple]:
    """The scores of each trial on the splits that it was given, by a fit of its own for each."""
    X, y = data.training_set()
    table = data.classes.select(np.unique(y))
    scores = []
    for trial in tuning.trials:
        found = []
        for train, test in itertools.islice(cv.split(X, y), trial.n_splits):
            fresh: Any = clone(estimator)
            model = fresh.set_params(**trial.parameters)
            model.fit(X[train], y[train], classes=table)
            found.append(per_class_accuracy(y[test], model.predict(X[test])))
        scores.append(tuple(found))
    return scores


def test_settings_of_test_time_share_a_fit(data: Any) -> None:
    """The scores are those of separate fits, to the last bit; the fits are far fewer."""
    cv = ClassHoldout(3, 2)
    Counted.n_fits = 0
    tuning = tune(
        Counted(**SMALL), *data.training_set(), classes=data.classes, grid=TEST_TIME_GRID,
        protocol=Protocol(3, 2, "grid"),
    )  # fmt: skip
    assert len(tuning.trials) == 9, "eight of the grid and the estimator's own"
    assert tuning.n_fits == 3 * 2
    assert Counted.n_fits == tuning.n_fits + 1, "the last is that on all rows"
    assert [t.scores for t in tuning.trials] == separately(JLSE(**SMALL), tuning, data, cv)
    assert len({t.scores for t in tuning.trials}) > 3, "the settings do differ"


def test_nothing_is_left_of_the_setting_before(data: Any) -> None:
    """What a setting does not mention has the estimator's own value."""
    X, y = data.training_set()
    table = data.classes.select(np.unique(y))
    train, test = next(ClassHoldout(3, 1).split(X, y))
    split = Split(X[train], y[train], X[test], y[test], table)
    settings = [{"testing": DataFit()}, {"testing__offset": 5.0}, {"decision": 1}, {}]
    estimator = JLSE(**SMALL, testing=Algorithm4(offset=0.1))
    together = score_settings(estimator, settings, split, "per_class_accuracy")
    alone = [score_settings(estimator, [s], split, "per_class_accuracy")[0] for s in settings]
    assert [outcome.score for outcome in together] == [outcome.score for outcome in alone]
    assert len({outcome.score for outcome in together}) > 1, "the settings do differ"


@pytest.mark.parametrize(
    ("name", "value"),
    [("testing", DataFit()), ("testing", Algorithm3()), ("testing__source_fit", 0.7),
     ("testing__target_fit", 0.5), ("testing__offset", 0.4), ("decision", 1)],
)  # fmt: skip
def test_a_fitted_model_obeys_its_test_time_parameters(data: Any, name: str, value: Any) -> None:
    X, y = data.training_set()
    model = JLSE(**SMALL).fit(X, y, classes=data.classes)
    before = model.similarities(X)
    model.set_params(**{name: value})
    fresh = JLSE(**SMALL).set_params(**{name: value}).fit(X, y, classes=data.classes)
    assert np.array_equal(model.similarities(X), fresh.similarities(X))
    assert not np.array_equal(before, fresh.similarities(X))
    assert name.partition("__")[0] in model.test_time_parameters


@pytest.mark.parametrize("values", [[3, 1, 2], [1, 3, 2], [1, 2, 3]])
def test_a_wrong_value_of_test_time_stops_itself_alone(data: Any, values: list[int]) -> None:
    estimator, cv = JLSE(**SMALL), ClassHoldout(3, 2)
    X, y = data.training_set()
    tuning = tune(estimator, X, y, data.classes, {"decision": values}, protocol=Protocol(3, 2))
    *good, wrong = tuning.trials
    assert wrong.parameters == {"decision": 3}
    assert "decision must be 1 or 2, not 3" in str(wrong.error)
    assert [t.scores for t in good] == separately(estimator, tuning, data, cv)[:2]


# -- strategies ---------------------------------------------------------------------------------


def test_halving_keeps_the_better_half(data: Any) -> None:
    """Whoever goes on was at least as good as whoever does not, but for the estimator's own
    setting, and has the scores of "grid"."""
    X, y = data.training_set()
    full, halved = (
        {tuple(t.parameters.items()): t.scores for t in tuning.trials}
        for tuning in (
            tune(ESZSL(), X, y, data.classes, protocol=Protocol(strategy=strategy))
            for strategy in ("grid", "halving")
        )
    )
    lengths = Counter(map(len, halved.values()))
    assert lengths == {1: 15, 2: 7, 3: 4, 5: 4}, "30, 15, 8, 4 and 4 settings on the five splits"
    own = tuple({k: ESZSL().get_params()[k] for k in sorted(ESZSL.default_grid())}.items())
    assert len(halved.pop(own)) == 5
    for setting, scores in halved.items():
        assert scores == full[setting][: len(scores)]
    for n in (1, 2, 3):
        mean_of = {s: np.mean(full[s][:n]) for s in halved}
        left = [mean_of[s] for s, scores in halved.items() if len(scores) == n]
        stayed = [mean_of[s] for s, scores in halved.items() if len(scores) > n]
        assert min(stayed) >= max(left)


def test_the_estimators_own_setting_is_never_dropped(data: Any) -> None:
    """Not even the worst of all, so that the winner can be compared with it."""
    X, y = data.training_set()
    estimator = ESZSL(row_penalty=1e9, class_penalty=1e9)
    tuning = tune(estimator, X, y, data.classes)
    assert tuning.default.parameters == {"row_penalty": 1e9, "class_penalty": 1e9}
    assert len(tuning.trials) == 31
    assert tuning.default.n_splits == tuning.protocol.n_splits == 5
    search = searched(data, 10, estimator=Spy(row_penalty=1e9, class_penalty=1e9))
    assert [t.n_splits for t in search.trials].count(3) == 1, "the budget ends in the third split"
    assert search.trials[0].n_splits == 5


def test_the_winner_of_halving_was_scored_on_every_split(data: Any) -> None:
    tuning = tune(ESZSL(), *data.training_set(), classes=data.classes)
    assert (tuning.protocol, tuning.n_fits) == (Protocol(strategy="halving", n_splits=5), 61)
    order = [(t.n_splits, t.mean) for t in tuning.trials]
    assert order == sorted(order, reverse=True)
    assert order[0][0] == 5
    assert tuning.finished
    assert all(len(t.seconds) == t.n_splits and min(t.seconds) > 0 for t in tuning.trials)


@given(st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=4), min_size=1))
def test_no_lucky_split_beats_more_splits(scores: list[list[float]]) -> None:
    trials = [Trial({}, tuple(s), "failed" if s == [0.0] else None) for s in scores]
    order = best_first(trials, range(len(trials)))
    assert sorted(order) == list(range(len(trials)))
    for a, b in itertools.pairwise(order):
        first, second = trials[a], trials[b]
        assert (first.error is None) >= (second.error is None)
        if first.error == second.error:
            assert first.n_splits >= second.n_splits
        if (first.error, first.n_splits) == (second.error, second.n_splits):
            assert not first.mean < second.mean
            assert first.mean != second.mean or a < b, "equal ones stay in the order of the grid"


def test_the_same_search_finds_the_same(data: Any) -> None:
    X, y = data.training_set()
    protocols = [Protocol(n_settings=9, random_state=seed) for seed in (3, 3, 4)]
    a, b, c = (tune(ESZSL(), X, y, data.classes, protocol=protocol) for protocol in protocols)
    assert a.trials == b.trials
    assert len(a.trials) == len(c.trials) == 9
    settings = [{tuple(t.parameters.items()) for t in tuning.trials} for tuning in (a, c)]
    assert settings[0] != settings[1]


def test_a_draw_from_lists_crosses_all_that_share_a_fit() -> None:
    grid = {"source_fit": [0.1, 0.2, 0.3, 0.4], "decision": [1, 2], "testing": [DataFit(), None]}
    estimator = JLSE(testing=Algorithm4())
    settings, drawn = settings_of(estimator, grid), settings_of(estimator, grid, 3)
    assert len(settings) == 17
    assert drawn[0].fit_key == settings[0].fit_key, "the estimator's own setting is always there"
    assert list(Counter(s.fit_key for s in drawn).values()) == [4, 4, 4]
    assert len({s.fit_key for s in settings_of(estimator, grid, 1000)}) == 5, "no more than exist"


# -- budget -------------------------------------------------------------------------------------


def searched(
    data: Any,
    budget: float | None,
    strategy: str = "halving",
    estimator: Any = None,
    kept: Path | None = None,
) -> Search:
    """ESZSL's 30 settings on 5 splits, by a clock on which every fit takes a second."""
    estimator = Spy() if estimator is None else estimator
    settings = settings_of(estimator, ESZSL.default_grid())
    search = Search(estimator, settings, Protocol(3, 5, strategy), budget, clock=Clock())
    X, y = data.training_set()
    search.run(TrainingData.of(X, y, data.classes), checkpoint=kept)
    return search


@pytest.mark.parametrize("strategy", ["halving", "grid"])
@pytest.mark.parametrize("budget", [0.5, 1, 3, 10, 29.5, 30, 33, 60])
def test_no_fit_but_of_the_default_begins_after_the_budget(
    data: Any, budget: float, strategy: str
) -> None:
    search = searched(data, budget, strategy)
    assert search.n_fits == search.spent
    assert sum(t.n_splits for t in search.trials) == search.n_fits
    assert search.trials[0].n_splits == 5
    others = sum(t.n_splits for t in search.trials[1:])
    assert others <= np.ceil(budget) - 1
    assert search.spent <= np.ceil(budget) + 4
    assert not search.finished


@pytest.mark.parametrize(("budget", "n_tried"), [(3, 3), (10, 4), (25, 5), (33, 6), (149, 29)])
def test_a_budget_is_kept_for_all_splits(data: Any, budget: float, n_tried: int) -> None:
    """Fewer settings on five splits each, rather than all of them on the first; the pace is known
    after four fits."""
    search = searched(data, budget, "grid")
    tried = [t.n_splits for t in search.trials if t.scores]
    assert len(tried) == n_tried
    assert search.trials[0].n_splits == 5
    if budget >= 25:
        assert set(tried) == {5}


def test_a_budget_that_ends_in_a_split_leaves_out_the_worse_ones(data: Any) -> None:
    search = searched(data, 10)
    means = {k: np.mean(t.scores[:2]) for k, t in enumerate(search.trials) if t.scores}
    thrice = [k for k, t in enumerate(search.trials) if t.n_splits >= 3]
    assert len(means) == 4
    assert len(thrice) == 2
    assert thrice[0] == 0, "the estimator's own setting is not left out"
    assert means[thrice[1]] >= max(m for k, m in means.items() if k not in thrice)


@pytest.mark.parametrize("budgets", [(3, 40), (10, 12, 30), (33, 50)])
def test_a_larger_budget_goes_on_to_the_same_result(
    data: Any, tmp_path: Path, budgets: tuple[float, ...]
) -> None:
    """Whatever settings the smaller budgets had left out."""
    for budget in budgets:
        searched(data, budget, kept=tmp_path / "state")
    n_before = len(Spy.tables)
    last = searched(data, None, kept=tmp_path / "state")
    whole = searched(data, None)
    assert last.trials == whole.trials
    assert last.n_fits == whole.n_fits == 61
    assert len(Spy.tables) - 61 - n_before < 61, "what was known was not fitted again"


def test_a_budget_that_is_enough_changes_nothing(data: Any) -> None:
    unlimited, enough = searched(data, None), searched(data, 62)
    assert unlimited.trials == enough.trials
    assert unlimited.finished
    assert enough.finished
    assert enough.spent == 61


def test_a_short_budget_is_told_and_begins_with_the_estimator_as_it_is(data: Any) -> None:
    X, y = data.training_set()
    estimator = ESZSL(row_penalty=3e-3, class_penalty=3e-2)
    tuning = tune(estimator, X, y, data.classes, budget=1e-9)
    assert tuning.best_parameters == {"row_penalty": 3e-3, "class_penalty": 3e-2}
    assert (tuning.n_fits, tuning.n_tried, tuning.finished) == (5, 1, False)
    assert len(tuning.trials) == 30, "those that were not tried are there, without a score"
    assert tuning.budget == 1e-9 < tuning.spent
    assert np.array_equal(
        tuning.estimator.similarities(X), estimator.fit(X, y, classes=data.classes).similarities(X)
    )


def test_a_budget_holds_for_several_jobs(data: Any) -> None:
    with parallel_config(backend="threading"):
        tuning = tune(Uneven(), *data.training_set(), classes=data.classes, budget=1e-9, n_jobs=2)
    assert not tuning.finished
    assert (tuning.n_fits, tuning.n_tried, tuning.default.n_splits) == (5, 1, 5)
