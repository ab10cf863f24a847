"""Choosing parameters: without a look at the unseen, and what is found."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.metrics import average_precision_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV

from tests.evaluation.tuning.spies import GRID, Spy, Uneven
from unseen import ESZSL, ClassTable, InputError, tune
from unseen.classes import ClassHoldout
from unseen.estimators import ALE
from unseen.evaluation import Protocol
from unseen.rows import RowScaler
from unseen.support.work import listening

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
        for t in tune(ESZSL(), X, y, table, GRID, protocol=Protocol(3, 3, "grid")).trials
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
        protocol, tables = Protocol(scoring=scoring), (data.classes, other, none)
        a, b, c = (tune(ESZSL(), X, y, table, GRID, protocol=protocol) for table in tables)
        assert a.trials == b.trials == c.trials
    assert np.array_equal(a.estimator.unseen_classes_, data.unseen)


def test_no_fit_of_the_search_is_given_an_unseen_class(data: Any) -> None:
    X, y = data.training_set()
    Spy.tables.clear()
    tuning = tune(Spy(), X, y, data.classes, GRID, protocol=Protocol(3, 2))
    *search, last = Spy.tables
    assert len(search) == tuning.n_fits
    for table in search:
        assert not set(table.names) & set(data.unseen)
    assert set(data.unseen) < set(last.names), "the model that comes back knows them"


# -- tune: what it finds ------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["per_class_accuracy", "mean_average_precision"])
def test_scores_are_those_of_a_plain_loop(data: Any, scoring: str) -> None:
    X, y = data.training_set()
    table = data.classes.select(np.unique(y))
    protocol = Protocol(3, 4, strategy="grid", scoring=scoring, random_state=7)
    tuning = tune(ESZSL(), X, y, data.classes, GRID, protocol=protocol)
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


def test_the_best_is_first_and_what_is_kept_is_fitted_on_all_rows(data: Any) -> None:
    X, y = data.training_set()
    own = {"row_scaler": RowScaler(unit_length=False), "row_penalty": 1e9}
    grid = {"row_penalty": [1e-4, 1e9], "class_penalty": [1e-3, 1e-2]}
    tuning = tune(ESZSL(**own), X, y, data.classes, grid, protocol=Protocol(strategy="grid"))
    means = [t.mean for t in tuning.trials]
    assert means == sorted(means, reverse=True)
    assert {t.n_splits for t in tuning.trials} == {tuning.protocol.n_splits} == {5}
    assert (tuning.finished, tuning.n_tried, tuning.n_fits) == (True, 4, 20)
    settings = [tuple(t.parameters[k] for k in sorted(grid)) for t in tuning.trials]
    assert sorted(settings) == sorted(itertools.product(*(grid[k] for k in sorted(grid))))
    again = ESZSL(**{**own, **tuning.best_parameters}).fit(X, y, classes=data.classes)
    assert np.array_equal(tuning.estimator.similarities(X), again.similarities(X))


def test_the_default_grid_and_parameters_of_parts(data: Any) -> None:
    X, y = data.training_set()
    n_settings = np.prod([len(v) for v in ESZSL.default_grid().values()])
    assert len(tune(ESZSL(), X, y, data.classes).trials) == n_settings
    grid = {"class_penalty": [0.1, 1.0], "row_scaler__center": [False]}
    found = tune(ESZSL(), X, y, data.classes, grid)
    assert len(found.trials) == 3, "the estimator's own setting is not in the grid"
    own = {"class_penalty": ESZSL().class_penalty, "row_scaler__center": True}
    assert found.default.parameters == own


@pytest.mark.parametrize(
    ("backend", "estimator"),
    [("threading", Uneven()), pytest.param("loky", ESZSL(), marks=pytest.mark.slow)],
)
def test_two_jobs_find_the_same_as_one(data: Any, backend: str, estimator: ESZSL) -> None:
    X, y = data.training_set()
    with parallel_config(backend=backend):
        one, two = (
            tune(estimator, X, y, data.classes, GRID, protocol="paper", n_jobs=n) for n in (1, 2)
        )
    assert one.trials == two.trials
    assert one.estimator.get_params() == two.estimator.get_params()


@pytest.mark.parametrize("estimator", [ESZSL(), ALE(max_iter=2)])
def test_progress_counts_to_the_end(data: Any, estimator: Any) -> None:
    X, y = data.training_set()
    grid, protocol = {"row_scaler__center": [True, False]}, Protocol(2, 3, "grid")
    steps: list[str] = []
    with listening(steps.append):
        tuning = tune(estimator, X, y, data.classes, grid, protocol=protocol)
    scores = [step for step in steps if "scores" in step]
    assert [step.partition(" scores")[0] for step in scores] == [f"{k} of 6" for k in range(1, 7)]
    assert scores[-1].endswith(f"the best {100 * tuning.trials[0].mean:.1f} % on 3 splits")
    assert steps[:6] == scores, "of all fits but the last, on all rows, this alone is reported"


def test_frames_lists_and_arrays_are_the_same(data: Any) -> None:
    X, y = data.training_set()
    frame = pd.DataFrame(X, index=range(100, 100 + len(X)), columns=list("abcdefghijkl"))
    table = pd.DataFrame(data.classes.vectors, index=data.classes.names)
    expected = tune(ESZSL(), X, y, data.classes, GRID).trials
    assert tune(ESZSL(), frame, pd.Series(y), table, GRID).trials == expected
    assert tune(ESZSL(), X.tolist(), y.tolist(), data.classes, GRID).trials == expected


# -- the paper's way ----------------------------------------------------------------------------


def test_the_protocol_of_the_paper_holds_out_two_classes(data: Any) -> None:
    X, y = data.training_set()
    paper = tune(ESZSL(), X, y, data.classes, protocol="paper")
    plain = tune(ESZSL(), X, y, data.classes, protocol=Protocol(2, 5, "halving"))
    assert paper.trials == plain.trials
    assert paper.n_fits == 61


# -- tune: what goes wrong ----------------------------------------------------------------------


def test_a_setting_that_fails_is_recorded_and_the_others_go_on(data: Any) -> None:
    X, y = data.training_set()
    grid = {"row_penalty": [-1.0, 0.1, "much"]}
    tuning = tune(ESZSL(), X, y, data.classes, grid, protocol=Protocol(2, 3))
    *good, first, second = tuning.trials
    assert {t.parameters["row_penalty"] for t in good} == {0.1, ESZSL().row_penalty}
    failed = [first, second]
    assert [t.parameters["row_penalty"] for t in failed] == [-1.0, "much"]
    for trial in good:
        assert trial.error is None
        assert len(trial.scores) == 3
    for trial in failed:
        assert trial.error
        assert trial.scores == ()
        assert np.isnan(trial.mean)
        assert np.isnan(trial.deviation)
    assert "row_penalty must be a positive number, not -1.0" in str(failed[0].error)


def test_nothing_that_can_be_fitted_is_an_error(data: Any) -> None:
    X, y = data.training_set()
    with pytest.raises(InputError, match=r"no setting could be fitted.*row_penalty"):
        tune(ESZSL(row_penalty=-3.0), X, y, data.classes, {"row_penalty": [-1.0, -2.0]})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"grid": {"row_penalti": [1]}}, "no parameter 'row_penalti'; nearest name: 'row_penalty'"),
        ({"protocol": "papers"}, "protocol must be 'default' or 'paper', not 'papers'"),
        ({"budget": 0}, "budget must be a number of seconds above 0, not 0"),
        ({"budget": np.nan}, "above 0, not nan"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"protocol": Protocol(9)}, "holds out 9 of 10"),
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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"strategy": "half"}, "strategy must be 'halving' or 'grid', not 'half'"),
        ({"n_settings": 0}, "n_settings must be a whole number of at least 1 or None, not 0"),
        ({"scoring": "accuracy"}, "'per_class_accuracy' or 'mean_average_precision', not 'accura"),
    ],
)
def test_a_protocol_that_cannot_be_is_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Protocol(**change)


def test_a_label_without_a_line_is_counted_right(data: Any) -> None:
    X, y = data.training_set()
    with pytest.raises(InputError, match="class 'class 03' has 8 rows and no line"):
        tune(ESZSL(), X, y, data.classes.drop(["class 03"]), GRID)


# -- the page -----------------------------------------------------------------------------------


def test_the_examples_of_the_page_run() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "tuning.md"
    first, *more = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(first, names)
    assert names["model"].score(*names["digits"].unseen_set()) > 1 / 3
    for code in more:
        exec(code.replace("budget=20", "budget=1"), names)
