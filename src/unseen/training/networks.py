"""Small networks and how they are trained: Adam on mini-batches of rows.

torch is an optional module. Who trains a network has imported it late and hands it on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unseen.errors import InputError
from unseen.support.work import tell

_FEWEST_BATCHES = 10


class Passes(NamedTuple):
    """How long to train.

    max_iter : passes over the rows.
    learning_rate : size of a step of Adam at the start; it falls to zero along half a cosine.
    batch_size : rows per step; fewer where a pass would have less than ten steps.
    """

    max_iter: int
    learning_rate: float
    batch_size: int


def first_layers(
    width: int, n_hidden: int, n_codes: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Random layers that keep the size of a vector of mean square length one (He et al. 2015)."""
    return [
        rng.standard_normal((width, n_hidden)) * np.sqrt(2 / n_hidden),
        np.zeros(n_hidden),
        rng.standard_normal((n_hidden, n_codes)) * np.sqrt(1 / n_codes),
    ]


def as_layers(torch: Any, arrays: list[np.ndarray], dtype: Any) -> list[Any]:
    """Tensors of these numbers that can be trained."""
    return [torch.from_numpy(a.astype(dtype)).requires_grad_() for a in arrays]


def as_arrays(layers: list[Any]) -> list[np.ndarray]:
    """The numbers of trained tensors."""
    return [layer.detach().numpy().copy() for layer in layers]


def descend(
    torch: Any,
    layers: list[Any],
    loss: Callable[[np.ndarray], Any],
    order: np.ndarray,
    passes: Passes,
    rng: np.random.Generator,
) -> np.ndarray:
    """Train the layers in place; the mean of the loss over the mini-batches of each pass.

    loss : of rows with these numbers, as a number that knows its gradient.
    order : numbers of all rows, in an order that does not depend on how they came.
    """
    adam = torch.optim.Adam(layers, lr=passes.learning_rate, fused=True)
    size = max(1, min(passes.batch_size, order.size // _FEWEST_BATCHES))
    history: list[float] = []
    for n_pass in range(passes.max_iter):
        batches = np.array_split(rng.permutation(order), -(-order.size // size))
        tell(f"pass {n_pass + 1} of {passes.max_iter}")
        losses: list[float] = []
        for batch in batches:
            done = (n_pass + len(losses) * size / order.size) / passes.max_iter
            adam.param_groups[0]["lr"] = passes.learning_rate * np.cos(np.pi / 2 * done) ** 2
            value = loss(batch)
            adam.zero_grad()
            value.backward()
            adam.step()
            losses.append(float(value.detach()))
        history.append(float(np.mean(losses)))
        if not np.isfinite(history[-1]):
            raise InputError(
                f"training left all bounds in pass {n_pass + 1}: take a smaller learning_rate than "
                f"{passes.learning_rate:g}"
            )
    return np.array(history)
