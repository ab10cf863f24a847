"""Algorithm 2 over blocks of rows: J as over all rows at once, and to the bit the same whether
tables lie in memory or on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracles.joint import objective, scaled_rows
from unseen import JLSE, make_zero_shot
from unseen.model.latent import Spaces
from unseen.model.objective import Codes, Lambdas
from unseen.pairs.loss import LOSSES, Pairs
from unseen.rows.layout import Layout
from unseen.rows.scaling import ClassScaling, RowScaler
from unseen.solvers import similarity
from unseen.solvers.block import Effort
from unseen.solvers.dictionary import initial_source_dictionary, initial_target_dictionary
from unseen.storage import streams
from unseen.storage.checkpoint import Checkpoint
from unseen.support.work import listening
from unseen.training.alternating import Algorithm2, Data, Training

ROOT = Path(__file__).resolve().parents[2]
DATA = make_zero_shot(6, 2, rows_per_class=50, n_features=12, n_attributes=7, n_factors=4, noise=1)
N = 300


def start(layout: Layout, loss: str = "hinge", tol: float = 1e-3, signs: bool = False) -> Training:
    """Three hundred rows sorted by class."""
    X, _ = DATA.training_set()
    labels: Any = np.repeat(np.arange(6), 50)
    S = DATA.classes.vectors[:6].astype(X.dtype)
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    if signs:
        labels = np.where(np.arange(6) == labels[:, None], 1, -1).astype(np.int8)
        labels[::7, 2] = 0
    scaling = RowScaler().learn(X, True)
    data = Data.of(S, X, scaling, Pairs.weighted(labels, 6, 3.0, loss), layout)
    B = initial_source_dictionary(S, None, 0)
    D = initial_target_dictionary(data.rows, 5, 0)
    training = Training(data, Lambdas(0.2, 0.5, 0.2, 2.0, 1e-2), Effort(tol), B, D)
    training.fit_similarity()
    return training


def brute_force(training: Training, codes: Codes) -> float:
    X = scaled_rows(training.rows.X, training.rows.scaling)
    X = X if training.layout.order is None else X[training.layout.order]
    return sum(objective(training.S, X, training.pairs, codes, training.lambdas))


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_no_step_over_blocks_raises_the_objective(loss: str, signs: bool, tmp_path: Path) -> None:
    training = start(Layout(N, 7, str(tmp_path)), loss, signs=signs)
    values = [brute_force(training, training.codes)]
    training.run(2, callback=lambda n, name, codes: values.append(brute_force(training, codes)))
    assert len(values) == 11
    for before, now in pairwise(values):
        assert now <= before + 1e-6 * abs(before)
    assert values[-1] < 0.99 * values[0]
    totals = [parts.total for parts in training.history]
    np.testing.assert_allclose(totals, values[::5], rtol=1e-5)


@pytest.mark.parametrize("signs", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_on_disk_give_the_same_bits_and_all_rows_at_once_the_same_objective(
    loss: str, signs: bool, tmp_path: Path
) -> None:
    layouts = Layout(N), Layout(N, 7), Layout(N, 7, str(tmp_path))
    whole, blocks, on_disk = (start(layout, loss, 1e-6, signs) for layout in layouts)
    for training in (whole, blocks, on_disk):
        training.run(2)
    assert on_disk.history == blocks.history
    for found, expected in zip(on_disk.codes, blocks.codes, strict=True):
        np.testing.assert_array_equal(found, expected)
    totals = [[parts.total for parts in t.history] for t in (whole, blocks)]
    np.testing.assert_allclose(totals[1], totals[0], rtol=1e-4)
    spaces = Spaces(whole.rows.scaling, ClassScaling(False, None))
    models = [t.model(spaces, "margin") for t in (whole, on_disk)]
    one, other = (m.Zt @ m.W.T @ m.Zs.T for m in models)
    np.testing.assert_allclose(other, one, atol=2e-3 * np.ptp(one))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_polish_of_the_similarity_sees_blocks(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first epoch on, and to a gap that ascent alone would take long for."""
    monkeypatch.setattr(similarity, "EPOCHS_BEFORE_POLISH", 1)
    polished: list[int] = []
    find = similarity._find
    monkeypatch.setattr(similarity, "_find", lambda block, P: polished.append(1) or find(block, P))
    rng = np.random.default_rng(0)
    Zs, Zt = rng.dirichlet(np.ones(5), 6), rng.standard_normal((N, 5))
    pairs = Pairs.weighted(rng.integers(0, 6, N), 6, 3.0, loss)
    effort = Effort(1e-7, 3000)
    found = [
        similarity.fit_similarity(Zs, Zt, pairs, 1e-3, effort, layout=Layout(N, k)).value
        for k in (1, 4)
    ]
    assert len(polished) > 4
    np.testing.assert_allclose(found[1], found[0], atol=1e-3 * np.abs(found[0]).max())


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Fits whose tables lie on disk in a few blocks, and checkpoints that are mapped."""
    folder = tmp_path / "tables"
    folder.mkdir()

    def chosen(n_rows: int, *_: Any) -> Layout:
        return Layout(n_rows, 5, str(folder))

    monkeypatch.setattr(Layout, "of", chosen)
    monkeypatch.setattr(streams, "_LITTLE", 0)
    monkeypatch.setattr(streams, "MEMORY_SHARE", 0)
    return folder


def test_a_fit_on_disk_resumes_from_its_checkpoint_to_the_same_bits(
    on_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped before any step of two rounds; a state that was noted does not change any more."""
    path, training_set = tmp_path / "state", (*DATA.training_set(), DATA.classes)
    model = JLSE(5, training=Algorithm2(2))
    steps: list[str] = []
    with listening(steps.append):
        whole = model.fit(*training_set)
    for last in range(3, len(steps), 3):
        done: list[str] = []

        def stop(step: str, done: list[str] = done, last: int = last) -> None:
            done.append(step)
            if len(done) == last:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            # Only what the end of a fit writes reaches the disk.
            patch.setattr("unseen.storage.checkpoint._WORK_A_WRITE", np.inf)
            with pytest.raises(KeyboardInterrupt), listening(stop):
                JLSE(5, training=Algorithm2(2)).fit(*training_set, checkpoint=path)
        again = JLSE(5, training=Algorithm2(2)).fit(*training_set, checkpoint=path)
        np.testing.assert_array_equal(again.history_, whole.history_)
        np.testing.assert_array_equal(again.latent_.W, whole.latent_.W)
        X = DATA.X[:20]
        np.testing.assert_array_equal(again.similarities(X), whole.similarities(X))
        path.unlink()
    assert os.listdir(on_disk) == []
    assert Checkpoint(None, {}).state("rounds") is None


