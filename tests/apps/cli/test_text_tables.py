"""Class tables of sentences and with gaps, from check to predict, by the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import unseen
from tests.common.command import assert_one_sentence, run_unseen
from unseen import ClassTable, open_dataset

TEXTS = {
    "horse": "large and brown, with hooves; eats grass",
    "zebra": "striped, with hooves; eats grass",
    "cow": "large and spotted, with hooves and horns; eats grass",
    "goat": "small, with hooves and horns; climbs",
    "lion": "large and brown, a cat with claws; hunts",
    "tiger": "large and striped, a cat with claws; hunts",
    "lynx": "small and spotted, a cat with claws; hunts and climbs",
    "leopard": "spotted, a cat with claws; hunts and climbs",
}
UNSEEN = ["zebra", "leopard"]


def write_classes(folder: Path, texts: dict[str, str], numbers: Mapping[str, object] | None = None):
    header = "name,looks" if numbers is None else "name,weight,looks"
    lines = [
        f'{name},"{text}"' if numbers is None else f'{name},{numbers[name]},"{text}"'
        for name, text in texts.items()
    ]
    (folder / "classes.csv").write_text("\n".join([header, *lines]), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rows that look as the sentences say."""
    folder = tmp_path / "zoo"
    folder.mkdir()
    table, rng = ClassTable.from_text(TEXTS), np.random.default_rng(0)
    y = np.repeat(table.names, 20)
    looks = table.vectors[table.rows(y)] @ rng.normal(size=(table.n_attributes, 24))
    np.save(folder / "features.npy", looks + 0.1 * rng.normal(size=looks.shape))
    (folder / "labels.txt").write_text("\n".join(y))
    (folder / "unseen.txt").write_text("\n".join(UNSEEN))
    write_classes(folder, TEXTS)
    return folder


def test_sentences_from_check_to_predict(folder: Path, tmp_path: Path) -> None:
    checked = run_unseen("check", folder)
    assert checked.code == 0
    assert "text in column 'looks', encoded by TF-IDF of 13 words of 6 seen texts" in checked.out
    model = tmp_path / "zoo.unseen"
    assert run_unseen("fit", folder, "--out", model).code == 0
    assert run_unseen("evaluate", model, folder, "--json").json["per_class_accuracy"] == 1.0
    new = tmp_path / "new.csv"
    new.write_text('animal,Looks\nokapi,"striped and brown, with hooves"\n')
    rows = tmp_path / "rows.npy"
    np.save(rows, np.load(folder / "features.npy")[20:23])
    found = run_unseen("predict", model, rows, "--classes", new, "--top", 3, "--json")
    assert found.code == 0, found.err
    told = unseen.load(model).reveal({"okapi": "striped and brown, with hooves"})
    best = told.top_k(np.load(rows), 3)
    assert [line["class 1"] for line in found.json] == best.names[:, 0].tolist()
    assert "okapi" in {line["class 2"] for line in found.json}
    retrieved = run_unseen("retrieve", model, folder, "--class", "okapi", "--classes", new)
    assert retrieved.code == 0
    new.write_text("name,looks\nokapi,xylophone\n")
    failed = run_unseen("predict", model, rows, "--classes", new)
    assert_one_sentence(failed, "new.csv", "class 'okapi'", "'looks'", "has no word")
    new.write_text("name,stripes\nokapi,1\n")
    failed = run_unseen("predict", model, rows, "--classes", new)
    assert_one_sentence(failed, "new.csv", "columns of numbers instead of 0")


def test_gaps_are_told_and_filled_as_asked(folder: Path, tmp_path: Path) -> None:
    weights = {name: 100 + k for k, name in enumerate(TEXTS)} | {"cow": "", "zebra": "nan"}
    write_classes(folder, TEXTS, weights)
    failed = run_unseen("fit", folder, "--out", tmp_path / "m")
    assert_one_sentence(
        failed, "classes.csv", "'zebra' has no value in column 'weight' (2 such cells", "--missing"
    )
    assert run_unseen("check", folder).code == 1
    checked = run_unseen("check", folder, "--missing", "column")
    assert checked.code == 0
    assert "2 values of 2 classes missing; the mean of the seen classes instead" in checked.out
    assert f"unseen fit {folder} --missing column --out" in checked.out
    fitted = run_unseen("fit", folder, "--missing", "column", "--out", tmp_path / "m")
    assert fitted.code == 0
    assert "2 values of 2 classes missing" in fitted.err
    assert run_unseen("evaluate", tmp_path / "m", folder, "--json").code == 0
    table = unseen.load(tmp_path / "m").class_table_
    assert table == open_dataset(str(folder), missing="column").classes
    assert table.attributes is not None
    assert "weight missing" in table.attributes
    known = [w for n, w in weights.items() if isinstance(w, int) and n not in UNSEEN]
    cow, horse = table.vector("cow")[0], table.vector("horse")[0]
    assert np.isclose(cow / horse, np.mean(known) / 100)
    compared = run_unseen(
        "compare", folder, "--missing", "mean", "-m", "eszsl", "--splits", 2, "--hold-out", 2
    )
    assert f"unseen fit {folder} --missing mean --method eszsl" in compared.out


def test_check_names_words_that_cannot_count(folder: Path) -> None:
    write_classes(folder, TEXTS | {name: TEXTS[name] + ", zzyzx" for name in UNSEEN})
    assert "1 word in column 'looks' that only unseen classes have" in (
        run_unseen("check", folder).out
    )
    assert "zzyzx" not in run_unseen("fit", folder, "--out", folder.parent / "m").err


def test_bench_reads_the_table_as_it_is_told(folder: Path, tmp_path: Path) -> None:
    weights = {name: 100 + k for k, name in enumerate(TEXTS)} | {"cow": ""}
    write_classes(folder, TEXTS, weights)
    given = ["bench", folder, "-m", "eszsl", "--trials", 1, "--out", tmp_path / "b", "--json"]
    assert run_unseen(*given).code == 1
    filled = run_unseen(*given, "--missing", "mean").json["results"]
    assert filled[0]["missing"] == "mean"
    assert run_unseen(*given, "--missing", "mean").json["results"] == filled


def test_minus_one_is_said_aloud(folder: Path) -> None:
    weights = {name: 100 + k for k, name in enumerate(TEXTS)} | {"cow": -1}
    write_classes(folder, TEXTS, weights)
    plain = run_unseen("check", folder)
    assert "1 cell of -1 where no other number is negative: taken as numbers" in plain.out
    filled = run_unseen("check", folder, "--missing", "mean")
    assert "taken for missing, as in Animals with Attributes" in filled.out
    assert "1 value of 1 class missing" in filled.out


def test_an_encoder_that_is_not_here_is_told(folder: Path, tmp_path: Path) -> None:
    failed = run_unseen("fit", folder, "--text", "./none", "--out", tmp_path / "m")
    assert_one_sentence(failed, "classes.csv", "'./none' is neither a folder nor the name")
