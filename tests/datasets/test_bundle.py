"""Data sets in one .npz file, and the pictures beside it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tests.common.command import run_unseen
from tests.datasets.writers import (
    ANIMALS,
    ATTRIBUTES,
    IS_UNSEEN,
    LABELS,
    N_ROWS,
    NAMES,
    UNSEEN,
    VECTORS,
    X,
    assert_is_animals,
    noted,
    paths,
    touch,
    write_bundle,
    write_cub,
)
from unseen import InputError
from unseen.datasets import open_dataset, read_rows


@pytest.fixture
def folder(tmp_path):
    return write_bundle(tmp_path / "Zoo")


def test_a_bundle_is_a_data_set_by_its_folder_and_by_its_file(folder):
    for path in (folder, folder / "pooled.npz"):
        data = open_dataset(str(path))
        assert_is_animals(data)
        assert data.name == "Zoo pooled"
        assert data.classes.attributes == tuple(ATTRIBUTES)
        assert (list(data.splits), data.split) == (["SS", "PS"], "SS")
        assert set(data.sources) == {"pooled.npz"}
        assert data.image_paths is None


def test_another_split_is_taken_by_its_name(folder):
    data = open_dataset(str(folder), "PS")
    assert data.unseen.tolist() == ["002.Ox", "003.Killer_whale"]
    with pytest.raises(InputError, match="no split 'ps'; nearest name: 'PS'; it has 'SS', 'PS'"):
        open_dataset(str(folder), "ps")


def test_splits_of_other_names_follow_in_the_order_of_the_file(tmp_path):
    made = {"unseen_hard": [0], "unseen_easy": [3], "unseen_SS": None}
    data = open_dataset(str(write_bundle(tmp_path, **made)))
    assert list(data.splits) == ["PS", "hard", "easy"]
    none = write_bundle(tmp_path / "none", unseen_SS=None, unseen_PS=None)
    assert noted(open_dataset(str(none)), "these files come with no split")


def test_half_precision_is_read_as_single(tmp_path):
    data = open_dataset(str(write_bundle(tmp_path, features=X.astype(np.float16))))
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X, X.astype(np.float16))


def test_the_binary_class_table_is_read_where_there_is_no_other(tmp_path):
    only = open_dataset(str(write_bundle(tmp_path / "only", attributes_continuous=None)))
    np.testing.assert_array_equal(only.classes.vectors, VECTORS > 45)
    bare = write_bundle(tmp_path / "bare", attributes_binary=None, attributes_continuous=None)
    with pytest.raises(InputError, match="no class table: looked for 'attributes_continuous', 'a"):
        open_dataset(str(bare))


def test_unknown_values_are_the_mean_of_the_attribute(tmp_path):
    holes = VECTORS.copy()
    holes[1, 2] = -1
    folder = write_bundle(tmp_path, attributes_continuous=holes)
    data = open_dataset(str(folder))
    filled = data.classes.vector("002.Ox")[2]
    assert filled == pytest.approx(np.delete(VECTORS[:, 2], 1).mean())
    assert noted(data, "pooled.npz: 1 value of 1 class unknown (-1)")


def test_optional_arrays_may_be_absent(tmp_path):
    optional = ("predicates", "files", "name_match", "source", "source_classes")
    data = open_dataset(str(write_bundle(tmp_path, **dict.fromkeys(optional))))
    assert_is_animals(data)
    assert data.classes.attributes is None


def test_rows_to_predict_have_names_for_labels(folder):
    for path in (folder, folder / "pooled.npz"):
        labels = read_rows(path, 7).labels
        assert labels is not None
        assert labels.tolist() == NAMES.tolist()


def test_a_bundle_beside_other_data_is_opened_by_its_path(tmp_path):
    birds = write_bundle(write_cub(tmp_path / "CUB"), unseen_SS=[0, 1])
    assert open_dataset(str(birds / "features.npz")).name == "CUB features"
    assert list(open_dataset(str(birds / "pooled.npz")).splits) == ["SS", "PS"]
    with pytest.raises(InputError, match=r"features in 'features.npz', 'pooled.npz'"):
        open_dataset(str(birds))


def test_of_several_bundles_one_must_be_named(folder):
    shutil.copy(folder / "pooled.npz", folder / "other.npz")
    with pytest.raises(InputError, match=r"'other.npz', 'pooled.npz'; give the path of"):
        open_dataset(str(folder))


# ---------------------------------------------------------------- pictures


def test_pictures_are_those_that_are_there(folder):
    shown = np.array(paths(root=""))
    for path in shown[IS_UNSEEN]:
        touch(folder / "thumbs" / path)
    found = open_dataset(str(folder)).image_paths
    assert found is not None
    np.testing.assert_array_equal(found != "", IS_UNSEEN)
    assert found[IS_UNSEEN].tolist() == [str(folder / "thumbs" / p) for p in shown[IS_UNSEEN]]


def test_a_bundle_cannot_ask_for_pictures_of_its_reader(tmp_path):
    touch(tmp_path / "secret.jpg")
    (tmp_path / "Zoo" / "thumbs").mkdir(parents=True)
    images = np.array(["../../secret.jpg", str(tmp_path / "secret.jpg")] * (N_ROWS // 2))
    data = open_dataset(str(write_bundle(tmp_path / "Zoo", files=images)))
    assert data.image_paths is None


# ---------------------------------------------------------------- damage

LATE = LABELS.copy()
LATE[7] = 12
SHIFTED = np.roll(LABELS - 1, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": None}, "has no features: looked for 'features', 'X', found 'attr"),
        ({"features": X[0]}, r"must be a table of rows and columns, not of shape \(7,\)"),
        ({"features": X[:29]}, "29 rows of features but 30 labels"),
        ({"features": np.where(X > 2, np.nan, X)}, "the features are NaN or infinite in row"),
        ({"labels": None}, "has no labels: class numbers counted from 0"),
        ({"labels": LABELS}, "labels has 5 at place 24 .* the 5 classes are numbered from 0 to 4; "
                             "are these counted from 1"),
        ({"labels": LATE}, "labels has 12 at place 7 .* classes are numbered from 0 to 4$"),
        ({"labels": LABELS - 2}, "labels must be counted from 0, but there is -1 at place 0"),
        ({"labels": LABELS - 0.5}, "labels must be whole numbers counted from 0"),
        ({"labels": np.full(N_ROWS, np.inf)}, "labels must be whole numbers counted from 0"),
        ({"labels": NAMES}, "labels must be whole numbers counted from 0"),
        ({"labels": SHIFTED}, r"row 0 \(counted from 0\) is labelled '005.Zebra', but its image "
                              "001.Grizzly_bear/0.jpg is in the folder of '001.Grizzly_bear'"),
        ({"classes": np.array(ANIMALS[:4])}, "classes must be a list of 5 strings, not 4"),
        ({"classes": np.arange(5)}, "classes must be a list of 5 strings, not 5 int64"),
        ({"classes": np.array([*ANIMALS[:4], ANIMALS[0]])}, "share a name: '001.Grizzly_bear'"),
        ({"attributes_continuous": None, "attributes_binary": None},
         "has no class table: looked for 'attributes_continuous', 'attributes_binary'"),
        ({"attributes_continuous": VECTORS[0]}, r"not float64 of shape \(4,\)"),
        ({"attributes_continuous": VECTORS.astype(str)}, "class table must be numbers"),
        ({"attributes_continuous": VECTORS * np.nan}, "'001.Grizzly_bear'"),
        ({"predicates": np.array(["one"])}, "predicates must be a list of 4 strings, not 1"),
        ({"unseen_PS": np.array([1, 5])}, "unseen_PS has 5 at place 1 .*, but the 5 classes are n"),
        ({"unseen_PS": np.array([-1])}, "unseen_PS must be counted from 0"),
        ({"unseen_PS": np.array(UNSEEN)}, "unseen_PS must be whole numbers counted from 0"),
        ({"unseen_PS": np.arange(4)}, "unseen_PS must name at least one class and leave "
                                      "two .* 4 of 5 classes"),
        ({"unseen_PS": np.empty(0, int)}, "unseen_PS must name at least one class"),
        ({"files": np.array(paths()[:9])}, "files must be a list of 30 strings, not 9"),
        ({"files": np.arange(N_ROWS)}, "files must be a list of 30 strings, not 30 int64"),
        ({"classes": np.array(ANIMALS, dtype=object)}, r"holds Python objects \(pickle\), which"),
        ({"files": np.array(paths(), dtype=object)}, r"holds Python objects \(pickle\), which are"),
    ],
)  # fmt: skip
def test_damage_is_one_sentence_that_names_the_file(tmp_path, changes, message):
    folder = write_bundle(tmp_path / "Zoo", **changes)
    for path in (folder, folder / "pooled.npz"):
        with pytest.raises(InputError, match=message) as caught:
            open_dataset(str(path))
        assert "pooled.npz" in str(caught.value) or str(folder) in str(caught.value)


def test_a_folder_that_has_the_name_of_a_class_by_chance(tmp_path):
    """All images in one folder say nothing of their classes."""
    images = np.array([f"rat/{k}.jpg" for k in range(N_ROWS)])
    assert_is_animals(open_dataset(str(write_bundle(tmp_path, files=images))))


def test_a_truncated_file_is_named(tmp_path, monkeypatch):
    path = write_bundle(tmp_path / "AWA35") / "pooled.npz"
    monkeypatch.setenv("UNSEEN_DATA", str(tmp_path))
    assert open_dataset("AWA35").name == "AWA35 pooled"
    path.write_bytes(path.read_bytes()[:-200])
    for name in ("AWA35", "AWA35 pooled", str(path)):
        with pytest.raises(InputError, match=r"pooled.npz is not a .npz file"):
            open_dataset(name)
    assert "or it is truncated" in run_unseen("datasets", "--json").json["AWA35"]["problem"]


# ---------------------------------------------------------------- commands


def test_commands_know_the_name_and_its_splits(tmp_path, monkeypatch):
    write_bundle(tmp_path / "AWA35")
    monkeypatch.setenv("UNSEEN_DATA", str(tmp_path))
    listed = run_unseen("datasets").out
    assert "AWA35/pooled.npz" in listed
    assert "35 animals, 60 photographs each, EfficientNet-Lite0 features" in listed
    outcome = run_unseen("check", "awa35")
    assert outcome.code == 0
    model = tmp_path / "model.unseen"
    fitted = run_unseen("fit", "AWA35", "--split", "PS", "-m", "eszsl", "--out", model)
    assert fitted.code == 0
    measured = run_unseen("evaluate", model, "AWA35", "--split", "PS", "--json")
    assert measured.code == 0
