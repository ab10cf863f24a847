"""Row stores: the same numbers as an array, from any kind of file."""

from __future__ import annotations

import base64
import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen import ESZSL, ClassTable, InputError, open_rows
from unseen.datasets import ZeroShotDataset
from unseen.files import reading
from unseen.rows.store import RowStore


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((57, 5)).astype(np.float32)


def shards(folder: Path, X: np.ndarray, *bounds: int) -> str:
    for number, part in enumerate(np.split(X, bounds)):
        np.save(folder / f"part-{number}.npy", part)
    return str(folder / "*.npy")


def test_shards_are_one_array(tmp_path: Path, X: np.ndarray):
    store = open_rows(shards(tmp_path, X, 10, 11, 40))
    assert store.shape == X.shape
    assert store.dtype == np.float32
    assert len(store) == 57
    np.testing.assert_array_equal(store[:], X)
    np.testing.assert_array_equal(store[9:41], X[9:41])
    np.testing.assert_array_equal(store[::-3], X[::-3])
    np.testing.assert_array_equal(store[[56, 0, 10, 10, -1]], X[[56, 0, 10, 10, -1]])
    np.testing.assert_array_equal(store[X[:, 0] > 0], X[X[:, 0] > 0])
    np.testing.assert_array_equal(store[12], X[12])
    np.testing.assert_array_equal(np.concatenate([block for _, block in store.blocks()]), X)
    assert store[3:3].shape == (0, 5)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_rows_in_any_order(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    X = np.arange(60, dtype=np.float64).reshape(20, 3)
    store = open_rows(shards(tmp_path_factory.mktemp("s"), X, 4, 4, 13))
    first = data.draw(st.lists(st.integers(0, 19), min_size=1, max_size=30))
    chosen = store.select(np.array(first))
    second = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=30))
    np.testing.assert_array_equal(
        chosen[np.array(second, dtype=int)], X[first][np.array(second, dtype=int)]
    )
    np.testing.assert_array_equal(chosen[1:7], X[first][1:7])


def test_numbers_in_names_count_as_numbers(tmp_path: Path):
    for number in (10, 9, 100, 1):
        np.save(tmp_path / f"emb_{number}.npy", np.full((1, 2), float(number)))
    assert open_rows(tmp_path)[:][:, 0].tolist() == [1, 9, 10, 100]


@pytest.mark.parametrize(
    ("given", "used"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("u1", "f8"), (">f4", "f4")]
)
def test_precision_is_that_of_an_array(tmp_path: Path, given: str, used: str):
    X = np.arange(12).reshape(4, 3).astype(given)
    np.save(tmp_path / "x.npy", X)
    store = open_rows(tmp_path / "x.npy")
    assert store.dtype == store[:].dtype == np.dtype(used)
    np.testing.assert_array_equal(store[:], X.astype(used))


def test_rows_stored_by_columns(tmp_path: Path, X: np.ndarray):
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    store = open_rows(tmp_path / "x.npy")
    np.testing.assert_array_equal(store[3:20], X[3:20])
    np.testing.assert_array_equal(store[[5, 2]], X[[5, 2]])


def test_a_column_of_lists(tmp_path: Path, X: np.ndarray):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for number, kind in enumerate([pa.list_(pa.float32(), 5), pa.list_(pa.float32())]):
        table = pa.table(
            {"key": ["x"] * 57, "label": [f"c{k % 3}" for k in range(57)],
             "embedding": pa.array(X.tolist(), kind)}
        )  # fmt: skip
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=13)
    store = open_rows(tmp_path)
    assert store.shape == (114, 5)
    np.testing.assert_array_equal(store[:], np.vstack([X, X]))
    np.testing.assert_array_equal(store[[113, 2, 60]], np.vstack([X, X])[[113, 2, 60]])
    assert store.labels is not None
    assert store.labels[:4].tolist() == ["c0", "c1", "c2", "c0"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(store))[:], store[:])


