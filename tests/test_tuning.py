"""Choosing parameters: without a look at the unseen, with few fits, and within a budget."""

from __future__ import annotations

import itertools
import random
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn import config_context
from sklearn.metrics import average_precision_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV

from unseen import ESZSL, JLSE, ClassHoldout, ClassTable, InputError, make_zero_shot, tune
from unseen.metrics import per_class_accuracy
from unseen.tuning import Trial, Tuning
from unseen.tuning.progress import Progress, describe, reporter
from unseen.tuning.result import best_first
from unseen.tuning.search import Search, Split
from unseen.tuning.settings import expand, sample

GRID = {"row_penalty": [1e-4, 1e-1], "class_penalty": [1e-3, 1.0]}
# What a fit of JLSE at this size needs; with 4 x 2 settings of test time for each of 2 fits.
SMALL: dict[str, Any] = {"n_target_atoms": 8, "n_landmarks": 30, "max_iter": 1, "calibration": None}
TEST_TIME_GRID = {
    "similarity_penalty": [4e-5, 1e-3],
    "test_embedding": ["init", "algorithm 4"],
    "class_offset": [0.0, 0.5],
    "decision": [1, 2],
}


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(
        n_seen=10, n_unseen=4, rows_per_class=8, n_features=12, n_attributes=9, n_factors=5,
        noise=0.8, random_state=1, dtype=np.float64,
    )  # fmt: skip


class Spy(ESZSL):
    """ESZSL that keeps the tables it was fitted with."""

    tables: list[ClassTable] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        self.tables.append(classes)
        return super().fit(X, y, classes=classes)


class Uneven(ESZSL):
    """ESZSL whose fits do not end in the order in which they began."""

    def fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        time.sleep(random.random() / 100)
        return super().fit(X, y, classes=classes)


class Counted(JLSE):
    """JLSE that counts its fits."""

    n_fits = 0

    def fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        Counted.n_fits += 1
        return super().fit(X, y, classes=classes)


class Clock:
    """Seconds that pass by fits alone: each takes one."""

    def __init__(self) -> None:
        self.n_before = len(Spy.tables)

    def __call__(self) -> float:
        return float(len(Spy.tables) - self.n_before)


# -- beside scikit-learn ------------------------------------------------------------------------


@pytest.mark.parametrize("routing", [False, True])
def test_searches_of_scikit_learn_take_it_as_cv(data: Any, routing: bool) -> None:
    X, y = data.training_set()
    table = data.classes.select(np.unique(y))
    cv = ClassHoldout(3, 3)
    with config_context(enable_metadata_routing=routing):
        estimator: Any = ESZSL().set_fit_request(classes=True) if routing else ESZSL()  # pyright: ignore[reportAttributeAccessIssue]
        search = GridSearchCV(estimator, GRID, cv=cv, refit=False)
        search.fit(X, y, classes=table)
    ours = {
        tuple(t.parameters.items()): t.scores
        for t in tune(ESZSL(), X, y, table, GRID, cv=cv, strategy="grid").trials
    }
    for k, parameters in enumerate(search.cv_results_["params"]):
        theirs = [search.cv_results_[f"split{s}_test_score"][k] for s in range(3)]
        assert theirs == pytest.approx(ours[tuple(parameters.items())])


# -- tune: no look at the unseen ----------------------------------------------------------------


def test_descriptions_of_unseen_classes_play_no_part(data: Any) -> None:
    """Whatever stands in their lines of the table, the search is the same to the last bit."""
    X, y = data.training_set()
    vectors = data.classes.vectors.copy()
    unseen = np.isin(data.classes.names, data.unseen)
    vectors[unseen] = 1e6 * np.random.default_rng(5).standard_normal(vectors[unseen].shape)
    other = ClassTable(data.classes.names, vectors)
    none = data.classes.drop(data.unseen)
    for scoring in ("per_class_accuracy", "mean_average_precision"):
        a, b, c = (
            tune(ESZSL(), X, y, t, GRID, scoring=scoring) for t in (data.classes, other, none)
        )
        assert a.trials == b.trials == c.trials
    assert np.array_equal(a.estimator.unseen_classes_, data.unseen)


