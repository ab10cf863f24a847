"""MATLAB files: as scipy and h5py read them, and hostile ones refused in one sentence."""

from __future__ import annotations

import io
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io

from tests.files.test_files import NAMES, TABLE, write_mat5, write_mat73
from unseen import ClassTable, InputError
from unseen.files import limits, mat5, reading


def written(compress: bool = False, **content: Any) -> bytes:
    file = io.BytesIO()
    scipy.io.savemat(file, content, do_compression=compress)
    return file.getvalue()


def cells(*values: Any) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


CONTENT = {
    "doubles": np.arange(24.0).reshape(2, 3, 4),
    "bytes": np.arange(5, dtype=np.uint8),
    "longs": np.array([[-(2**60), 3]]),
    "truth": np.array([[True, False]]),
    "one": 3.5,
    "none": np.empty((0, 4)),
    "word": "Élan",
    "lines": ["ox", "zebra"],
    "mixed": cells("zebra", np.eye(2), cells("a", ""), np.empty((0, 0))),
}


def assert_same(ours: Any, theirs: Any) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype.kind == theirs.dtype.kind
    if ours.dtype == object:
        for one, other in zip(np.ravel(ours), np.ravel(theirs), strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("compress", [False, True])
def test_variables_are_what_scipy_reads(tmp_path: Path, compress: bool) -> None:
    path = tmp_path / "a.mat"
    path.write_bytes(written(compress, **CONTENT))
    found = mat5.read(path, None)
    assert list(found) == mat5.names_of(path) == list(CONTENT)
    for name, theirs in scipy.io.loadmat(path, variable_names=list(CONTENT)).items():
        if not name.startswith("__"):
            assert_same(found[name], theirs)


def test_a_file_of_the_other_byte_order(tmp_path: Path) -> None:
    def element(kind: int, raw: bytes) -> bytes:
        return struct.pack(">II", kind, len(raw)) + raw + bytes(-len(raw) % 8)

    parts = (
        element(6, struct.pack(">II", 6, 0)),
        element(5, struct.pack(">ii", 1, 2)),
        element(1, b"x"),
        element(9, struct.pack(">dd", 1.5, -2)),
    )
    raw = b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + element(14, b"".join(parts))
    (tmp_path / "a.mat").write_bytes(raw)
    assert reading.read_mat(tmp_path / "a.mat")["x"].tolist() == [[1.5, -2]]
    assert scipy.io.loadmat(tmp_path / "a.mat")["x"].tolist() == [[1.5, -2]]


@pytest.mark.parametrize("compress", [False, True])
def test_a_changed_byte_gives_a_table_or_one_sentence(tmp_path: Path, compress: bool) -> None:
    """In scipy's reader 89 of 2,900 such changes ended the process."""
    path = tmp_path / "a.mat"
    write_mat5(path, TABLE.vectors, NAMES, compress)
    raw = path.read_bytes()
    rng = random.Random(0)
    whole = ClassTable(NAMES, TABLE.vectors)
    n_errors = n_same = n_other = 0
    for place in range(len(raw)):
        changed = bytearray(raw)
        changed[place] = rng.choice([0, 1, 255, raw[place] ^ 0x80, raw[place] ^ 1])
        path.write_bytes(changed)
        try:
            table = ClassTable.read(path)
        except InputError as error:
            n_errors += str(path) in str(error)
        else:
            n_same += table == whole
            n_other += table != whole
    assert n_errors + n_same + n_other == len(raw)
    assert n_errors > len(raw) / 10
    assert not compress or not n_other  # packed variables have checksums


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"x": {"a": 1}}, "struct"),
        ({"x": scipy.sparse.csr_array(np.eye(3))}, "sparse matrix"),
        ({"x": np.array([1j])}, "matrix of complex numbers"),
    ],
)
def test_what_is_not_read_is_named(tmp_path: Path, content: dict[str, Any], kind: str) -> None:
    (tmp_path / "a.mat").write_bytes(written(**content, y=1))
    assert list(reading.read_mat(tmp_path / "a.mat", ["y"])) == ["y"]
    with pytest.raises(InputError, match=f"a.mat: variable 'x' is a {kind}, which is not read"):
        reading.read_mat(tmp_path / "a.mat")


