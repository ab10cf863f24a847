"""The command line on rows that lie in many files."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from tests.common.command import assert_one_sentence, run_unseen
from unseen import InputError, load, make_zero_shot, read_dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set whose features are a folder of shards."""
    data = make_zero_shot(random_state=1)
    (tmp_path / "birds" / "features").mkdir(parents=True)
    for number, part in enumerate(np.array_split(data.X, 4)):
        np.save(tmp_path / "birds" / "features" / f"{number}.npy", part.astype(np.float16))
    names = [f"c{name}" for name in data.classes.names]
    (tmp_path / "birds" / "labels.txt").write_text("\n".join(f"c{name}" for name in data.y))
    (tmp_path / "birds" / "unseen.txt").write_text("\n".join(f"c{name}" for name in data.unseen))
    with (tmp_path / "birds" / "classes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", *(f"a{k}" for k in range(data.classes.n_attributes))])
        writer.writerows([n, *v] for n, v in zip(names, data.classes.vectors, strict=True))
    return tmp_path / "birds"


def test_from_check_to_retrieve(folder: Path, tmp_path: Path):
    checked = run_unseen("check", folder)
    assert checked.code == 0, checked.out
    model = tmp_path / "m.unseen"
    assert run_unseen("fit", folder, "--out", model).code == 0
    measured = run_unseen("evaluate", model, folder, "--json").json
    assert measured["per_class_accuracy"] > measured["chance"]
    rows = run_unseen("predict", model, str(folder / "features" / "*.npy"), "--json").json
    assert len(rows) == 1250
    name = str(load(model).unseen_classes_[0])
    found = run_unseen("retrieve", model, folder / "features", "-c", name, "-k", 3, "--json").json
    assert len(found) == 3
    labelled = run_unseen("retrieve", model, folder, "-c", name, "-k", 3, "--json").json
    assert [line["row"] for line in labelled] == [line["row"] for line in found]
    assert labelled[0]["label"].startswith("c")


def test_an_index_answers_as_the_model_does(folder: Path, tmp_path: Path):
    model, index = tmp_path / "m.unseen", tmp_path / "i"
    run_unseen("fit", folder, "--out", model)
    name = str(load(model).unseen_classes_[0])
    pattern = str(folder / "features" / "[012].npy")
    assert run_unseen("index", model, pattern, "--out", index).code == 0
    added = run_unseen("index", model, folder / "features" / "3.npy", "--out", index, "--add")
    assert added.code == 0, added.err
    assert "1,250 rows" in added.out
    asked = ["--class", name, "-k", 5, "--json"]
    found = run_unseen("retrieve", "--index", index, *asked).json
    expected = run_unseen("retrieve", model, folder / "features", *asked).json
    assert [line["row"] for line in found] == [line["row"] for line in expected]
    again = run_unseen("index", model, pattern, "--out", index)
    assert_one_sentence(again, "is an index already: add rows to it")
    assert_one_sentence(run_unseen("retrieve", *asked), "MODEL FEATURES")
    both = run_unseen("retrieve", model, folder, "--index", index, *asked)
    assert_one_sentence(both, "leave out MODEL")
    other = tmp_path / "o.unseen"
    run_unseen("fit", folder, "--out", other, "--method", "eszsl")
    mixed = run_unseen("index", other, pattern, "--out", index, "--add")
    assert_one_sentence(mixed, "was made by another model")


def test_an_approximate_index_tells_what_was_asked_and_what_is_reached(
    folder: Path, tmp_path: Path
):
    pytest.importorskip("faiss")
    model, rows, asked = tmp_path / "m.unseen", folder / "features", ["--recall", 0.8]
    run_unseen("fit", folder, "--out", model)
    made = run_unseen("index", model, rows, "--out", tmp_path / "i", "--approximate", *asked)
    assert re.search(r"finds [89]\d\.\d% of the best rows .*asked for were 80\.0%", made.out)
    more = ["index", model, rows, "--out", tmp_path / "i", "--add", "--json"]
    facts = run_unseen(*more).json
    assert facts["recall_asked"] == 0.8 <= facts["recall"]


def test_a_broken_shard_is_named(folder: Path, tmp_path: Path):
    shard = folder / "features" / "2.npy"
    X = np.load(shard)
    X[5, 1] = np.inf
    np.save(shard, X)
    outcome = run_unseen("check", folder)
    assert outcome.code == 1
    assert "2.npy is NaN or infinite in row 5, column 1" in outcome.out
    failed = run_unseen("fit", folder, "--out", tmp_path / "m.unseen")
    assert_one_sentence(failed, "2.npy is NaN or infinite")
    assert not (tmp_path / "m.unseen").exists()


def test_some_shards_of_a_folder_with_labels_beside(folder: Path, tmp_path: Path):
    model = tmp_path / "m.unseen"
    run_unseen("fit", folder, "--out", model)
    shards = folder / "features"
    (shards / "labels.txt").write_text((folder / "labels.txt").read_text())
    some = str(shards / "[01].npy")
    for source, n_rows in ((some, 626), (shards / "0.npy", 313)):
        found = run_unseen("predict", model, source, "--json")
        assert found.code == 0, found.err
        assert len(found.json) == n_rows
        assert "label" not in found.json[0]
    assert run_unseen("index", model, some, "--out", tmp_path / "i").code == 0
    name = str(load(model).unseen_classes_[0])
    assert run_unseen("retrieve", model, some, "--class", name).code == 0


