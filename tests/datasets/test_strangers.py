"""Data of strangers: what they may hold, and which pictures they may show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.common.birds import make_folder, write_lines
from tests.datasets.writers import write_xlsa17
from unseen import InputError, read_dataset
from unseen.datasets.feature_file import whole_numbers
from unseen.datasets.findings import missing_pictures
from unseen.datasets.row_files import as_strings
from unseen.files import limits, reading
from unseen.files.tables import read_table


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "birds")


# -- pictures -----------------------------------------------------------------------------------


def test_pictures_outside_the_folder_are_left_out(birds: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"x")
    (birds / "own.png").write_bytes(b"x")
    (birds / "link.png").symlink_to(tmp_path / "secret.png")
    (birds / "inside.png").symlink_to(birds / "own.png")
    (birds / "out").symlink_to(tmp_path)
    given = ["own.png", "../secret.png", str(tmp_path / "secret.png"), "link.png"]
    given += ["out/secret.png", "inside.png", str(birds / "own.png"), "gone.png"]
    write_lines(birds / "images.txt", given + ["x/../own.png"] * (77 - len(given)))
    data = read_dataset(birds)
    assert data.image_paths is not None
    shown = [os.path.basename(path) for path in data.image_paths[: len(given)]]
    assert shown == ["own.png", "", "", "", "", "inside.png", "own.png", "gone.png"]
    assert missing_pictures(data)[0].startswith("4 rows of 77 without a picture to show: none is")
    assert not data.notes[1:], "who shows no pictures need not know"
    data = read_dataset(birds, pictures=tmp_path)
    assert data.image_paths is not None
    assert all(data.image_paths), "a folder that the user names is theirs to show"


def test_pictures_of_an_archive_lie_beside_it(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"features": np.random.default_rng(0).normal(size=(9, 3))}
    arrays |= {"labels": list("aaabbbccc"), "class_names": list("abc"), "class_vectors": np.eye(3)}
    paths = ["1.png", "../2.png", "/etc/passwd", *["x"] * 6]
    np.savez(tmp_path / "zoo.npz", **arrays, image_paths=paths)
    data = read_dataset(tmp_path / "zoo.npz")
    assert data.image_paths is not None
    assert data.image_paths[:3].tolist() == [str(tmp_path / "1.png"), "", ""]


def test_a_folder_of_pictures_may_not_be_elsewhere(tmp_path: Path) -> None:
    folder = write_xlsa17(tmp_path / "data")
    (tmp_path / "images").mkdir()
    (folder / "images").symlink_to(tmp_path / "images")
    for path in reading.read_mat(folder / "res101.mat", ["image_files"])["image_files"].ravel():
        name = str(path[0]).rpartition("/images/")[2]
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / name).write_bytes(b"x")
    assert read_dataset(folder).image_paths is None
    (folder / "images").unlink()
    (tmp_path / "images").rename(folder / "images")
    assert read_dataset(folder).image_paths is not None


# -- labels -------------------------------------------------------------------------------------


def test_one_endless_label_is_one_sentence(birds: Path) -> None:
    write_lines(birds / "labels.txt", ["Heron"] * 76 + ["x" * 1_000_000])
    with pytest.raises(InputError, match=r"labels.txt: 'x+', number 76 .* 1,000,000 letters"):
        read_dataset(birds)
    write_lines(birds / "labels.txt", ["Heron"] * 77)
    classes = (birds / "classes.csv").read_text("utf-8")
    (birds / "classes.csv").write_text(classes.replace("Heron", "h" * 5000), encoding="utf-8")
    with pytest.raises(InputError, match=r"classes.csv, column 'name': 'h+', .* 5,000 letters"):
        read_dataset(birds)


def test_one_long_label_does_not_widen_very_many(birds: Path) -> None:
    write_lines(birds / "labels.txt", ["Heron"] * 20_000 + ["x" * 1000])
    with pytest.raises(InputError, match=r"labels.txt: 'x+' has 1,000 letters, far more than"):
        read_dataset(birds)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([[97, 0x110000]] * 77, np.uint32).view("U2")[:, 0], "numbers that are no lett"),
        (np.zeros(77, "V8"), "names must be strings or numbers, not |V8"),
        (np.array([b"\xff"] * 77), "bytes that are not UTF-8"),
        (np.array(["\ud800"] * 77), "not valid Unicode"),
        (np.full(77, 1e300), "class '1e\\+300' has 77 rows and no line"),
    ],
)
def test_labels_that_are_no_names(birds: Path, labels: np.ndarray, message: str) -> None:
    (birds / "labels.txt").unlink()
    np.save(birds / "labels.npy", labels)
    with pytest.raises(InputError, match=message):
        read_dataset(birds)


def test_numbers_beyond_whole_ones() -> None:
    for value in (1e300, 2.0**53, 2**53, np.inf, np.nan, 1.5):
        with pytest.raises(InputError, match="labels must be whole numbers counted from 1"):
            whole_numbers(np.array([1, value]), "labels")
    assert whole_numbers(np.array([1.0, 7.0]), "labels").tolist() == [1, 7]
    assert as_strings(np.array([3.0, 1.0])).tolist() == ["3", "1"]
    assert as_strings(np.array([1e300])).tolist() == ["1e+300"]


def test_text_of_parquet_that_is_not_utf8(tmp_path: Path) -> None:
    raw = pa.array([b"ox", b"\xff\xfe"], pa.binary()).cast(pa.string(), safe=False)
    pq.write_table(pa.table({"name": raw, "x": [1.0, 2.0]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a.parquet: column 'name' holds text that is not UTF-8"):
        read_table(tmp_path / "a.parquet", first_is_text=True)
    frame = pd.DataFrame({"name": ["ox", "x" * 2000], "x": [1, 2]})
    frame.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b.parquet, column 'name': 'x+', .* 2,000 letters"):
        read_table(tmp_path / "b.parquet", first_is_text=True)


# -- files --------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
@pytest.mark.parametrize("name", ["features.npy", "labels.txt", "classes.csv", "images.txt"])
def test_a_pipe_is_no_file(birds: Path, name: str) -> None:
    """Opening one waits for ever."""
    (birds / name).unlink(missing_ok=True)
    os.mkfifo(birds / name)
    with pytest.raises(InputError, match=f"{name} is a device or a pipe, not a file"):
        read_dataset(birds)


def test_arrays_that_nobody_asked_for_are_not_unpacked(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "_HARMLESS", 10_000)
    arrays: dict[str, Any] = {"features": np.random.default_rng(0).normal(size=(9, 3))}
    arrays |= {"labels": list("aaabbbccc"), "class_names": list("abc"), "class_vectors": np.eye(3)}
    path = tmp_path / "zoo.npz"
    np.savez_compressed(path, **arrays, bomb=np.zeros(10**6))
    assert read_dataset(path).y.size == 9
    arrays["test_rows"] = np.zeros(10**6, int)
    np.savez_compressed(path, **arrays)
    with pytest.raises(InputError, match="array 'test_rows' unpacks"):
        read_dataset(path)
