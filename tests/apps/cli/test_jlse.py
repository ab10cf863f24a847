"""The command line with the method it uses by default: its results are those of the library."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen
from tests.common.birds import UNSEEN
from tests.common.command import assert_one_sentence, run_unseen
from unseen import JLSE, evaluate, read_dataset
from unseen.files import reading
from unseen.rows import blocks

SETTINGS = {"n_target_atoms": 8, "training__block_tol": 0.05, "training__max_iter": 1}
OPTIONS = [word for k, v in SETTINGS.items() for word in ("--set", f"{k}={v}")]


@pytest.fixture(scope="module")
def model_file(folder: Path) -> Path:
    path = folder.parent / "birds.unseen"
    done = run_unseen("fit", folder, "-m", "jlse", *OPTIONS, "--out", path, "--json")
    assert (done.code, done.json["method"]) == (0, "jlse")
    return path


@pytest.fixture(scope="module")
def expected(folder: Path) -> JLSE:
    data = read_dataset(folder)
    return JLSE().set_params(**SETTINGS).fit(*data.training_set(), classes=data.classes)


def test_fit_and_predict_through_files_equal_the_library_to_the_bit(
    folder: Path, model_file: Path, expected: JLSE, X: np.ndarray
) -> None:
    loaded = unseen.load(model_file)
    for candidates in (None, "all", "seen"):
        ours, theirs = (m.similarities(X, candidates) for m in (loaded, expected))
        assert ours.tobytes() == theirs.tobytes()
    out = folder.parent / "predictions.csv"
    assert run_unseen("predict", model_file, folder, "--top", 3, "--out", out).code == 0
    best = expected.top_k(X, 3)
    with out.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for k in range(3):
        assert [line[f"class {k + 1}"] for line in lines] == best.names[:, k].tolist()
        assert [float(line[f"score {k + 1}"]) for line in lines] == best.scores[:, k].tolist()


def test_a_model_tells_what_it_was_trained_on(folder: Path, model_file: Path) -> None:
    about = unseen.load(model_file).training_data_
    assert (about["rows"], about["columns"], about["name"]) == (56, 12, "birds")
    assert about["files"]["features.npy"] == reading.sha256(folder / "features.npy")
    assert set(about["files"]) == {"features.npy", "labels.txt", "classes.csv", "unseen.txt"}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_predictions_in_blocks_are_those_of_the_whole(
    model_file: Path, X: np.ndarray, tmp_path: Path, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many blocks of rows: the same bits, whatever the type of the numbers."""
    small = 2000
    monkeypatch.setattr(blocks.row_blocks, "__defaults__", (small,))
    rows = np.resize(10 * X, (500, X.shape[1])).astype(dtype)
    np.save(tmp_path / "rows.npy", rows)
    done = run_unseen("predict", model_file, tmp_path / "rows.npy", "--out", tmp_path / "p.csv")
    assert done.code == 0, done.err
    best = unseen.load(model_file).top_k(rows, 1)
    with (tmp_path / "p.csv").open(encoding="utf-8", newline="") as file:
        scores = [float(line["score"]) for line in csv.DictReader(file)]
    assert scores == best.scores[:, 0].tolist()


# -- explain --------------------------------------------------------------------------------------


def test_an_explanation_is_that_of_the_library(
    folder: Path, model_file: Path, expected: JLSE, X: np.ndarray
) -> None:
    named = expected.predict(X[60:61])[0]
    found = run_unseen("explain", model_file, folder, "--row", 60, "--json").json
    about = {"row": 60, "named": named, "label": UNSEEN[0]}
    reasons = asdict(expected.explain(X[60], named))
    assert found == json.loads(json.dumps(about | reasons))
    other = run_unseen("explain", model_file, folder, "-r", 60, "-c", "Heron", "--top", 2, "--json")
    assert other.json["similarity"] == expected.explain(X[60], "Heron").similarity
    assert [len(other.json[kind]) for kind in ("atoms", "links", "attributes")] == [2, 2, 2]


def test_an_explanation_can_be_read(folder: Path, model_file: Path) -> None:
    shown = run_unseen("explain", model_file, folder, "--row", 60, "--class", "[red]Kite").out
    assert f"Row 60, labelled {UNSEEN[0]!r}, is named" in shown
    for title in ("Attributes that speak for it", "Known classes", "Strongest latent links"):
        assert title in shown
    found = unseen.load(model_file).explain(np.load(folder / "features.npy")[60], "[red]Kite")
    for number in (found.score, found.similarity):
        assert f"{number:.3f}" in shown
    for number in (found.match, found.score - found.match):
        assert f"{number:+.3f}" in shown
    assert "[red]Kite" in shown
    assert "more than most" in shown or "less than most" in shown


