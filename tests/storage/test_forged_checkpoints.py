"""Checkpoints that a stranger has changed and sealed again: one sentence, whatever they hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from unseen import JLSE, InputError, ZeroShotDataset, make_zero_shot
from unseen.estimators import SSEReLU
from unseen.storage import tensors
from unseen.storage.checkpoint import KIND
from unseen.support.work import listening
from unseen.training.alternating import Algorithm2
from unseen.training.pairwise import Algorithm1

MODELS = {
    "jlse": JLSE(3, training=Algorithm2(2)),
    "algorithm 1": JLSE(3, training=Algorithm1(2)),
    "sse": SSEReLU(n_rounds=2),
}


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)


def stopped(model: Any, data: ZeroShotDataset, path: Path) -> bytes:
    """The checkpoint of a fit that was stopped before its last step."""
    steps: list[str] = []
    with listening(steps.append):
        model.fit(*data.training_set(), data.classes)

    def stop(_: str) -> None:
        steps.pop()
        if len(steps) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), listening(stop):
        model.fit(*data.training_set(), data.classes, checkpoint=path)
    return path.read_bytes()


def forged(raw: bytes, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]) -> bytes:
    size = int.from_bytes(raw[:8], "little")
    content = json.loads(json.loads(raw[8 : 8 + size])["__metadata__"][KIND])
    arrays = dict(load(raw))
    change(content, arrays)
    content["arrays"] = {name: tensors.digest(array) for name, array in arrays.items()}
    return save(arrays, {KIND: tensors.sealed(content)})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_arrays_of_other_shapes_are_refused(
    data: ZeroShotDataset, tmp_path: Path, name: str
) -> None:
    """Compiled loops would read beyond their ends."""
    model, path = MODELS[name], tmp_path / "state"
    raw = stopped(model, data, path)
    matrices = [k for k, array in load(raw).items() if array.ndim == 2]
    assert matrices
    for array in matrices:

        def shorten(_: Any, arrays: dict[str, np.ndarray], array: str = array) -> None:
            arrays[array] = arrays[array][:-1].copy()

        def enlarge(_: Any, arrays: dict[str, np.ndarray], array: str = array) -> None:
            arrays[array] = np.full(arrays[array].shape, 1e200)

        for change in (shorten, enlarge):
            path.write_bytes(forged(raw, change))
            with pytest.raises(InputError, match="that this work cannot resume from; remove it"):
                model.fit(*data.training_set(), data.classes, checkpoint=path)
    path.write_bytes(forged(raw, lambda *_: None))
    model.fit(*data.training_set(), data.classes, checkpoint=path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_blocks", 10**15),
        ("n_blocks", "x"),
        ("history", {"list": []}),
        ("history", {"list": [{"list": ["x"]}]}),
        ("lambdas", {"list": ["x"] * 5}),
        ("lambdas", {"list": [1.0, 1.0, 1.0, 0.0, 1.0]}),
        ("lambdas", {"list": [-1.0, 1.0, 1.0, 1.0, 1.0]}),
        ("W", None),
        ("starts", {"dict": {"V": {"list": []}}}),
    ],
)
def test_a_state_that_makes_no_sense_is_refused(
    data: ZeroShotDataset, tmp_path: Path, name: str, value: Any
) -> None:
    model, path = MODELS["jlse"], tmp_path / "state"
    raw = stopped(model, data, path)

    def change(content: dict[str, Any], _: Any) -> None:
        content["state"]["dict"][name] = value

    path.write_bytes(forged(raw, change))
    with pytest.raises(InputError, match="state that this work cannot resume from"):
        model.fit(*data.training_set(), data.classes, checkpoint=path)
