"""The suite: what is planned, what its tables say, and the command from end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.common.birds import make_folder
from tests.common.command import assert_one_sentence, run_unseen
from unseen import InputError
from unseen.apps.bench.suite import QUICK, at_hand, plan_suite
from unseen.apps.bench.suite_tables import (
    compared,
    further_tables,
    suite_facts,
    suite_shown,
    suite_tables,
)
from unseen.estimators import METHODS

SHARES = {
    "x": [[0.50, 0.60, 0.40], [0.54, 0.62, 0.48], [0.52, 0.52, 0.20]],
    "y": [[0.90, 0.80, 0.10], [0.80, 0.78, 0.30], [0.70, 0.65, 0.20]],
}
NAMES = ("eszsl", "sae", "ale")


def record(data: str, method: str, trial: int, share: float, **more: Any) -> dict[str, Any]:
    return {
        "data": data, "method": method, "trial": trial, "split": "random", "tuning": "default",
        "inside": "seen", "most_rows": 60, "per_class_accuracy": share,
        "mean_average_precision": share / 2, "tune_seconds": 0.0, "fit_seconds": 2.0,
        "seconds": 0.1, "peak_memory_mb": 10.0, "X_mb": 4.0, **more,
    }  # fmt: skip


def records() -> list[dict[str, Any]]:
    return [
        record(data, method, trial, share)
        for data, lines in SHARES.items()
        for trial, line in enumerate(lines)
        for method, share in zip(NAMES, line, strict=True)
    ]


def test_a_plan_has_every_split_of_every_data_set_and_the_published_ones_last() -> None:
    jobs = plan_suite(["synthetic", "digits"], ["eszsl", "sae"], 3, published=True, most_rows=20)
    assert len(set(jobs)) == len(jobs) == 2 * 2 * 3 + 2 * 2
    assert [j.data for j in jobs[:4]] == ["synthetic"] * 2 + ["digits"] * 2
    assert [j.inside for j in jobs] == ["seen"] * 12 + [""] * 4
    assert {j.most_rows for j in jobs} == {20}


def test_a_plan_has_no_division_twice() -> None:
    """Two of seven digits can be held out in 21 ways."""
    assert len(plan_suite(["digits"], ["eszsl"], 50)) == 21
    assert len(plan_suite(["digits"], ["eszsl"], 50, inside="all")) == 45


def test_a_plan_that_cannot_be_is_refused_before_data_are_read() -> None:
    with pytest.raises(InputError, match="no method 'eszls'"):
        plan_suite(["nosuch"], ["eszls"])


def test_without_names_the_suite_takes_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNSEEN_DATA", str(tmp_path))
    assert at_hand() == ["digits"]
    assert set(QUICK) <= set(METHODS)


def test_tables_say_what_scipy_says() -> None:
    accuracy, retrieval, ranks, against, _ = suite_tables(records())
    x, y = (100 * np.array(lines) for lines in SHARES.values())
    row = accuracy.rows[1]
    assert row[:2] == ["SAE", f"{x[:, 1].mean():.1f} ± {stats.sem(x[:, 1]):.1f}"]
    both = np.hypot(stats.sem(x[:, 1]), stats.sem(y[:, 1])) / 2
    assert row[3] == f"{(x[:, 1].mean() + y[:, 1].mean()) / 2:.1f} ± {both:.1f}"
    assert retrieval.rows[1][1].startswith(f"{x[:, 1].mean() / 2:.1f}")
    # ESZSL is 2, 2, 1.5 on x and 1, 1, 1 on y.
    assert [r[:2] for r in ranks.rows] == [["ESZSL", "1.42"], ["SAE", "1.58"], ["ALE", "3.00"]]
    assert ranks.rows[2][2] == "3.0 to 3.0"
    difference = x[:, 1] - x[:, 0]
    assert against.title == "Suite: top-1 against ESZSL (points)"
    assert against.rows[0][1] == f"{difference.mean():+.1f} ± {stats.sem(difference):.1f}"
    assert against.rows[0][-1] == "1 of 2"


def test_notes_say_what_was_measured() -> None:
    (note,) = suite_tables(records())[0].notes
    assert "over 3 random class splits" in note
    assert "no split of the data set keeps as unseen" in note
    assert "at most 60 rows per class" in note
    everywhere = [r | {"inside": "all"} for r in records()]
    assert "not to choose anything by" in suite_tables(everywhere)[0].notes[0]


def test_only_splits_with_all_methods_are_compared() -> None:
    some = [r for r in records() if (r["data"], r["trial"], r["method"]) != ("x", 2, "ale")]
    found = compared(some)["per_class_accuracy"]
    assert [len(lines) for lines in found.scores.values()] == [2, 3]
    assert found.scores["x"].tolist() == SHARES["x"][:2]
    assert "no result on them: 1 split." in suite_tables(some)[0].notes[1]


def test_a_method_that_is_missing_on_most_splits_takes_no_part() -> None:
    some = [r for r in records() if r["method"] != "ale" or r["data"] + str(r["trial"]) == "x0"]
    found = compared(some)["per_class_accuracy"]
    assert found.methods == ("eszsl", "sae")
    assert [len(lines) for lines in found.scores.values()] == [3, 3]
    assert suite_tables(some)[0].notes[1] == "Left out, without a result on most splits: ALE."


def test_published_splits_stand_apart() -> None:
    more = [
        record("x", m, 0, 0.99, inside="", split=split) for m in NAMES for split in ("SS", "PS")
    ]
    with_them, without = suite_tables(records() + more), suite_tables(records())
    assert [t.rows for t in with_them[:5]] == [t.rows for t in without]
    assert with_them[5].columns == ["method", "x, SS", "x, PS", "average"]
    assert with_them[5].notes[-1] == "Not to choose anything by; at most 60 rows per class."


def test_every_split_can_be_looked_up() -> None:
    every, cost = further_tables(records())
    assert every.rows[3] == ["y", 1, "90.0 / 45.0", "80.0 / 40.0", "10.0 / 5.0"]
    assert len(every.rows) == 6
    assert len(cost.rows) == 6


def test_facts_for_a_program() -> None:
    found = json.loads(json.dumps(suite_facts(records()), allow_nan=False))["per_class_accuracy"]
    assert found["data"]["y"]["ale"]["mean"] == pytest.approx(0.2)
    assert found["rank"]["ale"]["mean"] == 3
    assert found["rank"]["ale"]["interval"] == [3, 3]
    assert found["against_first"]["eszsl"] == {
        "mean": 0, "standard_error": 0, "interval": [0, 0]
    }  # fmt: skip
    one = suite_facts([r for r in records() if r["trial"] == 0])["per_class_accuracy"]
    assert one["data"]["y"]["ale"]["standard_error"] is None


def test_one_method_has_no_ranks() -> None:
    alone = [r for r in records() if r["method"] == "sae"]
    assert len(suite_tables(alone)) == 2
    assert suite_shown(alone) is None
    assert suite_tables([]) == further_tables([]) == []
    assert suite_facts([]) == {}


# -- the command --------------------------------------------------------------------------------


@pytest.mark.usefixtures("jobs_here", "blank_figures")
def test_a_suite_prints_writes_resumes_and_is_reported(tmp_path: Path) -> None:
    folder, out = make_folder(tmp_path / "birds"), tmp_path / "out"
    command = ["bench", "--suite", "synthetic", folder, "-m", "eszsl", "-m", "sae", "--splits", "2",
               "--published", "--most-rows", "10", "-o", out]  # fmt: skip
    done = run_unseen(*command)
    assert done.code == 0, done.err
    for words in ("Suite: mean rank", "against ESZSL (points)", "Published splits", "suite.png"):
        assert words in done.out
    assert "1 of 12: synthetic, eszsl, split 1" in done.err
    assert {p.name for p in out.glob("suite*")} == {
        "suite.png", "suite.svg", "suite-dark.png", "suite-dark.svg"
    }  # fmt: skip
    assert "every split" in (out / "tables.md").read_text()
    assert "<figure>" in (out / "tables.html").read_text()
    lines = (out / "results.jsonl").read_text()
    assert lines.count("\n") == 12
    again = run_unseen(*command, "--json")
    assert again.err == ""
    assert again.json["suite"]["per_class_accuracy"]["rank"].keys() == {"eszsl", "sae"}
    assert (out / "results.jsonl").read_text() == lines, "nothing was run again"
    reported = run_unseen("report", out, "-o", out / "page")
    assert reported.code == 0, reported.err
    assert "Suite: mean rank" in (out / "page" / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--suite", "digits", "--trials", "4"], "--suite takes no --trials"),
        (["--suite", "digits", "--random-classes", "4"], "--suite takes no --random-classes"),
        (["digits", "--most-rows", "4"], "--most-rows is for a suite: add --suite"),
        (["--suite", "nosuch"], "nosuch does not exist"),
        (["--suite", "digits", "-m", "nope"], "no method 'nope'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    outcome = run_unseen("bench", *arguments, "-o", tmp_path / "out")
    assert_one_sentence(outcome, words)
    assert not (tmp_path / "out").exists()
