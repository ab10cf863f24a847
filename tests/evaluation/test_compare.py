"""`compare`: the same splits for all methods, honest errors, a budget, and words that fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import unseen
from unseen import ESZSL, SAE, InputError, ZeroShotClassifier, compare, make_zero_shot
from unseen.classes import ClassHoldout
from unseen.estimators import METHODS, available
from unseen.evaluation import comparing
from unseen.evaluation.comparison import Compared, Comparison
from unseen.evaluation.estimates import Estimate
from unseen.metrics import mean_average_precision
from unseen.metrics.intervals import accuracy_draws
from unseen.support import work


@pytest.fixture(scope="module")
def data() -> unseen.ZeroShotDataset:
    return make_zero_shot(
        n_seen=12, n_unseen=4, rows_per_class=10, n_features=12, n_attributes=15, n_factors=4,
        noise=1.5, table_noise=0.3, random_state=5, dtype=np.float64,
    )  # fmt: skip


def run(data: Any, methods: Any = None, **given: Any) -> Comparison:
    X, y = data.training_set()
    return compare(X, y, data.classes, methods, **given)


def made(scores: dict[str, list[float]], **more: Any) -> Comparison:
    """A comparison of given accuracies; mAP is the same unless it is given."""
    precision = more.pop("precision", scores)
    methods = [
        Compared(name, tuple(s), tuple(precision[name]), (1.0,) * len(s), **more.get(name, {}))
        for name, s in scores.items()
    ]
    n = max(map(len, scores.values()))
    return Comparison(tuple(methods), "per_class_accuracy", n, 2, 10, None, 1.0)


# -- what is measured -----------------------------------------------------------------------------


def test_scores_are_those_of_fits_by_hand(data: Any) -> None:
    X, y = data.training_set()
    found = compare(X, y, data.classes, ["eszsl", SAE(encoder_weight=3.0)], n_splits=3)
    table = data.classes.select(data.seen)
    for name, model in (("eszsl", ESZSL()), ("sae", SAE(encoder_weight=3.0))):
        accuracy, precision, lows = [], [], []
        for kept, held in ClassHoldout(0.2, 3, 0).split(X, y):
            model.fit(X[kept], y[kept], classes=table)
            accuracy.append(model.score(X[held], y[held]))
            scores = model.similarities(X[held])
            precision.append(mean_average_precision(y[held], scores, model.classes_))
            draws = accuracy_draws(y[held], model.predict(X[held])).per_class
            lows.append(min(np.quantile(draws, 0.025), accuracy[-1]))
        assert found.of(name).per_class_accuracy == pytest.approx(tuple(accuracy))
        assert found.of(name).mean_average_precision == pytest.approx(tuple(precision))
        interval = found.of(name).interval
        assert interval is not None
        assert interval.low == pytest.approx(np.mean(lows))
        assert interval.low < np.mean(accuracy) < interval.high
    assert (found.n_splits, found.n_held, found.n_seen) == (3, 2, 12)
    means = [found.estimate(one.method).mean for one in found.methods]
    assert means == sorted(means, reverse=True)


class Watching(ESZSL):
    """Notes the names of the classes that it is told of."""

    told: ClassVar[set[str]] = set()

    def fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        Watching.told |= {*np.unique(y).tolist(), *classes.names.tolist()}
        return super().fit(X, y, classes)


def test_unseen_classes_take_no_part(data: Any) -> None:
    run(data, [Watching()], n_splits=2)
    # Numbers are the classes of the toy problem that comes first.
    assert {name for name in Watching.told if isinstance(name, str)} == set(data.seen.tolist())


def test_every_method_that_is_installed_takes_part(data: Any, monkeypatch: Any) -> None:
    fitted = []
    monkeypatch.setattr(
        comparing, "_measure", lambda m, *_: fitted.append(m) or [0.5, 0.5, 0.1, 1, 0.4, 0.6]
    )
    found = run(data, n_splits=2)
    assert {one.method for one in found.methods} == set(available())
    assert len(fitted) == 2 * len(available())
    order = [type(model) for model in fitted[::2]]
    assert order.index(METHODS["gaussian-match"]) == 0
    assert order.index(METHODS["sse-relu"]) > order.index(METHODS["jlse"])
    assert set(comparing._CHEAP_FIRST) == set(METHODS)


def test_names_of_estimators(data: Any) -> None:
    found = comparing._by_name(["sae", ESZSL(), ESZSL(row_penalty=3.0), "SAE"])
    assert list(found) == ["eszsl", "eszsl 2", "sae"]
    assert list(comparing._by_name({"mine": ESZSL()})) == ["mine"]


def test_a_method_that_fails_is_told_and_the_others_go_on(data: Any) -> None:
    methods = {"bad": ESZSL(row_penalty=-1.0), "good": ESZSL()}
    found = run(data, methods, n_splits=2)
    assert found.recommended == "good"
    assert "row_penalty must be" in str(found.of("bad").error)
    assert any(text.startswith("bad failed: InputError: row_p") for text in found.in_words())
    with pytest.raises(InputError, match="no method could be fitted; bad failed"):
        run(data, {"bad": methods["bad"]})


# -- budget, progress, checkpoint -----------------------------------------------------------------


class Clock:
    """A time that passes only while something is measured."""

    def __init__(self, seconds: dict[type, float], monkeypatch: Any) -> None:
        self.now, self.seconds, self.measured = 100.0, seconds, []
        monkeypatch.setattr(comparing.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(comparing, "_measure", self.measure)

    def measure(self, model: ZeroShotClassifier, split: Any, is_first: bool) -> list[Any]:
        taken = self.seconds[type(model)]
        self.now += taken
        self.measured.append(type(model))
        return [0.5, 0.5, taken, 7.0 if is_first else None, 0.4, 0.6]


def test_a_budget_goes_to_cheap_methods_first(data: Any, monkeypatch: Any) -> None:
    clock = Clock({ESZSL: 1.0, SAE: 30.0, METHODS["jlse"]: 5.0}, monkeypatch)
    steps: list[str] = []
    with work.listening(steps.append):
        found = run(data, ["jlse", "sae", "eszsl"], n_splits=4, budget=40)
    assert [clock.measured.count(k) for k in (ESZSL, SAE, METHODS["jlse"])] == [4, 1, 1]
    assert found.of("eszsl").left_out is None
    assert "after 1 split 6 s of the budget were left, and a fit took 30 s" in str(
        found.of("sae").left_out
    )
    assert found.methods[0].method == "eszsl", "a mean of fewer splits stands after it"
    assert found.of("sae").memory == 7.0
    assert steps[0] == "eszsl (method 1 of 3), split 1 of 4; 0 of 40 s"
    assert (found.budget, found.spent) == (40, 39)


def test_nothing_is_tried_once_the_budget_is_spent(data: Any, monkeypatch: Any) -> None:
    Clock({ESZSL: 3.0, SAE: 1.0}, monkeypatch)
    found = run(data, ["eszsl", "sae"], budget=1)
    assert [one.n_splits for one in found.methods] == [1, 0]
    assert "Not tried, as the budget was spent: sae." in found.in_words()
    assert "There is no other method to compare it with" in found.in_words()[0]


def test_a_stopped_comparison_resumes(data: Any, tmp_path: Path, monkeypatch: Any) -> None:
    given: Any = (data, ["eszsl", "sae"])
    whole = run(*given, n_splits=3)
    measure, calls = comparing._measure, []

    def stopped(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return measure(*arguments)

    monkeypatch.setattr(comparing, "_measure", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(*given, n_splits=3, checkpoint=tmp_path / "c")
    resumed = run(*given, n_splits=3, checkpoint=tmp_path / "c")
    assert len(calls) == 5 + 2, "four were kept, the fifth was stopped"
    for one in whole.methods:
        assert resumed.of(one.method).per_class_accuracy == one.per_class_accuracy
    with pytest.raises(InputError, match="the classes held out were different"):
        run(*given, n_splits=4, checkpoint=tmp_path / "c")


# -- standard errors and words --------------------------------------------------------------------


def test_standard_errors_are_those_of_nadeau_and_bengio() -> None:
    found = made({"a": [0.5, 0.7, 0.9, 0.7], "b": [0.4, 0.5, 0.6, 0.5]})
    values = np.array([0.5, 0.7, 0.9, 0.7])
    error = np.sqrt((1 / 4 + 2 / 8) * values.var(ddof=1))
    assert found.estimate("a") == pytest.approx((values.mean(), error, 4))
    gains = np.array([0.1, 0.2, 0.3, 0.2])
    assert found.behind("b") == pytest.approx((0.2, np.sqrt(0.5 * gains.var(ddof=1)), 4))


@pytest.mark.parametrize("n_splits", [2, 3, 10, 1000])
def test_few_splits_need_a_larger_distance(n_splits: int) -> None:
    """Student's t at the level of two standard errors of the normal."""
    factor = float(stats.t.ppf(stats.norm.cdf(2), n_splits - 1))
    assert Estimate(0.0, 0.01, n_splits).margin == pytest.approx(0.01 * factor)
    assert Estimate(0.0101 * factor, 0.01, n_splits).is_clear
    assert not Estimate(0.0099 * factor, 0.01, n_splits).is_clear


