"""A search for parameters that is stopped goes on to the same result, and makes no fit twice."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config

from tests.common.command import assert_one_sentence, run_unseen
from tests.common.killed import write_data
from unseen import ESZSL, InputError, make_zero_shot, tune
from unseen.evaluation import Protocol
from unseen.evaluation.tuning import Tuning
from unseen.rows import RowScaler
from unseen.storage import tensors
from unseen.storage.checkpoint import KIND, Checkpoint, remove
from unseen.storage.values import decode

GRID = {"row_penalty": [1e-4, 1e-2, 1e-1], "class_penalty": [1e-3, 1.0]}


class Counted(ESZSL):
    """ESZSL that counts its fits, and cannot have one of the penalties."""

    n_fits = 0

    def fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        Counted.n_fits += 1
        if self.row_penalty == 1e-2:
            raise InputError("not this one")
        return super().fit(X, y, classes=classes)


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(8, 3, rows_per_class=6, n_features=10, n_attributes=7, n_factors=4)


def search(data: Any, path: Path | None = None, **more: Any) -> Tuning:
    X, y = data.training_set()
    run = {name: more.pop(name) for name in ("budget", "n_jobs") if name in more}
    grid, protocol = more.pop("grid", GRID), Protocol(**more)
    return tune(Counted(), X, y, data.classes, grid, protocol=protocol, checkpoint=path, **run)


def facts(found: Tuning) -> Any:
    weights = found.estimator.weights_  # pyright: ignore[reportAttributeAccessIssue]
    return found.trials, found.n_fits, found.finished, weights.tobytes()


@pytest.mark.parametrize("strategy", ["halving", "grid"])
def test_stopped_after_any_fit_it_goes_on_to_the_same_result(
    data: Any, tmp_path: Path, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint"
    Counted.n_fits = 0
    whole = search(data, strategy=strategy)
    n_whole, noted = Counted.n_fits, []
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "note", lambda *state: noted.append(state))
        search(data, path, strategy=strategy)
    assert len(noted) == n_whole - 1 > 10, "the last fit is that on all rows"
    for k in {0, 1, 5, 7, len(noted) // 2, len(noted) - 1}:
        remove(path)
        checkpoint, stage, state = noted[k]
        checkpoint.note(stage, state)
        checkpoint.flush()
        Counted.n_fits = 0
        assert facts(search(data, path, strategy=strategy)) == facts(whole)
        assert Counted.n_fits == n_whole - 1 - k


def n_outcomes(path: Path) -> int:
    state = decode(tensors.read(path, KIND)[0]["state"], {})
    return len(state["outcomes"])


def test_a_search_that_goes_on_keeps_what_it_had(
    data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it is killed: the file never holds less than before."""
    path, fit = tmp_path / "checkpoint", Counted.fit
    found: list[int] = []

    def watched(model: Any, *arguments: Any, **more: Any) -> Any:
        found.append(n_outcomes(path) if path.exists() else 0)
        if len(found) == 5:
            raise KeyboardInterrupt
        return fit(model, *arguments, **more)

    monkeypatch.setattr(Counted, "fit", watched)
    with pytest.raises(KeyboardInterrupt):
        search(data, path)
    assert n_outcomes(path) == 4
    search(data, path)
    assert found == sorted(found)
    assert found[5] == 4, "before its first fit"


def test_several_jobs_go_on_in_silence(data: Any, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    first = search(data, path)
    with parallel_config("threading"), warnings.catch_warnings(action="error"):
        again = search(data, path, n_jobs=2)
    assert again.trials == first.trials


def search_often(data: Any, path: Path, more: dict[str, Any]) -> None:
    """Of 720 orders one may come twice, but hardly each time."""
    for _ in range(10):
        search(data, path, **more)


def test_an_order_that_is_drawn_anew_is_refused(data: Any, tmp_path: Path) -> None:
    path, more = tmp_path / "checkpoint", {"random_state": None, "n_classes": 2, "n_splits": 2}
    search(data, path, **more)
    with pytest.raises(InputError, match="the settings to try were different"):
        search_often(data, path, more)


def test_a_search_in_which_all_failed_begins_anew(data: Any, tmp_path: Path) -> None:
    path, bad = tmp_path / "checkpoint", Counted(row_penalty=1e-2)
    with pytest.raises(InputError, match=r"no setting could be fitted; .*not this one"):
        tune(bad, *data.training_set(), classes=data.classes, grid={}, checkpoint=path)
    assert not path.exists()


def test_the_seconds_before_count(data: Any, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    first = search(data, path, budget=1e-9)
    assert (first.n_fits, first.finished) == (5, False)
    again = search(data, path, budget=1e-9)
    assert (again.n_fits, again.finished) == (5, False)
    more = search(data, path)
    assert more.finished
    assert more.spent > first.spent
    assert more.trials == search(data).trials, "a larger budget goes on from a smaller one"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"grid": {"row_penalty": [1e-3]}}, "the settings to try were different"),
        ({"random_state": 1}, "the settings to try were different"),
        ({"n_splits": 3}, "the classes held out were different"),
        ({"scoring": "mean_average_precision"}, "scoring was 'per_class_accuracy' and is now"),
    ],
)
def test_the_state_of_another_search_is_refused(
    data: Any, tmp_path: Path, other: dict[str, Any], words: str
) -> None:
    path = tmp_path / "checkpoint"
    search(data, path)
    with pytest.raises(InputError, match=words):
        search(data, path, **other)


def test_other_data_are_refused(data: Any, tmp_path: Path) -> None:
    X, y = data.training_set()
    path = tmp_path / "checkpoint"
    tune(ESZSL(), X, y, data.classes, GRID, checkpoint=path)
    with pytest.raises(InputError, match="the rows, labels or classes were different"):
        tune(ESZSL(), np.flipud(X), y, data.classes, GRID, checkpoint=path)
    with pytest.raises(InputError, match="row_scaler__center was True and is now False"):
        tune(ESZSL(row_scaler=RowScaler(center=False)), X, y, data.classes, GRID, checkpoint=path)


def test_the_command_removes_the_file_when_it_is_done(tmp_path: Path) -> None:
    write_data(tmp_path / "data.npz")
    command = ["tune", tmp_path / "data.npz", "-m", "eszsl", "--settings", "3"]
    command += ["--checkpoint", tmp_path / "c"]
    assert_one_sentence(run_unseen(*command, "-o", tmp_path / "c"), "must be two files")
    done = run_unseen(*command)
    assert (done.code, done.err) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["data.npz"]
    short = run_unseen(*command, "--budget", "0.000001")
    assert f"With a larger --budget the same command resumes from {tmp_path / 'c'}." in short.out
    more = run_unseen(*command, "--budget", "600", "--json").json
    assert more["finished"]
    assert more["n_fits"] == run_unseen(*command, "--json").json["n_fits"]
    assert [path.name for path in tmp_path.iterdir()] == ["data.npz"]