def test_lists_of_different_lengths_are_an_error(tmp_path: Path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"embedding": pa.array([[1.0], [2.0, 3.0, 4.0]])})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x\.parquet: the lists of column 'embedding' differ"):
        open_rows(tmp_path / "x.parquet")[:]
    both = pa.table({"a": [[1.0]], "b": [[2.0]]})
    pq.write_table(both, tmp_path / "y.parquet")
    with pytest.raises(InputError, match="say which by `column`"):
        open_rows(tmp_path / "y.parquet")
    assert open_rows(tmp_path / "y.parquet", column="b")[0].tolist() == [2.0]


def test_numbers_beside_lists_are_not_dropped_in_silence(tmp_path: Path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    lists = [[1.0, 2.0]] * 2
    named = {"label": [0, 1], "ID": [7, 8], "image": ["a.png", "b.png"], "says": ["x", "y"]}
    pq.write_table(pa.table({"embedding": lists, **named}), tmp_path / "x.parquet")
    assert open_rows(tmp_path / "x.parquet").shape == (2, 2)
    table = pa.table({"age": [1.5, 2], "tame": [True, False], "embedding": lists, **named})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match="columns of numbers, 'age', 'tame', beside the lists of"):
        open_rows(tmp_path / "x.parquet")
    assert open_rows(tmp_path / "x.parquet", column="embedding").shape == (2, 2)


def test_lists_differ_in_length_between_groups_of_rows(tmp_path: Path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"embedding": [[1.0, 2.0], [3.0, 4.0], [5.0], [6.0]]})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    with pytest.raises(InputError, match="differ in length"):
        open_rows(tmp_path / "x.parquet")[:]


@pytest.mark.parametrize("cells", [[1, 2, None], [True, False, None], [[1.0], [2.0], None]])
def test_an_empty_cell_of_parquet_is_an_error(tmp_path: Path, cells: list[Any]):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": cells}), tmp_path / "x.parquet", row_group_size=2)
    with pytest.raises(InputError, match=r"x\.parquet: column 'a' is empty in row 2"):
        open_rows(tmp_path / "x.parquet")[:]


def test_an_empty_label_of_parquet_is_an_error(tmp_path: Path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "label": ["wren", None]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="column 'label' is empty in row 1"):
        open_rows(tmp_path / "x.parquet")


def test_an_index_of_pandas_is_no_feature(tmp_path: Path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 3]).to_parquet(tmp_path / "x.parquet")
    store = open_rows(tmp_path / "x.parquet")
    assert store.columns == ("a",)
    assert store[:].tolist() == [[1.0], [2.0]]


def test_files_without_rows_count_for_nothing(tmp_path: Path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"embedding": pa.array([[1.0, 2.0]], pa.list_(pa.float64()))})
    pq.write_table(table.slice(0, 0), tmp_path / "0.parquet")
    pq.write_table(table, tmp_path / "1.parquet")
    assert open_rows(tmp_path)[:].tolist() == [[1.0, 2.0]]


def test_labels_alone_are_no_rows(tmp_path: Path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"label": ["wren"]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="has no columns of features"):
        open_rows(tmp_path / "x.parquet")


def test_a_column_for_each_feature(tmp_path: Path, X: np.ndarray):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = {f"f{k}": X[:, k] for k in range(5)}
    pq.write_table(pa.table(columns | {"label": ["a"] * 57}), tmp_path / "x.parquet")
    store = open_rows(tmp_path / "x.parquet")
    assert store.columns == ("f0", "f1", "f2", "f3", "f4")
    np.testing.assert_array_equal(store[:], X)
    turned = store.with_columns(["f3", "f0"])
    np.testing.assert_array_equal(turned[2:9], X[2:9, [3, 0]])
    np.testing.assert_array_equal(turned.select(np.array([4, 1]))[:], X[[4, 1]][:, [3, 0]])
    with pytest.raises(InputError, match="has no column 'f7'; it has 'f0'"):
        store.with_columns(["f7"])