def test_no_fit_of_the_search_is_given_an_unseen_class(data: Any) -> None:
    X, y = data.training_set()
    Spy.tables.clear()
    tune(Spy(), X, y, data.classes, GRID, cv=ClassHoldout(3, 2))
    *search, last = Spy.tables
    assert len(search) == 4 * 2
    for table in search:
        assert not set(table.names) & set(data.unseen)
    assert set(data.unseen) < set(last.names), "the model that comes back knows them"


# -- tune: what it finds ------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["per_class_accuracy", "mean_average_precision"])
def test_scores_are_those_of_a_plain_loop(data: Any, scoring: str) -> None:
    X, y = data.training_set()
    table = data.classes.select(np.unique(y))
    tuning = tune(ESZSL(), X, y, data.classes, GRID, cv=ClassHoldout(3, 4, 7), scoring=scoring)
    for trial in tuning.trials:
        expected = []
        for train, test in ClassHoldout(3, 4, 7).split(X, y):
            model = ESZSL(**trial.parameters).fit(X[train], y[train], classes=table)
            names = np.unique(y[test])
            if scoring == "per_class_accuracy":
                expected.append(balanced_accuracy_score(y[test], model.predict(X[test], names)))
            else:
                S = model.similarities(X[test], names)
                each = [average_precision_score(y[test] == n, S[:, k]) for k, n in enumerate(names)]
                expected.append(np.mean(each))
        assert trial.scores == pytest.approx(expected)
        assert trial.mean == pytest.approx(np.mean(expected))
        assert trial.deviation == pytest.approx(np.std(expected))


def test_the_best_is_first_and_fitted_on_all_rows(data: Any) -> None:
    X, y = data.training_set()
    tuning = tune(ESZSL(unit_rows=False), X, y, data.classes, GRID, strategy="grid")
    means = [t.mean for t in tuning.trials]
    assert means == sorted(means, reverse=True)
    assert tuning.best_score == means[0]
    assert {t.n_splits for t in tuning.trials} == {tuning.n_splits} == {5}
    assert (tuning.finished, tuning.n_tried, tuning.n_fits) == (True, 4, 20)
    settings = [tuple(t.parameters[k] for k in GRID) for t in tuning.trials]
    assert sorted(settings) == sorted(itertools.product(*GRID.values()))
    again = ESZSL(unit_rows=False, **tuning.best_parameters).fit(X, y, classes=data.classes)
    assert np.array_equal(tuning.estimator.similarities(X), again.similarities(X))


def test_the_default_grid_and_several_grids(data: Any) -> None:
    X, y = data.training_set()
    n_settings = np.prod([len(v) for v in ESZSL.default_grid().values()])
    assert len(tune(ESZSL(), X, y, data.classes).trials) == n_settings
    two = [{"row_penalty": [0.1]}, {"class_penalty": [0.1, 1.0], "center": [False]}]
    assert len(tune(ESZSL(), X, y, data.classes, two).trials) == 3


@pytest.mark.parametrize(
    ("backend", "estimator"),
    [("threading", Uneven()), pytest.param("loky", ESZSL(), marks=pytest.mark.slow)],
)
def test_two_jobs_find_the_same_as_one(data: Any, backend: str, estimator: ESZSL) -> None:
    X, y = data.training_set()
    with parallel_config(backend=backend):
        one, two = (
            tune(estimator, X, y, data.classes, GRID, cv=ClassHoldout(2, 5), n_jobs=n)
            for n in (1, 2)
        )
    assert one.trials == two.trials
    assert one.estimator.get_params() == two.estimator.get_params()


