"""Pictures on the command line, from a folder of them to a page."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL", reason="Pillow is not installed")

from tests.common.command import BY_ESZSL, assert_one_sentence, run_unseen
from tests.encoders.shapes import NAMES, UNSEEN, attributes, photos, picture
from unseen import load


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """photos/, numbers.csv, data/ embedded from them, and a model."""
    folder = tmp_path_factory.mktemp("pictures")
    photos(folder / "photos", 4)
    attributes(folder / "numbers.csv")
    made = run_unseen(
        "embed", folder / "photos", "--classes", folder / "numbers.csv",
        "--images", "basic", "--out", folder / "data", "--json",
    )  # fmt: skip
    assert made.code == 0, made
    assert made.json["n_pictures"] == 64
    (folder / "data" / "unseen.txt").write_text("\n".join(UNSEEN))
    fitted = run_unseen("fit", folder / "data", *BY_ESZSL, "--out", folder / "m.unseen")
    assert fitted.code == 0, fitted
    new = folder / "new"
    new.mkdir()
    for k, name in enumerate(UNSEEN):
        picture(name, 77 + k).save(new / f"{k}.png")
    return folder


def test_every_command_reads_the_data_set(work: Path) -> None:
    assert "encoder of the pictures: basic" in run_unseen("check", work / "data").out
    measured = run_unseen("evaluate", work / "m.unseen", work / "data", "--json")
    assert measured.json["per_class_accuracy"] > 0.7


def test_predict_takes_a_folder_of_pictures(work: Path) -> None:
    found = run_unseen("predict", work / "m.unseen", work / "new", "--json").json
    assert [Path(line["image"]).name for line in found] == ["0.png", "1.png", "2.png", "3.png"]
    assert sum(line["class"] == name for line, name in zip(found, UNSEEN, strict=True)) >= 3
    one = run_unseen("predict", work / "m.unseen", work / "new" / "2.png", "--json").json
    assert one[0]["class"] == found[2]["class"]
    assert one[0]["score"] == pytest.approx(found[2]["score"], rel=1e-4)
    labelled = run_unseen("predict", work / "m.unseen", work / "photos", "--json").json
    assert labelled[0]["label"] == sorted(NAMES)[0]


def test_what_is_no_picture_is_told(work: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_text("no")
    assert_one_sentence(
        run_unseen("predict", work / "m.unseen", tmp_path), "no file of", "bad.png: it is not"
    )
    picture("red disc").save(tmp_path / "good.png")
    outcome = run_unseen("predict", work / "m.unseen", tmp_path, "--json")
    assert len(outcome.json) == 1
    assert "1 file of" in outcome.err


def test_retrieve_writes_paths_and_a_page(work: Path, tmp_path: Path) -> None:
    page, table = tmp_path / "page.html", tmp_path / "found.csv"
    for place in ("photos", "data"):
        outcome = run_unseen(
            "retrieve", work / "m.unseen", work / place, "--class", "green disc", "-k", 3,
            "--html", page, "--out", table, "--pictures", work / "photos",
        )  # fmt: skip
        assert outcome.code == 0, outcome
        with table.open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        assert all(Path(line["image"]).is_file() and ".." not in line["image"] for line in lines)
        assert lines[0]["label"] == "green disc"
        text = page.read_text(encoding="utf-8")
        assert text.count("data:image/jpeg;base64,") == 3
        assert "3 of the 3 that have a label" in text
        assert "<script" not in text
    page.unlink()
    page.write_text("my own page")
    assert_one_sentence(
        run_unseen(
            "retrieve", work / "m.unseen", work / "data", "--class", "green disc", "--html", page
        ),
        "is not a page of unseen",
    )


def test_retrieve_takes_several_classes(work: Path, tmp_path: Path) -> None:
    two = ["--class", "green disc", "--class", "red disc", "-k", 2]
    given = [work / "m.unseen", work / "photos", *two]
    lines = run_unseen("retrieve", *given, "--json").json
    assert [line["class"] for line in lines] == ["green disc"] * 2 + ["red disc"] * 2
    assert [line["place"] for line in lines] == [1, 2, 1, 2]
    alone = run_unseen("retrieve", *given[:2], *two[2:], "--json").json
    assert [line["row"] for line in lines[2:]] == [line["row"] for line in alone]
    made = run_unseen(
        "retrieve", *given, "--html", tmp_path / "p.html", "--out", tmp_path / "f.csv"
    )
    assert made.code == 0
    assert (tmp_path / "p.html").read_text("utf-8").count("<h2") == 3
    again = run_unseen("retrieve", *given, "--out", tmp_path / "f.csv")
    assert again.code == 0, "a result may be replaced by another"


def test_retrieve_shows_no_picture_outside_of_the_data_unasked(work: Path, tmp_path: Path) -> None:
    given = [work / "m.unseen", work / "data", "-c", "green disc", "--html", tmp_path / "p.html"]
    outcome = run_unseen("retrieve", *given)
    assert "5 pictures outside of" in outcome.err
    assert "--pictures FOLDER" in outcome.err
    text = (tmp_path / "p.html").read_text("utf-8")
    assert "base64" not in text
    assert "href" not in text
    shown = run_unseen("retrieve", *given, "--pictures", work / "photos")
    assert "outside" not in shown.err
    assert (tmp_path / "p.html").read_text("utf-8").count("base64") == 5
    bad = run_unseen("retrieve", *given[:-1], tmp_path / "p.txt")
    assert_one_sentence(bad, "p.txt: the page is written as .html")


def test_a_model_knows_its_encoder_by_its_hash(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(work / "m.unseen")
    known = model.training_data_["encoder"]["images"]
    assert known["name"] == "basic"
    model.training_data_["encoder"]["images"]["sha256"] = "0" * 64
    model.save(tmp_path / "other.unseen")
    assert_one_sentence(
        run_unseen("predict", tmp_path / "other.unseen", work / "new"),
        "is not the one that", "another hash",
    )  # fmt: skip
    assert_one_sentence(
        run_unseen("evaluate", tmp_path / "other.unseen", work / "data"), "different hashes"
    )
    del model.training_data_["encoder"]
    model.save(tmp_path / "none.unseen")
    assert_one_sentence(
        run_unseen("predict", tmp_path / "none.unseen", work / "new"), "was not trained on pictures"
    )


def test_a_damaged_encoder_file_is_one_sentence(work: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(work / "data", tmp_path / "data")
    bad: list[Any] = ["{", [], {"images": 3}, {"images": {"name": "basic"}}]
    for content in bad:
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "data" / "encoder.json").write_text(text)
        outcome = run_unseen("fit", tmp_path / "data", *BY_ESZSL, "--out", tmp_path / "m.unseen")
        assert_one_sentence(outcome, "encoder.json is not a file of 'unseen embed'")


def test_errors_of_embed(work: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_one_sentence(
        run_unseen("embed", tmp_path / "empty", "--images", "basic", "--out", tmp_path / "x"),
        "has no pictures",
    )
    assert_one_sentence(
        run_unseen("embed", work / "photos", "--images", "a.onnx", "--out", tmp_path / "x"), "onnx"
    )


def test_a_folder_of_pictures_is_sent_to_embed(work: Path, tmp_path: Path) -> None:
    for command in (["check"], ["fit", "--out", tmp_path / "m"], ["compare"]):
        outcome = run_unseen(command[0], work / "photos", *command[1:])
        assert outcome.code == 1
        assert f"'unseen embed {work / 'photos'} --out DATA' makes a data set" in (
            outcome.out + outcome.err
        )


def test_a_report_without_its_pictures_says_why(work: Path, tmp_path: Path) -> None:
    given = ["report", work / "m.unseen", work / "data", "--out", tmp_path / "r", "--tsne-rows", 0]
    outcome = run_unseen(*given)
    assert "64 rows of 64 without a picture to show" in outcome.err
    text = (tmp_path / "r" / "index.html").read_text("utf-8")
    assert "without a picture to show" in text
    shown = run_unseen(*given, "--pictures", work / "photos")
    assert "without a picture" not in shown.err
    quiet = run_unseen("evaluate", work / "m.unseen", work / "data")
    assert "picture" not in quiet.err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Basci", "'Basci' is no encoder; nearest name: 'basic'"),
        ("./none", "./none does not exist"),
        ("none.onnx", "none.onnx"),
    ],
)
def test_a_slip_in_the_name_of_an_encoder(
    work: Path, tmp_path: Path, name: str, message: str
) -> None:
    outcome = run_unseen("embed", work / "photos", "--images", name, "--out", tmp_path / "x")
    assert_one_sentence(outcome, message)
    assert "extra" not in outcome.err


def test_encoders_are_listed() -> None:
    found = {line["name"]: line for line in run_unseen("encoders", "--json").json}
    assert found["basic"]["here"] == "yes"
    assert "facebook/dinov2-small" in found
    assert "licence" in run_unseen("encoders").out


def test_reveal_saves_a_model_that_knows_more(work: Path, tmp_path: Path) -> None:
    lines = (work / "numbers.csv").read_text().splitlines()
    (tmp_path / "more.csv").write_text("\n".join([lines[0], "purple disc,1,0,1,0,1,0,0,0"]))
    out = tmp_path / "made" / "wider.unseen"
    outcome = run_unseen(
        "reveal", work / "m.unseen", "--classes", tmp_path / "more.csv", "--out", out
    )
    assert outcome.code == 0, outcome
    assert "1 class more ('purple disc')" in outcome.out
    assert "was not there and has been made" in outcome.err
    wider, before = load(out), load(work / "m.unseen")
    assert set(wider.classes_) - set(before.classes_) == {"purple disc"}
    assert wider.training_data_ == before.training_data_, "it still knows its encoder"
    again = run_unseen("reveal", out, "--classes", tmp_path / "more.csv", "--out", out, "--json")
    assert again.json["new"] == []
