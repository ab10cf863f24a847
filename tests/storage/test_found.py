"""Inputs that `benchmarks.fuzz` has found, each as small as it can be made."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from tests.storage.test_damage import forged, loads, parts
from unseen import ESZSL, ClassTable, InputError, index, make_zero_shot, open_rows
from unseen.datasets import ZeroShotDataset
from unseen.datasets.encoder_file import read_encoder
from unseen.encoders.cache import Cache, key_of
from unseen.estimators import open_index
from unseen.files.reading import read_mat, read_npy, read_npz, sha256
from unseen.files.tables import read_table
from unseen.storage import tensors

DATA = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)


@pytest.fixture(scope="module")
def model() -> ESZSL:
    return ESZSL().fit(*DATA.training_set(), DATA.classes)


def test_no_labels_at_all_are_counted() -> None:
    with pytest.raises(InputError, match="28 rows of features but 0 labels"):
        ZeroShotDataset("a", DATA.X, DATA.y[:0], DATA.classes, DATA.unseen)


def test_an_array_that_fits_by_chance_is_refused(model: ESZSL, tmp_path: Path) -> None:
    """As many rows as the classes that a model is tried on, but a mean has none."""
    model.save(tmp_path / "model")
    found = parts((tmp_path / "model").read_bytes())
    scaling = found.manifest["state"]["class_scaling_"]["class scaling"]
    scaling[1] = found.manifest["state"]["weights_"]
    with pytest.raises(InputError, match="its scaling is not for rows or descriptions of 4"):
        loads(forged(found))


def test_a_part_in_the_place_of_names_is_told_in_one_line(model: ESZSL, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    found = parts((tmp_path / "model").read_bytes())
    state = found.manifest["state"]
    state["class_table_"]["class table"][0] = state["scaling_"]
    with pytest.raises(InputError, match=r"class names must be a list, not a RowScaling$"):
        loads(forged(found))


# -- little that unpacks to much ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cells", "letters"])
def test_equal_cells_of_parquet_do_not_swell(name: str, tmp_path: Path) -> None:
    """Half a megabyte took 20 GB."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n, word = (3000, "a" * 100_000) if name == "letters" else (10_000_000, "a")
    words = pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), pa.array([word]))
    path = tmp_path / "x.parquet"
    columns = {"label": words, "f": pa.array(np.zeros(n, np.float32))}
    parquet.write_table(pa.table(columns), path, row_group_size=n)
    for read in (open_rows, ClassTable.read):
        with pytest.raises(InputError, match=r"unpacks [\d,]+ bytes to [\d,]+, which no data do"):
            read(path)


@pytest.mark.parametrize("kind", ["coo", "csc", "dia"])
def test_a_sparse_matrix_of_endless_rows_is_refused(kind: str, tmp_path: Path) -> None:
    """As rows it would have a number for each."""
    matrix = scipy.sparse.coo_array(([1.0], ([0], [0])), shape=(10**12, 4))
    scipy.sparse.save_npz(tmp_path / "x.npz", matrix.asformat(kind))
    with pytest.raises(InputError, match="where each of 1,000,000,000,000 rows begins unpacks"):
        open_rows(tmp_path / "x.npz")


def test_a_sparse_matrix_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_array(np.ones((1, 1))))
    with np.load(tmp_path / "x.npz") as whole:
        arrays: dict[str, Any] = dict(whole) | {"data": np.zeros(9_000_000)}
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    with pytest.raises(InputError, match="array 'data' unpacks"):
        open_rows(tmp_path / "x.npz")


def test_one_long_cell_under_many_names_is_refused(tmp_path: Path) -> None:
    """70 kB took 12 GB and three minutes."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.mat"
    with h5py.File(path, "w") as file:
        file["#refs#/a"] = np.full((1, 1000), ord("x"), np.uint16)
        for name, n in (("labels", 30_000), ("many", 1_100_000)):
            cells = np.full((1, n), file["#refs#/a"].ref, h5py.ref_dtype)
            file.create_dataset(name, data=cells, compression="gzip")
        few = np.full((1, 3), file["#refs#/a"].ref, h5py.ref_dtype)
        file["few"] = few
    for name in ("labels", "many"):
        with pytest.raises(InputError, match=f"'{name}' unpacks [\\d,]+ bytes to [\\d,]+, "):
            read_mat(path, [name])
    assert read_mat(path, ["few"])["few"].tolist() == ["x" * 1000] * 3


def test_texts_of_hdf5_are_no_paths_to_follow(tmp_path: Path) -> None:
    """They were looked up as the names of other data sets, behind links too."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.mat", "w") as file:
        file["secret"] = np.full((1, 3), ord("x"), np.uint16)
        file["labels"] = np.array(["secret"], dtype=h5py.string_dtype())
    with pytest.raises(InputError, match="variable 'labels' is no cell array of texts"):
        read_mat(tmp_path / "a.mat", ["labels"])


