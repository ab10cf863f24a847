"""What a checkpoint gives back must fit the data, as compiled loops do not check it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.model.objective import Codes, Lambdas, ObjectiveParts
from unseen.rows.layout import let_go

if TYPE_CHECKING:
    from unseen.training.alternating import Data


def check_found(data: Data, state: Mapping[str, Any], starts: Mapping[str, Any]) -> None:
    """A ValueError unless a state of Algorithm 2, with the starts of its blocks, fits the data."""
    codes = Codes(*(state[name] for name in Codes._fields))
    n_classes, n_rows, (h_s, h_t) = len(data.S), data.rows.n_rows, codes.W.shape
    shapes = {"Zs": (n_classes, h_s), "Zt": (n_rows, h_t), "W": (h_s, h_t)}
    shapes |= {"B": (data.S.shape[1], h_s), "D": (data.rows.n_columns, h_t)}
    for name, array in codes._asdict().items():
        check_array(array, shapes[name])
        if array.dtype != data.S.dtype:
            raise ValueError("the precision is another one")
    for name, start in starts.items():
        duals = (n_classes, n_rows) if name == "Zs" else (n_rows, n_classes)
        for field, array in start._asdict().items():
            if array is not None:
                check_array(array, duals if field == "duals" else shapes[name])
    n_rounds, history = state["n_blocks"] // len(shapes), state["history"]
    if type(state["n_blocks"]) is not int or len(history) - n_rounds not in (0, 1):
        raise ValueError("the rounds do not agree")
    for numbers in [state["lambdas"], *history]:
        check_array(np.asarray(numbers), (len(numbers),))
    lambdas = Lambdas(*state["lambdas"])
    if min(lambdas) < 0 or not lambdas.source_fit or not lambdas.target_fit:
        raise ValueError("a weight of the objective is not positive")
    if any(len(parts) != len(ObjectiveParts._fields) for parts in history):
        raise ValueError("the objective has other parts")


def check_array(array: Any, shape: tuple[int, ...]) -> None:
    """A ValueError unless it is an array of floats of this shape, whose squares are finite."""
    if array.shape != shape or array.dtype not in (np.float32, np.float64):
        raise ValueError(f"an array of shape {shape} is expected")
    with np.errstate(over="ignore"):
        # Not abs(array), which would be a copy of what may be larger than memory.
        if not np.isfinite(np.square(max(array.max(initial=0), -array.min(initial=0)))):
            raise ValueError("the numbers are too large")
    let_go(array)
