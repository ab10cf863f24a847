"""Every kind of file read to one table, every kind of broken file answered with one sentence."""

from __future__ import annotations

import os
import pickle
import stat
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io

from unseen import ClassTable, InputError
from unseen.files import reading
from unseen.files.tables import read_table, text_columns
from unseen.files.writing import writing

NAMES = ["zebra", "Élan, common", 'ti"g"er']
ATTRIBUTES = ["stripes", "hooves, cloven", "claws"]
TABLE = ClassTable(NAMES, [[1, 0.1, -3e-300], [0, 1 / 3, 1e300], [2.5, 7, 0]], ATTRIBUTES)


def as_text(separator, end="\n", blank=False):
    def cells(values):
        return separator.join('"' + str(v).replace('"', '""') + '"' for v in values)

    rows = [[n, *map(repr, v)] for n, v in zip(NAMES, TABLE.vectors.tolist(), strict=True)]
    lines = [cells(["name", *ATTRIBUTES]), *map(cells, rows)]
    return (end * 2 if blank else end).join(lines) + end


def write_mat73(path, vectors, names):
    """What MATLAB writes: HDF5 behind a text header, axes reversed, cells as references."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file["att"] = np.asarray(vectors)
        cells = file.create_dataset("allclasses_names", (1, len(names)), dtype=h5py.ref_dtype)
        for i, name in enumerate(names):
            letters = np.array([[ord(letter)] for letter in name], dtype=np.uint16)
            cells[0, i] = file.create_dataset(f"#refs#/{i}", data=letters).ref
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def write_mat5(path, vectors, names, compress=False):
    cells = np.empty((len(names), 1), dtype=object)
    cells[:, 0] = names
    content = {"allclasses_names": cells, "att": np.transpose(vectors), "val_loc": np.arange(9)}
    scipy.io.savemat(path, content, do_compression=compress)


def frame():
    return pd.DataFrame(TABLE.vectors, index=NAMES, columns=ATTRIBUTES)


WRITERS = {
    "plain.csv": lambda p: p.write_text(as_text(","), encoding="utf-8"),
    "bom.csv": lambda p: p.write_text(as_text(","), encoding="utf-8-sig"),
    "windows.csv": lambda p: p.write_bytes(as_text(",", "\r\n").encode()),
    "old mac.csv": lambda p: p.write_bytes(as_text(",", "\r").encode()),
    "blank lines.csv": lambda p: p.write_text(as_text(",", blank=True), encoding="utf-8"),
    "pandas.csv": lambda p: frame().to_csv(p),
    "plain.tsv": lambda p: p.write_text(as_text("\t"), encoding="utf-8"),
    "column.parquet": lambda p: frame().reset_index().to_parquet(p),
    "index.parquet": lambda p: frame().to_parquet(p),
    "plain.npz": lambda p: np.savez(
        p, names=NAMES, vectors=TABLE.vectors, attributes=np.array(ATTRIBUTES)
    ),
    "packed.npz": lambda p: np.savez_compressed(p, class_names=NAMES, vectors=TABLE.vectors),
    "v5.mat": lambda p: write_mat5(p, TABLE.vectors, NAMES),
    "v5 packed.mat": lambda p: write_mat5(p, TABLE.vectors, NAMES, compress=True),
    "v7.3.mat": lambda p: write_mat73(p, TABLE.vectors, NAMES),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_of_file_reads_to_the_same_table(tmp_path, kind):
    WRITERS[kind](tmp_path / kind)
    table = ClassTable.read(tmp_path / kind)
    assert table.names.tolist() == NAMES
    np.testing.assert_array_equal(table.vectors, TABLE.vectors)
    assert table.attributes in (None, tuple(ATTRIBUTES))
    assert (table.attributes is None) == (kind.endswith(".mat") or kind == "packed.npz")


@pytest.mark.parametrize(
    "kind", ["index.parquet", "plain.npz", "v5.mat", "v5 packed.mat", "v7.3.mat"]
)
def test_a_truncated_file_is_an_error_or_still_whole_where_it_matters(tmp_path, kind):
    path = tmp_path / kind
    WRITERS[kind](path)
    whole = path.read_bytes()
    n_errors = n_whole = 0
    sizes = np.linspace(1, len(whole) - 1, 40).astype(int).tolist()
    for size in sizes:
        path.write_bytes(whole[:size])
        try:
            table = ClassTable.read(path)
        except InputError as error:
            n_errors += str(path) in str(error)
        else:  # only what stands behind the variables that are read may be missing
            n_whole += table == ClassTable(NAMES, TABLE.vectors)
    assert n_errors + n_whole == len(sizes)
    assert n_whole < (len(sizes) / 4 if kind.startswith("v5") else 1)


def test_a_truncated_npy_is_an_error(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.eye(7))
    whole = path.read_bytes()
    for size in range(1, len(whole), 11):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"x.npy is not a .npy file"):
            reading.read_npy(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "name,x\nzebra,one\na,2", "line 2: column 'x' holds 'one' instead of a number"),
        ("a.csv", 'name,x\n"a\nb",1\n\nc,?', r"line 5: column 'x' holds '\?'"),
        ("a.csv", "name,x,y\na,1,2\nb,3,", "class 'b' has no value in column 'y'"),
        ("a.tsv", "name\tx\na\t1,5", "line 2: column 'x' holds '1,5'"),
        ("a.csv", "name,x,y\na,1,2\n\nb,3", "line 4: 2 cells where the header has 3"),
        ("a.csv", 'name,x\n"a,1\nb,2', "line 3: 1 cell where the header has 2"),
        ("a.csv", "zebra,1,0\ntiger,0,1", "begins with numbers; its first line must name"),
        ("a.csv", "name,x", "no line after its header"),
        ("a.csv", "\n\n\n", "no line after its header"),
        ("a.csv", "\ufeff", "no line after its header"),
        ("a.csv", "name\na\nb", "no columns"),
        ("a.csv", "name,x,\na,1,", "column 3 has no name in the header"),
        ("a.csv", "name,x\na,1\na,2", "rows of the class table share a name: 'a'"),
        ("a.csv", "name,x\n ,1", "has no name"),
        ("a.csv", "name,x\na,nan", "class 'a' has no value in column 'x'"),
        ("a.csv", "name,x\na,1e999", "'a' is NaN or infinite in column 'x'"),
        ("a.csv", b"name,x\n\xe9lan,1", "not a UTF-8 text file"),
        ("a.csv", "name,x\na,1".encode("utf-16"), "not a UTF-8 text file"),
        ("a.csv", b"", r"empty \(0 bytes\)"),
        ("a.npz", b"version https://git-lfs.github.com/spec/v1\noid", "Git LFS pointer"),
        ("a.json", "{}", r"a class table must be a file of kind .csv, .mat, "),
        ("table", "{}", "must be a file of kind"),
        ("a.npz", "no zip", "not a .npz file"),
        ("a.npz", pickle.dumps([1]), "not a .npz file"),
        ("a.mat", "no matrix", "not a .mat file"),
        ("a.mat", b"MATLAB 7.3 MAT-file".ljust(600), "not a .mat file"),
        ("a.parquet", "PAR1", "not a .parquet file"),
    ],
)  # fmt: skip
def test_an_unusable_file_is_one_sentence_that_names_it(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message) as caught:
        ClassTable.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"names": np.array(["a"], object), "vectors": np.eye(1)}, r"Python objects \(pickle\)"),
        ({"names": ["a"], "matrix": np.eye(1)}, "looked for 'vectors', found 'matrix', 'names'"),
        ({"names": ["a"], "vectors": np.eye(2)}, "1 names"),
        ({"names": "a", "vectors": np.eye(1)}, "class names must be a flat list"),
        ({"names": ["a"], "vectors": np.eye(1), "attributes": "x"}, "attribute names must be"),
        ({}, "no class names"),
    ],
)  # fmt: skip
def test_an_unusable_npz(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=f"a.npz.*{message}"):
        ClassTable.read(tmp_path / "a.npz")


def test_numpy_files_under_the_wrong_name(tmp_path):
    np.savez(tmp_path / "a.npz", x=[1])
    np.save(tmp_path / "b.npy", np.array([1, "x"], dtype=object))
    np.save(tmp_path / "c.npy", [1])
    os.rename(tmp_path / "a.npz", tmp_path / "a.npy")
    os.rename(tmp_path / "c.npy", tmp_path / "c.npz")
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("readme.txt", "no array")
    with pytest.raises(InputError, match=r"several arrays; rename it to .npz"):
        reading.read_npy(tmp_path / "a.npy")
    with pytest.raises(InputError, match=r"Python objects \(pickle\), which are not loaded"):
        reading.read_npy(tmp_path / "b.npy")
    with pytest.raises(InputError, match=r"holds one array; rename it to .npy"):
        reading.read_npz(tmp_path / "c.npz", ["x"])
    with pytest.raises(InputError, match=r"holds more than arrays: 'readme.txt'"):
        reading.read_npz(tmp_path / "d.npz", ["readme.txt"])


def test_a_pickle_is_never_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "boom"),)

    np.savez(tmp_path / "a.npz", names=np.array([Bomb()]), vectors=np.eye(1))
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match=r"a.npz holds Python objects"):
        reading.read_npz(tmp_path / "a.npz", ["names"])
    with pytest.raises(InputError, match=r"b.npy is not a .npy file"):
        reading.read_npy(tmp_path / "b.npy")
    assert not (tmp_path / "boom").exists()


def test_parquet_tables_that_cannot_be_used(tmp_path):
    path = tmp_path / "a.parquet"
    for table, message in (
        (frame().assign(home="savanna"), "column 'home': the texts all hold the same words"),
        (frame().iloc[:0], "empty table"),
        (pd.DataFrame(), "empty table"),
        (frame()[[]], "no columns"),
        (frame().reset_index().replace("zebra", None), "row 0 .* has no name"),
        (frame().astype("Float64").replace(7, pd.NA), "no value in column 'hooves, cloven'"),
    ):
        table.to_parquet(path)
        with pytest.raises(InputError, match=f"a.parquet.*{message}"):
            ClassTable.read(path)


def test_paths_that_are_no_files(tmp_path, monkeypatch):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "secret.csv").write_text("name,x\na,1")
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone.csv")
    for name in ("none.csv", "link.csv", "secret.csv/below.csv", "x" * 300 + ".csv"):
        with pytest.raises(InputError, match="does not exist"):
            ClassTable.read(tmp_path / name)
    with pytest.raises(InputError, match=r"folder.csv is a folder"):
        ClassTable.read(tmp_path / "folder.csv")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    with pytest.raises(InputError, match=r"secret.csv cannot be read: permission denied"):
        ClassTable.read(tmp_path / "secret.csv")


def test_feature_tables_take_numbered_columns_and_refuse_slips(tmp_path):
    path = tmp_path / "f.csv"
    pd.DataFrame(np.eye(3)).to_csv(path, index=False)
    np.testing.assert_array_equal(read_table(path).numbers, np.eye(3))
    pd.DataFrame(np.eye(3)).to_csv(path)
    with pytest.raises(InputError, match=r"column 1 has no name .*index=False"):
        read_table(path)
    path.write_text("name,3,7\na,1,2")
    assert read_table(path).columns == ("3", "7")
    for text, message in (
        ("f0,f1\nn/a,1\n2,3", "'f0' holds text such as 'n/a' and numbers such as '2'"),
        ("1.5\n2.5", "begins with numbers"),
        ("0,1\n2,3", "begins with numbers"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_table(path)


def test_names_in_matlab_char_matrices_lose_their_padding(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"allclasses_names": ["ox", "zebra"], "att": [[1, 2]]})
    assert ClassTable.read(path) == ClassTable(["ox", "zebra"], [[1], [2]])
    with pytest.raises(InputError, match="looked for 'w2v', found 'allclasses_names'"):
        ClassTable.read(path, key="w2v")


def test_read_lines_strips_and_drops_the_end(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeff one \r\n\r\ntwo\r\n\r\n".encode())
    assert reading.read_lines(tmp_path / "a.txt") == ["one", "", "two"]
    (tmp_path / "a.txt").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not a UTF-8 text file"):
        reading.read_lines(tmp_path / "a.txt")


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, kind):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupted():
        with writing(path) as temporary:
            temporary.write_text("half")
            assert path.read_text() == "old"
            raise kind

    with pytest.raises(kind):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_write_makes_folders_and_keeps_the_permissions_of_the_umask(tmp_path):
    path = tmp_path / "deep" / "er" / "a.txt"
    before = os.umask(0o027)
    try:
        with writing(path) as temporary:
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == ["a.txt"]


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path):

    def write(path):
        with writing(path) as temporary:
            temporary.write_text("new")

    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    for path in (
        tmp_path / "file" / "a.csv",
        tmp_path / "folder.csv",
        tmp_path / ("x" * 300 + ".csv"),
    ):
        with pytest.raises(InputError, match="cannot write"):
            write(path)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.csv"]


def test_names_are_known_without_reading_arrays(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", features=np.ones((4, 3)), labels=np.ones(4))
    write_mat5(tmp_path / "v5.mat", TABLE.vectors, NAMES)
    write_mat73(tmp_path / "v73.mat", TABLE.vectors, NAMES)
    assert reading.array_names(tmp_path / "a.npz") == {"features", "labels"}
    assert "att" in reading.array_names(tmp_path / "v5.mat")
    assert reading.array_names(tmp_path / "v73.mat") == {"att", "allclasses_names"}
    for name in ("a.npz", "v5.mat", "v73.mat"):
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:150])
        with pytest.raises(InputError, match=f"{name} is not a"):
            reading.array_names(tmp_path / name)


def test_only_the_arrays_that_are_wanted_are_read(tmp_path):
    np.savez(tmp_path / "a.npz", x=[1], y=[2])
    assert list(reading.read_npz(tmp_path / "a.npz", ["y", "z"])) == ["y"]


def test_the_digest_of_a_file(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert reading.sha256(tmp_path / "a") == digest


def test_a_spreadsheet_with_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        'name;height;said\nzebra;1,5;"stripes, hooves"\nlion;-,25;"a mane; claws"\n', "utf-8-sig"
    )
    table = read_table(tmp_path / "a.csv", ("said",))
    assert table.columns == ("height",)
    assert table.numbers.tolist() == [[1.5], [-0.25]]
    assert table.text["said"].tolist() == ["stripes, hooves", "a mane; claws"]
    assert text_columns(tmp_path / "a.csv") == ("said",)
    (tmp_path / "b.csv").write_text("name;x\na;1\nb;x\n")
    with pytest.raises(InputError, match="line 3: column 'x' holds 'x'"):
        read_table(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_text("name,said\na,one; two\n")
    assert read_table(tmp_path / "c.csv", ("said",)).text["said"].tolist() == ["one; two"]
