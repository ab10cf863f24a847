"""The command line on real files: its results are those of the library."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import unseen
from tests.common.birds import SEEN, UNSEEN, write_classes
from tests.common.command import BY_ESZSL, Outcome, assert_one_sentence, run_unseen
from unseen import ESZSL, ClassTable, evaluate, load_digits_zero_shot, make_zero_shot
from unseen.apps.cli import COMMANDS, command, main, models
from unseen.apps.cli.output import show, show_json
from unseen.rows import RowScaler
from unseen.support.parameters import plain_parameters

# -- help and lists -----------------------------------------------------------------------------


def test_without_arguments_the_commands_are_listed() -> None:
    outcome = run_unseen()
    assert outcome.code == 2
    for name in COMMANDS:
        assert name in outcome.out + outcome.err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    outcome = run_unseen(name, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"unseen {name}" in outcome.out
    assert outcome.out == run_unseen(name, "-h").out
    _, summary = COMMANDS[name]
    assert command(name).help.partition("\n\n")[0] == summary, "in the list of commands"


def test_version() -> None:
    assert run_unseen("--version") == Outcome(0, f"unseen {unseen.__version__}\n", "")


def test_methods_and_datasets_are_listed() -> None:
    assert "row_penalty=0.001" in run_unseen("methods").out
    methods = run_unseen("methods", "--json").json
    assert methods["eszsl"]["parameters"] == plain_parameters(ESZSL())
    assert methods["eszsl"]["grid"] == ESZSL.default_grid()
    told = run_unseen("methods", "ESZSL").out
    assert "in units of the trace of X'X" in told
    assert re.search(r"^row_penalty = 0.001  \[.*0\.01\]$", told, re.MULTILINE)
    assert "\nrow_scaler: RowScaler, its parameters as row_scaler__NAME\n" in told
    assert "\ncenter : take off the mean of the training rows" in told
    assert "\nrow_scaler = RowScaler\n  row_scaler__center = True\n" in told
    assert list(run_unseen("methods", "ale", "--json").json) == ["ale"]
    for name, facts in methods.items():
        described = run_unseen("methods", name).out.partition("Defaults, and")[0]
        own = [p.rpartition("__")[2] for p in facts["parameters"]]
        missing = [p for p in own if not re.search(rf"\b{p}\b", described)]
        assert missing == [], name
    assert_one_sentence(run_unseen("methods", "esz"), "nearest name: 'eszsl'")
    found = run_unseen("datasets", "--json").json
    assert found["digits"]["rows"] == 1797
    assert "1,797" in run_unseen("datasets").out


@pytest.mark.parametrize(
    "arguments",
    [["fitt"], ["fit", "digits"], ["predict"], ["retrieve", "a", "b", "-c", "x", "-k", "0"],
     ["predict", "a", "b", "--top", "few"], ["--nonsense"]],
)  # fmt: skip
def test_a_command_that_is_not_understood(arguments: list[str]) -> None:
    outcome = run_unseen(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("evaluate",), "Missing argument"),
        (("fit", "digits", "--nonsense"), "No such option"),
        (("tune", "digits", "--budget", "-1"), "--budget"),
        (("nonsense",), "No such command 'nonsense'"),
    ],
)
def test_a_program_is_told_that_a_command_was_not_understood(
    arguments: tuple[str, ...], reason: str
) -> None:
    outcome = run_unseen(*arguments, "--json")
    assert outcome.code == 2
    assert reason in outcome.json["error"]
    assert run_unseen(*arguments).out == ""


def test_an_interrupt_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(models, "open_data", interrupted)
    assert run_unseen("tune", "digits") == Outcome(130, "", "Stopped.\n")


# What a destructor raises is dropped in the same way as by compiled code.
DROPPED = """
import time
class Deaf:
    def __del__(self): raise KeyboardInterrupt
