"""Ensemble: its score by hand, members as parameters, weights by held-out classes, model files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import unseen
from unseen import ESZSL, SAE, InputError, ZeroShotClassifier, make_zero_shot
from unseen.estimators import Ensemble, GaussianMatch
from unseen.storage import models
from unseen.storage.tensors import Arrays
from unseen.storage.values import decode_model, encode_model
from unseen.support.parameters import built, changed_parameters, plain_parameters


class Noise(ZeroShotClassifier):
    """Scores that have nothing to do with the class."""

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: Any) -> None:
        self.weights_ = np.random.default_rng(0).normal(size=(X.shape[1], table.n_attributes))

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return np.sin(1000 * X @ self.weights_)

    def _class_codes(self, table: Any) -> np.ndarray:
        return np.asarray(table.vectors)


@pytest.fixture(scope="module")
def data() -> unseen.ZeroShotDataset:
    return make_zero_shot(
        n_seen=15, n_unseen=4, rows_per_class=12, n_features=16, n_attributes=20, n_factors=5,
        noise=0.5, table_noise=0.2, random_state=4, dtype=np.float64,
    )  # fmt: skip


def fitted(data: unseen.ZeroShotDataset, **parameters: Any) -> Ensemble:
    return Ensemble(**parameters).fit(*data.training_set(), classes=data.classes)


# -- the score ------------------------------------------------------------------------------------


def test_the_score_is_the_weighted_mean_in_units_of_each_member(data: Any) -> None:
    X, y = data.training_set()
    model = fitted(data, members=[ESZSL(), "sae"], weights=[3, 1])
    expected = 0.0
    for member, weight in ((ESZSL(), 0.75), (SAE(), 0.25)):
        member.fit(X, y, classes=data.classes)
        spread = np.sqrt(member.similarities(X, "seen").var(axis=1).mean())
        expected += weight * member.similarities(data.X, "all") / spread
    np.testing.assert_allclose(model.similarities(data.X, "all"), expected, rtol=1e-9)


def test_a_score_does_not_depend_on_the_other_candidates(data: Any) -> None:
    model, (X, _) = fitted(data, members=["eszsl", "sae"]), data.unseen_set()
    together = model.similarities(X, "all")
    alone = np.hstack([model.similarities(X, [n]) for n in np.sort(data.classes.names)])
    np.testing.assert_allclose(alone, together, rtol=1e-9)


def test_the_units_of_a_member_do_not_matter(data: Any) -> None:
    class Louder(ESZSL):
        def _row_codes(self, X: np.ndarray) -> np.ndarray:
            return 1000 * super()._row_codes(X)

    quiet, loud = fitted(data, members=["sae", ESZSL()]), fitted(data, members=["sae", Louder()])
    np.testing.assert_allclose(loud.similarities(data.X), quiet.similarities(data.X), rtol=1e-7)


def test_one_member_ranks_as_it_would_alone(data: Any) -> None:
    alone = ESZSL().fit(*data.training_set(), classes=data.classes)
    model = fitted(data, members=["eszsl"], weights="holdout")
    np.testing.assert_array_equal(model.predict(data.X), alone.predict(data.X))


def test_embeddings_stand_side_by_side(data: Any) -> None:
    model = fitted(data, members=["eszsl", "sae"])
    widths = [member.transform(data.X).shape[1] for member in model.members_]
    assert model.transform(data.X).shape == (data.X.shape[0], sum(widths))


# -- weights --------------------------------------------------------------------------------------


def test_held_out_classes_find_the_member_that_knows_nothing(data: Any) -> None:
    model = fitted(data, members=["gaussian-match", Noise()], weights="holdout")
    good, bad = model.member_weights_
    assert good + bad == pytest.approx(1)
    assert bad < 0.4 < 0.6 < good
    X, y = data.unseen_set()
    assert model.score(X, y) > fitted(data, members=["gaussian-match", Noise()]).score(X, y)


@pytest.mark.parametrize("weights", [None, "holdout", [2, 1]])
def test_calibration_and_reveal(data: Any, weights: Any) -> None:
    X, y = data.training_set()
    model = fitted(data, members=["eszsl", "sae"], weights=weights).calibrate_seen(X, y)
    assert np.isfinite(model.seen_penalty_)
    wider = model.reveal({"new": data.classes.vectors.mean(axis=0)})
    assert "new" in wider.classes_
    assert wider.similarities(X).shape[1] == data.unseen.size + 1


def test_too_few_classes_to_learn_weights(data: Any) -> None:
    X, y = data.training_set()
    rows = np.isin(y, data.seen[:3])
    with pytest.raises(InputError, match=r"at least 4 seen classes.*there are 3; weights=None"):
        Ensemble(["eszsl", "sae"], "holdout").fit(X[rows], y[rows], classes=data.classes)


# -- members as parameters ------------------------------------------------------------------------


def test_parameters_of_members_are_parameters_of_the_ensemble() -> None:
    mine = GaussianMatch(misfit=0.1)
    model: Any = Ensemble([mine, "eszsl", "gaussian-match"])
    found = model.get_params()
    assert found["members__gaussian_match__misfit"] == 0.1
    assert found["members__gaussian_match_2__misfit"] == GaussianMatch().misfit
    assert found["members__gaussian_match__row_scaler__center"] is False
    model.set_params(members__gaussian_match__misfit=0.3, members__eszsl__row_penalty=7.0)
    assert (model.members[0].misfit, model.members[1].row_penalty) == (0.3, 7.0)
    assert mine.misfit == 0.1, "a member that others may have is left alone"
    other: Any = clone(model)
    assert other.get_params()["members__eszsl__row_penalty"] == 7.0
    assert other.members[1] is not model.members[1]


def test_plain_parameters_name_members_and_what_was_changed() -> None:
    model = Ensemble(["sae", ESZSL(row_penalty=7.0)], [2, 1])
    found = plain_parameters(model)
    assert found == {
        "members": ["sae", "eszsl"], "weights": [2, 1], "members__eszsl__row_penalty": 7.0
    }  # fmt: skip
    again = built(Ensemble, found)
    assert plain_parameters(again) == found
    assert changed_parameters(Ensemble()) == {}
    assert changed_parameters(model) == found
    assert plain_parameters(Ensemble())["members"] == ["gaussian-match", "kernel-jlse"]
    part = {"members": "jlse, sae", "members__jlse__testing": "DataFit"}
    assert type(built(Ensemble, part).get_params()["members__jlse__testing"]).__name__ == "DataFit"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": []}, "members must be a list of at least one method"),
        ({"members": 7}, "members must be None, a list, a tuple or a string, not 7"),
        ({"members": ["eszl"]}, "members must be methods, not 'eszl'; nearest name: 'eszsl'"),
        ({"members": [int]}, "members must be methods, by name or as in ESZSL"),
        ({"members": [ESZSL(row_penalty=-1)]}, "member eszsl: row_penalty must be a positive"),
        ({"weights": "best"}, "weights must be None, 'holdout', a list or a tuple, not 'best'"),
        ({"weights": [1]}, "2 numbers, one for each of 'gaussian_match', 'kernel_jlse'"),
        ({"weights": [0, 0]}, "not all zero"),
        ({"weights": [1, -1]}, "not negative"),
        ({"weights": [1, float("nan")]}, "not negative"),
    ],
)
def test_refuses_what_cannot_be_used(data: Any, parameters: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(data, **parameters)


def test_a_parameter_that_no_member_has() -> None:
    with pytest.raises(InputError, match="no parameter 'members__sae__misfit'"):
        Ensemble(["sae"]).set_params(members__sae__misfit=1)


# -- model files ----------------------------------------------------------------------------------


def test_a_file_keeps_fitted_members_and_an_ensemble_of_ensembles(
    data: Any, tmp_path: Path
) -> None:
    inner = Ensemble(["eszsl", SAE(encoder_weight=3.0)], [1, 2])
    model = fitted(data, members=[inner, "gaussian-match"], weights="holdout")
    model.save(tmp_path / "m")
    loaded = unseen.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.similarities(data.X), model.similarities(data.X))
    assert plain_parameters(loaded) == plain_parameters(model)
    assert loaded.members[0].members[1].encoder_weight == 3.0
    again: Any = clone(loaded)
    again.fit(*data.training_set(), classes=data.classes)
    np.testing.assert_allclose(again.similarities(data.X), model.similarities(data.X), rtol=1e-7)


def forged(model: Ensemble, path: tuple[Any, ...], value: Any) -> Any:
    """The model as it comes back from a file in which something else stands at a place."""
    arrays = Arrays()
    content = encode_model(model, arrays)
    place: Any = content["state"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    found = decode_model(content, arrays)
    models._check(found, arrays)
    return found


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("members_",), {"list": []}, "no members"),
        (("members_",), {"list": [1, 2]}, "no members"),
        (("members_", "list", 0), {"eszsl": {}}, "has no attribute|same data"),
        (("members_", "list", 0, "fitted", "state", "n_features_in_"), 7, "same data"),
        (("member_weights_",), {"list": [1, 2]}, "one scale and one weight"),
        (("member_scales_",), None, "one scale and one weight"),
        (("members_", "list", 0, "fitted", "state", "fit"), 7, "fit"),
        (("members_", "list", 0, "fitted", "method"), "row scaler", "is not a method"),
    ],
)
def test_a_forged_file_is_refused(data: Any, path: Any, value: Any, message: str) -> None:
    model = fitted(data, members=["eszsl", "sae"])
    with pytest.raises((InputError, KeyError, AttributeError), match=message):
        forged(model, path, value)
