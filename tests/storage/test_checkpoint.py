"""A fit that is stopped goes on to the same model, to the bit, wherever it was stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.common.command import assert_one_sentence, run_unseen
from tests.common.killed import options, write_data
from tests.common.small import small_jlse, small_kernel_jlse
from unseen import JLSE, ClassTable, InputError, make_zero_shot
from unseen.datasets import make_pairs
from unseen.estimators import METHODS
from unseen.storage import checkpoint as module
from unseen.storage.checkpoint import Checkpoint, remove
from unseen.training.pairwise import Algorithm1

ROOT = Path(__file__).resolve().parents[2]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
MODELS: dict[str, dict[str, Any]] = {
    "default": {},
    "tolerance": {"training__tol": 0.002, "n_source_atoms": 4},
    "Algorithm 1": {"training": Algorithm1(5, block_tol=0.05)},
    "kernel": {},
}
# Whatever else trains step by step, in ways that take several trainings.
OTHERS: dict[str, dict[str, Any]] = {
    "ale": {"max_iter": 5, "tol": 0},
    "sje": {"max_iter": 3},
    "devise": {"max_iter": 9, "tol": 0.05},
    "latem": {"max_iter": 6, "n_maps": 3, "least_share": 0.3},
    "sse-int": {"n_steps": 3},
    "sse-relu": {"n_steps": 3},
}


def make(name: str, **more: Any) -> Any:
    if name in OTHERS:
        return METHODS[name](**{**OTHERS[name], **more})
    fast = {"n_target_atoms": 6, "similarity_penalty": 1e-2}
    if "training" not in MODELS[name]:
        fast |= {"training__max_iter": 3, "training__block_tol": 0.05}
    make_one = small_kernel_jlse if name == "kernel" else small_jlse
    return make_one(**{**fast, **MODELS[name], **more})


def test_every_method_that_trains_step_by_step_keeps_its_state() -> None:
    able = [n for n, kind in METHODS.items() if "checkpoint" in signature(kind.fit).parameters]
    assert sorted(able) == sorted([*OTHERS, "jlse", "kernel-jlse"])
    assert sorted(set(METHODS) - set(able)) == [
        "conse", "costa", "dap", "deep", "ensemble", "eszsl", "exem", "feature-vae",
        "gaussian-match", "gfzsl", "iap", "sae", "sync",
    ], "which are fitted in one go"  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Any:
    found = make_zero_shot(6, 2, rows_per_class=8, n_features=12, n_attributes=7, n_factors=4)
    names, vectors = found.classes.names, found.classes.vectors
    parts = {"some": ClassTable(names, vectors[:, :3]), "rest": ClassTable(names, vectors[:, 3:])}
    return *found.training_set(), ClassTable.beside(parts)


def saved(model: JLSE, folder: Path) -> bytes:
    model.save(folder / "model")
    return (folder / "model").read_bytes()


def states_of(fit: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Checkpoint, Any, Any]]:
    """All states that a fit notes, kept as they are: it must not change them when it goes on."""
    noted: list[tuple[Checkpoint, Any, Any]] = []
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "note", lambda *state: noted.append(state))
        fit()
    return noted


def assert_goes_on_to_the_same_model(
    name: str, data: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    path = folder / "checkpoint"
    whole = saved(make(name).fit(*data), folder)
    noted = states_of(lambda: make(name).fit(*data, checkpoint=path), monkeypatch)
    assert len(noted) > 4
    for k in np.unique(np.linspace(0, len(noted) - 1, most).astype(int)):
        remove(path)
        checkpoint, stage, state = noted[k]
        checkpoint.note(stage, state)
        checkpoint.flush()
        assert saved(make(name).fit(*data, checkpoint=path), folder) == whole, k


@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
def test_stopped_after_a_block_it_goes_on_to_the_same_model(
    name: str, data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_goes_on_to_the_same_model(name, data, tmp_path, monkeypatch, 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
def test_stopped_after_any_block_it_goes_on_to_the_same_model(
    name: str, data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_goes_on_to_the_same_model(name, data, tmp_path, monkeypatch, 1000)


def test_what_stops_a_fit_lets_its_last_state_reach_the_disk(
    data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, note, numbers = tmp_path / "checkpoint", Checkpoint.note, iter(range(5))

    def stop(*state: Any) -> None:
        note(*state)
        if next(numbers) == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_WORK_A_WRITE", np.inf)
        patch.setattr(Checkpoint, "note", stop)
        with pytest.raises(KeyboardInterrupt):
            make("default").fit(*data, checkpoint=path)
    found = Checkpoint(path, belongs(path.read_bytes())).state("rounds")
    assert found is not None
    assert found["n_blocks"] > 0
    whole = saved(make("default").fit(*data), tmp_path)
    assert saved(make("default").fit(*data, checkpoint=path), tmp_path) == whole


def test_a_checkpoint_changes_nothing_and_spares_the_work(data: Any, tmp_path: Path) -> None:
    X, y, classes = data
    path = tmp_path / "checkpoint"
    whole = saved(make("default").fit(X, y, classes), tmp_path)
    assert saved(make("default").fit(X, y, classes, checkpoint=path), tmp_path) == whole
    before = path.read_bytes()
    assert saved(make("default").fit(X, y, classes, checkpoint=path), tmp_path) == whole
    found = Checkpoint(path, belongs(before)).state("rounds")
    assert found is not None
    assert found["n_blocks"] == 15


def belongs(raw: bytes) -> dict[str, Any]:
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    return json.loads(header["__metadata__"][module.KIND])["belongs"]


def test_no_state_is_left_on_the_model(data: Any, tmp_path: Path) -> None:
    model = make("default").fit(*data, checkpoint=tmp_path / "checkpoint")
    assert not [name for name in vars(model) if "checkpoint" in name]


# -- what does not belong to the fit --------------------------------------------------------------


def test_the_checkpoint_of_another_fit_is_refused(data: Any, tmp_path: Path) -> None:
    X, y, classes = data
    path = tmp_path / "checkpoint"
    make("default").fit(X, y, classes, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"another fit: training__max_iter was 3 and is now 4; .*"):
        make("default", training__max_iter=4).fit(X, y, classes, checkpoint=path)
    other = X.copy()
    other[3, 2] = np.nextafter(other[3, 2], other.dtype.type(np.inf))
    with pytest.raises(InputError, match="the rows, labels or classes were different"):
        make("default").fit(other, y, classes, checkpoint=path)
    turned = ClassTable(classes.names[::-1], classes.vectors)
    for others in ((X, y[::-1], classes), (X, y, turned)):
        with pytest.raises(InputError, match="the rows, labels or classes were different"):
            make("default").fit(*others, checkpoint=path)
    tables = {"all": ClassTable(classes.names, classes.vectors)}
    with pytest.raises(InputError, match="the rows, labels or classes were different"):
        make("default").fit(X, y, ClassTable.beside(tables), checkpoint=path)
    with pytest.raises(InputError, match="another fit: training was 'Algorithm2' and is now"):
        make("Algorithm 1").fit(X, y, classes, checkpoint=path)
    make("default").fit(X, y, classes, checkpoint=path)
    assert belongs(path.read_bytes()) == belongs(before)


def test_unseen_classes_are_no_part_of_the_training(data: Any, tmp_path: Path) -> None:
    X, y, classes = data
    path, fewer = tmp_path / "checkpoint", classes.select(classes.names[:-1])
    assert set(classes.names[-1:]).isdisjoint(y)
    make("default").fit(X, y, classes, checkpoint=path)
    again = make("default").fit(X, y, fewer, checkpoint=path)
    assert again.unseen_classes_.size == 1
    assert saved(again, tmp_path) == saved(make("default").fit(X, y, fewer), tmp_path)


@pytest.mark.parametrize("change", [lambda raw: raw[:-9], lambda raw: b"", lambda raw: b"a,b\n1,2"])
def test_what_is_no_checkpoint_is_refused_and_kept(data: Any, tmp_path: Path, change: Any) -> None:
    path = tmp_path / "checkpoint"
    make("default").fit(*data, checkpoint=path)
    path.write_bytes(change(path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(InputError, match="not a checkpoint of unseen, or it is damaged"):
        make("default").fit(*data, checkpoint=path)
    assert path.read_bytes() == before


def test_a_model_is_no_checkpoint(data: Any, tmp_path: Path) -> None:
    make("default").fit(*data).save(tmp_path / "model")
    with pytest.raises(InputError, match="a file of another kind"):
        make("default").fit(*data, checkpoint=tmp_path / "model")


# -- when it is written ---------------------------------------------------------------------------


def test_writing_takes_a_small_share_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def write(*_: Any) -> None:
        clock[0] += 1.0
        writes.append(clock[0])

    writes: list[float] = []
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(module.tensors, "write", write)
    with Checkpoint(tmp_path / "c", {}) as checkpoint:
        for _ in range(100):
            clock[0] += 1.0
            checkpoint.note("rounds", {})
    assert len(writes) == 6, "at once, every twenty seconds, and at the end"


def test_arrays_come_back_as_they_lay_in_memory(tmp_path: Path) -> None:
    A = np.arange(6.0).reshape(2, 3)
    state = {"a": A, "again": A, "f": np.asfortranarray(A), "x": np.float32(0.1), "n": None,
             "list": [1, 2.5, A], "whole": np.arange(3)}  # fmt: skip
    with Checkpoint(tmp_path / "c", {"k": 1}) as checkpoint:
        checkpoint.note("s", state)
    found = Checkpoint(tmp_path / "c", {"k": 1}).state("s")
    assert found is not None
    assert Checkpoint(tmp_path / "c", {"k": 1}).state("other") is None
    assert found["f"].flags.f_contiguous
    assert np.array_equal(found["f"], A)
    assert np.array_equal(found["list"][2], A)
    assert (found["x"], found["x"].dtype, found["n"]) == (np.float32(0.1), np.float32, None)


# -- the command ----------------------------------------------------------------------------------


def test_the_command_removes_the_file_when_the_model_is_saved(tmp_path: Path) -> None:
    write_data(tmp_path / "data.npz")
    fit = ["fit", tmp_path / "data.npz", *options("jlse")]
    assert run_unseen(*fit, "-o", tmp_path / "a").code == 0
    done = run_unseen(*fit, "-o", tmp_path / "b", "--checkpoint", tmp_path / "c")
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "data.npz"]


def test_checkpoints_that_cannot_be(tmp_path: Path) -> None:
    write_data(tmp_path / "data.npz")
    fit = ["fit", tmp_path / "data.npz", "-o", tmp_path / "m", "--checkpoint"]
    assert_one_sentence(
        run_unseen(*fit, tmp_path / "c", "-m", "eszsl"),
        "--checkpoint does not apply to eszsl, which is fitted in one go",
    )
    assert_one_sentence(run_unseen(*fit, tmp_path / "m"), "must be two files")
    assert_one_sentence(
        run_unseen(*fit, tmp_path / "data.npz"), "is not a checkpoint of unseen; choose"
    )
    assert_one_sentence(run_unseen(*fit, tmp_path), "it is a folder")


def run_killed(folder: Path, method: str, n_kills: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.common.killed", folder, method, str(n_kills), "0"]
    variables = os.environ | ONE_THREAD | {"NUMBA_THREADING_LAYER": "workqueue"}
    done = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


BY_HAND = pytest.mark.skipif("CI" in os.environ, reason="more methods: not on each push")


def assert_unharmed(found: dict[str, Any], n_kills: int) -> None:
    assert found["killed"] == n_kills
    assert found["same"], "every finished fit gave the file of an undisturbed one"
    assert found["resumed"] > 0
    assert not [name for name in found["left"] if "checkpoint" in name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "n_kills"),
    [
        ("jlse", 20),
        pytest.param("latem", 8, marks=BY_HAND),
        pytest.param("sse-int", 8, marks=BY_HAND),
    ],
)
def test_a_fit_that_is_killed_many_times_goes_on_to_the_same_file(
    method: str, n_kills: int, tmp_path: Path
) -> None:
    assert_unharmed(run_killed(tmp_path, method, n_kills), n_kills)


@pytest.mark.slow
def test_the_command_that_is_interrupted_says_how_to_go_on(tmp_path: Path) -> None:
    """Ctrl-C as a terminal sends it, in the middle of a fit of some seconds."""
    path = tmp_path / "checkpoint"
    command = [sys.executable, "-m", "unseen", "fit", "digits", "-m", "kernel-jlse",
               "--set", "training__max_iter=300",
               "-o", str(tmp_path / "m"), "--checkpoint", str(path)]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(1200):
            if path.exists() or process.poll() is not None:
                break
            time.sleep(0.1)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert f"Stopped; the same command resumes from {path}" in err
    assert "Traceback" not in err
    assert path.exists()
    assert not (tmp_path / "m").exists()


def test_a_fit_on_pairs_goes_on_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = make_pairs(12, 30, known=0.6, positives=0.3)

    def model() -> JLSE:
        return small_jlse(n_target_atoms=8)

    path, given = tmp_path / "checkpoint", (pairs.S, pairs.X, pairs.Y)
    whole = saved(model().fit_pairs(*given), tmp_path)
    noted = states_of(lambda: model().fit_pairs(*given, checkpoint=path), monkeypatch)
    checkpoint, stage, state = noted[3]
    checkpoint.note(stage, state)
    checkpoint.flush()
    assert saved(model().fit_pairs(*given, checkpoint=path), tmp_path) == whole
    flipped = pairs.Y.copy()
    flipped[flipped != 0] *= -1
    with pytest.raises(InputError, match="the rows, labels or classes were different"):
        model().fit_pairs(pairs.S, pairs.X, flipped, checkpoint=path)