def test_blocks_are_visited_without_a_seed_too(on_disk: Path) -> None:
    model = JLSE(5).set_params(random_state=None).fit(*DATA.training_set(), DATA.classes)
    assert model.history_[1, -1] < model.history_[0, -1]


_SCRIPT = """
import resource, sys
import numpy as np
from unseen import JLSE, ClassTable, open_rows
from unseen.rows import layout
from unseen.solvers import source_codes
from unseen.support.memory import resident
# All is smaller here than elsewhere: memory, and so blocks.
layout.TABLE_BYTES, source_codes.BLOCK_BYTES = 2**21, 2**20
rows = open_rows(sys.argv[1])
S = np.load(sys.argv[2])
table = ClassTable(np.unique(rows.labels), S)
few = rows[np.arange(0, rows.shape[0], 97)]
JLSE(60).fit(few, rows.labels[::97], table)  # loops are compiled, libraries loaded
limit = int(resident("VmData") + 64) * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
model = JLSE(60).fit(rows, classes=table)
print(*model.history_[:, -1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA")
def test_a_fit_whose_tables_exceed_the_memory_of_its_process_completes(tmp_path: Path) -> None:
    """120,000 rows: 61 MB of them, about 300 MB of codes and duals, 64 MB of memory."""
    rng, n, d, C = np.random.default_rng(0), 120_000, 128, 60
    S = rng.standard_normal((C, 20))
    means = 0.3 * S @ rng.standard_normal((20, d))
    labels = rng.integers(0, C, n)
    folder = tmp_path / "rows"
    folder.mkdir()
    for part in range(3):
        rows = slice(part * n // 3, (part + 1) * n // 3)
        X = rng.standard_normal((n // 3, d)) + means[labels[rows]]
        np.save(folder / f"part-{part}.npy", X.astype(np.float32))
    np.save(folder / "labels.npy", np.array([f"c{k:02}" for k in range(C)])[labels])
    np.save(tmp_path / "S.npy", S)
    command = [sys.executable, "-c", _SCRIPT, str(folder), str(tmp_path / "S.npy")]
    env = os.environ | {"TMPDIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [float(value) for value in done.stdout.split()]
    assert found[1] < found[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["S.npy", "rows"]