@pytest.mark.parametrize("kind", ["letters", "cells"])
def test_names_of_matlab_count_as_what_they_take_in_memory(kind: str, tmp_path: Path) -> None:
    """64 kB took 3 GB: a name of one letter is a string of more than 50 bytes."""

    def element(kind: int, raw: bytes) -> bytes:
        return struct.pack("<II", kind, len(raw)) + raw

    def matrix(kind: int, n: int, content: bytes) -> bytes:
        flags, shape = struct.pack("<II", kind, 0), struct.pack("<ii", n, 1)
        head = element(6, flags) + element(5, shape) + element(1, b"labels") + bytes(2)
        return element(14, head + content)

    of_letters = matrix(4, 10**6, element(16, b"x" * 10**6))
    of_cells = matrix(1, 300_000, element(14, b"") * 300_000)
    packed = zlib.compress(of_letters if kind == "letters" else of_cells)
    raw = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + element(15, packed)
    (tmp_path / "a.mat").write_bytes(raw)
    with pytest.raises(InputError, match=r"'labels' unpacks [\d,]+ bytes to [\d,]+, which no data"):
        read_mat(tmp_path / "a.mat")


@pytest.mark.parametrize("kind", ["<U0", "|S0", "|V0"])
def test_items_of_no_width_are_refused(kind: str, tmp_path: Path) -> None:
    """130 bytes held ten thousand million names."""
    content = {"descr": kind, "fortran_order": False, "shape": (10**10,)}
    raw = _with_header(repr(content).encode().ljust(118) + b"\n") + b"x"
    (tmp_path / "labels.npy").write_bytes(raw)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("labels.npy", raw)
    said = r"10,000,000,000 items of no width \(.*0\), which hold nothing"
    with pytest.raises(InputError, match=rf"labels\.npy has {said}"):
        read_npy(tmp_path / "labels.npy")
    with pytest.raises(InputError, match=rf"a\.npz: array 'labels' has {said}"):
        read_npz(tmp_path / "a.npz", ["labels"])


def test_no_names_have_no_width(tmp_path: Path) -> None:
    none = np.ndarray(0, "U0")
    np.save(tmp_path / "a.npy", none)
    np.savez(tmp_path / "a.npz", a=none, b=np.array([], str))
    assert read_npy(tmp_path / "a.npy").size == 0
    assert [a.size for a in read_npz(tmp_path / "a.npz", ["a", "b"]).values()] == [0, 0]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("first", ["", '"\n"'])
def test_a_header_of_very_many_columns_is_refused(suffix: str, first: str, tmp_path: Path) -> None:
    """40 MB of commas took 2 GB and 14 seconds before they were one sentence."""
    path = tmp_path / f"a{suffix}"
    mark = "," if suffix == ".csv" else "\t"
    path.write_text(first + mark * 10**6 + "\n" + mark * 10**6 + "\n")
    for read in (ClassTable.read, read_table):
        with pytest.raises(InputError, match=r"1,000,001 columns in its header; at most 1,000,000"):
            read(path)


# -- rows that are read block by block -------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([0, 1, 2, 10**8], np.int32)},
        {"indices": np.array([0, 1, -9, 3], np.int32)},
        {"indptr": np.array([0, 1, 2, 3, 10**6], np.int32)},
        {"indptr": np.array([0, -5, 2, 3, 4], np.int32)},
        {"shape": np.array([4, 10**12])},
        {"shape": np.array([10**6, 4])},
    ],
)
def test_a_forged_sparse_matrix_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    """It ended the process: scipy writes where the file says."""
    path = tmp_path / "a.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(np.eye(4)))
    with np.load(path) as whole:
        arrays = dict(whole)
    np.savez(path, **arrays | change)
    with pytest.raises(InputError, match=r"not a .npz file, or it is truncated|unpacks"):
        open_rows(path)


