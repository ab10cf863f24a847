"""A worker that is killed inside a step of Algorithm 2: with a checkpoint the result is the same to
the last bit, without one J is."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.distributed.conftest import written
from unseen import JLSE, make_zero_shot
from unseen.training.alternating import Algorithm2

pytest.importorskip("distributed")

from unseen.distributed import jlse, jlse_steps

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("CI" in os.environ, reason="twenty kills take minutes: not on each push"),
]
DATA = make_zero_shot(6, 2, rows_per_class=80, n_features=30, n_attributes=7, n_factors=4)
X, Y = DATA.training_set()
# Calls of each step after which one worker dies: in the middle of it, and later in the fit.
STEPS = {
    "of_rows": (2,),
    "project": (2, 6),
    "first_codes": (2,),
    "begin_similarity": (2, 6),
    "inside": (3, 30, 60),
    "end_similarity": (2,),
    "begin_sources": (2,),
    "end_sources": (2,),
    "solve_targets": (2,),
    "products": (2,),
    "terms": (2,),
    "codes": (2,),
}
KILLS = [(name, calls) for name, counts in STEPS.items() for calls in counts]


def _set_trap(name: str, calls: int, flag: str) -> None:
    """On a worker: the process ends in so many calls of a step, if it takes the flag first."""
    step: Any = getattr(jlse_steps, name)
    left = [calls]

    def trap(*given: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            try:
                os.remove(flag)
            except FileNotFoundError:
                return step(*given)
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
        return step(*given)

    # Steps are sent by their names.
    trap.__module__, trap.__qualname__ = step.__module__, step.__qualname__
    setattr(jlse_steps, name, trap)


def fitted(rows: Any, checkpoint: Any = None) -> JLSE:
    model = JLSE(6, training=Algorithm2(1, block_tol=0.01))
    return model.fit(rows, Y, DATA.classes, checkpoint=checkpoint)


@pytest.fixture(scope="module", autouse=True)
def few_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jlse, "LEAST_BLOCKS", 8)
        yield


@pytest.fixture(scope="module")
def calm(client: Any, tmp_path_factory: pytest.TempPathFactory) -> JLSE:
    folder = tmp_path_factory.mktemp("calm") / "rows"
    return fitted(written(X, folder).to_dask(block_rows=70))


def hit(client: Any, tmp_path: Path, name: str, calls: int, checkpoint: Any) -> JLSE:
    rows = written(X, tmp_path / "rows").to_dask(block_rows=70)
    flag = tmp_path / "flag"
    flag.touch()
    client.run(_set_trap, name, calls, str(flag))
    found = fitted(rows, checkpoint)
    assert not flag.exists(), "nobody was killed"
    return found


@pytest.mark.parametrize(("name", "calls"), KILLS)
def test_with_a_checkpoint_the_result_is_the_same(
    mortal: Any, calm: JLSE, tmp_path: Path, name: str, calls: int
) -> None:
    found = hit(mortal, tmp_path, name, calls, tmp_path / "checkpoint")
    np.testing.assert_array_equal(found.history_, calm.history_)
    one, other = (model.similarities(DATA.X, "all") for model in (found, calm))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("name", "calls"), KILLS[::3])
def test_without_one_the_objective_is(
    mortal: Any, calm: JLSE, tmp_path: Path, name: str, calls: int
) -> None:
    found = hit(mortal, tmp_path, name, calls, None)
    np.testing.assert_allclose(found.history_[:, -1], calm.history_[:, -1], rtol=0.01)
    same = found.predict(DATA.X, "all") == calm.predict(DATA.X, "all")
    assert same.mean() > 0.97