def test_explanations_that_cannot_be_given(folder: Path, model_file: Path, tmp_path: Path) -> None:
    explain = ["explain", model_file, folder]
    assert_one_sentence(run_unseen(*explain, "--row", 77), "--row 77", "77 rows, counted from 0")
    assert_one_sentence(run_unseen(*explain, "-c", "Hern"), "nearest name: 'Heron'")
    assert run_unseen(*explain, "--row", -1).code == 2
    run_unseen("fit", folder, "-m", "gfzsl", "-o", tmp_path / "m")
    assert_one_sentence(run_unseen("explain", tmp_path / "m", folder), "GFZSL gives no reasons")


def test_linear_methods_give_reasons_too(folder: Path, tmp_path: Path) -> None:
    run_unseen("fit", folder, "-m", "eszsl", "-o", tmp_path / "m")
    found = run_unseen("explain", tmp_path / "m", folder, "--row", 60, "--json").json
    assert {"named", "score", "classes", "rest", "attributes"} <= set(found)
    assert "Known classes" in run_unseen("explain", tmp_path / "m", folder).out


# -- a file of options ----------------------------------------------------------------------------


def write_config(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_options_equals_options(folder: Path, model_file: Path, tmp_path: Path) -> None:
    settings = "\n".join(f"{k} = {v}" for k, v in SETTINGS.items())
    places = f"data = '{folder}'\nmethod = 'jlse'\nout = '{tmp_path / 'm'}'\njson = true\n"
    config = write_config(tmp_path, f"{places}[set]\n{settings}\n[predict]\ntop = 2\n")
    done = run_unseen("fit", "--config", config)
    assert done.json["out"] == str(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == model_file.read_bytes()


def test_options_win_over_the_file(folder: Path, tmp_path: Path) -> None:
    config = write_config(
        tmp_path,
        f"out = '{tmp_path / 'm'}'\nmethod = 'jlse'\n"
        "[fit.set]\nrow_penalty = 0.5\nrow_scaler__center = false\n",
    )
    options = ["--method", "eszsl", "--set", "row_penalty=0.25", "--json"]
    found = run_unseen("fit", folder, "--config", config, *options).json
    assert found["method"] == "eszsl"
    assert (found["parameters"]["row_penalty"], found["parameters"]["row_scaler__center"]) == (
        0.25,
        False,
    )


@pytest.mark.parametrize(
    "text",
    [
        "[fit.set]\nrow_scaler__center = false\n",
        "[fit.set.row_scaler]\ncenter = false\n",
        "[set]\nrow_scaler = 'RowScaler'\nrow_scaler__center = false\n",
    ],
)
def test_parameters_of_parts_in_a_file(folder: Path, tmp_path: Path, text: str) -> None:
    config = write_config(tmp_path, f"out = '{tmp_path / 'm'}'\nmethod = 'eszsl'\n{text}")
    options = ["--set", "class_scaler__unit_length=false", "--json"]
    found = run_unseen("fit", folder, "--config", config, *options).json["parameters"]
    assert (found["row_scaler"], found["row_scaler__center"]) == ("RowScaler", False)
    assert (found["row_scaler__unit_length"], found["class_scaler__unit_length"]) == (True, False)


@pytest.mark.parametrize(
    "options",
    [
        ["--set", "training__max_iter=0", "--set", "testing=DataFit", "--set", "decision=1"],
        ["--set", "testing=DataFit", "--set", "training=Algorithm1", "--set", "decision=1",
         "--set", "training__max_iter=0"],
    ],
)  # fmt: skip
def test_variants_are_chosen_by_name(folder: Path, tmp_path: Path, options: list[str]) -> None:
    fit = ["fit", folder, "--method", "kernel-jlse", "--out", tmp_path / "m"]
    done = run_unseen(*fit, *options, "--json")
    found = done.json["parameters"]
    assert (found["training__max_iter"], found["testing"], found["decision"]) == (0, "DataFit", 1)
    assert "testing__offset" not in found
    model = unseen.load(tmp_path / "m")
    assert type(model.testing).__name__ == "DataFit"
    assert model.n_iter_ == 0


def test_every_kind_of_option_can_stand_in_the_file(
    folder: Path, model_file: Path, tmp_path: Path
) -> None:
    config = write_config(
        tmp_path,
        f"model = '{model_file}'\nfeatures = '{folder}'\n"
        "[retrieve]\nclass = 'Heron'\nk = 3\njson = true\n[predict]\ncandidates = 'Heron,12'\n",
    )
    assert len(run_unseen("retrieve", "--config", config).json) == 3
    assert len(run_unseen("retrieve", "--config", config, "-k", 4).json) == 4
    lines = run_unseen("predict", "--config", config, "--json").json
    assert {line["class"] for line in lines} <= {"Heron", "12"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("outt = 'm'", "'unseen fit' has no option 'outt'; nearest name: 'out'; it has 'data',"),
        ("[fit]\nmetod = 'jlse'", "no option 'metod'; nearest name: 'method'"),
        ("[sett]\na = 1", "no option 'sett'; nearest name: 'set'"),
        ("[ft]\nout = 'm'", "no option 'ft'; nearest name: 'fit'"),
        ("set = 3", "set must be a table"),
        ("out = ['a', 'b']", "out takes one value"),
        ("json = 'yes'", "json is true or false, not 'yes'"),
        ("fit = 3", "fit must be a table of options"),
        ("out = ", "is not a TOML file"),
        ("method = 'eszsl'\n[set.row_scaler]\ncentre = true", "nearest name: 'row_scaler__center'"),
        (
            "method = 'jlse'\n[set]\nmax_iter = 3",
            "JLSE has no parameter 'max_iter', but 'training__max_iter'",
        ),
        ("method = 'jlse'\n[set.training]\nmax_itr = 3", "nearest name: 'training__max_iter'"),
        ("method = 'jlse'\n[set]\ntesting = 'DataFitt'", "not 'DataFitt'; nearest name: 'DataFit'"),
        (
            "method = 'jlse'\n[set]\ntesting = 'DataFit'\ntesting__tol = 1",
            "has no parameter 'testing__tol'",
        ),
    ],
)
def test_a_file_of_options_that_is_wrong(
    folder: Path, tmp_path: Path, text: str, words: str
) -> None:
    config = write_config(tmp_path, text)
    fit = ["fit", folder, "--config", config, "--out", tmp_path / "m"]
    assert_one_sentence(run_unseen(*fit), words)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 5000, "lie too deep inside each other"),
        ("a = " + "{a = " * 5000, "lie too deep inside each other"),
        ("out" + ".a" * 5000 + " = 1", "lie too deep inside each other"),
        ("k = " + "9" * 6000, "a whole number of more than 64 bits"),
        ("k = 0x" + "f" * 6000, "a whole number of more than 64 bits"),
        ("[set]\nk = 0x" + "f" * 6000, "a whole number of more than 64 bits"),
    ],
    ids=range(6),
)
def test_a_file_of_options_without_end(tmp_path: Path, text: str, words: str) -> None:
    outcome = run_unseen("fit", "digits", "--config", write_config(tmp_path, text))
    assert_one_sentence(outcome, "run.toml: ", words)
    assert len(outcome.err) < 500


