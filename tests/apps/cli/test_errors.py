"""What cannot be used is one sentence on standard error, and nothing is half written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

import unseen
from tests.common.birds import SEEN, UNSEEN, tree, write_classes, write_lines
from tests.common.command import BY_ESZSL, assert_one_sentence, run_unseen
from unseen.apps.cli import models

# -- data sets that cannot be used --------------------------------------------------------------


class Trap:
    """Unpickling it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def archive(folder: Path, **changes: Any) -> Path:
    """The same data as features.npz, with other arrays in place of some."""
    arrays = {"features": np.load(folder / "features.npy"), "labels": np.repeat(SEEN + UNSEEN, 7)}
    (folder / "features.npy").unlink()
    (folder / "labels.txt").unlink()
    np.savez(folder / "features.npz", **(arrays | changes))
    return folder / "features.npz"


def no_rows(folder: Path) -> None:
    np.save(folder / "features.npy", np.empty((0, 12)))


def no_columns(folder: Path) -> None:
    np.save(folder / "features.npy", np.empty((77, 0)))


def empty_labels(folder: Path) -> None:
    (folder / "labels.txt").write_bytes(b"")


def one_class(folder: Path) -> None:
    write_lines(folder / "labels.txt", ["Heron"] * 77)


def misspelt(folder: Path) -> None:
    labels = np.repeat(["Indigo Buntng", *SEEN[1:], *UNSEEN], 7)
    write_lines(folder / "labels.txt", labels)


def misspelt_unseen(folder: Path) -> None:
    write_lines(folder / "unseen.txt", ["Lazuli Buntin"])


def words(folder: Path) -> None:
    np.save(folder / "features.npy", np.full((77, 12), "high"))


def holes(folder: Path) -> None:
    features = np.load(folder / "features.npy")
    features[5, 3] = np.nan
    np.save(folder / "features.npy", features)


def fewer_rows(folder: Path) -> None:
    np.save(folder / "features.npy", np.zeros((70, 12)))


def ragged_table(folder: Path) -> None:
    with (folder / "classes.csv").open("a", encoding="utf-8") as file:
        file.write("Dodo,1,2\n")


def twice(folder: Path) -> None:
    vectors = np.random.default_rng(0).random((12, 6))
    write_classes(folder / "classes.csv", [*SEEN, *UNSEEN, "Heron"], vectors)


def no_bytes(folder: Path) -> None:
    archive(folder).write_bytes(b"")


def half_npz(folder: Path) -> None:
    halve(archive(folder))


def half_mat(folder: Path) -> None:
    scipy.io.savemat(folder / "features.mat", {"features": np.load(folder / "features.npy")})
    (folder / "features.npy").unlink()
    halve(folder / "features.mat")


def pickled(folder: Path) -> None:
    trap = np.array([Trap(folder / "sprung")], dtype=object)
    archive(folder, features=np.repeat(trap, 77), labels=np.repeat(trap, 77))


