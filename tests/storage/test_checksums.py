"""By its file a model tells what it was trained on; fitting does not pay for it."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unseen
from tests.common.small import small_jlse
from unseen import ESZSL, ClassTable, make_zero_shot
from unseen.storage.checkpoint import data_checksum

DATA = make_zero_shot(4, 2, rows_per_class=3, n_features=5, n_attributes=4, n_factors=3)


def told(model: Any, folder: Path) -> dict[str, Any]:
    """What a model file says of the training data."""
    model.save(folder / "model")
    return unseen.load(folder / "model").training_data_


def rows(dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    X, y = DATA.training_set()
    return X.astype(dtype), y.copy()


def test_the_file_has_the_checksum_while_the_data_live(tmp_path: Path) -> None:
    X, y = rows()
    model = ESZSL().fit(X, y, classes=DATA.classes)
    assert model.training_data_ == {"rows": 12, "columns": 5}
    expected = {"rows": 12, "columns": 5, "sha256": data_checksum(X, y, DATA.classes)}
    assert told(model, tmp_path) == expected
    assert told(model.reveal({"new": np.ones(4)}), tmp_path) == expected
    assert told(unseen.load(tmp_path / "model"), tmp_path) == expected


@pytest.mark.parametrize("gone", ["X", "y"])
def test_without_the_data_there_is_none(gone: str, tmp_path: Path) -> None:
    X, y = rows()
    model = ESZSL().fit(X, y, classes=DATA.classes)
    if gone == "X":
        del X
    else:
        del y
    gc.collect()
    assert told(model, tmp_path) == {"rows": 12, "columns": 5}


def test_a_model_that_is_saved_twice_gives_one_file(tmp_path: Path) -> None:
    X, y = rows()
    model = ESZSL().fit(X, y, classes=DATA.classes)
    model.save(tmp_path / "once")
    del X, y
    gc.collect()
    model.save(tmp_path / "twice")
    assert (tmp_path / "once").read_bytes() == (tmp_path / "twice").read_bytes()


def test_a_model_does_not_keep_its_training_data_alive() -> None:
    class Watched(np.ndarray):
        pass

    X, y = rows()
    watched, dead = X.view(Watched), []

    weakref.finalize(watched, dead.append, True)
    model = ESZSL().fit(watched, y, classes=DATA.classes)
    del watched
    gc.collect()
    assert dead == [True]
    assert model.training_data_["rows"] == 12


def test_data_are_told_apart_by_it(tmp_path: Path) -> None:
    X, y = rows()
    other = X.copy()
    other[0, 0] = np.nextafter(other[0, 0], np.inf)
    table = ClassTable(DATA.classes.names, DATA.classes.vectors + 1e-9)
    turned, by_columns = y[::-1].copy(), np.asfortranarray(X)
    facts = [
        told(ESZSL().fit(*given, classes=classes), tmp_path)["sha256"]
        for given, classes in [
            ((X, y), DATA.classes), ((by_columns, y), DATA.classes), ((other, y), DATA.classes),
            ((X, turned), DATA.classes), ((X, y), table),
        ]
    ]  # fmt: skip
    assert facts[0] == facts[1]
    assert len(set(facts)) == 4


def test_lists_cannot_be_watched(tmp_path: Path) -> None:
    X, y = rows()
    lists = X.tolist(), y.tolist()
    for given in (lists, (X, lists[1]), (lists[0], y)):
        model = ESZSL().fit(*given, classes=DATA.classes)
        assert "sha256" not in told(model, tmp_path)


def test_a_frame_has_the_checksum_of_its_numbers(tmp_path: Path) -> None:
    X, y = rows()
    frame, labels = pd.DataFrame(X, columns=list("abcde")), pd.Series(y)
    model = ESZSL().fit(frame, labels, classes=DATA.classes)
    assert told(model, tmp_path)["sha256"] == data_checksum(X, y, DATA.classes)


@pytest.mark.parametrize(
    ("given", "used"),
    [(np.float16, np.float32), (np.float32, np.float32), (np.int64, np.float64)],
)
def test_it_is_that_of_the_numbers_that_were_trained_on(
    given: Any, used: Any, tmp_path: Path
) -> None:
    X, y = rows()
    X = np.round(8 * X).astype(given)
    model = ESZSL().fit(X, y, classes=DATA.classes)
    expected = data_checksum(X.astype(used), y, DATA.classes)
    assert told(model, tmp_path)["sha256"] == expected


def test_a_memory_map_is_read_in_blocks(tmp_path: Path, monkeypatch: Any) -> None:
    X, y = rows()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = ESZSL().fit(mapped, y, classes=DATA.classes)
    monkeypatch.setattr("unseen.rows.blocks.row_blocks.__defaults__", (100,))
    assert told(model, tmp_path)["sha256"] == data_checksum(X, y, DATA.classes)


@pytest.mark.filterwarnings("ignore::unseen.errors.TrustWarning")
def test_whole_numbers_as_labels(tmp_path: Path) -> None:
    X, y = rows()
    numbers = np.unique(y, return_inverse=True)[1]
    model = ESZSL().fit(X, numbers)
    assert len(told(model, tmp_path)["sha256"]) == 64


@pytest.mark.parametrize("make", [ESZSL, small_jlse])
def test_fit_makes_no_checksum(make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It would read all rows once more."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("a checksum was made")

    X, y = rows()
    with monkeypatch.context() as patch:
        patch.setattr("unseen.storage.checkpoint.data_checksum", refuse)
        patch.setattr("unseen.estimators.base.data_checksum", refuse)
        model = make().fit(X, y, classes=DATA.classes)
        with pytest.raises(AssertionError):
            model.save(tmp_path / "model")
    assert "sha256" in told(model, tmp_path)


def test_a_checkpoint_needs_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[int] = []

    def count(*given: Any) -> str:
        made.append(1)
        return data_checksum(*given)

    monkeypatch.setattr("unseen.estimators.base.data_checksum", count)
    X, y = rows()
    small_jlse().fit(X, y, classes=DATA.classes, checkpoint=tmp_path / "checkpoint")
    assert made == [1]


def test_copies_and_pickles_forget_the_data(tmp_path: Path) -> None:
    X, y = rows()
    model = ESZSL().fit(X, y, classes=DATA.classes)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert "sha256" not in told(other, tmp_path)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_a_new_fit_forgets_the_old_data(tmp_path: Path) -> None:
    X, y = rows()
    model = ESZSL().fit(X, y, classes=DATA.classes)
    first = told(model, tmp_path)["sha256"]
    half = X[::2].copy(), y[::2].copy()
    model.fit(*half, classes=DATA.classes)
    assert told(model, tmp_path)["sha256"] == data_checksum(*half, DATA.classes) != first