def test_progress_counts_to_the_end(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = data.training_set()
    calls: list[Progress] = []
    tuning = tune(ESZSL(), X, y, data.classes, GRID, cv=ClassHoldout(2, 3), progress=calls.append)
    assert [(p.done, p.total) for p in calls] == [(k, 12) for k in range(1, 13)]
    assert calls[-1].best == tuning.trials[0]
    assert calls[-1].left == 0 < calls[0].left
    assert [p.seconds for p in calls] == sorted(p.seconds for p in calls)
    tune(ESZSL(), X, y, data.classes, {"row_penalty": [0.1]}, progress=True)
    assert capsys.readouterr() == ("", ""), "no bar where nobody sees it"


def test_progress_in_words() -> None:
    trial = Trial({}, (0.5, 0.6))
    assert describe(Progress(3, 12, 10.0, 61.4, None)) == "3/12, 1:01 left"
    assert describe(Progress(3, 12, 10.0, 9, trial)) == "3/12, 0:09 left, best 55.0 % on 2 splits"
    with reporter(False) as report:
        assert report is None


def test_frames_lists_and_arrays_are_the_same(data: Any) -> None:
    X, y = data.training_set()
    frame = pd.DataFrame(X, index=range(100, 100 + len(X)), columns=list("abcdefghijkl"))
    table = pd.DataFrame(data.classes.vectors, index=data.classes.names)
    expected = tune(ESZSL(), X, y, data.classes, GRID).trials
    assert tune(ESZSL(), frame, pd.Series(y), table, GRID).trials == expected
    assert tune(ESZSL(), X.tolist(), y.tolist(), data.classes, GRID).trials == expected


# -- one fit for many settings ------------------------------------------------------------------


def separately(estimator: JLSE, tuning: Tuning, data: Any, cv: ClassHoldout) -> list[tuple]:
    """The scores of each trial on the splits that it was given, by a fit of its own for each."""
    X, y = data.training_set()
    table = data.classes.select(np.unique(y))
    scores = []
    for trial in tuning.trials:
        found = []
        for train, test in itertools.islice(cv.split(X, y), trial.n_splits):
            model = JLSE(**{**estimator.get_params(), **trial.parameters})
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
        cv=cv, strategy="grid",
    )  # fmt: skip
    assert len(tuning.trials) == 16
    assert tuning.n_fits == 2 * 2
    assert Counted.n_fits == tuning.n_fits + 1, "the last is that on all rows"
    assert [t.scores for t in tuning.trials] == separately(JLSE(**SMALL), tuning, data, cv)
    assert len({t.scores for t in tuning.trials}) > 4, "the settings do differ"


def test_nothing_is_left_of_the_setting_before(data: Any) -> None:
    """Grids with different names: what one does not mention has the estimator's own value."""
    grids = [
        {"test_embedding": ["init"]}, {"class_offset": [5.0]}, {"decision": [1]},
        {"link": ["saturating"]}, {"similarity_penalty": [4e-5]},
    ]  # fmt: skip
    estimator, cv = JLSE(**SMALL, similarity_penalty=4e-5, class_offset=0.1), ClassHoldout(3, 1)
    tuning = tune(estimator, *data.training_set(), classes=data.classes, grid=grids, cv=cv)
    assert tuning.n_fits == 1
    assert [t.scores for t in tuning.trials] == separately(estimator, tuning, data, cv)


@pytest.mark.parametrize(
    ("name", "value"),
    [("test_embedding", "init"), ("test_source_fit", 0.7), ("test_target_fit", 0.5),
     ("class_offset", 0.0), ("decision", 1), ("link", "saturating")],
)  # fmt: skip
def test_a_fitted_model_obeys_its_test_time_parameters(data: Any, name: str, value: Any) -> None:
    X, y = data.training_set()
    model = JLSE(**SMALL).fit(X, y, classes=data.classes)
    before = model.similarities(X)
    model.set_params(**{name: value})
    fresh = JLSE(**SMALL, **{name: value}).fit(X, y, classes=data.classes)
    assert np.array_equal(model.similarities(X), fresh.similarities(X))
    assert not np.array_equal(before, fresh.similarities(X))
    assert name in model.test_time_parameters


