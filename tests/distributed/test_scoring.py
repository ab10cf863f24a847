"""A fitted model on Dask collections: lazy, the same results, the model in the graph once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import unseen
from unseen import InputError, make_zero_shot
from unseen.estimators import METHODS
from unseen.estimators.eszsl import ESZSL
from unseen.estimators.gaussian_match import GaussianMatch
from unseen.rows.blocks import is_dask

dask = pytest.importorskip("dask")
da: Any = pytest.importorskip("dask.array")

QUICK = {"jlse": {"n_target_atoms": 12}, "kernel-jlse": {"n_target_atoms": 12}}
QUICK |= {"sse-int": {"n_rounds": 1}, "sse-relu": {"n_rounds": 1}}
QUICK |= {"ensemble": {"members": ["gaussian-match", "eszsl"]}}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data() -> unseen.ZeroShotDataset:
    return make_zero_shot(
        n_seen=8, n_unseen=3, rows_per_class=30, n_features=12, n_attributes=10, n_factors=5,
        noise=0.4, table_noise=0.2, random_state=3,
    )  # fmt: skip


@pytest.fixture(scope="module")
def model(data: Any) -> Any:
    return GaussianMatch().fit(*data.training_set(), classes=data.classes)


@pytest.fixture(scope="module")
def rows(data: Any) -> np.ndarray:
    return data.unseen_set()[0]


@pytest.mark.parametrize("name", [n for n, kind in METHODS.items() if not kind.needs])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_method_gives_in_blocks_what_it_gives_whole(
    name: str, data: Any, rows: np.ndarray
) -> None:
    model: Any = METHODS[name]().set_params(**QUICK.get(name, {}))
    model.fit(*data.training_set(), classes=data.classes)
    blocks = da.from_array(rows, chunks=(13, 5))
    scores = model.similarities(blocks, "all")
    assert is_dask(scores)
    assert scores.shape == (len(rows), 11)
    whole = model.similarities(rows, "all")
    assert scores.dtype == whole.dtype
    np.testing.assert_allclose(scores.compute(), whole, atol=1e-4 * float(np.std(whole)))
    codes = model.transform(blocks)
    expected = model.transform(rows)
    assert (codes.dtype, codes.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(codes.compute(), expected, atol=1e-4 * float(np.std(expected)))
    predicted = model.predict(blocks)
    assert predicted.dtype == model.predict(rows).dtype
    assert (predicted.compute() == model.predict(rows)).mean() > 0.98


def test_nothing_is_computed_before_it_is_asked_for(model: Any, rows: np.ndarray) -> None:
    read: list[int] = []

    def noted(block: np.ndarray) -> np.ndarray:
        read.append(len(block))
        return block

    blocks = da.from_array(rows, chunks=(20, -1)).map_blocks(noted, dtype=rows.dtype, meta=rows[:0])
    lazy = [model.predict(blocks), model.similarities(blocks), model.transform(blocks)]
    lazy += [*model.top_k(blocks, 2), model.predict_proba(blocks), model.decision_function(blocks)]
    lazy += [model.decision_function(blocks, model.seen_classes_[:2].tolist())]
    lazy += [model.score_pairs(np.eye(10), blocks), model.predict_pairs(np.eye(10), blocks)]
    lazy += [model.pair_probabilities(np.eye(10), blocks)]
    assert not read
    assert all(is_dask(one) for one in lazy)
    for one in lazy:
        found = one.compute()
        assert found.dtype == one.dtype
        assert found.shape == one.shape
    names, scores = model.top_k(rows, 2)
    np.testing.assert_array_equal(lazy[3].compute(), names)
    np.testing.assert_allclose(lazy[4].compute(), scores, rtol=1e-4)
    np.testing.assert_allclose(lazy[5].compute(), model.predict_proba(rows), atol=1e-4)


def test_the_model_stands_in_the_graph_once_and_light(data: Any, rows: np.ndarray) -> None:
    X, y = data.training_set()
    made = []

    class Noted(GaussianMatch):
        def _prepare(self, table: Any) -> Any:
            made.append("moments_" in vars(self))
            return super()._prepare(table)

    model: Any = Noted().fit(X, y, data.classes)
    made.clear()
    lazy = model.predict(da.from_array(rows, chunks=(5, -1)))
    n_blocks = lazy.numblocks[0]
    assert len(dict(lazy.__dask_graph__())) == 2 * n_blocks + 1
    lazy.compute()
    assert made == [False]


@pytest.mark.parametrize("against", [None, "unseen"])
@pytest.mark.parametrize("k", [1, 7, None])
def test_rank_is_that_of_all_rows(
    model: Any, rows: np.ndarray, k: int | None, against: str | None
) -> None:
    name = model.unseen_classes_[0]
    whole = model.rank(name, rows, k, against)
    for size in (1, 13, 1000):
        found = model.rank(name, da.from_array(rows, chunks=(size, -1)), k, against)
        np.testing.assert_allclose(found.scores, whole.scores, atol=2e-4)
        assert found.scores.dtype == whole.scores.dtype
        assert (found.rows == whole.rows).mean() > 0.9
    unknown = da.from_array(rows, chunks=(13, -1))
    unknown = unknown[unknown[:, 0] > -1e9]
    assert len(model.rank(name, unknown, k, against).rows) == len(whole.rows)


def test_of_equal_rows_the_first_come_first(model: Any, rows: np.ndarray) -> None:
    same = np.repeat(rows[:3], 50, axis=0)
    blocks = da.from_array(same, chunks=(7, -1))
    name = model.unseen_classes_[0]
    with dask.config.set(scheduler="threads", num_workers=4):
        np.testing.assert_array_equal(
            model.rank(name, blocks, 60).rows, model.rank(name, same, 60).rows
        )


def test_a_k_that_cannot_be(model: Any, rows: np.ndarray) -> None:
    blocks = da.from_array(rows, chunks=(13, -1))
    with pytest.raises(InputError, match="k=1000 is more than the 90 rows"):
        model.rank(model.classes_[0], blocks, 1000)
    with pytest.raises(ValueError, match="k"):
        model.rank(model.classes_[0], blocks, 0)


def test_score_and_a_penalty_of_seen_classes(data: Any, rows: np.ndarray) -> None:
    X, y = data.training_set()
    model: Any = ESZSL().fit(X, y, data.classes).calibrate_seen(X, y)
    truth = data.unseen_set()[1]
    blocks = da.from_array(rows, chunks=(13, -1))
    for candidates in (None, "all"):
        whole = model.score(rows, truth, candidates)
        assert model.score(blocks, truth, candidates) == whole
        assert model.score(blocks, da.from_array(truth, chunks=20), candidates) == whole
    with pytest.raises(InputError, match="not among the candidates"):
        model.score(blocks, truth, "seen")
    with pytest.raises(InputError, match="90 rows in X but 89 labels"):
        model.score(blocks, truth[1:])


def test_probabilities_and_none_of_these_are_those_of_one_process(data: Any) -> None:
    X, y = data.training_set()
    model: Any = ESZSL().fit(X, y, data.classes).calibrate_seen(X, y)
    rows = da.from_array(X, chunks=(17, -1))
    sure = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(rows).compute(), sure, atol=1e-6)
    limit = float(np.median(sure.max(axis=1)))
    found = model.predict(rows, reject=limit).compute()
    assert found.tolist() == model.predict(X, reject=limit).tolist()
    assert None in found.tolist()
