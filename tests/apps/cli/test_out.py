"""Places that cannot be written, and files that no command may replace."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.common.birds import tree, write_classes
from tests.common.command import BY_ESZSL, assert_one_sentence, run_unseen


@pytest.mark.parametrize("command", ["fit", "tune", "predict", "retrieve", "demo"])
def test_a_place_that_cannot_be_written(
    folder: Path, model_file: Path, tmp_path: Path, command: str
) -> None:
    """Below a regular file nobody can write, not even root; and it is said before the work."""
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder.csv").mkdir()
    before = tree(tmp_path)
    arguments: dict[str, list[Any]] = {
        "fit": [folder],
        "tune": [folder, "--splits", 1],
        "predict": [model_file, folder],
        "retrieve": [model_file, folder, "-c", "Heron"],
        "demo": [],
    }
    below = run_unseen(command, *arguments[command], "--out", tmp_path / "file" / "new" / "x.csv")
    assert_one_sentence(below, "cannot write", "file is not a folder")
    if command != "demo":
        on_folder = run_unseen(command, *arguments[command], "--out", tmp_path / "folder.csv")
        assert_one_sentence(on_folder, "cannot write", "it is a folder")
    assert tree(tmp_path) == before
    assert (tmp_path / "file").read_text() == "kept"


def test_no_model_replaces_data(folder: Path, tmp_path: Path) -> None:
    data = shutil.copytree(folder, tmp_path / "birds")
    before = {path: path.read_bytes() for path in data.iterdir()}
    for command in ("fit", "tune"):
        for path in before:
            outcome = run_unseen(command, data, "--out", path)
            assert_one_sentence(outcome, "there already and is not a model of unseen", str(path))
    assert {path: path.read_bytes() for path in data.iterdir()} == before
    for _ in range(2):
        assert run_unseen("fit", data, *BY_ESZSL, "--out", tmp_path / "m").code == 0, (
            "models replace models"
        )


def test_no_predictions_replace_data(folder: Path, model_file: Path, tmp_path: Path) -> None:
    data = shutil.copytree(folder, tmp_path / "birds")
    more = write_classes(tmp_path / "more.csv", ["Dodo"], np.zeros((1, 6)))
    before = {path: path.read_bytes() for path in [*data.iterdir(), more]}
    for command, options in (("predict", []), ("retrieve", ["-c", "Heron"])):
        for features in (data, data / "features.npy"):
            for path in (data / "classes.csv", more):
                arguments = [command, model_file, features, *options, "--classes", more]
                outcome = run_unseen(*arguments, "--out", path)
                assert_one_sentence(
                    outcome, "there already and is not a result of unseen", str(path)
                )
    assert {path: path.read_bytes() for path in [*data.iterdir(), more]} == before
    for _ in range(2):
        written = run_unseen("predict", model_file, data, "--out", tmp_path / "predictions.csv")
        assert written.code == 0, "predictions replace predictions"


def test_results_replace_results_alone(folder: Path, model_file: Path, tmp_path: Path) -> None:
    """A table of the user's is not lost; another result, and an empty file, may be."""
    out = tmp_path / "out.csv"
    commands = [["predict", model_file, folder], ["predict", model_file, folder, "--top", 2],
                ["retrieve", model_file, folder, "-c", "Heron"]]  # fmt: skip
    out.write_text("")
    for command in commands:
        assert run_unseen(*command, "--out", out).code == 0
    for text in ("row,width\n1,2\n", "name,score\nWren,3\n", "notes\n", "\x00\n", "\nmine\n",
                 "row,score_0,f1\n1,2,3\n", "row,class,score 1\n0,Wren,3\n"):  # fmt: skip
        out.write_text(text)
        for command in commands:
            outcome = run_unseen(*command, "--out", out)
            assert_one_sentence(outcome, "there already and is not a result of unseen", str(out))
        assert out.read_text() == text


@pytest.mark.usefixtures("blank_figures", "jobs_here")
@pytest.mark.parametrize("name", ["tables.md", "tables.html", "index.html"])
def test_pages_replace_pages_of_the_library_alone(
    folder: Path, model_file: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("<h1>mine</h1>\n")
    small = ["-m", "eszsl", "--trials", 1, "-o", tmp_path]
    commands: list[list[Any]] = [
        ["report", model_file, folder, "--tsne-rows", 0, "-o", tmp_path], ["demo", "-o", tmp_path],
    ]  # fmt: skip
    if name != "index.html":
        sweep = ["sweep", "row_penalty", folder, "--values", "0.1"]
        commands = [["bench", folder, *small], [*sweep, *small]]
    for command in commands:
        outcome = run_unseen(*command)
        assert_one_sentence(
            outcome, f"{name}: the file is there already and is not a page of unseen"
        )
    assert [path.name for path in tmp_path.iterdir()] == [name]
    (tmp_path / name).unlink()
    for _ in range(2):
        assert run_unseen(*commands[0]).code == 0


def test_what_is_no_file_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    outcome = run_unseen("fit", folder, *BY_ESZSL, "--out", tmp_path / "pipe.csv")
    assert_one_sentence(outcome, "there already and is not a model")
    outcome = run_unseen("predict", tmp_path / "m", folder, "--out", tmp_path / "pipe.csv")
    assert_one_sentence(outcome, "there already and is not a result of unseen")
    assert (tmp_path / "pipe.csv").is_fifo()


def test_retrieval_needs_a_rival_to_compete_with(folder: Path, model_file: Path) -> None:
    outcome = run_unseen("retrieve", model_file, folder, "-c", "Heron", "--against", "Heron")
    assert_one_sentence(outcome, "no class competes with 'Heron'")