def test_pictures_of_rows_in_shards(folder: Path, tmp_path: Path):
    model, page = tmp_path / "m.unseen", tmp_path / "p.html"
    run_unseen("fit", folder, "--out", model)
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    image.new("RGB", (8, 8)).save(folder / "bird.png")
    (folder / "images.txt").write_text("bird.png\n" * 1250)
    lines = run_unseen("predict", model, folder, "--json").json
    assert lines[7]["image"] == str(folder / "bird.png")
    name = str(load(model).unseen_classes_[0])
    found = run_unseen("retrieve", model, folder, "--class", name, "--html", page, "--json")
    assert found.code == 0, found.err
    assert found.json[0]["image"] == str(folder / "bird.png")
    assert page.read_text(encoding="utf-8").count("<img") == 5
    (folder / "images.txt").write_text("bird.png\n")
    failed = run_unseen("predict", model, folder)
    assert_one_sentence(failed, "1250 rows but 1 image paths")


@pytest.mark.parametrize("in_lists", [True, False])
def test_rows_in_parquet_are_named_by_their_ids(folder: Path, tmp_path: Path, in_lists: bool):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    model, rows = tmp_path / "m.unseen", tmp_path / "rows"
    run_unseen("fit", folder, "--out", model)
    X = np.load(folder / "features" / "0.npy").astype(np.float32)[:6]
    rows.mkdir()
    for number, part in enumerate((X[:4], X[4:])):
        columns = {f"f{k}": cells for k, cells in enumerate(part.T)}
        features = {"embedding": part.tolist()} if in_lists else columns
        ids = [f"{number}-{k}" for k in range(len(part) - 1)]
        pq.write_table(pa.table({"ID": [*ids, None], **features}), rows / f"{number}.parquet")
    lines = run_unseen("predict", model, rows, "--json").json
    assert [line["id"] for line in lines] == ["0-0", "0-1", "0-2", "", "1-0", ""]
    assert run_unseen("index", model, rows, "--out", tmp_path / "i").code == 0


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A folder of three shards with labels beside them, and no class table."""
    (tmp_path / "new").mkdir()
    for number in range(3):
        X = np.random.default_rng(number).standard_normal((20, 4))
        np.save(tmp_path / "new" / f"s-{number}.npy", X.astype(np.float16))
    np.save(tmp_path / "new" / "labels.npy", np.arange(60) % 7)
    return tmp_path / "new"


def test_rows_alone_are_checked(rows: Path):
    for source in (rows, rows / "*.npy"):
        checked = run_unseen("check", source)
        assert checked.code == 0, checked.out
        assert "files: 3 of kind .npy" in checked.out
        assert "features: 60 rows of 4 numbers (float16)" in checked.out
        assert "labels: 60 of 7 classes" in checked.out
        assert "The rows can be used: unseen predict MODEL" in checked.out
        facts = run_unseen("check", source, "--json").json["facts"]
        assert facts == {"files": 3, "rows": 60, "features": 4, "classes": 7}
    some = run_unseen("check", rows / "s-[01].npy", "--json")
    assert some.code == 0
    assert "labels: none" in some.json["found"]
    assert "labels.npy has 60 labels for 40 rows, so these have none" in some.json["odd"][0]


def test_what_is_wrong_with_rows_alone_is_told_at_once(rows: Path):
    np.save(rows / "s-1.npy", np.full((20, 4), np.nan))
    np.save(rows / "labels.npy", np.arange(50))
    (rows / "images.txt").write_text("a.png\n")
    for source, n_wrong in ((rows, 2), (rows / "*.npy", 2), (rows / "s-[12].npy", 1)):
        checked = run_unseen("check", source, "--json")
        assert checked.code == 1
        assert checked.json["usable"] is False
        assert checked.json["found"][0].startswith("files: ")
        assert len(checked.json["wrong"]) == n_wrong
        assert "s-1.npy is NaN or infinite in row 0" in checked.json["wrong"][-1]
    assert "labels.npy has 50 labels for 60 rows" in run_unseen("check", rows).out
    (rows / "labels.npy").unlink()
    assert "60 rows but 1 image paths" in run_unseen("check", rows).out
    labels = ["a", "", *["b"] * 58]
    (rows / "labels.txt").write_text("\n".join(labels))
    checked = run_unseen("check", str(rows / "*.npy"))
    assert "row 1 (counted from 0) has no label (1 in all)" in checked.out
    (rows / "s-1.npy").write_bytes(b"")
    checked = run_unseen("check", rows)
    assert checked.code == 1
    assert "The rows cannot be used yet" in checked.out


def test_rows_alone_are_no_data_set(folder: Path, rows: Path, tmp_path: Path):
    model = tmp_path / "m.unseen"
    run_unseen("fit", folder, "--out", model)
    for source in (rows, rows / "*.npy"):
        for command in (["fit", source, "--out", tmp_path / "n"], ["evaluate", model, source]):
            failed = run_unseen(*command)
            assert_one_sentence(failed, f"{source} has rows but no class table", "features/")
    with pytest.raises(InputError, match="has rows but no class table"):
        read_dataset(rows)
    # What has a part of a data set is one that lacks the others.
    (rows / "unseen.txt").write_text("c1")
    assert "has no classes file" in run_unseen("check", rows).out


def test_files_of_several_kinds_are_told_apart(folder: Path, rows: Path, tmp_path: Path):
    model = tmp_path / "m.unseen"
    run_unseen("fit", folder, "--out", model)
    (rows / "stray.parquet").write_bytes(b"")
    for failed in (run_unseen("predict", model, rows), run_unseen("index", model, rows, "-o", "i")):
        assert_one_sentence(failed, "several kinds, .npy, .parquet", f"'{rows}/*.npy'")
    checked = run_unseen("check", rows)
    assert checked.code == 1
    assert "several kinds" in checked.out
    assert run_unseen("check", rows / "*.npy").code == 0