def test_what_swells_without_end_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "_HARMLESS", 10_000)
    zeros = np.zeros(100_000, np.uint8)
    path = tmp_path / "a.mat"
    path.write_bytes(written(True, att=zeros, other=1))
    assert reading.read_mat(path, ["other"]) == {"other": 1}
    with pytest.raises(InputError, match=r"variable 'att' unpacks \d+ bytes to 100,\d+"):
        reading.read_mat(path)
    np.savez_compressed(tmp_path / "a.npz", x=zeros, y=[1])
    assert list(reading.read_npz(tmp_path / "a.npz", ["y"])) == ["y"]
    with pytest.raises(InputError, match=r"array 'x' unpacks \d+ bytes to 100,\d+"):
        reading.read_npz(tmp_path / "a.npz", ["x", "y"])
    write_mat73(path, TABLE.vectors, NAMES)
    with h5py.File(path, "r+") as file:
        file.create_dataset("big", (10**12,), "f8", chunks=(1000,))
    with pytest.raises(InputError, match=r"variable 'big' unpacks 0 bytes to 8,"):
        reading.read_mat(path)


def test_a_packed_variable_may_lie_about_its_size(tmp_path: Path) -> None:
    raw = written(True, x=np.eye(3))
    packed = zlib.decompress(raw[136:])
    for size in (1, len(packed), 2**32 - 1):
        forged = zlib.compress(packed[:4] + struct.pack("<I", size) + packed[8:])
        tag = struct.pack("<II", 15, len(forged))
        (tmp_path / "a.mat").write_bytes(raw[:128] + tag + forged)
        with pytest.raises(InputError, match=r"a.mat"):
            reading.read_mat(tmp_path / "a.mat")


def test_hdf5_is_not_followed_out_of_the_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(np.arange(3.0).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.arange(3.0)
    path = tmp_path / "a.mat"
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (3,))
    with h5py.File(path, "w") as file:
        file["good"] = [1.0]
        file["link"] = h5py.ExternalLink("other.h5", "x")
        file["soft"] = h5py.SoftLink("/good")
        file.create_dataset("raw", (3,), "f8", external=[(str(secret), 0, 24)])
        file.create_virtual_dataset("virtual", layout)
        inner = file.create_dataset("#refs#/a", (3,), "u2", external=[(str(secret), 0, 6)])
        cell = file.create_dataset("cell", (1, 1), dtype=h5py.ref_dtype)
        cell[0, 0] = inner.ref
    assert list(reading.read_mat(path, ["good"])) == ["good"]
    for name in ("link", "soft"):
        with pytest.raises(InputError, match=f"a.mat: variable '{name}' is a link"):
            reading.read_mat(path, [name])
    for name in ("raw", "virtual", "cell"):
        with pytest.raises(InputError, match=f"a.mat: variable '{name}' is stored in other files"):
            reading.read_mat(path, [name])


def test_texts_of_hdf5(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    write_mat73(path, np.eye(2), ["ox", "x" * 1001])
    with pytest.raises(InputError, match="'allclasses_names' holds a text of 1,001 letters"):
        ClassTable.read(path)
    with h5py.File(path, "w") as file:
        file["att"] = np.eye(2)
        names = file.create_dataset("allclasses_names", (1, 2), dtype=h5py.ref_dtype)
        letters = np.frombuffer("ox 🐂".encode("utf-16-le"), np.uint16)
        names[0, 0] = file.create_dataset("#refs#/a", data=letters[:, None]).ref
        names[0, 1] = file.create_dataset("#refs#/b", data=np.array([0, 0], np.uint64)).ref
        file["#refs#/b"].attrs["MATLAB_empty"] = 1
    assert reading.read_mat(path)["allclasses_names"].tolist() == ["ox 🐂", ""]
