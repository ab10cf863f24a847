"""`unseen bench` and `unseen sweep` through a real process: results, resuming, errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.common.birds import make_folder
from tests.common.command import assert_one_sentence, run_unseen

CHANGING = ("time", "seconds", "fit_seconds", "tune_seconds", "peak_memory_mb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("data") / "birds")


def lasting(path: Path) -> list[dict[str, Any]]:
    """The records of a log without what differs from run to run."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [{k: v for k, v in r.items() if k not in CHANGING} for r in records]


@pytest.mark.usefixtures("jobs_here")
def test_bench_prints_and_writes_its_tables(folder: Path, tmp_path: Path) -> None:
    done = run_unseen("bench", folder, "-m", "eszsl", "--trials", "2", "-o", tmp_path)
    assert done.code == 0, done.err
    assert "per-class top-1" in done.out
    assert "peak MB" in done.out
    assert len(lasting(tmp_path / "results.jsonl")) == 2
    assert (tmp_path / "tables.md").read_text().startswith("Made by `unseen bench")
    assert "<table>" in (tmp_path / "tables.html").read_text()
    again = run_unseen("bench", folder, "-m", "eszsl", "--trials", "2", "-o", tmp_path, "--json")
    assert len(json.loads(again.out)["results"]) == 2
    assert len(lasting(tmp_path / "results.jsonl")) == 2, "nothing was run again"


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="a quarter of a minute: not on each push")
def test_results_of_data_that_changed_since_are_made_again(tmp_path: Path) -> None:
    data, out = make_folder(tmp_path / "birds"), tmp_path / "out"
    bench = ["bench", data, "-m", "eszsl", "--trials", "1", "-o", out / "bench"]
    sweep = ["sweep", "row_penalty", data, "-m", "eszsl", "--values", "0.1", "--trials", "1",
             "-o", out / "sweep"]  # fmt: skip
    run_unseen(*bench)
    run_unseen(*sweep)
    X = np.load(data / "features.npy")
    np.save(data / "features.npy", np.roll(X, 30, axis=0))
    done = run_unseen(*bench)
    assert done.code == 0, done.err
    assert "already" not in done.out
    run_unseen(*sweep)
    for name in ("bench", "sweep"):
        then, now = lasting(out / name / "results.jsonl")
        assert then["key"] == now["key"]
        assert then["sources"] != now["sources"]
        assert then["per_class_accuracy"] != now["per_class_accuracy"]
    other = run_unseen("bench", data, "-m", "sae", "--trials", "1", "-o", out / "bench")
    assert other.code == 0
    np.save(data / "features.npy", X)
    assert run_unseen(*bench).code == 0
    assert run_unseen("report", out / "bench", "-o", out / "page").code == 0
    page = (out / "page" / "index.html").read_text()
    assert "SAE" not in page, "its result is of the data before"
    assert "Left out, for their data have changed since: 1 result." in page
    (data / "features.npy").unlink()
    failed = run_unseen(*bench, "--json")
    assert failed.code == 1
    assert json.loads(failed.out)["results"] == [], "nothing is shown of data that are not there"


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="a quarter of a minute: not on each push")
def test_a_killed_bench_goes_on_to_the_same_results(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "unseen", "bench", str(folder), "-m", "ale", "--trials", "1"]
    command += ["--tuning", "holdout"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run([*command, "-o", str(whole)], check=True, capture_output=True)
    with subprocess.Popen(
        [*command, "-o", str(broken)], start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        for _ in range(6000):
            if state_of(broken) or process.poll() is not None:
                break
            time.sleep(0.01)
        assert process.poll() is None, "it ended before it was killed"
        os.killpg(process.pid, signal.SIGKILL)
    assert state_of(broken), "a search was stopped on the way"
    subprocess.run([*command, "-o", str(broken)], check=True, capture_output=True)
    assert lasting(broken / "results.jsonl") == lasting(whole / "results.jsonl")
    assert sorted(p.name for p in broken.iterdir()) == sorted(p.name for p in whole.iterdir())


def state_of(folder: Path) -> list[str]:
    """Which searches are on their way."""
    return [path.name for path in folder.glob("*.checkpoint")]


def workers_of(process_id: int) -> list[int]:
    """Python processes that a process has started, by /proc."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(process_id)], capture_output=True, text=True
    ).stdout.splitlines()
    return [int(line.split()[0]) for line in listed if "unseen.apps.bench.run" in line]


@pytest.mark.slow
def test_no_worker_outlives_a_bench_that_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "unseen", "bench", "digits", "-m", "variants", "--trials", "9"]
    with subprocess.Popen(
        [*command, "-o", str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        for _ in range(300):
            if found := workers_of(process.pid):
                break
            time.sleep(0.1)
        time.sleep(5)
        os.kill(process.pid, signal.SIGKILL)
    assert found, "the bench never started a worker"
    for _ in range(100):
        if not any(os.path.exists(f"/proc/{pid}") for pid in found):
            return
        time.sleep(0.1)
    raise AssertionError("a worker is still there")


@pytest.mark.slow
def test_an_interrupted_bench_keeps_what_is_done_and_ends_quietly(
    folder: Path, tmp_path: Path
) -> None:
    """Ctrl-C goes to all processes of a terminal, the workers among them."""
    command = [sys.executable, "-m", "unseen", "bench", str(folder), "-m", "eszsl"]
    command += ["--trials", "40", "-o", str(tmp_path)]
    with subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        for _ in range(1200):
            if (tmp_path / "results.jsonl").exists():
                break
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert f"Stopped; the same command resumes from {tmp_path / 'results.jsonl'}" in err
    assert not workers_of(process.pid)
    kept = lasting(tmp_path / "results.jsonl")
    n_kept = len(kept)
    assert 1 <= n_kept < 40
    done = run_unseen("bench", folder, "-m", "eszsl", "--trials", n_kept + 1, "-o", tmp_path)
    assert f"] {n_kept + 1} of {n_kept + 1}: " in done.err
    assert done.err.count(" of ") == 1, "nothing was run again"
    assert lasting(tmp_path / "results.jsonl")[:n_kept] == kept


@pytest.mark.slow
def test_a_method_that_fails_does_not_stop_the_others(folder: Path, tmp_path: Path) -> None:
    """Random classes that cannot be drawn fail one data set, not both."""
    done = run_unseen(
        "bench", "synthetic", folder, "-m", "eszsl", "--trials", "1", "--random-classes", "12",
        "-o", tmp_path,
    )  # fmt: skip
    assert done.code == 1
    assert "1 of 2 runs failed" in done.err
    assert [r["data"] for r in lasting(tmp_path / "results.jsonl")] == ["synthetic"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bench"], "name a data set"),
        (
            ["bench", "digits", "nosuch"],
            "nosuch does not exist; 'digits', 'shapes', 'synthetic' come with",
        ),
        (["bench", "digits", "-m", "nope"], "no method 'nope'"),
        (["sweep", "n_target_atoms"], "name a data set"),
        (["sweep", "nope", "digits"], "no parameter 'nope'"),
        (["sweep", "row_penalty", "digits", "-m", "eszsl", "--values", "0.1,abc"], "row_penalty"),
        (["sweep", "stretch", "digits"], "say which values of stretch"),
        (
            ["sweep", "max_iter", "digits", "-m", "jlse"],
            "no parameter 'max_iter', but 'training__max_iter'",
        ),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    outcome = run_unseen(*arguments, "-o", tmp_path / "out")
    assert_one_sentence(outcome)
    assert words in outcome.err
    assert not (tmp_path / "out").exists()


def test_paper_says_which_data_sets_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNSEEN_DATA", str(tmp_path))
    outcome = run_unseen("bench", "--paper", "-o", tmp_path / "out")
    assert outcome.code == 1
    assert "none of the paper's data sets is on this machine" in outcome.err


def test_sweep_gives_numbers_and_a_picture(folder: Path, tmp_path: Path) -> None:
    command = ["sweep", "row_penalty", folder, "-m", "eszsl", "--values", "0.001,0.1,10",
               "--trials", "2", "-o", tmp_path]  # fmt: skip
    done = run_unseen(*command)
    assert done.code == 0, done.err
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    records = lasting(tmp_path / "results.jsonl")
    assert sorted({r["value"] for r in records}) == [0.001, 0.1, 10]
    assert len(records) == 6
    assert run_unseen(*command).code == 0
    assert lasting(tmp_path / "results.jsonl") == records, "nothing was run again"


def test_a_sweep_over_a_parameter_of_a_part(folder: Path, tmp_path: Path) -> None:
    command = ["sweep", "row_scaler__center", folder, "-m", "eszsl", "--values", "true,false",
               "--set", "row_scaler=RowScaler", "--trials", "1", "-o", tmp_path]  # fmt: skip
    done = run_unseen(*command)
    assert done.code == 0, done.err
    records = lasting(tmp_path / "results.jsonl")
    assert [r["value"] for r in records] == [True, False]
    assert records[0]["fixed"] == {"row_scaler": "RowScaler"}
    assert run_unseen(*command).code == 0
    assert lasting(tmp_path / "results.jsonl") == records, "nothing was run again"
    wrong = run_unseen("sweep", "row_scaler__centre", folder, "-m", "eszsl", "--values", "true")
    assert "nearest name: 'row_scaler__center'" in wrong.err


@pytest.mark.parametrize(
    ("name", "values"), [("training__max_iter", [0, 1]), ("testing", ["DataFit", "Algorithm4"])]
)
def test_a_sweep_over_training_or_testing(
    folder: Path, tmp_path: Path, name: str, values: list[Any]
) -> None:
    words = ",".join(map(str, values))
    command = ["sweep", name, folder, "--values", words, "--set", "n_target_atoms=6",
               "-m", "kernel-jlse", "--trials", "1", "-o", tmp_path]  # fmt: skip
    done = run_unseen(*command)
    assert done.code == 0, done.err
    assert [r["value"] for r in lasting(tmp_path / "results.jsonl")] == values
    assert (tmp_path / "sweep.png").exists()


def test_a_sweep_on_unseen_classes_warns_against_choosing_by_it(
    folder: Path, tmp_path: Path
) -> None:
    done = run_unseen(
        "sweep", "row_penalty", folder, "-m", "eszsl", "--values", "0.1", "--on", "unseen",
        "--trials", "1", "-o", tmp_path,
    )  # fmt: skip
    assert "not to choose a value by" in done.out