def test_zarr(tmp_path: Path, X: np.ndarray):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "x.zarr"), mode="w")
    create = getattr(group, "create_array", None) or group.create_dataset  # zarr 3, zarr 2
    create("features", shape=X.shape, chunks=(10, 5), dtype="f4")[:] = X
    create("labels", shape=(57,), dtype="i4")[:] = np.arange(57) % 4
    store = open_rows(tmp_path / "x.zarr")
    np.testing.assert_array_equal(store[:], X)
    np.testing.assert_array_equal(store[[50, 3, 3]], X[[50, 3, 3]])
    assert store.labels is not None
    assert store.labels[5] == "1"


def zarr_v2(folder: Path, **facts: Any) -> Path:
    """The folder of a Zarr array of the second format, four rows of two numbers."""
    (folder / "features").mkdir(parents=True)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    array: dict[str, Any] = {"zarr_format": 2, "shape": [4, 2], "chunks": [4, 2], "dtype": "<f4"}
    array |= {"compressor": None, "fill_value": 0, "order": "C", "filters": None}
    (folder / "features" / ".zarray").write_text(json.dumps(array | facts))
    (folder / "features" / "0.0").write_bytes(np.arange(8, dtype="f4").tobytes())
    return folder


class Evil:
    """What a pickle can do: make a folder."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.made),)


@pytest.mark.parametrize(
    "facts",
    [
        {"filters": [{"id": "pickle"}]},
        {"compressor": {"id": "pickle"}},
        {"dtype": "|O", "filters": [{"id": "pickle"}], "fill_value": "pickled"},
        {"filters": [{"id": "json2"}, {"name": "mine"}]},
        {"compressor": {}},
    ],
)
def test_a_zarr_folder_that_runs_code_is_refused(tmp_path: Path, facts: dict[str, Any]) -> None:
    pytest.importorskip("zarr")
    content = pickle.dumps(Evil(tmp_path / "made"))
    if "fill_value" in facts:
        facts = facts | {"fill_value": base64.b64encode(content).decode()}
    folder = zarr_v2(tmp_path / "x.zarr", **facts)
    (folder / "features" / "0.0").write_bytes(content)
    with pytest.raises(InputError, match=r"\.zarray names the codec .* not known to be harmless"):
        open_rows(folder)
    # The same said for all arrays at once, which is what a library reads first.
    whole = folder / "features" / ".zarray"
    (folder / ".zmetadata").write_text(
        json.dumps({"metadata": {"features/.zarray": json.loads(whole.read_text())}})
    )
    whole.write_text(whole.read_text().replace("pickle", "zlib"))
    with pytest.raises(InputError, match="names the codec"):
        open_rows(folder)
    assert not (tmp_path / "made").exists()


def test_a_damaged_zarr_folder_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    np.testing.assert_array_equal(
        open_rows(zarr_v2(tmp_path / "well.zarr"))[:], np.arange(8).reshape(4, 2)
    )
    wrong: list[dict[str, Any]] = [
        {"chunks": [1 << 40, 2]},
        {"shape": [4, 1 << 40]},
        {"shape": [1 << 40, 2]},  # chunks that are not there are zeros to Zarr
        {"shape": [10**30, 2]},
        {"dtype": "<f9"},
        {"shape": [-4, 2]},
        {"shape": "abc"},
        {"compressor": {"id": "zlib"}},
    ]
    for k, facts in enumerate(wrong):
        with pytest.raises(InputError, match=r"\.zarr"):
            open_rows(zarr_v2(tmp_path / f"{k}.zarr", **facts))[:]
    folder = zarr_v2(tmp_path / "labels.zarr")
    shutil.copytree(folder / "features", folder / "labels")
    facts = (folder / "labels" / ".zarray").read_text().replace("[4, 2]", f"[{1 << 40}, 2]", 1)
    (folder / "labels" / ".zarray").write_text(facts)
    with pytest.raises(InputError, match="the whole unpacks"):
        open_rows(folder)
    folder = zarr_v2(tmp_path / "cut.zarr")
    (folder / "features" / ".zarray").write_text('{"zarr_format": 2, "sha')
    with pytest.raises(InputError, match="is not a JSON file, or it is truncated"):
        open_rows(folder)
    folder = zarr_v2(tmp_path / "pipe.zarr")
    (folder / "features" / "0.0").unlink()
    os.mkfifo(folder / "features" / "0.0")
    with pytest.raises(InputError, match="is no regular file"):
        open_rows(folder)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia", "bsr"])
def test_sparse_files_of_every_kind(tmp_path: Path, X: np.ndarray, kind: str):
    X[X < 0.5] = 0
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_array(X).asformat(kind))
    np.testing.assert_array_equal(open_rows(tmp_path / "x.npz")[:], X)


def test_sparse_rows(tmp_path: Path, X: np.ndarray):
    X[X < 0.5] = 0
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_array(X))
    for store in (open_rows(tmp_path / "x.npz"), open_rows(scipy.sparse.csc_matrix(X))):
        np.testing.assert_array_equal(store[4:30], X[4:30])
        np.testing.assert_array_equal(store[[9, 1]], X[[9, 1]])


def test_labels_beside(tmp_path: Path, X: np.ndarray):
    names = np.array([f"class {k % 4}" for k in range(57)])
    pattern = shards(tmp_path, X, 20)
    assert open_rows(pattern).labels is None
    np.save(tmp_path / "labels.npy", names)
    for source in (pattern, tmp_path):
        found = open_rows(source).labels
        assert found is not None
        assert found.tolist() == names.tolist()
    chosen = open_rows(pattern).select(np.array([5, 2])).labels
    assert chosen is not None
    assert chosen.tolist() == names[[5, 2]].tolist()
    numbers = open_rows(pattern, labels=np.arange(57)).labels
    assert numbers is not None
    assert numbers[3] == 3
    with pytest.raises(InputError, match=r"57 rows in .* but 3 labels"):
        open_rows(pattern, labels=["a", "b", "c"])


def test_labels_of_a_folder_are_not_those_of_some_of_its_files(tmp_path: Path, X: np.ndarray):
    pattern = shards(tmp_path, X, 20, 40)
    np.save(tmp_path / "labels.npy", np.arange(57))
    for source in (str(tmp_path / "part-[01].npy"), [tmp_path / f"part-{k}.npy" for k in (0, 1)]):
        some = open_rows(source)
        np.testing.assert_array_equal(some[:], X[:40])
        assert some.labels is None
        for rows in (some, some.select(slice(5, 30))):
            with pytest.raises(InputError, match="has 57 labels for 40 rows: open all"):
                ESZSL().fit(rows, classes=ClassTable(["0", "1"], np.eye(2)))
    labelled = open_rows(str(tmp_path / "part-[01].npy"), np.arange(40)).labels
    assert labelled is not None
    assert labelled.tolist() == list(range(40))
    with pytest.raises(InputError, match=r"40 rows in .* but 57 labels"):
        open_rows(str(tmp_path / "part-[01].npy"), tmp_path / "labels.npy")
    np.save(tmp_path / "labels.npy", np.arange(40))
    for source in (pattern, tmp_path):
        with pytest.raises(InputError, match=r"labels\.npy has 40 labels for 57 rows$"):
            open_rows(source)


def test_labels_are_those_of_the_folder_of_a_file(tmp_path: Path, X: np.ndarray):
    for name, rows in (("a", X[:20]), ("b", X[20:])):
        (tmp_path / name).mkdir()
        shards(tmp_path / name, rows, 12)
        np.save(tmp_path / name / "labels.npy", [f"{name}{k}" for k in range(len(rows))])
    in_turn = [tmp_path / name / f"part-{k}.npy" for k in (0, 1) for name in "ab"]
    labels = open_rows(in_turn).labels
    assert labels is not None
    assert labels[[0, 12, 24, 32]].tolist() == ["a0", "b0", "a12", "b12"]
    # As many labels as rows in all, but not in each folder.
    np.save(tmp_path / "a" / "labels.npy", np.arange(37))
    np.save(tmp_path / "b" / "labels.npy", np.arange(20))
    with pytest.raises(InputError, match="has 37 labels for 20 rows"):
        open_rows(in_turn)


def test_labels_of_several_folders(tmp_path: Path, X: np.ndarray):
    for name, rows in (("day-10", X[20:]), ("day-9", X[:20])):
        (tmp_path / name).mkdir()
        shards(tmp_path / name, rows, 12)
        np.save(tmp_path / name / "labels.npy", np.repeat(name, len(rows)))
    store = open_rows(str(tmp_path / "day-*" / "*.npy"))
    np.testing.assert_array_equal(store[:], X)
    assert store.labels is not None
    assert store.labels.tolist() == ["day-9"] * 20 + ["day-10"] * 37


def test_rows_are_selected_by_whatever_reads_them(X: np.ndarray):
    store = open_rows(X).with_labels([str(number) for number in range(57)])
    for chosen in (X[:, 0] > 0, slice(50, 3, -2), [4, -1]):
        np.testing.assert_array_equal(store.select(chosen)[:], X[chosen])
        labels = np.arange(57)[chosen].astype(str)
        np.testing.assert_array_equal(store.select(chosen).labels, labels)
    assert store[[]].shape == (0, 5)
    with pytest.raises(InputError, match="a mask of 3 rows for a store of 57"):
        store.select(np.ones(3, bool))


@pytest.mark.parametrize("source", [5, None, [[1.0, 2.0]]])
def test_what_is_no_rows_is_an_error(source: Any):
    with pytest.raises(InputError, match="rows are opened from a file, a pattern"):
        open_rows(source)


def test_a_slow_format_is_spooled_once(tmp_path: Path, X: np.ndarray):
    store = RowStore(open_rows(scipy.sparse.csr_array(X))._parts)
    fast = store.select(np.array([7, 3, 50])).spooled()
    folder = Path(fast.paths[0]).parent
    assert not fast.is_slow
    assert fast.spooled() is fast
    np.testing.assert_array_equal(fast[:], X[[7, 3, 50]])
    del fast
    assert not folder.exists()


def test_what_does_not_fit_in_memory_is_said(
    tmp_path: Path, X: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    store = open_rows(shards(tmp_path, X, 20))
    np.testing.assert_array_equal(np.asarray(store), X)
    monkeypatch.setattr("unseen.rows.store.free_memory", lambda: 2 * store.nbytes - 1.0)
    with pytest.raises(InputError, match="half of which may be used"):
        np.asarray(store)


def test_errors_name_the_file(tmp_path: Path, X: np.ndarray):
    X[33, 2] = np.nan
    store = open_rows(shards(tmp_path, X, 20))
    for read in (lambda: store[:], lambda: store[[33]], store.check):
        with pytest.raises(InputError, match=r"part-1\.npy is NaN or infinite in row 13, column 2"):
            read()
    store[:33]
    np.save(tmp_path / "part-2.npy", np.zeros((2, 4)))
    with pytest.raises(InputError, match=r"part-2\.npy has 4 columns, .*part-0\.npy has 5"):
        open_rows(tmp_path)
    (tmp_path / "part-1.npy").write_bytes((tmp_path / "part-1.npy").read_bytes()[:-40])
    with pytest.raises(InputError, match=r"truncated|shorter"):
        open_rows(tmp_path / "part-1.npy")
    with pytest.raises(InputError, match=r"no file of rows matches .*\*\.foo"):
        open_rows(str(tmp_path / "*.foo"))
    with pytest.raises(InputError, match="whole rows"):
        store[0, 1]
    with pytest.raises(InputError, match="between 0 and 56"):
        store[57]


def test_huge_numbers_are_no_infinity(tmp_path: Path):
    np.save(tmp_path / "x.npy", np.full((4, 3), 3e38, np.float32))
    assert open_rows(tmp_path / "x.npy")[:].max() > 2e38


def test_a_fingerprint_sees_other_rows(tmp_path: Path, X: np.ndarray):
    store = open_rows(shards(tmp_path, X, 20))
    assert store.fingerprint() == open_rows(X).fingerprint()
    X[4, 4] += 1
    assert store.fingerprint() != open_rows(X).fingerprint()


@pytest.mark.parametrize("kind", [".npy", ".parquet"])
def test_a_file_that_is_written_again_is_an_error(tmp_path: Path, X: np.ndarray, kind: str):
    if kind == ".parquet":
        pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")

    def write(rows: np.ndarray) -> Path:
        path = tmp_path / f"x{kind}"
        if kind == ".npy":
            np.save(path, rows)
        else:
            pandas.DataFrame(rows, columns=list("abcdefghij")[: rows.shape[1]]).to_parquet(path)
        return path

    store = open_rows(write(X))
    for other in (np.hstack([X, X]), np.vstack([X, X]), X.astype(np.float64)):
        write(other)
        for read in (lambda: store[:], lambda: store[[1, 3]]):
            with pytest.raises(InputError, match=f"x{kind} has changed since it was opened"):
                read()
    (tmp_path / f"x{kind}").unlink()
    with pytest.raises(InputError, match=r"does not exist|No such file"):
        open_rows(store)[:]


def test_a_zarr_folder_that_is_gone_is_not_zeros(tmp_path: Path, X: np.ndarray):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "x.zarr"), mode="w")
    create = getattr(group, "create_array", None) or group.create_dataset  # zarr 3, zarr 2
    create("features", shape=X.shape, chunks=(10, 5), dtype="f4")[:] = X
    store = open_rows(tmp_path / "x.zarr")
    shutil.rmtree(tmp_path / "x.zarr")
    for read in (lambda: store[:], lambda: store[[1, 3]]):
        with pytest.raises(InputError, match=r"x\.zarr.features does not exist any more"):
            read()


def test_rows_stored_by_columns_are_mapped_once_for_many_of_them(
    tmp_path: Path, X: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    store, maps = open_rows(tmp_path / "x.npy"), []
    read = reading.read_npy
    monkeypatch.setattr(reading, "read_npy", lambda path: maps.append(path) or read(path))
    np.testing.assert_array_equal(store[::2], X[::2])
    assert len(maps) == 1


def test_a_zarr_folder_is_found_from_another_folder(
    tmp_path: Path, X: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "x.zarr"), mode="w")
    create = getattr(group, "create_array", None) or group.create_dataset  # zarr 3, zarr 2
    create("features", shape=X.shape, chunks=(10, 5), dtype="f4")[:] = X
    monkeypatch.chdir(tmp_path)
    blocks = pytest.importorskip("dask.array") and open_rows("x.zarr").to_dask(20)
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(blocks.compute(scheduler="sync"), X)


@pytest.mark.skipif(np.finfo(np.longdouble).maxexp <= 1024, reason="no longer than float64 here")
def test_numbers_beyond_float64_are_told_as_infinite(tmp_path: Path):
    """Warnings are errors here: numpy's own do not reach the user."""
    X, y = np.eye(6, 2, dtype=np.longdouble), ["a", "b"] * 3
    X[3, 1] = np.longdouble("1e4000")
    np.save(tmp_path / "x.npy", X)
    table, store = ClassTable(["a", "b"], np.eye(2)), open_rows(tmp_path / "x.npy")
    said = "NaN or infinite in row 3, column 1"
    for use in (
        lambda: ZeroShotDataset("x", X, np.array(y), table, np.array([], str)),
        lambda: ESZSL().fit(X, y, table),
        store.check,
        lambda: store[[3, 1]],
    ):
        with pytest.raises(InputError, match=said):
            use()
    with pytest.raises(InputError, match="class 'b' is NaN or infinite in column 1"):
        ClassTable(["a", "b"], X[2:4] + np.eye(2))
