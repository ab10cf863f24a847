"""Parts of a method: parameters of their own, which no other model shares."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import unseen
from unseen import COSTA, ESZSL, JLSE, InputError, tune
from unseen.classes import ClassHoldout
from unseen.estimators import DAP, METHODS, available
from unseen.evaluation.tuning.settings import fit_key
from unseen.rows import ClassScaler, RowScaler
from unseen.support.parameters import (
    Composite,
    Part,
    built,
    changed_parameters,
    plain_parameters,
    usual_parameters,
    without,
)

DATA = unseen.make_zero_shot(6, 3, rows_per_class=8, n_features=10, dtype=np.float64)
X, Y = DATA.training_set()
WITH_SCALERS = [name for name, kind in METHODS.items() if "row_scaler" in kind._parts]


class Hammer(Composite):
    def __init__(self, weight: float = 1.0, handle: Any = None) -> None:
        self.weight = weight
        self.handle = handle


class Handle(Composite):
    def __init__(self, length: int = 30) -> None:
        self.length = length


class Saw(Composite):
    def __init__(self, teeth: int = 40) -> None:
        self.teeth = teeth


Hammer._parts = {"handle": Part(Handle)}


class Worker(Composite):
    """A part of two kinds, whose default is not that of its class, and a part within a part."""

    _parts: ClassVar[Any] = {"tool": Part(lambda: Hammer(2.0), (Hammer, Saw))}

    def __init__(self, hours: int = 8, tool: Any = None) -> None:
        self.hours = hours
        self.tool = tool


# -- the parameters of scikit-learn ---------------------------------------------------------------


def test_nested_parameters_are_listed_while_the_part_is_none() -> None:
    found = ESZSL().get_params()
    assert found["row_scaler"] is None
    nested = {k: v for k, v in found.items() if "__" in k}
    assert nested == {
        "row_scaler__center": True, "row_scaler__power": 1.0, "row_scaler__unit_length": True,
        "class_scaler__center": True, "class_scaler__unit_length": True,
        "class_scaler__power": 1.0, "class_scaler__in_span": False,
    }  # fmt: skip
    assert not any("__" in name for name in ESZSL().get_params(deep=False))
    assert not any(name.startswith("class_scaler") for name in DAP().get_params())


def test_a_nested_parameter_makes_a_part_of_its_own() -> None:
    one, other = ESZSL(), ESZSL()
    one.set_params(row_scaler__center=False)
    assert repr(one) == "ESZSL(row_scaler=RowScaler(center=False))"
    assert other.row_scaler is None
    assert ESZSL().get_params()["row_scaler__center"] is True
    assert one.get_params()["row_scaler__center"] is False
    assert one.get_params()["row_scaler__unit_length"] is True


def test_two_models_with_the_same_part_do_not_influence_each_other() -> None:
    shared = RowScaler()
    one, other = ESZSL(row_scaler=shared), ESZSL(row_scaler=shared)
    one.set_params(row_scaler__center=False)
    assert shared.center is True
    assert other.row_scaler is shared
    fitted = ESZSL(row_scaler=shared).fit(X, Y, classes=DATA.classes)
    assert fitted.row_scaler is shared
    assert not hasattr(shared, "scaling_")
    revealed = fitted.reveal({"new": DATA.classes.vectors[0] + 1})
    revealed.set_params(row_scaler__unit_length=False)
    assert fitted.get_params()["row_scaler__unit_length"] is True


def test_a_part_and_its_parameters_at_once() -> None:
    given = RowScaler(unit_length=False)
    model = ESZSL().set_params(row_scaler__center=False, row_scaler=given, row_penalty=0.5)
    assert changed_parameters(model) == {
        "row_penalty": 0.5, "row_scaler__center": False, "row_scaler__unit_length": False,
    }  # fmt: skip
    assert given.center
    assert ESZSL(row_scaler=given).set_params(row_scaler=None).row_scaler is None


def test_clone_copies_the_parts() -> None:
    model = ESZSL(row_scaler=RowScaler(center=False))
    copy: Any = clone(model)
    assert plain_parameters(copy) == plain_parameters(model)
    assert copy.row_scaler is not model.row_scaler
    assert pickle.loads(pickle.dumps(model)).row_scaler.center is False


def test_the_page_of_a_model_can_be_shown() -> None:
    assert "RowScaler" in ESZSL(row_scaler=RowScaler(center=False))._repr_html_()
    assert repr(ESZSL()) == "ESZSL()"


def test_grid_search_over_a_nested_parameter() -> None:
    table = DATA.classes.select(DATA.seen)
    grid = {"row_scaler__center": [True, False], "class_scaler__unit_length": [True, False]}
    search = GridSearchCV(ESZSL(), grid, cv=ClassHoldout(2, 2)).fit(X, Y, classes=table)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    alone = ESZSL().set_params(**search.best_params_).fit(X, Y, classes=table)
    np.testing.assert_array_equal(search.best_estimator_.weights_, alone.weights_)


def test_tune_over_a_nested_parameter() -> None:
    found = tune(ESZSL(), X, Y, DATA.classes, {"row_scaler__center": [True, False]})
    assert {t.parameters["row_scaler__center"] for t in found.trials} == {True, False}
    assert all(t.error is None for t in found.trials)
    chosen = found.best_parameters["row_scaler__center"]
    assert plain_parameters(found.estimator)["row_scaler__center"] == chosen


def test_a_default_that_is_given_shares_the_fit_of_one_that_is_not() -> None:
    assert fit_key(ESZSL()) == fit_key(ESZSL(row_scaler=RowScaler(), class_scaler=ClassScaler()))
    assert fit_key(ESZSL()) != fit_key(ESZSL(row_scaler=RowScaler(center=False)))


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_SCALERS)
@pytest.mark.parametrize("bad", [5, "RowScaler", RowScaler, ClassScaler(), ESZSL()])
def test_a_wrong_type_is_refused_by_fit(name: str, bad: Any) -> None:
    model = METHODS[name](row_scaler=bad)  # pyright: ignore[reportCallIssue]
    with pytest.raises(InputError, match=r"^row_scaler must be RowScaler\(\), or None for the"):
        model.fit(X, Y, classes=DATA.classes)


def test_a_wrong_value_in_a_part_is_refused_by_fit() -> None:
    model = ESZSL(class_scaler=ClassScaler(center="no"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="class_scaler: center must be True or False, not 'no'"):
        model.fit(X, Y, classes=DATA.classes)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("row_scaler__centre", "no parameter 'row_scaler__centre'; nearest name: 'row_scaler__ce"),
        ("row_scaler__x", "no parameter 'row_scaler__x'"),
        ("row_scaler__", "no parameter 'row_scaler__'"),
        ("rowscaler__center", "nearest name: 'row_scaler__center'"),
        ("row_penalti", "nearest name: 'row_penalty'; it has"),
        ("row_penalty__x", "no parameter 'row_penalty__x'"),
        ("center", "no parameter 'center', but 'class_scaler__center', 'row_scaler__center'"),
    ],
)
def test_an_unknown_name_changes_nothing(name: str, message: str) -> None:
    model = ESZSL()
    with pytest.raises(InputError, match=message):
        model.set_params(**{"row_penalty": 7.0, "row_scaler__center": False, name: 1})
    assert repr(model) == "ESZSL()"
    with pytest.raises(InputError, match=message):
        tune(model, X, Y, DATA.classes, {name: [1]})


def test_a_nested_parameter_of_what_is_no_part() -> None:
    with pytest.raises(InputError, match=r"row_scaler must be RowScaler\(\).* not 5"):
        ESZSL(row_scaler=5).set_params(row_scaler__center=True)  # pyright: ignore[reportArgumentType]


# -- several kinds, parts of parts ----------------------------------------------------------------


def test_plain_parameters_build_the_same_again() -> None:
    for worker in (Worker(), Worker(tool=Saw(7)), Worker(3, Hammer(5.0, Handle(9)))):
        parameters = plain_parameters(worker)
        assert not any(isinstance(v, Composite) for v in parameters.values())
        assert plain_parameters(built(Worker, parameters)) == parameters
        assert plain_parameters(built(Worker, changed_parameters(worker))) == parameters


def test_kinds_have_their_own_parameters() -> None:
    worker = Worker()
    assert worker.get_params()["tool__weight"] == 2.0
    assert worker.get_params()["tool__handle__length"] == 30
    worker.set_params(tool__handle__length=9)
    assert (worker.tool.weight, worker.tool.handle.length) == (2.0, 9)
    worker = built(Worker, {"tool": "Saw", "tool__teeth": 7})
    assert changed_parameters(worker) == {"tool": "Saw", "tool__teeth": 7}
    assert usual_parameters(worker)["tool"] == "Hammer"
    assert built(Worker, {"tool": "Hammer"}).tool.weight == 2.0
    with pytest.raises(InputError, match="no parameter 'tool__weight'"):
        worker.set_params(tool__weight=1.0)
    with pytest.raises(InputError, match=r"tool must be Hammer or Saw, not 'Sow'; nearest.*'Saw'"):
        built(Worker, {"tool": "Sow"})
    with pytest.raises(InputError, match=r"tool must be Hammer\(\) or Saw\(\), or None"):
        Worker(tool=Handle())._check_parameters()
    with pytest.raises(InputError, match=r"tool: handle must be Handle\(\)"):
        Worker(tool=Hammer(handle=Saw()))._check_parameters()


def test_parameters_without_those_of_a_part() -> None:
    found = without(plain_parameters(Worker()), ["tool"])
    assert found == {"hours": 8}
    assert without({"a": 1, "b__c": 2, "b__d": 3}, ["b__c"]) == {"a": 1, "b__d": 3}


# -- what the scalers do in a method --------------------------------------------------------------


def test_a_scaler_before_a_method_equals_the_scaler_in_it() -> None:
    scaler = RowScaler(center=False)
    inside = ESZSL(row_scaler=scaler).fit(X, Y, classes=DATA.classes)
    off = RowScaler(unit_length=False, center=False)
    before: Any = make_pipeline(scaler, ESZSL(row_scaler=off))
    before.fit(X, Y, eszsl__classes=DATA.classes)
    np.testing.assert_array_equal(before[-1].weights_, inside.weights_)


def test_the_length_of_descriptions_means_nothing_to_costa() -> None:
    fits = [
        COSTA(class_scaler=ClassScaler(unit_length=on)).fit(X, Y, classes=DATA.classes)
        for on in (True, False)
    ]
    once, again = (model.similarities(DATA.X, "all") for model in fits)
    np.testing.assert_array_equal(once, again)


@pytest.mark.parametrize("name", WITH_SCALERS)
def test_every_switch_reaches_the_fit(name: str) -> None:
    if name not in available():
        pytest.skip("needs an extra")
    for part in {"row_scaler", "class_scaler"} & set(METHODS[name]._parts):
        for switch in ("center", "unit_length"):
            on = {f"{part}__center": True, f"{part}__unit_length": True}
            model = METHODS[name]().set_params(**on | {f"{part}__{switch}": False})
            model.fit(X, Y, classes=DATA.classes)
            for scaling in scalings_of(model, part):
                assert (scaling.mean is None) == (switch == "center")
                always = name == "costa" and part == "class_scaler"
                assert scaling.unit_length == (switch == "center" or always)


def scalings_of(model: Any, part: str) -> list[Any]:
    """What a fitted model has learned by a part; SJE scales group by group."""
    if isinstance(model, JLSE):
        spaces = model.latent_.spaces
        return [spaces.rows if part == "row_scaler" else spaces.descriptions]
    if part == "row_scaler":
        return [model.scaling_]
    return getattr(model, "class_scalings_", None) or [model.class_scaling_]