def no_table(folder: Path) -> None:
    (folder / "classes.csv").unlink()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (no_rows, "features are empty: 0 rows"),
        (no_columns, "features are empty: 77 rows of 0 columns"),
        (empty_labels, "labels.txt is empty"),
        (one_class, "at least two"),
        (misspelt, "class 'Indigo Buntng' has 7 rows and no line in the class table; nearest name: "
                   "'Indigo Bunting'"),
        (misspelt_unseen, "nearest name: 'Lazuli Bunting'"),
        (words, "must be numbers"),
        (holes, "row 5, column 3"),
        (fewer_rows, "70 rows of features but 77 labels"),
        (ragged_table, "line 13: 3 cells where the header has 7"),
        (twice, "share a name: 'Heron'"),
        (no_bytes, "features.npz is empty (0 bytes)"),
        (half_npz, "features.npz is not a .npz file, or it is truncated"),
        (half_mat, "features.mat is not a .mat file, or it is truncated"),
        (pickled, "pickle"),
        (no_table, "no classes file"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_broken_data(
    folder: Path, tmp_path: Path, spoil: Callable[[Path], None], sentence: str
) -> None:
    broken = shutil.copytree(folder, tmp_path / "broken")
    spoil(broken)
    before = tree(tmp_path)
    checked = run_unseen("check", broken)
    assert checked.code == 1
    assert sentence in checked.out
    report = run_unseen("check", broken, "--json")
    assert (report.code, report.json["usable"]) == (1, False)
    assert any(sentence in line for line in report.json["wrong"])
    for command in ("fit", "tune"):
        assert_one_sentence(run_unseen(command, broken, "--out", tmp_path / "model"), sentence)
    assert tree(tmp_path) == before, "no model, and no trap that sprang"


def test_good_data(folder: Path) -> None:
    checked = run_unseen("check", folder)
    assert (checked.code, checked.err) == (0, "")
    assert f"can be used: unseen fit {folder}" in checked.out
    report = run_unseen("check", folder, "--json").json
    assert (report["usable"], report["wrong"]) == (True, [])
    assert report["facts"]["training rows"] == 56


def test_data_without_an_unseen_class_can_train_but_not_evaluate(
    folder: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(folder, tmp_path / "birds")
    (copy / "unseen.txt").unlink()
    checked = run_unseen("check", copy)
    assert checked.code == 0
    assert "nothing is zero-shot yet" in checked.out
    assert "can be used" in checked.out
    fitted = run_unseen("fit", copy, *BY_ESZSL, "--out", tmp_path / "model")
    assert "Every class of the table has rows" in fitted.out
    assert_one_sentence(run_unseen("evaluate", tmp_path / "model", copy), "unseen.txt")


def test_data_that_are_not_there(tmp_path: Path) -> None:
    for command in ("check", "fit", "tune"):
        options = [] if command == "check" else ["--out", tmp_path / "m"]
        outcome = run_unseen(command, tmp_path / "absent", *options)
        assert_one_sentence(
            outcome, "does not exist; 'digits', 'shapes', 'synthetic' come with", "'digits'"
        )


# -- rows and classes that a model cannot use ---------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["narrow.npy"], "has 5 columns, but the model was trained on 12"),
        (["holes.npy"], "NaN or infinite in row 1, column 0"),
        (["absent.npy"], "absent.npy does not exist"),
        (["digits"], "64"),
        (["birds", "--candidates", "Hern"], "no class 'Hern' is known to the model; nearest name"),
        (["birds", "--candidates", "Dodo"], "it knows 'Indigo Bunting', "),
        (["birds", "--candidates", "Dodo"], "and 6 more; --classes FILE adds new ones"),
        (["birds", "--candidates", "Heron,Heron"], "names a class twice"),
        (["birds", "--top", "4"], "--top 4 is more than the 3 candidates"),
        (["birds", "--out", "p.txt"], "written as .csv"),
        (["birds", "--classes", "wide.csv"], "described by 9 columns"),
        (["birds", "--classes", "other.csv"], "class 'Heron' is known already"),
        (["birds", "--classes", "absent.csv"], "absent.csv does not exist"),
    ],
)  # fmt: skip
def test_predictions_that_cannot_be_made(
    folder: Path, model_file: Path, monkeypatch: pytest.MonkeyPatch, arguments: Any, sentence: str
) -> None:
    monkeypatch.chdir(folder.parent)
    np.save("narrow.npy", np.zeros((3, 5)))
    np.save("holes.npy", np.vstack([np.zeros((1, 12)), np.full((1, 12), np.inf)]))
    write_classes(Path("wide.csv"), ["Dodo"], np.zeros((1, 9)))
    write_classes(Path("other.csv"), ["Heron"], np.full((1, 6), 3.0))
    before = tree(folder.parent)
    assert_one_sentence(run_unseen("predict", model_file, *arguments), sentence)
    assert tree(folder.parent) == before


def test_a_model_in_the_place_of_the_rows(folder: Path, model_file: Path) -> None:
    outcome = run_unseen("predict", folder / "features.npy", model_file)
    assert_one_sentence(outcome, "is a model file and", "is not: the model comes first, then the")