@pytest.mark.parametrize(
    ("choices", "n_fits"),
    [({"early_stopping": True}, 3), ({"generalized": True, "calibration": "holdout"}, 3),
     ({"generalized": True, "calibration": 0.1}, 1)],
)  # fmt: skip
def test_a_fit_that_looks_at_test_time_is_not_shared(
    data: Any, choices: dict[str, Any], n_fits: int
) -> None:
    estimator, cv = JLSE(**{**SMALL, **choices}), ClassHoldout(3, 1)
    grid = {"class_offset": [0.0, 0.5, 3.0]}
    tuning = tune(estimator, *data.training_set(), classes=data.classes, grid=grid, cv=cv)
    assert tuning.n_fits == n_fits
    assert [t.scores for t in tuning.trials] == separately(estimator, tuning, data, cv)


@pytest.mark.parametrize("values", [[3, 1, 2], [1, 3, 2], [1, 2, 3]])
def test_a_wrong_value_of_test_time_stops_itself_alone(data: Any, values: list[int]) -> None:
    estimator, cv = JLSE(**SMALL), ClassHoldout(3, 2)
    tuning = tune(
        estimator, *data.training_set(), classes=data.classes, grid={"decision": values}, cv=cv
    )
    *good, wrong = tuning.trials
    assert wrong.parameters == {"decision": 3}
    assert "decision must be one of (1, 2), not 3" in str(wrong.error)
    assert [t.scores for t in good] == separately(estimator, tuning, data, cv)[:2]


# -- strategies ---------------------------------------------------------------------------------


def test_halving_keeps_the_better_half(data: Any) -> None:
    """Whoever goes on was at least as good as whoever does not, and has the scores of "grid"."""
    X, y = data.training_set()
    full, halved = (
        {tuple(t.parameters.items()): t.scores for t in tuning.trials}
        for tuning in (
            tune(ESZSL(), X, y, data.classes, strategy=strategy) for strategy in ("grid", "halving")
        )
    )
    lengths = Counter(map(len, halved.values()))
    assert lengths == {1: 15, 2: 7, 3: 4, 5: 4}, "30, 15, 8, 4 and 4 settings on the five splits"
    for setting, scores in halved.items():
        assert scores == full[setting][: len(scores)]
    for n in (1, 2, 3):
        mean_of = {s: np.mean(full[s][:n]) for s in halved}
        left = [mean_of[s] for s, scores in halved.items() if len(scores) == n]
        stayed = [mean_of[s] for s, scores in halved.items() if len(scores) > n]
        assert min(stayed) >= max(left)


def test_the_winner_of_halving_was_scored_on_every_split(data: Any) -> None:
    tuning = tune(ESZSL(), *data.training_set(), classes=data.classes)
    assert (tuning.strategy, tuning.n_splits, tuning.n_fits) == ("halving", 5, 61)
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
    a, b, c = (
        tune(ESZSL(), X, y, data.classes, n_settings=9, random_state=seed) for seed in (3, 3, 4)
    )
    assert a.trials == b.trials
    assert len(a.trials) == len(c.trials) == 9
    settings = [{tuple(t.parameters.items()) for t in tuning.trials} for tuning in (a, c)]
    assert settings[0] != settings[1]


def test_a_sample_keeps_settings_of_one_fit_together() -> None:
    settings = expand(JLSE(), JLSE.paper_grid())
    drawn = sample(settings, 21, 0)
    assert [s for s in settings if s in drawn] == drawn, "in the order of the grid"
    assert sorted(Counter(s.fit_key for s in drawn).values()) == [1, 4, 4, 4, 4, 4]
    assert sample(settings, 1000, 0) == settings


# -- budget -------------------------------------------------------------------------------------


