"""Every method on a row store: the model and the answers that the same rows give as an array."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import unseen
from unseen import ESZSL, GaussianMatch, InputError, make_zero_shot, open_rows
from unseen.datasets import ZeroShotDataset
from unseen.estimators import METHODS, available
from unseen.estimators.sse import SSEReLU
from unseen.evaluation.tuning import Protocol
from unseen.rows import blocks
from unseen.rows.parts import Part
from unseen.rows.store import RowStore


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return make_zero_shot(random_state=3)


@pytest.fixture
def stored(tmp_path: Path, data: ZeroShotDataset) -> ZeroShotDataset:
    """The same data in three files."""
    for number, part in enumerate(np.array_split(data.X, 3)):
        np.save(tmp_path / f"{number}.npy", part)
    store = open_rows(tmp_path, labels=data.y)
    return ZeroShotDataset("stored", store, data.y, data.classes, data.unseen)


SMALL: dict[str, dict[str, Any]] = {
    "jlse": {"n_target_atoms": 10, "training__max_iter": 1},
    "kernel-jlse": {"n_target_atoms": 10, "training__max_iter": 1},
    "latem": {"max_iter": 3},
}


@pytest.mark.parametrize("name", sorted(set(available()) - {"ensemble"}))
def test_every_method_gives_what_it_gives_on_an_array(
    name: str, data: ZeroShotDataset, stored: ZeroShotDataset, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 4096)
    (X, y), (rows, labels) = data.training_set(), stored.training_set()
    assert isinstance(rows, RowStore)
    make = lambda: METHODS[name]().set_params(**SMALL.get(name, {}))  # noqa: E731
    one = make().fit(X, y, classes=data.classes)
    other = make().fit(rows, labels, classes=data.classes)
    test, store = data.unseen_set()[0], stored.unseen_set()[0]
    np.testing.assert_array_equal(one.similarities(test), one.similarities(store))
    np.testing.assert_allclose(one.similarities(test), other.similarities(store), rtol=1e-6)
    np.testing.assert_array_equal(one.predict(test), other.predict(store))
    np.testing.assert_array_equal(one.transform(test), one.transform(store))
    name = data.unseen[0]
    np.testing.assert_array_equal(one.rank(name, test, 7).rows, other.rank(name, store, 7).rows)


@pytest.mark.parametrize("name", ["gaussian-match", "eszsl", "sae", "gfzsl", "ale"])
def test_sparse_rows_give_what_dense_ones_give(name: str, data: ZeroShotDataset):
    X, y = data.training_set()
    X = np.where(np.abs(X) > np.median(np.abs(X)), X, 0)
    one = METHODS[name]().fit(X, y, classes=data.classes)
    other = METHODS[name]().fit(open_rows(scipy.sparse.csr_array(X)), y, classes=data.classes)
    test = data.unseen_set()[0]
    np.testing.assert_allclose(one.similarities(test), other.similarities(test), rtol=1e-6)


def test_labels_of_a_store_are_its_own(data: ZeroShotDataset, stored: ZeroShotDataset):
    rows, labels = stored.training_set()
    alone = GaussianMatch().fit(rows, classes=data.classes)
    given = GaussianMatch().fit(rows, labels, classes=data.classes)
    test = stored.unseen_set()[0]
    np.testing.assert_array_equal(alone.similarities(test), given.similarities(test))
    assert alone.score(test) == given.score(test, data.unseen_set()[1])
    with pytest.raises(InputError, match="y is None"):
        GaussianMatch().fit(open_rows(data.X), classes=data.classes)


def test_partial_fit(data: ZeroShotDataset, stored: ZeroShotDataset):
    X, y = data.training_set()
    rows, _ = stored.training_set()
    whole = GaussianMatch().fit(X, y, classes=data.classes)
    halves = GaussianMatch()
    for half in np.array_split(np.arange(y.size), 2):
        halves.partial_fit(rows.select(half), classes=data.classes)
    test = data.unseen_set()[0]
    np.testing.assert_allclose(whole.similarities(test), halves.similarities(test), atol=1e-4)


def test_evaluate_and_calibrate(data: ZeroShotDataset, stored: ZeroShotDataset):
    one = ESZSL().fit(*data.training_set(), classes=data.classes)
    two = ESZSL().fit(*stored.training_set(), classes=data.classes)
    here, there = unseen.evaluate(one, data), unseen.evaluate(two, stored)
    assert here.per_class_accuracy == there.per_class_accuracy
    assert here.mean_average_precision == pytest.approx(there.mean_average_precision)
    one.calibrate_seen(*data.training_set())
    two.calibrate_seen(*stored.training_set())
    assert one.seen_penalty_ == pytest.approx(two.seen_penalty_)


def test_a_model_of_a_store_is_saved_with_a_fingerprint(
    tmp_path: Path, data: ZeroShotDataset, stored: ZeroShotDataset
):
    rows, labels = stored.training_set()
    model = GaussianMatch().fit(rows, labels, classes=data.classes)
    model.save(tmp_path / "m.unseen")
    loaded = unseen.load(tmp_path / "m.unseen")
    assert len(loaded.training_data_["sha256"]) == 64
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


def test_a_method_that_needs_all_rows_says_so(
    data: ZeroShotDataset, stored: ZeroShotDataset, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("unseen.rows.store.free_memory", lambda: 1000.0)
    with pytest.raises(InputError, match=r"SSEReLU needs all rows in memory: .* GaussianMatch"):
        SSEReLU().fit(*stored.training_set(), classes=data.classes)
    GaussianMatch().fit(*stored.training_set(), classes=data.classes)


def test_wrong_columns(data: ZeroShotDataset, stored: ZeroShotDataset):
    model = ESZSL().fit(*data.training_set(), classes=data.classes)
    with pytest.raises(InputError, match="X has 3 features, but ESZSL is expecting"):
        model.predict(open_rows(np.zeros((2, 3))))


@pytest.mark.parametrize("name", ["gaussian-match", "eszsl", "sae", "gfzsl"])
def test_memory_above_the_store_does_not_grow_with_it(name: str, data: ZeroShotDataset):
    """Rows that are made when they are read, and labels that are there before."""

    class Drawn(Part):
        name, dtype = "drawn", np.dtype(np.float32)

        def __init__(self, n_rows: int) -> None:
            self.shape = (n_rows, data.X.shape[1])

        def fill(self, out: np.ndarray, start: int) -> None:
            out[:] = data.X[np.arange(start, start + len(out)) % 1000]

    def peak(n_rows: int) -> int:
        rows = RowStore([Drawn(n_rows)], np.resize(data.y[:1000], n_rows))
        METHODS[name]().fit(rows, classes=data.classes)
        tracemalloc.start()
        METHODS[name]().fit(rows, classes=data.classes)
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return taken

    assert peak(400_000) < 1.1 * peak(100_000)


def test_tuning_and_comparing_find_what_they_find_on_an_array(
    data: ZeroShotDataset, stored: ZeroShotDataset, tmp_path: Path
):
    (X, y), rows = data.training_set(), stored.training_set()[0]
    protocol = Protocol(n_splits=2)
    here = unseen.tune(ESZSL(), X, y, data.classes, protocol=protocol)
    found = unseen.tune(
        ESZSL(), rows, None, data.classes, protocol=protocol, checkpoint=tmp_path / "tune"
    )
    assert [trial.scores for trial in found.trials] == [trial.scores for trial in here.trials]
    one = unseen.compare(X, y, data.classes, ["eszsl"], n_splits=2)
    other = unseen.compare(
        rows, None, data.classes, ["eszsl"], n_splits=2, checkpoint=tmp_path / "compare"
    )
    assert other.methods[0].per_class_accuracy == one.methods[0].per_class_accuracy
    with pytest.raises(InputError, match="the class of every row is needed"):
        unseen.tune(ESZSL(), X, None, data.classes)


def test_a_store_without_labels_says_how_to_get_them(data: ZeroShotDataset):
    with pytest.raises(InputError, match=r"y is None, and .* no labels inside or beside it"):
        ESZSL().fit(open_rows(data.X), classes=data.classes)
