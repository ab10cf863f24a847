"""JLSE on a cluster: the bits of one process with the same blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen
from tests.distributed.conftest import written
from unseen import JLSE, InputError, KernelJLSE, make_zero_shot
from unseen.rows.layout import Layout
from unseen.support.work import listening
from unseen.training.alternating import Algorithm2
from unseen.training.pairwise import Algorithm1

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from unseen.distributed import jlse, jlse_steps, worker_blocks  # noqa: E402
from unseen.distributed.jlse_steps import Plan, PlannedLayout  # noqa: E402

DATA = make_zero_shot(6, 2, rows_per_class=80, n_features=30, n_attributes=7, n_factors=4)
X, Y = DATA.training_set()
SIZE = 70


@pytest.fixture(scope="module", autouse=True)
def few_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jlse, "LEAST_BLOCKS", 8)
        yield


def fitted(rows: Any, labels: Any = Y, kind: Any = JLSE, **more: Any) -> Any:
    checkpoint = more.pop("checkpoint", None)
    model = kind(6, training=Algorithm2(1, block_tol=0.01), **more)
    return model.fit(rows, labels, DATA.classes, checkpoint=checkpoint)


def in_one_process(kind: Any = JLSE, **more: Any) -> Any:
    """The same blocks in this process."""
    lengths = tuple(len(rows) for rows in np.split(X, range(SIZE, len(X), SIZE)))
    layout = PlannedLayout.of_plan(Plan(lengths, 2, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Layout, "of", lambda *_: layout)
        return fitted(X, kind=kind, **more)


@pytest.fixture(scope="module")
def here() -> JLSE:
    return in_one_process()


@pytest.fixture
def rows(tmp_path: Path) -> Any:
    return written(X, tmp_path / "rows").to_dask(block_rows=SIZE)


def check_same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found.history_, expected.history_)
    for name in ("Zs", "Zt", "B", "D", "W"):
        one, other = getattr(found.latent_, name), getattr(expected.latent_, name)
        np.testing.assert_array_equal(one, other, err_msg=name)
    if expected.latent_.pulls is not None:
        np.testing.assert_array_equal(found.latent_.pulls.values, expected.latent_.pulls.values)
    np.testing.assert_array_equal(
        found.similarities(DATA.X, "all"), expected.similarities(DATA.X, "all")
    )


def _kept() -> int:
    return len(worker_blocks._KEPT) + len(worker_blocks._GROUPS)


def test_a_cluster_finds_the_bits_of_one_process(client: Any, rows: Any, here: JLSE) -> None:
    check_same(fitted(rows), here)
    assert set(client.run(_kept).values()) == {0}, "nothing stays on workers"


def test_in_blocks_it_finds_the_objective_of_no_blocks(here: JLSE) -> None:
    np.testing.assert_allclose(here.history_[:, -1], fitted(X).history_[:, -1], rtol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [JLSE, KernelJLSE])
def test_codes_of_rows_come_back_where_they_are_kept(client: Any, rows: Any, kind: Any) -> None:
    labels = da.from_array(np.asarray(Y), chunks=50)
    found = fitted(rows, labels, kind, keep_codes=True)
    check_same(found, in_one_process(kind, keep_codes=True))


@pytest.mark.slow
def test_a_large_model_keeps_the_same_few_rows(client: Any, rows: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unseen.model.pulls.LEAST_ROWS", 100)
        patch.setattr("unseen.model.pulls.MOST_NUMBERS", 100)
        found, expected = fitted(rows), in_one_process()
    assert len(expected.latent_.pulls.values) == 100
    assert found.latent_.pulls.error == pytest.approx(expected.latent_.pulls.error)
    check_same(found, expected)


@pytest.mark.slow
def test_rows_may_be_persisted(client: Any, here: JLSE) -> None:
    check_same(fitted(da.from_array(X, chunks=(SIZE, -1)).persist()), here)


def _set_share(share: float) -> None:
    jlse_steps.MEMORY_SHARE = share


@pytest.mark.slow
def test_rows_that_do_not_fit_lie_on_the_disks_of_workers(
    client: Any, rows: Any, here: JLSE
) -> None:
    client.run(_set_share, 0.0)
    try:
        check_same(fitted(rows), here)
    finally:
        client.run(_set_share, 0.5)


def test_a_fit_that_was_stopped_resumes_to_the_same_bits(
    client: Any, rows: Any, here: JLSE, tmp_path: Path
) -> None:
    path, told = tmp_path / "checkpoint", []

    def stop(step: str) -> None:
        told.append(step)
        if step.endswith(": D"):
            raise KeyboardInterrupt

    with listening(stop), pytest.raises(KeyboardInterrupt):
        fitted(rows, checkpoint=path)
    told.clear()
    with listening(told.append):
        found = fitted(rows, checkpoint=path)
    assert "first codes and W" not in told
    check_same(found, here)
    versions = {name.partition("-")[0] for name in os.listdir(f"{path}.rows")}
    assert len(versions) <= 4, "what is no longer needed goes"
    with pytest.raises(InputError, match="checkpoint of another fit"):
        fitted(rows + 1, checkpoint=path)
    unseen.storage.checkpoint.remove(path)
    assert not os.listdir(tmp_path) or [*os.listdir(tmp_path)] == ["rows"]


def test_a_row_that_is_no_number_is_named(client: Any) -> None:
    bad = X.copy()
    bad[100, 3] = np.nan
    with pytest.raises(InputError, match="block 1, row 30, row 100 of all, column 3"):
        fitted(da.from_array(bad, chunks=(SIZE, -1)))
    assert set(client.run(_kept).values()) == {0}, "nothing stays on workers"


def test_algorithm_1_says_that_it_needs_rows_in_memory(client: Any, rows: Any) -> None:
    with pytest.raises(InputError, match="Algorithm1 needs all rows in memory"):
        JLSE(6, training=Algorithm1(1)).fit(rows, Y, DATA.classes)


def test_without_a_client_it_says_how_to_make_one(rows: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:

        def none() -> None:
            raise ValueError

        patch.setattr("unseen.distributed.jlse.get_client", none)
        with pytest.raises(InputError, match="and there is none"):
            fitted(rows)
