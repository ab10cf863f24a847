"""`unseen compare` and `unseen fit --method auto`: what the library finds, told to a person."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import unseen
from tests.common.birds import SEEN, UNSEEN
from tests.common.command import assert_one_sentence, run_unseen
from tests.common.html import Page, assert_loads_nothing
from unseen.apps.cli import compare as command
from unseen.estimators import DEFAULT_METHOD
from unseen.evaluation import comparing

TWO = ["-m", "eszsl", "-m", "sae", "--splits", 3]


@pytest.fixture(scope="module")
def found(folder: Path) -> Any:
    """What the library finds in the same files."""
    data = unseen.read_dataset(folder)
    return unseen.compare(*data.training_set(), data.classes, ["eszsl", "sae"], n_splits=3)


def test_the_table_and_the_words_are_those_of_the_library(folder: Path, found: Any) -> None:
    outcome = run_unseen("compare", folder, *TWO)
    assert (outcome.code, outcome.err) == (0, "")
    assert "2 of 8 seen classes held out, 3 times" in outcome.out
    for one in found.methods:
        mean, error, _ = found.estimate(one.method)
        assert f"{one.method} " in outcome.out
        assert f"{100 * mean:.1f} ± {100 * error:.1f}" in outcome.out
    assert found.in_words()[0] in outcome.out
    assert f"--method {found.recommended} --out FILE" in outcome.out


def test_json_has_all_of_it(folder: Path, found: Any) -> None:
    facts = run_unseen("compare", folder, *TWO, "--json").json
    assert facts["recommended"] == found.recommended
    assert facts["words"][0] == found.in_words()[0]
    by_name = {one["method"]: one for one in facts["methods"]}
    for one in found.methods:
        assert by_name[one.method]["per_class_accuracy"] == list(one.per_class_accuracy)


@pytest.mark.usefixtures("blank_figures")
def test_a_page_is_written(folder: Path, tmp_path: Path, found: Any) -> None:
    out = tmp_path / "page"
    outcome = run_unseen("compare", folder, *TWO, "--out", out)
    assert f"The page: {out / 'index.html'}" in outcome.out
    text = (out / "index.html").read_text(encoding="utf-8")
    assert_loads_nothing(text)
    assert {"Which one to take", found.in_words()[0]} <= set(Page(text).text)
    assert (out / "figures" / "comparison.png").exists()
    (out / "index.html").write_text("mine", encoding="utf-8")
    assert_one_sentence(
        run_unseen("compare", folder, *TWO, "--out", out), "is not a page of unseen"
    )


def test_a_budget_that_is_spent_is_told(folder: Path) -> None:
    outcome = run_unseen("compare", folder, *TWO, "--budget", 0)
    assert "not tried" in outcome.out
    assert "Not tried, as the budget was spent: sae." in outcome.out


def test_a_checkpoint_is_removed_when_all_is_done(folder: Path, tmp_path: Path) -> None:
    outcome = run_unseen("compare", folder, *TWO, "--checkpoint", tmp_path / "c")
    assert outcome.code == 0
    assert not (tmp_path / "c").exists()


def test_what_cannot_be_compared(folder: Path, tmp_path: Path) -> None:
    assert_one_sentence(run_unseen("compare", folder, "-m", "eszl"), "nearest name: 'eszsl'")
    assert_one_sentence(
        run_unseen("compare", folder, "--hold-out", 7), "leaves fewer than two to train on"
    )
    copy = shutil.copytree(folder, tmp_path / "birds")
    (copy / "unseen.txt").write_text("\n".join(UNSEEN + SEEN[5:]), encoding="utf-8")
    assert_one_sentence(run_unseen("compare", copy), "at least 6 seen classes", "there are 5; fit")


# -- fit ------------------------------------------------------------------------------------------


def test_fit_without_a_method_takes_the_default(folder: Path, tmp_path: Path) -> None:
    assert DEFAULT_METHOD == "gaussian-match"
    facts = run_unseen("fit", folder, "--out", tmp_path / "m", "--json").json
    assert facts["method"] == "gaussian-match"
    assert type(unseen.load(tmp_path / "m")).__name__ == "GaussianMatch"


def test_auto_takes_what_compare_recommends_and_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "available", lambda: ["eszsl", "sae"])
    monkeypatch.setattr(command, "available", lambda: ["eszsl", "sae"])
    data = unseen.read_dataset(folder)
    found = unseen.compare(*data.training_set(), data.classes)
    given = ["fit", folder, "--method", "auto", "--budget", 60, "--out", tmp_path / "m"]
    outcome = run_unseen(*given)
    assert outcome.code == 0, outcome.err
    assert f"Note: {found.in_words()[0]}" in outcome.err
    assert f"{found.recommended} trained on 56 rows" in outcome.out
    assert run_unseen(*given, "--json").json["method"] == found.recommended


@pytest.mark.parametrize("option", [("--set", "a=1"), ("--checkpoint", "c")])
def test_auto_takes_nothing_that_is_of_one_method(
    folder: Path, tmp_path: Path, option: tuple[str, str]
) -> None:
    outcome = run_unseen("fit", folder, "-m", "auto", *option, "--out", tmp_path / "m")
    assert_one_sentence(outcome, f"{option[0]} is of one method, and --method auto may take any")


def test_a_budget_is_for_auto(folder: Path, tmp_path: Path) -> None:
    outcome = run_unseen("fit", folder, "--budget", 5, "--out", tmp_path / "m")
    assert_one_sentence(outcome, "--budget is for --method auto")
