"""Holding out classes, and choosing parameters by it without a look at the unseen ones."""

from __future__ import annotations

import itertools
import random
import time
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

from unseen import ESZSL, ClassHoldout, ClassTable, InputError, make_zero_shot, tune

GRID = {"row_penalty": [1e-4, 1e-1], "class_penalty": [1e-3, 1.0]}


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


# -- ClassHoldout -------------------------------------------------------------------------------


@given(
    n_rows=st.lists(st.integers(1, 5), min_size=4, max_size=12),
    held=st.one_of(st.just(2), st.floats(0.01, 0.5)),
    n_splits=st.integers(1, 6),
    seed=st.integers(0, 2**31),
    names=st.sampled_from([str, int]),
)
def test_no_class_is_on_both_sides(
    n_rows: list[int], held: float, n_splits: int, seed: int, names: type
) -> None:
    y = np.repeat(np.array([names(k) for k in range(len(n_rows))]), n_rows)
    y = np.random.default_rng(seed).permutation(y)
    cv = ClassHoldout(held, n_splits, seed)
    splits = list(cv.split(np.zeros((y.size, 1)), y))
    assert len(splits) == n_splits == cv.get_n_splits()
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(y.size))
        assert not set(y[train]) & set(y[test])
        expected = 2 if held == 2 else max(2, round(held * len(n_rows)))
        assert len(set(y[test])) == expected


def test_the_seed_decides() -> None:
    y = np.repeat(np.arange(30), 2)
    one, same, other = (
        [test.tolist() for _, test in ClassHoldout(5, 4, seed).split(None, y)] for seed in (1, 1, 2)
    )
    assert one == same != other
    assert len({tuple(test) for test in one}) == 4, "the splits of one search differ"


@pytest.mark.parametrize(
    ("n_classes", "reason"),
    [
        (1, "n_classes=1 makes every prediction right"),
        (1.0, "every prediction right"),
        (0, "must be above 0, not 0"),
        (-2, "must be above 0, not -2"),
        (np.nan, "must be above 0, not nan"),
        (2.5, "n_classes=2.5 is neither whole nor a share"),
        (4.0001, "neither whole"),
        (np.inf, "neither whole"),
    ],
)
def test_a_number_of_classes_that_makes_no_sense(n_classes: float, reason: str) -> None:
    with pytest.raises(InputError, match=f"{reason}.*: give a whole number from 2 to 4, or a"):
        list(ClassHoldout(n_classes).split(None, np.arange(6)))


def test_no_split_comes_twice_before_all_have_come() -> None:
    y = np.repeat(list("abcd"), 3)
    for seed in range(5):
        splits = list(ClassHoldout(2, 14, seed).split(None, y))
        held = [tuple(np.unique(y[test])) for _, test in splits]
        pairs = set(itertools.combinations("abcd", 2))
        assert set(held[:6]) == set(held[6:12]) == pairs
        assert held[12] != held[13]


def test_too_few_classes_to_hold_out() -> None:
    with pytest.raises(InputError, match=r"at least 4 seen classes, .* there are 3; use 'fit'"):
        list(ClassHoldout(2).split(None, np.arange(3)))
    with pytest.raises(InputError, match=r"holds out 5 of 6 seen classes .*: at most 4 can be"):
        list(ClassHoldout(0.9).split(None, np.arange(6)))


def test_labels_and_a_number_of_splits_are_needed() -> None:
    with pytest.raises(InputError, match="needs y"):
        list(ClassHoldout().split(np.zeros((4, 1)), None))
    with pytest.raises(InputError, match="n_splits"):
        ClassHoldout(n_splits=0).get_n_splits()


def test_the_text_of_a_holdout_makes_it_again() -> None:
    cv = eval(repr(ClassHoldout(0.3, 4, None)))
    assert (cv.n_classes, cv.n_splits, cv.random_state) == (0.3, 4, None)


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
        for t in tune(ESZSL(), X, y, table, GRID, cv=cv).trials
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
    tuning = tune(ESZSL(unit_rows=False), X, y, data.classes, GRID)
    means = [t.mean for t in tuning.trials]
    assert means == sorted(means, reverse=True)
    assert tuning.best_score == means[0]
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
    calls: list[tuple[int, int]] = []
    report = lambda done, total: calls.append((done, total))  # noqa: E731
    tune(ESZSL(), X, y, data.classes, GRID, cv=ClassHoldout(2, 3), progress=report)
    assert calls == [(k, 12) for k in range(1, 13)]
    tune(ESZSL(), X, y, data.classes, {"row_penalty": [0.1]}, progress=True)
    assert capsys.readouterr() == ("", ""), "no bar where nobody sees it"


def test_frames_lists_and_arrays_are_the_same(data: Any) -> None:
    X, y = data.training_set()
    frame = pd.DataFrame(X, index=range(100, 100 + len(X)), columns=list("abcdefghijkl"))
    table = pd.DataFrame(data.classes.vectors, index=data.classes.names)
    expected = tune(ESZSL(), X, y, data.classes, GRID).trials
    assert tune(ESZSL(), frame, pd.Series(y), table, GRID).trials == expected
    assert tune(ESZSL(), X.tolist(), y.tolist(), data.classes, GRID).trials == expected


# -- tune: what goes wrong ----------------------------------------------------------------------


def test_a_setting_that_fails_is_recorded_and_the_others_go_on(data: Any) -> None:
    X, y = data.training_set()
    grid = {"row_penalty": [-1.0, 0.1, "much"]}
    tuning = tune(ESZSL(), X, y, data.classes, grid)
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