def test_equal_methods_leave_the_default() -> None:
    near = {"sae": [0.80, 0.72, 0.84], "gaussian-match": [0.70, 0.78, 0.85]}
    found = made(near)
    assert (found.best.method, found.recommended) == ("sae", "gaussian-match")
    assert found.in_words()[0].startswith("Take gaussian-match, the default: accuracy 77.7 ± ")
    assert "sae has the highest accuracy (+1.0 ± " in found.in_words()[0]
    assert "no reason to leave the default" in found.in_words()[0]
    ahead = made({"sae": [0.9, 0.91, 0.92], "gaussian-match": [0.5, 0.52, 0.51]})
    assert ahead.recommended == "sae"


def test_no_method_is_charged_for_what_is_done_once(data: Any, monkeypatch: Any) -> None:
    """A clock that jumps by a minute at the first fit of a process."""
    clock = Clock({ESZSL: 1.0}, monkeypatch)
    fit = ESZSL.fit

    def slow_once(self: Any, X: Any, *given: Any, **more: Any) -> Any:
        clock.now += 60
        return fit(self, X, *given, **more)

    monkeypatch.setattr(ESZSL, "fit", slow_once)
    found = run(data, ["eszsl"], n_splits=3, budget=10)
    assert (found.of("eszsl").n_splits, found.spent) == (3, 3)


