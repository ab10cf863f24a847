"""`unseen tune`: its results are those of the library, and it tells what it learned."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen
from tests.common.birds import SEEN, UNSEEN
from tests.common.command import BY_ESZSL, assert_one_sentence, run_unseen
from unseen import ESZSL
from unseen.evaluation import Protocol


def test_tuning_saves_the_best_model(folder: Path, tmp_path: Path, expected: Any, X: Any) -> None:
    options = ["--set", "class_penalty=0.1", "--hold-out", 2, "--splits", 2]
    outcome = run_unseen("tune", folder, *BY_ESZSL, "--out", tmp_path / "m", *options, "--json")
    assert outcome.err == ""
    trials = [(trial["splits"], trial["mean"]) for trial in outcome.json["trials"]]
    assert trials == sorted(trials, reverse=True)
    assert len(trials) == len(ESZSL.default_grid()["row_penalty"])
    best = ESZSL(class_penalty=0.1, **outcome.json["best"])
    best.fit(X[:56], np.repeat(SEEN, 7), classes=expected.class_table_)
    assert np.array_equal(unseen.load(tmp_path / "m").similarities(X), best.similarities(X))
    shown = run_unseen("tune", folder, *BY_ESZSL, *options).out
    assert f"{100 * trials[0][1]:.1f} %" in shown
    assert "Nothing was saved" in shown
    assert "--method eszsl --set class_penalty=0.1 " in shown


@pytest.mark.parametrize("row_penalty", [1e-3, 1e12], ids=["good", "bad"])
def test_the_default_stands_beside_the_winner(folder: Path, row_penalty: float) -> None:
    """It is kept unless it is clearly beaten; the command that is told makes what was kept."""
    from unseen.apps.cli import models as command

    data = unseen.read_dataset(folder)
    grid = {"row_penalty": [1e-3, 1e12]}
    found = unseen.tune(
        ESZSL(row_penalty=row_penalty, class_penalty=row_penalty), *data.training_set(),
        classes=data.classes, grid=grid,
    )  # fmt: skip
    line, gain = command._compared(found), found.choice.gain
    assert f"Default {100 * found.default.mean:.1f} %" in line
    assert f"{100 * gain.mean:+.1f} ± {100 * gain.error:.1f} points" in line
    assert ("is kept" in line) == found.kept_default
    assert ("given up" in line) == (not found.kept_default)


def test_drawn_settings_are_told(folder: Path) -> None:
    options = ["--method", "jlse", "--settings", 8, "--splits", 2, "--set", "n_target_atoms=8"]
    options += ["--set", "training__max_iter=0"]
    found = run_unseen("tune", folder, *options, "--json").json
    assert len(found["trials"]) == 8
    assert found["default"]["splits"] == 2
    assert "n_target_atoms" not in found["default"]["parameters"]
    assert {"kept_default", "gain", "gain_error"} <= found.keys()
    shown = run_unseen("tune", folder, *options).out
    assert " default" in shown
    kept = "" if found["kept_default"] else f" --set source_fit={found['best']['source_fit']}"
    assert f"--method jlse --set n_target_atoms=8 --set training__max_iter=0{kept}" in shown


def test_parameters_of_parts_are_set_and_told(folder: Path, tmp_path: Path) -> None:
    options = ["--set", "row_scaler__center=false", "--settings", 2, "--splits", 1]
    outcome = run_unseen("tune", folder, *BY_ESZSL, "--out", tmp_path / "m", *options)
    assert outcome.code == 0, outcome.err
    assert "--method eszsl --set row_scaler__center=False --" in outcome.out
    assert unseen.load(tmp_path / "m").row_scaler.center is False


def test_tuning_tells_what_it_learned(folder: Path) -> None:
    """The scores and the costs that are shown are those of the JSON, and of the library."""
    options = ["--protocol", "paper", "--splits", 2, "--settings", 12, "--strategy", "grid"]
    found = run_unseen("tune", folder, *BY_ESZSL, *options, "--json").json
    data = unseen.read_dataset(folder)
    tuning = unseen.tune(
        ESZSL(), *data.training_set(), classes=data.classes,
        protocol=Protocol(2, 2, "grid", n_settings=12),
    )  # fmt: skip
    assert [t["scores"] for t in found["trials"]] == [list(t.scores) for t in tuning.trials]
    assert (found["strategy"], found["n_fits"], found["finished"]) == ("grid", 24, True)
    assert found["gain"] == pytest.approx(tuning.choice.gain.mean)
    shown = run_unseen("tune", folder, *BY_ESZSL, *options).out
    assert "Strategy grid: 24 fits in " in shown
    assert "12 of 12 settings were scored on all splits." in shown


def test_a_budget_is_told_honestly(folder: Path) -> None:
    found = run_unseen("tune", folder, *BY_ESZSL, "--budget", 1e-9, "--json").json
    assert (found["n_fits"], found["finished"], found["budget"]) == (5, False, 1e-9)
    assert [t["splits"] for t in found["trials"]] == [5] + 29 * [0], "the default on all splits"
    shown = run_unseen("tune", folder, *BY_ESZSL, "--budget", 1e-9).out
    assert "the budget ended the search after 1 setting; 1 of 30 settings was scored on" in shown
    assert "eszsl: best 1 of 30 settings" in shown
    row = next(line for line in shown.splitlines() if "splits" in line and "│" in line)
    assert row.replace("│", " ").split() == ["splits", "5", "5"], "only what was tried has a place"


def test_many_parameters_stand_side_by_side(folder: Path) -> None:
    options = ["--protocol", "paper", "--method", "jlse", "--settings", 4, "--splits", 1]
    shown = run_unseen("tune", folder, *options, "--set", "n_target_atoms=8").out
    assert "jlse: best 4 of 4 settings" in shown
    row = next(line for line in shown.splitlines() if "similarity_penalty" in line)
    assert len(row.replace("│", " ").split()) == 6, "the name, four settings and the default"


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--protocol", "papr", "is not one of 'default', 'paper'"),
        ("--strategy", "random", "is not one of 'halving', 'grid'"),
        ("--budget", -1, "should be greater than or equal to 0"),
    ],
)
def test_a_search_that_is_not_understood(
    folder: Path, option: str, value: object, reason: str
) -> None:
    outcome = run_unseen("tune", folder, *BY_ESZSL, option, value)
    assert outcome.code == 2
    assert reason in " ".join(outcome.err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (-1, "--hold-out must be a whole number from 2 to 6"),
        (1, "every prediction among one class is right"),
        (1.5, "or a share between 0 and 1, not 1.5"),
        (7, "holds out 7 of 8 seen classes and leaves fewer than two to train on: at most 6"),
    ],
)
def test_a_number_to_hold_out_that_makes_no_sense(folder: Path, value: float, reason: str) -> None:
    assert_one_sentence(run_unseen("tune", folder, *BY_ESZSL, "--hold-out", value), reason)


def test_too_few_classes_to_tune(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "birds")
    (copy / "unseen.txt").write_text("\n".join(UNSEEN + SEEN[3:]), encoding="utf-8")
    assert_one_sentence(
        run_unseen("tune", copy, *BY_ESZSL), "at least 4 seen classes", "there are 3; use"
    )