del [Deaf()][0]
time.sleep(60)
"""


@pytest.mark.parametrize("loading", ["raise KeyboardInterrupt", DROPPED], ids=["told", "dropped"])
def test_an_interrupt_while_the_command_line_is_loaded_is_one_line(
    loading: str, tmp_path: Path
) -> None:
    (tmp_path / "typer.py").write_text(loading)
    places = os.pathsep.join([str(tmp_path), str(Path(unseen.__file__).parents[1])])
    found = subprocess.run(
        [sys.executable, "-m", "unseen", "check", "digits"],
        env={**os.environ, "PYTHONPATH": places}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "Stopped.\n")


def test_an_interrupt_before_a_command_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("unseen.apps.cli.app", interrupted)
    assert run_unseen("tune", "digits") == Outcome(130, "", "Stopped.\n")


def test_errors_are_json_where_results_would_be(tmp_path: Path) -> None:
    outcome = run_unseen("check", tmp_path / "none", "--json")
    assert outcome.code == 1
    assert outcome.err == f"Error: {outcome.json['error']}\n"


# -- the same results as the library ------------------------------------------------------------


def test_fit_reports_what_it_did(folder: Path, tmp_path: Path) -> None:
    outcome = run_unseen("fit", folder, *BY_ESZSL, "--out", tmp_path / "new" / "m.unseen", "--json")
    assert outcome.json["parameters"] == plain_parameters(ESZSL())
    assert (outcome.json["rows"], outcome.json["seen"], outcome.json["unseen"]) == (56, 8, 3)
    assert (
        "56 rows of 8 classes" in run_unseen("fit", folder, *BY_ESZSL, "--out", tmp_path / "m").out
    )


@pytest.mark.parametrize("candidates", ["", "unseen", "seen", "all", "Heron,12", "Tern, [Arctic]"])
def test_predictions(
    folder: Path, model_file: Path, expected: Any, X: Any, candidates: str
) -> None:
    """To a csv file, as JSON, from a file and from a data set: always those of the library."""
    names = {"": None, "Heron,12": ["Heron", "12"], "Tern, [Arctic]": [candidates]}
    best = expected.top_k(X, 1, names.get(candidates, candidates))
    out = folder.parent / "predictions.csv"
    options = ["--candidates", candidates] if candidates else []
    assert run_unseen("predict", model_file, folder, "--out", out, *options).code == 0
    with out.open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert [line["class"] for line in written] == best.names[:, 0].tolist()
    assert [float(line["score"]) for line in written] == best.scores[:, 0].tolist()
    printed = run_unseen("predict", model_file, folder / "features.npy", "--json", *options).json
    assert [line.pop("label") for line in written] == np.repeat(SEEN + UNSEEN, 7).tolist()
    assert [{k: str(v) for k, v in line.items()} for line in printed] == written
    assert run_unseen("predict", model_file, folder, "--out", out, "--json").json["lines"] == 77


def test_predictions_say_among_which_classes(folder: Path, model_file: Path) -> None:
    shown = run_unseen("predict", model_file, folder)
    assert shown.out.startswith("Predictions among 3 unseen classes (--candidates all for all 11)")
    everything = run_unseen("predict", model_file, folder, "--candidates", "all").out
    assert everything.startswith("Predictions among 11 classes\n")
    comma = 'Heron, "Tern, [Arctic]"'
    two = run_unseen("predict", model_file, folder, "--candidates", comma, "--json")
    assert {line["class"] for line in two.json} <= {"Heron", "Tern, [Arctic]"}
    assert_one_sentence(
        run_unseen("predict", model_file, folder, "--candidates", 'a\nb"c'), "no class 'a"
    )
    bare = run_unseen("predict", model_file, folder, "--candidates", "Heron,Tern, [Arctic]")
    assert_one_sentence(bare, "needs quotation marks: '\"Tern, [Arctic]\"'")
    one = run_unseen("predict", model_file, folder, "--candidates", "Heron").out
    assert one.startswith("Predictions among 1 seen class (--candidates all for all 11)")


def test_the_best_few_candidates(model_file: Path, folder: Path, expected: Any, X: Any) -> None:
    lines = run_unseen("predict", model_file, folder, "--top", 3, "--json").json
    best = expected.top_k(X, 3)
    for k in range(3):
        assert [line[f"class {k + 1}"] for line in lines] == best.names[:, k].tolist()
        assert [line[f"score {k + 1}"] for line in lines] == best.scores[:, k].tolist()


@pytest.mark.parametrize("name", ["Lazuli Bunting", "Tern, [Arctic]", "12"])
def test_retrieval(model_file: Path, folder: Path, expected: Any, X: Any, name: str) -> None:
    lines = run_unseen("retrieve", model_file, folder, "--class", name, "-k", 9, "--json").json
    ranking = expected.rank(name, X, 9)
    assert [line["place"] for line in lines] == list(range(1, 10))
    assert [line["row"] for line in lines] == ranking.rows.tolist()
    assert [line["score"] for line in lines] == ranking.scores.tolist()
    shown = run_unseen("retrieve", model_file, folder, "--class", name, "-k", 500)
    assert repr(name) in shown.out


def test_evaluation(model_file: Path, folder: Path, expected: Any) -> None:
    found = run_unseen("evaluate", model_file, folder, "--json").json
    result = evaluate(expected, unseen.read_dataset(folder))
    for measure in ("per_class_accuracy", "per_image_accuracy", "mean_average_precision"):
        assert found[measure] == getattr(result, measure)
    shown = run_unseen("evaluate", model_file, folder).out
    assert f"{100 * found['per_class_accuracy']:.1f} %" in shown
    for line in found["by_class"]:
        row = next(text for text in shown.splitlines() if line["name"] in text)
        assert f"{100 * line['average_precision']:.1f} %" in row


def test_test_rows_bring_the_generalised_table(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "birds")
    (copy / "test_rows.txt").write_text("0\n8\n15\n22\n29\n", encoding="utf-8")
    run_unseen("fit", copy, *BY_ESZSL, "--out", tmp_path / "m")
    found = run_unseen("evaluate", tmp_path / "m", copy, "--json").json["generalized"]
    shown = run_unseen("evaluate", tmp_path / "m", copy).out
    assert f"{100 * found['harmonic_mean']:.1f} %" in shown
    assert f"{found['ausuc']:.3f}" in shown


def test_embedded_digits(tmp_path: Path) -> None:
    digits = load_digits_zero_shot()
    expected = ESZSL().fit(*digits.training_set(), classes=digits.classes)
    assert run_unseen("fit", "digits", *BY_ESZSL, "--out", tmp_path / "m").code == 0
    lines = run_unseen("predict", tmp_path / "m", "digits", "--json").json
    assert [line["class"] for line in lines] == expected.predict(digits.X).tolist()
    found = run_unseen("evaluate", tmp_path / "m", "digits", "--json").json
    assert found["per_class_accuracy"] == expected.score(*digits.unseen_set())
    facts = run_unseen("check", "digits", "--json").json
    assert (facts["usable"], facts["facts"]["unseen classes"]) == (True, 3)


def test_classes_that_came_later(model_file: Path, folder: Path, expected: Any, X: Any) -> None:
    vectors = np.random.default_rng(0).standard_normal((2, 6))
    table = write_classes(folder.parent / "more.csv", ["Dodo", "Auk"], vectors)
    options = ["--classes", table, "--json"]
    lines = run_unseen("predict", model_file, folder, *options).json
    more = ClassTable(["Dodo", "Auk"], vectors)
    assert [line["class"] for line in lines] == expected.reveal(more).predict(X).tolist()
    assert {"Dodo", "Auk"} & {line["class"] for line in lines}
    ranked = run_unseen("retrieve", model_file, folder, "-c", "Auk", *options).json
    scores = expected.similarities(X, more)[:, 1]
    assert [line["row"] for line in ranked] == np.argsort(-scores, kind="stable")[:5].tolist()


def test_a_model_with_numbers_for_names(tmp_path: Path) -> None:
    data = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=5)
    table = ClassTable(range(7), data.classes.vectors)
    model = ESZSL().fit(data.X[:20], np.repeat(range(5), 4), classes=table)
    model.save(tmp_path / "m")
    np.save(tmp_path / "X.npy", data.X)
    ranked = run_unseen("retrieve", tmp_path / "m", tmp_path / "X.npy", "-c", "6", "--json").json
    assert [line["row"] for line in ranked] == model.rank(6, data.X, 5).rows.tolist()
    among = ["--candidates", "1,6", "--json"]
    lines = run_unseen("predict", tmp_path / "m", tmp_path / "X.npy", *among).json
    assert [line["class"] for line in lines] == model.predict(data.X, [1, 6]).tolist()


# -- parameters ---------------------------------------------------------------------------------


def test_parameters_are_set(folder: Path, tmp_path: Path) -> None:
    settings = ["row_penalty=0.5", "row_scaler__center=false", "row_scaler__unit_length=False"]
    settings = [word for setting in settings for word in ("--set", setting)]
    outcome = run_unseen("fit", folder, *BY_ESZSL, "--out", tmp_path / "m", *settings)
    assert (outcome.code, outcome.err) == (0, "")
    wanted = ESZSL(row_penalty=0.5, row_scaler=RowScaler(False, False))
    assert plain_parameters(unseen.load(tmp_path / "m")) == plain_parameters(wanted)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("row_penalty=-1", "row_penalty must be a positive number, not -1"),
        ("row_penalty=abc", "row_penalty must be a positive number, not 'abc'"),
        ("row_penalty=", "row_penalty must be a positive number"),
        ("row_penalty=[1]", "row_penalty must be a positive number"),
        ("row_penalty=True", "row_penalty must be a positive number"),
        ("row_penalty=1e999", "row_penalty must be a positive number"),
        ("row_scaler__center=0", "row_scaler: center must be True or False, not 0"),
        ("row_scaler__center=maybe", "center must be True or False"),
        ("row_penalti=1", "nearest name: 'row_penalty'; it has"),
        ("row_scaler__centre=1", "nearest name: 'row_scaler__center'; it has"),
        ("center=1", "no parameter 'center', but 'class_scaler__center', 'row_scaler__center'; it"),
        ("row_scaler=Rows", "row_scaler must be RowScaler, not 'Rows'"),
        ("row_penalty", "NAME=VALUE"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "tune"])
def test_wrong_parameters(
    folder: Path, tmp_path: Path, command: str, setting: str, sentence: str
) -> None:
    outcome = run_unseen(command, folder, *BY_ESZSL, "--out", tmp_path / "m", "--set", setting)
    assert_one_sentence(outcome, sentence)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_method(folder: Path, tmp_path: Path) -> None:
    outcome = run_unseen("fit", folder, "--out", tmp_path / "m", "--method", "eszl")
    assert_one_sentence(outcome, "unknown method 'eszl'", "nearest name: 'eszsl'", "there are")


# -- what a person and a program see ------------------------------------------------------------


def test_names_stand_in_tables_as_they_are(folder: Path, model_file: Path) -> None:
    shown = run_unseen("retrieve", model_file, folder, "--class", "[red]Kite").out
    assert shown.startswith("Rows that fit '[red]Kite' best, among 77 rows\n")
    shown = run_unseen("predict", model_file, folder, "--candidates", "[red]Kite,:smile: Wren").out
    assert "│ [red]Kite    │" in shown
    assert "│ :smile: Wren │" in shown


def test_many_candidates_fit_into_a_table(
    folder: Path, model_file: Path, expected: Any, X: Any
) -> None:
    shown = run_unseen("predict", model_file, folder, "--top", 8, "--candidates", "seen").out
    names, scores = (part[0] for part in expected.top_k(X, 8, "seen"))
    best = "; ".join(f"{n} {s:.4g}" for n, s in zip(names, scores, strict=True))
    text = " ".join(shown.replace("│", " ").split())
    assert f" 0 Indigo Bunting {best} 1 " in text


def test_a_long_title_is_not_squeezed_and_switches_are_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show("A title wider than [bold]its[/bold] table", ["center", "n"], [[True, 1234], [False, 2]])
    first, *_, one, two, _ = capsys.readouterr().out.splitlines()
    assert first == "A title wider than [bold]its[/bold] table"
    assert one.split() == ["│", "True", "│", "1,234", "│"]
    assert two.split() == ["│", "False", "│", "2", "│"]


def test_json_is_json_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"a": [np.nan, np.float32(0.5), (np.inf, np.int64(3))], "b": {"c": Path("x")}})
    text = "".join(capsys.readouterr().out.split())
    assert text == '{"a":[null,0.5,[null,3]],"b":{"c":"x"}}'


def test_a_terminal_without_unicode(folder: Path, model_file: Path) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    argv = ["unseen", "evaluate", str(model_file), str(folder)]
    with (
        redirect_stdout(terminal),
        patch.object(sys, "argv", argv),
        pytest.raises(SystemExit) as stop,
    ):
        main()
    assert stop.value.code == 0
    terminal.seek(0)
    assert r"\xc6rfugl" in terminal.read()