def searched(data: Any, budget: float | None, strategy: str = "halving") -> Search:
    """ESZSL's 30 settings on 5 splits, by a clock on which every fit takes a second."""
    X, y = data.training_set()
    table = data.classes.select(np.unique(y))
    parts = [
        Split(X[train], y[train], X[test], y[test], table)
        for train, test in ClassHoldout(3, 5).split(X, y)
    ]
    search = Search(
        Spy(), expand(Spy(), ESZSL.default_grid()), scoring="per_class_accuracy",
        strategy=strategy, budget=budget, clock=Clock(),
    )  # fmt: skip
    search.run(parts, 5, None)
    return search


@pytest.mark.parametrize("strategy", ["halving", "grid"])
@pytest.mark.parametrize("budget", [0.5, 1, 10, 29.5, 30, 33, 60])
def test_no_fit_begins_after_the_budget(data: Any, budget: float, strategy: str) -> None:
    search = searched(data, budget, strategy)
    assert search.n_fits == search.spent == np.ceil(budget)
    assert not search.finished
    n_splits = [t.n_splits for t in search.trials]
    assert sum(n_splits) == search.n_fits
    assert max(n_splits) - min(n_splits) <= 1 or min(n_splits) == 1, "one split after the other"
    assert budget < 30 or min(n_splits) >= 1, "all of them on the first split, if it can be"


def test_a_budget_that_ends_in_a_split_leaves_out_the_worse_ones(data: Any) -> None:
    search = searched(data, 35)
    first = {k: t.scores[0] for k, t in enumerate(search.trials)}
    twice = [k for k, t in enumerate(search.trials) if t.n_splits == 2]
    assert len(twice) == 5
    assert min(first[k] for k in twice) >= max(first[k] for k in first if k not in twice)


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
    assert (tuning.n_fits, tuning.n_tried, tuning.finished) == (1, 1, False)
    assert len(tuning.trials) == 30, "those that were not tried are there, without a score"
    assert tuning.budget == 1e-9 < tuning.spent
    assert np.array_equal(
        tuning.estimator.similarities(X), estimator.fit(X, y, classes=data.classes).similarities(X)
    )


def test_a_budget_holds_for_several_jobs(data: Any) -> None:
    with parallel_config(backend="threading"):
        tuning = tune(Uneven(), *data.training_set(), classes=data.classes, budget=1e-9, n_jobs=2)
    assert not tuning.finished
    assert tuning.n_fits == tuning.n_tried == 1


# -- the paper's way ----------------------------------------------------------------------------


def test_the_protocol_of_the_paper_holds_out_two_classes(data: Any) -> None:
    X, y = data.training_set()
    paper = tune(ESZSL(), X, y, data.classes, protocol="paper")
    plain = tune(ESZSL(), X, y, data.classes, cv=ClassHoldout(2, 5), strategy="grid")
    assert paper.trials == plain.trials
    assert (paper.strategy, paper.n_fits) == ("grid", 30 * 5)


def test_the_grid_of_the_paper() -> None:
    settings = expand(JLSE.paper(), JLSE.paper_grid())
    assert len(settings) == 192
    assert len({s.fit_key for s in settings}) == 48
    for name in ("source_fit", "source_shrinkage", "similarity_penalty", "n_target_atoms",
                 "max_iter", "test_source_fit", "test_target_fit"):  # fmt: skip
        assert len({s.parameters[name] for s in settings}) > 1


def test_the_model_of_the_paper_is_tuned_its_way(data: Any) -> None:
    tuning = tune(
        JLSE.paper(), *data.training_set(), classes=data.classes,
        protocol="paper", n_settings=8, cv=ClassHoldout(2, 2),
    )  # fmt: skip
    assert tuning.n_fits == 2 * 2
    assert {t.n_splits for t in tuning.trials} == {2}
    assert tuning.estimator.get_params()["loss"] == "hinge"


# -- what each parameter did --------------------------------------------------------------------


