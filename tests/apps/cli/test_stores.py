"""The command line on rows that lie in many files."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from tests.common.command import assert_one_sentence, run_unseen
from unseen import load, make_zero_shot


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
