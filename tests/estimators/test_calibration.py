"""What seen classes lose where they compete with unseen ones: learned from training rows alone."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import unseen
from tests.common.small import small_jlse, small_kernel_jlse
from unseen import ESZSL, ClassTable, InputError, ZeroShotDataset, make_zero_shot
from unseen.estimators import SSEReLU, calibration
from unseen.estimators.calibration import FEWEST_CLASSES
from unseen.metrics import harmonic_mean, per_class_accuracy

MAKERS = [ESZSL, SSEReLU, small_jlse, small_kernel_jlse]


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return make_zero_shot(
        12, 4, 15, n_features=16, n_attributes=20, n_factors=5, noise=0.4, random_state=3,
        dtype=np.float64,
    )  # fmt: skip


def fitted(make: Any, data: ZeroShotDataset) -> Any:
    return make().fit(*data.training_set(), classes=data.classes)


_calibrated: dict[Any, Any] = {}


def calibrated(make: Any, data: ZeroShotDataset) -> Any:
    """A copy of a calibrated model; each is made once."""
    if make not in _calibrated:
        _calibrated[make] = fitted(make, data).calibrate_seen(*data.training_set())
    return copy.deepcopy(_calibrated[make])


@pytest.mark.parametrize("make", [ESZSL, small_jlse, small_kernel_jlse])
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_the_harmonic_mean_is_better_for_it(make: Any, seed: int) -> None:
    """Where descriptions do not tell all, so that every method is at home with seen classes."""
    data = make_zero_shot(rows_per_class=25, noise=0.7, table_noise=0.5, random_state=seed)
    X, y = data.training_set()
    new = np.arange(y.size) % 25 >= 20
    model = make().fit(X[~new], y[~new], classes=data.classes)

    def harmonic() -> float:
        unseen_X, unseen_y = data.unseen_set()
        seen_accuracy = per_class_accuracy(y[new], model.predict(X[new], "all"))
        unseen_accuracy = per_class_accuracy(unseen_y, model.predict(unseen_X, "all"))
        return harmonic_mean(seen_accuracy, unseen_accuracy)

    before = harmonic()
    assert model.calibrate_seen(X[~new], y[~new]) is model
    assert harmonic() > before


@pytest.mark.parametrize("make", MAKERS)
def test_it_comes_off_seen_columns_where_both_kinds_compete(make: Any, data: Any) -> None:
    X = data.X[::7]
    model, plain = calibrated(make, data), fitted(make, data)
    penalty = model.seen_penalty_
    assert np.isfinite(penalty)
    assert penalty != 0
    for group in ("seen", "unseen", data.seen[:2].tolist(), data.unseen[:1].tolist()):
        np.testing.assert_array_equal(model.similarities(X, group), plain.similarities(X, group))
    difference = plain.similarities(X, "all") - model.similarities(X, "all")
    is_seen = np.isin(np.sort(data.classes.names), data.seen)
    np.testing.assert_allclose(difference[:, is_seen], penalty)
    np.testing.assert_array_equal(difference[:, ~is_seen], 0)
    mixed = [data.seen[0].item(), data.unseen[0].item()]
    difference = plain.similarities(X, mixed) - model.similarities(X, mixed)
    np.testing.assert_allclose(difference, np.tile([penalty, 0], (len(X), 1)), atol=1e-12)


def test_precision_stays(data: Any) -> None:
    X, y = data.training_set()
    model = ESZSL().fit(X.astype(np.float32), y, classes=data.classes)
    model.calibrate_seen(X.astype(np.float32), y)
    assert model.similarities(X[:3].astype(np.float32), "all").dtype == np.float32


@pytest.mark.parametrize("make", [ESZSL, small_jlse])
def test_it_is_learned_from_training_rows_alone_and_the_same_each_time(
    make: Any, data: Any
) -> None:
    X, y = data.training_set()
    first = calibrated(make, data).seen_penalty_
    assert fitted(make, data).calibrate_seen(X, y).seen_penalty_ == first
    few = make().fit(X, y, classes=data.classes.select(data.seen)).calibrate_seen(X, y)
    assert few.seen_penalty_ == first, "unseen classes take no part"
    other = fitted(make, data).calibrate_seen(X, y, random_state=5).seen_penalty_
    assert other != first


@pytest.mark.parametrize("make", [ESZSL, small_jlse])
def test_the_model_itself_is_left_as_it_is(make: Any, data: Any) -> None:
    model = fitted(make, data)
    before = model.similarities(data.X[::9], "unseen")
    parameters, table = model.get_params(), model.class_table_
    model.calibrate_seen(*data.training_set())
    np.testing.assert_array_equal(model.similarities(data.X[::9], "unseen"), before)
    assert model.get_params() == parameters
    assert model.class_table_ is table


@pytest.mark.parametrize("make", MAKERS)
def test_a_new_fit_and_a_clone_know_nothing_of_it(make: Any, data: Any) -> None:
    model = calibrated(make, data)
    assert not hasattr(clone(model), "seen_penalty_")
    model.fit(*data.training_set(), classes=data.classes)
    assert not hasattr(model, "seen_penalty_")
    expected = fitted(make, data).similarities(data.X[::9], "all")
    np.testing.assert_array_equal(model.similarities(data.X[::9], "all"), expected)


@pytest.mark.parametrize("make", MAKERS)
def test_it_is_saved_and_goes_along_with_revealed_classes(
    make: Any, data: Any, tmp_path: Path
) -> None:
    model = calibrated(make, data)
    model.save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    assert loaded.seen_penalty_ == model.seen_penalty_
    np.testing.assert_array_equal(
        loaded.similarities(data.X, "all"), model.similarities(data.X, "all")
    )
    more = model.reveal({"new": data.classes.vectors.mean(axis=0)})
    assert more.seen_penalty_ == model.seen_penalty_


@pytest.mark.parametrize("make", [ESZSL, small_jlse])
def test_rows_and_labels_come_in_every_form(make: Any, data: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = data.training_set()
    columns = [f"f{k}" for k in range(X.shape[1])]
    frame = pandas.DataFrame(X, columns=columns)
    model = make().fit(frame, y, classes=data.classes)
    model.calibrate_seen(frame, y.tolist())
    assert model.seen_penalty_ == pytest.approx(calibrated(make, data).seen_penalty_)
    with pytest.raises(ValueError, match="feature names"):
        model.calibrate_seen(frame[columns[::-1]], y)


def test_what_cannot_be_is_refused(data: Any) -> None:
    X, y = data.training_set()
    model = ESZSL().fit(X, y, classes=data.classes)
    with pytest.raises(InputError, match="180 rows in X but 179 labels"):
        model.calibrate_seen(X, y[1:])
    with pytest.raises(InputError, match="'class 12' has 15 rows"):
        model.calibrate_seen(*data.unseen_set())
    few = np.isin(y, data.seen[: FEWEST_CLASSES - 1])
    with pytest.raises(InputError, match="at least 6 seen classes are needed, there are 5"):
        model.calibrate_seen(X[few], y[few])
    with pytest.raises(ValueError, match="NaN"):
        model.calibrate_seen(np.full_like(X, np.nan), y)
    assert not hasattr(model, "seen_penalty_")
    with pytest.raises(ValueError, match="not fitted"):
        ESZSL().calibrate_seen(X, y)


def test_the_median_of_three_choices_of_held_out_classes_is_taken(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {7: 0.3, 8: 0.9, 9: 0.4}
    held = calibration.HeldOut(np.eye(3), np.arange(3))
    monkeypatch.setattr(calibration, "_one_choice", lambda *given: (found[given[-1]], held))
    X, y = data.training_set()
    assert calibration.learn_calibration(ESZSL(), X, y, data.classes, 7).penalty == 0.4


@pytest.mark.parametrize("make", [ESZSL, small_jlse])
def test_a_model_without_unseen_classes_can_be_calibrated(make: Any, data: Any) -> None:
    X, y = data.training_set()
    table = ClassTable(data.seen, data.classes.select(data.seen).vectors)
    model = make().fit(X, y, classes=table).calibrate_seen(X, y)
    assert model.seen_penalty_ == calibrated(make, data).seen_penalty_
    new = model.reveal(data.classes.select(data.unseen))
    np.testing.assert_allclose(
        new.similarities(data.X[::9], "all"),
        calibrated(make, data).similarities(data.X[::9], "all"),
        atol=1e-9,
    )