def test_effects_compare_on_splits_that_all_settings_have() -> None:
    trials = (
        Trial({"a": 10, "b": "x"}, (0.4, 0.9)),
        Trial({"a": 2, "b": "x"}, (0.5,)),
        Trial({"a": 10, "b": "auto"}, (0.2,)),
        Trial({"a": 2, "b": 0.5}),
        Trial({"a": 3, "b": 0.5}, (0.1,), error="ValueError: no"),
    )
    tuning = Tuning(trials, "per_class_accuracy", ESZSL(), "halving", 2, 5, 3.0, 3.5, False)
    assert tuning.n_tried == 4
    effects = tuning.effects()
    assert list(effects) == ["a", "b"]
    assert effects["a"] == [(2, 1, 0.5, 0.5), (10, 2, pytest.approx(0.3), 0.4)]
    assert effects["b"] == [("auto", 1, 0.2, 0.2), ("x", 2, pytest.approx(0.45), 0.5)]


# -- tune: what goes wrong ----------------------------------------------------------------------


def test_a_setting_that_fails_is_recorded_and_the_others_go_on(data: Any) -> None:
    X, y = data.training_set()
    grid = {"row_penalty": [-1.0, 0.1, "much"]}
    tuning = tune(ESZSL(), X, y, data.classes, grid, cv=ClassHoldout(2, 3))
    assert [t.parameters["row_penalty"] for t in tuning.trials] == [0.1, -1.0, "much"]
    good, *failed = tuning.trials
    assert good.error is None
    assert len(good.scores) == 3
    for trial in failed:
        assert trial.error
        assert trial.scores == ()
        assert np.isnan(trial.mean)
        assert np.isnan(trial.deviation)
    assert "row_penalty must be a positive number, not -1.0" in str(failed[0].error)


def test_nothing_that_can_be_fitted_is_an_error(data: Any) -> None:
    X, y = data.training_set()
    with pytest.raises(InputError, match=r"no setting could be fitted.*row_penalty"):
        tune(ESZSL(), X, y, data.classes, {"row_penalty": [-1.0, -2.0]})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"grid": {"row_penalti": [1]}}, "no parameter 'row_penalti'; nearest name: 'row_penalty'"),
        ({"grid": []}, "grid is empty"),
        ({"protocol": "papers"}, "protocol must be one of 'default', 'paper', not 'papers'"),
        ({"strategy": "half"}, "strategy must be one of 'halving', 'grid', not 'half'"),
        ({"budget": 0}, "budget must be a number of seconds above 0, not 0"),
        ({"budget": np.nan}, "above 0, not nan"),
        ({"n_settings": 0}, "n_settings must be at least 1"),
        ({"scoring": "accuracy"}, "'per_class_accuracy', 'mean_average_precision', not 'accuracy'"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"cv": ClassHoldout(9)}, "holds out 9 of 10"),
        ({"y": ["x"]}, "class 'x'"),
        ({"X": np.zeros((7, 12))}, "7 rows in X but 80 labels"),
        ({"classes": [[1, 2]]}, "classes must be"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(data: Any, change: dict, sentence: str) -> None:
    X, y = data.training_set()
    given = {"estimator": ESZSL(), "X": X, "y": y, "classes": data.classes, "grid": GRID} | change
    with pytest.raises(InputError, match=sentence):
        tune(**given)


def test_a_label_without_a_line_is_counted_right(data: Any) -> None:
    X, y = data.training_set()
    with pytest.raises(InputError, match="class 'class 03' has 8 rows and no line"):
        tune(ESZSL(), X, y, data.classes.drop(["class 03"]), GRID)


# -- the page -----------------------------------------------------------------------------------


def test_the_examples_of_the_page_run() -> None:
    page = Path(__file__).resolve().parents[1] / "docs" / "tuning.md"
    first, *more = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(first, names)
    assert names["model"].score(*names["digits"].unseen_set()) > 1 / 3
    for code in more:
        exec(code.replace("budget=20", "budget=1"), names)
    assert len(names["found"].trials) == 8