def test_a_cell_that_is_no_number_is_told_by_the_name_of_its_column(
    folder: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(folder, tmp_path / "birds")
    table = (copy / "classes.csv").read_text().splitlines()
    cells = table[2].split(",")
    (copy / "classes.csv").write_text("\n".join([*table[:2], ",".join([*cells[:-1], "nan"])]))
    name, column = cells[0], table[0].split(",")[-1]
    assert_one_sentence(
        run_unseen("fit", copy, "--out", tmp_path / "m"),
        "classes.csv", f"class {name!r} has no value in column {column!r}",
    )  # fmt: skip


def test_a_class_that_the_model_does_not_know(folder: Path, model_file: Path) -> None:
    outcome = run_unseen("retrieve", model_file, folder, "--class", "lazuli buntin")
    assert_one_sentence(outcome, "nearest name: 'Lazuli Bunting'")


def test_evaluation_on_classes_of_training_is_refused(folder: Path, tmp_path: Path) -> None:
    leaky = shutil.copytree(folder, tmp_path / "leaky")
    write_lines(leaky / "unseen.txt", UNSEEN[:2])
    run_unseen("fit", leaky, *BY_ESZSL, "--out", tmp_path / "model")
    outcome = run_unseen("evaluate", tmp_path / "model", folder)
    assert_one_sentence(outcome, "trained on 'Ærfugl'", "mean nothing; train a new model on")


def test_evaluation_on_other_features_is_refused(model_file: Path) -> None:
    assert_one_sentence(run_unseen("evaluate", model_file, "digits"), "64", "12")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda path: path.unlink(), "does not exist"),
        (lambda path: path.write_text("not a model\n"), "not a model file"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (halve, "; fit the model again, or copy the file again"),
    ],
    ids=["missing", "text", "empty", "truncated"],
)
def test_files_that_are_no_models(
    folder: Path, model_file: Path, tmp_path: Path, spoil: Callable[[Path], Any], sentence: str
) -> None:
    path = tmp_path / "model"
    path.write_bytes(model_file.read_bytes())
    spoil(path)
    for command, options in (("predict", []), ("retrieve", ["-c", "Heron"]), ("evaluate", [])):
        assert_one_sentence(run_unseen(command, path, folder, *options), sentence, str(path))


# -- odd but usable ----------------------------------------------------------------------------


def test_one_unseen_class_is_told(folder: Path, tmp_path: Path) -> None:
    data = shutil.copytree(folder, tmp_path / "birds")
    write_lines(data / "unseen.txt", UNSEEN[:1])
    assert "only one unseen class" in run_unseen("check", data).out
    fitted = run_unseen("fit", data, *BY_ESZSL, "--out", tmp_path / "m")
    assert "recognise 1 class it has never seen" in fitted.out
    shown = run_unseen("evaluate", tmp_path / "m", data).out
    assert "7 rows of 1 unseen class\n" in shown
    assert "only one class to choose, so every prediction is right" in shown


# -- what a shell sees ---------------------------------------------------------------------------


def test_a_warning_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(path: str, split: str = "", **classes: Any) -> Any:
        warnings.warn("the rows are few", stacklevel=1)
        return unseen.read_dataset(path, **classes)

    monkeypatch.setattr(models, "open_data", noisy)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        outcome = run_unseen("fit", folder, *BY_ESZSL, "--out", folder.parent / "warned.unseen")
    assert (outcome.code, outcome.err) == (0, "Warning: the rows are few\n")


def run_process(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    """As a shell runs it; without what makes rich and typer believe in a terminal."""
    believed = ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS")
    environment = {k: v for k, v in os.environ.items() if k not in believed}
    code = "from unseen.apps.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=environment, check=False)


@pytest.mark.slow
def test_a_process_that_fails(folder: Path, model_file: Path) -> None:
    found = run_process("predict", model_file, folder.parent / "absent.npy")
    assert (found.returncode, found.stdout) == (1, b"")
    assert found.stderr.startswith(b"Error: ")
    assert found.stderr.endswith(b"absent.npy does not exist\n")
    assert b"\x1b" not in found.stderr


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "unseen", "--version"]
    found = subprocess.run(command, capture_output=True, check=True)
    assert found.stdout == f"unseen {unseen.__version__}\n".encode()


@pytest.mark.slow
def test_a_process_that_works(folder: Path, model_file: Path) -> None:
    found = run_process("evaluate", model_file, folder)
    assert (found.returncode, found.stderr) == (0, b"")
    assert "Ærfugl" in found.stdout.decode()
    assert b"\x1b" not in found.stdout, "no colours where no terminal is"
    assert run_process("--nonsense").returncode == 2


def test_a_reader_that_has_gone_is_no_error() -> None:
    """As `head` goes when it has seen enough."""
    command = [sys.executable, "-m", "unseen", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