def test_a_clear_lead_is_told_with_its_errors() -> None:
    found = made({"best": [0.80, 0.72, 0.84], "next": [0.70, 0.60, 0.74], "last": [0.2, 0.1, 0.3]})
    assert found.rivals == []
    words = found.in_words()
    assert words[0].startswith("Take best: accuracy 78.7 ± ")
    assert "best is ahead of next by 10.7 ± 0.9 points (12.1 standard errors), and" in words[1]
    assert len(words) == 2


def test_methods_that_cannot_be_told_apart() -> None:
    found = made({"best": [0.80, 0.72, 0.84], "near": [0.70, 0.78, 0.85]})
    assert found.rivals == ["near"]
    assert found.recommended == "best"
    assert "best cannot be told apart from near (+1.0 ± " in found.in_words()[1]
    assert "points on 3 splits)" in found.in_words()[1]


def test_a_rival_that_is_much_faster_is_named() -> None:
    accuracy = {"best": [0.80, 0.72, 0.84], "near": [0.70, 0.78, 0.85]}
    quick = Compared("near", (0.70, 0.78, 0.85), (0.70, 0.78, 0.85), (0.1, 0.1, 0.1))
    found = made(accuracy)
    found = replace(found, methods=(found.best, quick))
    assert "near is faster: a fit takes 0.1 s, that of best 1 s." in found.in_words()[1]


def test_where_accuracy_does_not_decide_retrieval_does() -> None:
    accuracy = {"best": [0.80, 0.72, 0.84], "near": [0.70, 0.78, 0.85]}
    precision = {"best": [0.5, 0.4, 0.6], "near": [0.7, 0.61, 0.8]}
    found = made(accuracy, precision=precision)
    assert (found.best.method, found.recommended) == ("best", "near")
    words = found.in_words()
    assert words[0].startswith("Take near: accuracy ")
    assert "by mAP near is ahead of it by 20.3 ± " in words[0]


def test_one_split_tells_next_to_nothing() -> None:
    found = made({"a": [0.9], "b": [0.1]})
    assert found.rivals == ["b"]
    assert "One split tells next to nothing" in found.in_words()[0]
    assert found.as_dict()["methods"][1]["behind"] == {"mean": 0.8, "error": None, "n_splits": 1}


def test_a_method_ahead_on_the_few_splits_it_had() -> None:
    found = made({"a": [0.5, 0.6, 0.5], "b": [0.9, 0.9]}, b={"left_out": "after 2 splits"})
    assert "b was not taken to the end: after 2 splits. It was ahead" in found.in_words()[-1]


def test_methods_that_do_the_same() -> None:
    found = made({"a": [0.5, 0.6, 0.5], "b": [0.5, 0.6, 0.5]})
    assert found.rivals == ["b"]
    assert "(+0.0 ± 0.0 points on 3 splits)" in found.in_words()[1]


# -- refusals -------------------------------------------------------------------------------------


def test_too_few_classes(data: Any) -> None:
    X, y = data.training_set()
    rows = np.isin(y, data.seen[:5])
    with pytest.raises(InputError, match="at least 6 seen classes are needed, there are 5; fit"):
        compare(X[rows], y[rows], data.classes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0}, "budget must be a number of seconds above 0"),
        ({"scoring": "f1"}, "scoring must be 'per_class_accuracy' or 'mean_average_precision'"),
        ({"methods": ["eszl"]}, "unknown method 'eszl'; nearest name: 'eszsl'"),
        ({"methods": [int]}, "a method is a name or an estimator"),
        ({"methods": []}, "no method to compare"),
        ({"n_splits": 0}, "n_splits must be at least 1"),
        ({"n_classes": 1}, "n_classes must be a whole number from 2"),
    ],
)
def test_refuses_what_cannot_be_compared(data: Any, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(data, **given)