def test_columns_of_parquet_that_numpy_does_not_know_are_refused(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    odd = pa.array([{"a": [1.0]}, {"a": [2.0]}])
    parquet.write_table(pa.table({"vector": odd}), tmp_path / "odd.parquet")
    with pytest.raises(InputError, match=r"odd.parquet is not a .parquet file"):
        open_rows(tmp_path / "odd.parquet")
    raw = pa.array([b"\xe1", b"b"], pa.binary())
    bad = pa.StringArray.from_buffers(2, raw.buffers()[1], raw.buffers()[2])
    rows = pa.array([[0.5, 1.0], [2.0, 3.0]])
    parquet.write_table(pa.table({"vector": rows, "label": bad}), tmp_path / "text.parquet")
    with pytest.raises(InputError, match=r"text.parquet is not a .parquet file"):
        open_rows(tmp_path / "text.parquet")
    names = pa.array(["a", "b"])
    parquet.write_table(pa.table({"name": names, "says": bad}), tmp_path / "text.parquet")
    with pytest.raises(InputError, match=r"text.parquet is not a .parquet file"):
        ClassTable.read(tmp_path / "text.parquet")


def test_a_parquet_file_that_promises_more_rows_is_refused(tmp_path: Path) -> None:
    """The search for the others had no end. The group of 7 rows says that it has 8."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    table = pa.table({"vector": pa.array([[0.5, 1.0]] * 7)})
    parquet.write_table(table, path, compression="none", write_statistics=False)
    raw = path.read_bytes()
    refused = 0
    for place in range(len(raw) - 1000, len(raw)):
        if raw[place] != 14:  # 7, as a number in the footer is written
            continue
        path.write_bytes(raw[:place] + b"\x10" + raw[place + 1 :])
        try:
            rows = open_rows(path)
            assert len(rows[0 : len(rows)]) == len(rows)
        except InputError as error:
            refused += "other rows than it says" in str(error)
    assert refused


@pytest.mark.parametrize("width", ["Infinity", "[" * 100_000, "[]", '"x"'])
def test_an_encoder_without_a_width_is_refused(width: str, tmp_path: Path) -> None:
    path = tmp_path / "encoder.json"
    path.write_text(f'{{"images": {{"width": {width}}}}}')
    with pytest.raises(InputError, match="is not a file of 'unseen embed'"):
        read_encoder(path)


def _with_header(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def _packed() -> bytes:
    made = io.BytesIO()
    np.savez(made, a=np.ones(3))
    return made.getvalue()


HEADERS = [_with_header(header) for header in (b"{'descr': (\n", b"{'descr': '''\n", b",\n")]


@pytest.mark.parametrize("raw", [*HEADERS, b"", _packed()], ids=range(5))
def test_kept_vectors_that_are_none_are_not_used(raw: bytes, tmp_path: Path) -> None:
    place = tmp_path / ("0" * 32)
    place.mkdir()
    name = hashlib.blake2b(raw, digest_size=16).hexdigest()
    (place / f"{name}.npy").write_bytes(raw)
    assert Cache(tmp_path, "0" * 64, 3).get(key_of(b"a")) is None


# -- an index that somebody has sealed anew --------------------------------------------------------


@pytest.fixture
def folder(model: ESZSL, tmp_path: Path) -> Path:
    index(model, DATA.X, tmp_path / "index")
    return tmp_path / "index"


def resealed(folder: Path, change: Any) -> None:
    content = json.loads((folder / "index.json").read_text())
    change(content)
    (folder / "index.json").write_text(tensors.sealed(content))


def test_an_unchanged_index_is_read(folder: Path) -> None:
    resealed(folder, lambda content: None)
    assert len(open_index(folder)) == 28


@pytest.mark.parametrize("field", ["format", "codes", "near", "model"])
@pytest.mark.parametrize("junk", [None, 3, "x", {}, [{}], [3], {"file": "x"}])
def test_a_list_that_makes_no_sense_is_refused(folder: Path, field: str, junk: Any) -> None:
    if (field, junk) == ("near", None) or (field, junk) == ("model", "x"):
        pytest.skip("it makes sense")
    resealed(folder, lambda content: content.update({field: junk}))
    with pytest.raises(InputError, match=r"makes no sense|has format"):
        open_index(folder)
    resealed(folder, lambda content: content.pop(field))
    with pytest.raises(InputError, match=r"makes no sense|has format"):
        open_index(folder)


@pytest.mark.parametrize("shape", [(28,), (28, 3), (28, 4, 1), (0, 5)])
def test_codes_of_another_width_are_refused(folder: Path, shape: tuple[int, ...]) -> None:
    np.save(folder / "codes-0.npy", np.ones(shape, np.float32))
    facts = {"shape": list(shape), "sha256": sha256(folder / "codes-0.npy")}
    resealed(folder, lambda content: content.update({"codes": [facts]}))
    with pytest.raises(InputError, match="its codes are not of its model"):
        open_index(folder)


# -- by `benchmarks.kills` -------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="a system without permissions")
def test_a_model_file_has_the_permissions_of_the_umask(model: ESZSL, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        model.save(tmp_path / "model")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["model"]