@pytest.mark.parametrize("text", ["json = true\n", "[check]\njson = true\n"])
def test_errors_are_json_where_the_file_of_options_says_so(tmp_path: Path, text: str) -> None:
    config = write_config(tmp_path, text)
    outcome = run_unseen("check", tmp_path / "none", "--config", config)
    assert (outcome.code, outcome.err) == (1, f"Error: {outcome.json['error']}\n")
    outcome = run_unseen("check", "--config", config)
    assert outcome.code == 2
    assert "Missing argument" in outcome.json["error"]
    assert (
        "no option 'k'"
        in run_unseen("check", "digits", "--config", write_config(tmp_path, f"k = 3\n{text}")).json[
            "error"
        ]
    )
    assert run_unseen("check", tmp_path / "none").out == "", "the next command is asked anew"


def test_a_file_of_options_that_is_not_there(folder: Path, tmp_path: Path) -> None:
    outcome = run_unseen("fit", folder, "-o", tmp_path / "m", "--config", tmp_path / "absent.toml")
    assert_one_sentence(outcome, "absent.toml does not exist")


# -- in a shell -----------------------------------------------------------------------------------


def in_a_shell(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unseen", *map(str, arguments)]
    return subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_completion_can_be_installed() -> None:
    """From a real bash, which typer looks for among the processes above it."""
    command = ["bash", "-c", f"'{sys.executable}' -m unseen --show-completion; exit $?"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "_UNSEEN_COMPLETE=complete_bash" in shown.stdout, shown.stderr


@pytest.mark.slow
def test_from_files_to_reasons_in_real_processes(
    folder: Path, expected: JLSE, X: np.ndarray, tmp_path: Path
) -> None:
    model, out = tmp_path / "m.unseen", tmp_path / "p.csv"
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

    def run(*arguments: object) -> Any:
        done = in_a_shell(*arguments, "--json", **one_thread)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    assert run("fit", folder, "-m", "jlse", *OPTIONS, "--out", model)["seen"] == 8
    assert run("predict", model, folder / "features.npy", "--out", out)["lines"] == 77
    with out.open(encoding="utf-8", newline="") as file:
        scores = [float(line["score"]) for line in csv.DictReader(file)]
    assert scores == expected.top_k(X, 1).scores[:, 0].tolist()
    measured = run("evaluate", model, folder)
    result = evaluate(expected, read_dataset(folder))
    assert measured["per_class_accuracy"] == result.per_class_accuracy
    assert measured["mean_average_precision"] == result.mean_average_precision
    reasons = run("explain", model, folder, "--row", 60)
    assert reasons["similarity"] == expected.explain(X[60], reasons["named"]).similarity
