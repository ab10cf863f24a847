"""Fits on Dask collections against fits on the same rows in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import unseen
from unseen import InputError, make_zero_shot
from unseen.estimators import COSTA, EXEM, GFZSL, METHODS, SAE, ZeroShotClassifier, base, method
from unseen.estimators.eszsl import ESZSL
from unseen.estimators.gaussian_match import GaussianMatch

dask = pytest.importorskip("dask")
da: Any = pytest.importorskip("dask.array")

# EXEM by ridge regression, as support vectors are found to a tolerance only.
MODELS = [GaussianMatch(), GFZSL(), ESZSL(), SAE(), EXEM(regression="ridge")]
MODELS += [COSTA(classifier="ridge", penalty=0.01)]


def named(model: Any) -> str:
    return type(model).__name__


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data() -> unseen.ZeroShotDataset:
    return make_zero_shot(
        n_seen=8, n_unseen=3, rows_per_class=40, n_features=12, n_attributes=10, n_factors=5,
        noise=0.4, table_noise=0.2, random_state=3, dtype=np.float64,
    )  # fmt: skip


def fitted(model: ZeroShotClassifier, X: Any, y: Any, data: Any) -> Any:
    return type(model)(**model.get_params(deep=False)).fit(X, y, data.classes)


def check_alike(one: Any, other: Any, rows: np.ndarray, share: float = 1e-9) -> None:
    """Scores that differ by rounding alone."""
    a, b = one.similarities(rows, "all"), other.similarities(rows, "all")
    np.testing.assert_allclose(a, b, rtol=0, atol=share * float(np.std(a)))


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_a_fit_in_blocks_is_the_fit_in_memory(model: Any, data: Any) -> None:
    X, y = data.training_set()
    here, rows = fitted(model, X, y, data), data.unseen_set()[0]
    dX = da.from_array(X, chunks=(61, 5))  # columns in several blocks too
    check_alike(fitted(model, dX, y, data), here, rows)
    check_alike(fitted(model, dX, da.from_array(y, chunks=47), data), here, rows)
    found = fitted(model, dX, list(y), data)
    assert found.training_data_ == here.training_data_
    assert not [name for name, value in vars(found).items() if base.is_dask(value)]


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_one_block_gives_the_same_bits_and_so_does_every_scheduler(model: Any, data: Any) -> None:
    X, y = data.training_set()
    rows = data.unseen_set()[0]
    whole = fitted(model, da.from_array(X, chunks=X.shape), y, data)
    np.testing.assert_array_equal(
        whole.similarities(rows), fitted(model, X, y, data).similarities(rows)
    )
    if isinstance(model, GaussianMatch):
        assert whole.temperature_ == fitted(model, X, da.from_array(y), data).temperature_ > 1
    dX = da.from_array(X, chunks=(23, -1))
    one = fitted(model, dX, y, data)
    with dask.config.set(scheduler="threads", num_workers=3):
        other = fitted(model, dX, y, data)
    np.testing.assert_array_equal(one.similarities(rows), other.similarities(rows))


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_single_precision_and_rows_that_are_never_negative(model: Any, data: Any) -> None:
    X, y = data.training_set()
    X = np.abs(X).astype(np.float32)
    here = fitted(model, X, y, data)
    there = fitted(model, da.from_array(X, chunks=(50, -1)), y, data)
    assert there.scaling_.power == here.scaling_.power
    check_alike(there, here, np.abs(data.unseen_set()[0]).astype(np.float32), 2e-3)


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_fewer_rows_than_columns_come_into_memory(model: Any, data: Any) -> None:
    X, y = data.training_set()
    X, y = np.hstack([X, X**2, X**3, X**4])[::8], y[::8]
    assert X.shape[0] < X.shape[1]
    here = fitted(model, X, y, data)
    there = fitted(model, da.from_array(X, chunks=(7, 7)), da.from_array(y, chunks=9), data)
    np.testing.assert_array_equal(here.similarities(X), there.similarities(X))


def test_kinds_of_blocks(data: Any) -> None:
    X, y = data.training_set()
    rows, dX = data.unseen_set()[0], da.from_array(X, chunks=(50, -1))
    half = X.astype(np.float16)
    here = ESZSL().fit(half.astype(np.float32), y, data.classes)
    check_alike(ESZSL().fit(dX.astype(np.float16), y, data.classes), here, rows, 2e-3)
    whole = ESZSL().fit(np.round(8 * X), y, data.classes)
    found = ESZSL().fit((8 * dX).round().astype(int), y, data.classes)
    check_alike(found, whole, rows)
    in_memory = ESZSL().fit(X, y, data.classes)
    sparse = dX.map_blocks(scipy.sparse.csr_array, dtype=X.dtype)
    check_alike(ESZSL().fit(sparse, y, data.classes), in_memory, rows)
    check_alike(ESZSL().fit(dX.map_blocks(np.ma.asarray), y, data.classes), in_memory, rows)


def test_blocks_of_unknown_length_are_counted_once(data: Any) -> None:
    X, y = data.training_set()
    read = []

    def counted(block: np.ndarray) -> np.ndarray:
        read.append(len(block))
        return block

    dX = da.from_array(X, chunks=(80, -1)).map_blocks(counted, dtype=X.dtype, meta=X[:0])
    chosen = np.arange(len(X)) % 3 != 0
    unknown, labels = dX[da.from_array(chosen, chunks=80)], da.from_array(y, chunks=80)[chosen]
    assert np.isnan(unknown.shape[0])
    read.clear()
    found = GFZSL().fit(unknown, labels, data.classes)
    n_known = len(read)
    read.clear()
    GFZSL().fit(dX, y, data.classes)
    assert n_known == len(read) + dX.numblocks[0], "one pass more, for the lengths"
    check_alike(found, GFZSL().fit(X[chosen], y[chosen], data.classes), data.unseen_set()[0])


def test_empty_blocks_are_no_matter(data: Any) -> None:
    X, y = data.training_set()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    kept = y != y[0]
    unknown = da.from_array(X, chunks=(20, -1))[da.from_array(kept, chunks=20)]
    labels = da.from_array(y.astype(object), chunks=20)[da.from_array(kept, chunks=20)]
    found: Any = GaussianMatch().fit(unknown, labels, data.classes)
    check_alike(found, GaussianMatch().fit(X[kept], y[kept], data.classes), X)
    assert (found.predict(unknown).compute() == found.predict(X[kept])).all()


def test_a_dask_frame_brings_names_of_columns(data: Any) -> None:
    pandas, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = data.training_set()
    names = [f"f{k}" for k in range(X.shape[1])]
    frame = pandas.DataFrame(X, columns=names).assign(label=y)
    there = dd.from_pandas(frame, npartitions=4)
    found: Any = ESZSL().fit(there[names], there["label"], data.classes)
    assert found.feature_names_in_.tolist() == names
    check_alike(found, ESZSL().fit(frame[names], y, data.classes), frame[names])  # pyright: ignore
    turned = found.predict(there[names[::-1]])
    np.testing.assert_array_equal(turned.compute(), found.predict(frame[names]))
    with pytest.raises(InputError, match="no column 'f11'; nearest name: 'f1'"):
        found.predict(there[names[:-1]])


def test_partial_fit_goes_on(data: Any) -> None:
    X, y = data.training_set()
    half = len(X) // 2
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    here = GaussianMatch().partial_fit(X[:half], y[:half], data.classes)
    here.partial_fit(X[half:], y[half:])
    there = GaussianMatch().partial_fit(da.from_array(X[:half], chunks=(33, 6)), y[:half],
                                        data.classes)  # fmt: skip
    there.partial_fit(da.from_array(X[half:], chunks=(33, 6)), da.from_array(y[half:], chunks=20))
    check_alike(there, here, data.unseen_set()[0])


def test_a_model_of_dask_rows_is_saved_without_reading_them_again(
    data: Any, tmp_path: Path
) -> None:
    X, y = data.training_set()
    read = []

    def noted(block: np.ndarray) -> np.ndarray:
        read.append(1)
        return block

    dX = da.from_array(X, chunks=(50, -1)).map_blocks(noted, dtype=X.dtype, meta=X[:0])
    model = GaussianMatch().fit(dX, y, data.classes)
    read.clear()
    model.save(tmp_path / "model.unseen")
    assert not read
    check_alike(unseen.load(tmp_path / "model.unseen"), model, X)


# -- what cannot be used --------------------------------------------------------------------------


@pytest.fixture
def rows(data: Any) -> Any:
    return da.from_array(data.training_set()[0], chunks=(50, -1))


def test_labels_that_do_not_fit(data: Any, rows: Any) -> None:
    y = data.training_set()[1]
    with pytest.raises(InputError, match="320 rows in X but 319 labels in y"):
        ESZSL().fit(rows, y[1:], data.classes)
    with pytest.raises(InputError, match="320 rows in X but 319 labels in y"):
        ESZSL().fit(rows, da.from_array(y[1:], chunks=50), data.classes)
    with pytest.raises(InputError, match="requires y to be passed"):
        ESZSL().fit(rows, None, data.classes)
    wrong = np.where(y == y[0], "nobody", y)
    with pytest.raises(InputError, match="class 'nobody' has 40 rows and no line"):
        ESZSL().fit(rows, da.from_array(wrong, chunks=50), data.classes)
    with pytest.raises(InputError, match="only one class"):
        ESZSL().fit(rows, da.from_array(np.full(len(y), y[0]), chunks=50), data.classes)
    mixed = y.astype(object)
    mixed[130] = None
    with pytest.raises(InputError, match="block 2 of y: labels must be strings or numbers"):
        ESZSL().fit(rows, da.from_array(mixed, chunks=50), data.classes)
    mixed[100:150] = 3
    with pytest.raises(InputError, match="mixed kinds"):
        ESZSL().fit(rows, da.from_array(mixed, chunks=50), data.classes)
    with pytest.raises(InputError, match="flat Dask array"):
        ESZSL().fit(rows, rows, data.classes)


def test_a_row_that_is_no_number_is_named(data: Any) -> None:
    X, y = data.training_set()
    X = X.copy()
    X[123, 7] = np.nan
    dX = da.from_array(X, chunks=(50, 6))
    with pytest.raises(InputError, match=r"block 2, row 23, row 123 of all, column 7"):
        GaussianMatch().fit(dX, y, data.classes)
    model: Any = GaussianMatch().fit(np.nan_to_num(X), y, data.classes)
    lazy = model.predict(dX)
    with pytest.raises(InputError, match=r"block 2, row 23, column 7"):
        lazy.compute()


def test_what_is_no_table_of_numbers(data: Any, rows: Any) -> None:
    y = data.training_set()[1]
    with pytest.raises(InputError, match="1 dimension"):
        ESZSL().fit(rows[:, 0], y, data.classes)
    with pytest.raises(InputError, match="Dask array of object"):
        ESZSL().fit(rows.astype(object), y, data.classes)
    with pytest.raises(InputError, match="is a Dask Delayed"):
        ESZSL().fit(dask.delayed(np.ones)((3, 3)), y, data.classes)
    with pytest.raises(InputError, match="has no rows"):
        ESZSL().fit(rows[:0], y[:0], data.classes)
    model = ESZSL().fit(rows, y, data.classes)
    with pytest.raises(InputError, match="X has 11 features, but ESZSL is expecting 12"):
        model.predict(rows[:, 1:])


def test_other_methods_say_which_can_and_the_way_out(data: Any, rows: Any) -> None:
    y = data.training_set()[1]
    for name in METHODS:
        kind = method(name)
        if kind.row_reading == "blocks" or kind.fits_on_workers:
            assert kind.__name__ in base._ON_DASK
        elif not kind.needs:
            with pytest.raises(InputError, match=r"GaussianMatch, JLSE.*X\.compute\(\)"):
                kind().fit(rows, y, data.classes)
    model = ESZSL().fit(rows, y, data.classes)
    with pytest.raises(InputError, match=r"takes no Dask collection.*X\.compute\(\)"):
        unseen.index(model, rows)
    with pytest.raises(InputError, match=r"takes no Dask collection"):
        model.calibrate_seen(rows, y)
    with pytest.raises(InputError, match=r"explain takes one row that is here"):
        model.explain(rows[:1])
    with pytest.raises(InputError, match=r"takes no Dask collection"):
        unseen.tune(ESZSL(), rows, y, data.classes)
    with pytest.raises(InputError, match=r"takes no Dask collection"):
        unseen.compare(rows, y, data.classes)


def test_rows_in_memory_import_no_dask() -> None:
    code = (
        "import sys, unseen; d = unseen.load_digits_zero_shot(); X, y = d.training_set()\n"
        "m = unseen.GaussianMatch().fit(X, y, d.classes); m.rank(m.classes_[0], X, 3)\n"
        "assert not any(name.partition('.')[0] in ('dask', 'distributed') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
