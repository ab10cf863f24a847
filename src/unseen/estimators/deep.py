"""A deep two-branch embedding: a network for rows, another for class descriptions.

Ba, Swersky, Fidler and Salakhutdinov, "Predicting deep zero-shot convolutional neural networks
using textual descriptions", ICCV 2015; a special case in the paper. Training needs torch (the extra
"deep"); a fitted model is a few arrays and predicts without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import require
from unseen.estimators.scaled import ScaledClassifier
from unseen.support.parameters import NOT_NEGATIVE, POSITIVE, at_least, has_parameters, parameter
from unseen.training.minibatch import own_order
from unseen.training.networks import Passes, as_arrays, as_layers, descend, first_layers


@has_parameters
class DeepEmbedding(ScaledClassifier):
    """Two networks with a hidden layer each, whose outputs are compared by their product.

        f(x) = max(0, x A1 + a) A2,        g(s) = max(0, s B1 + b) B2,        score = <f(x), g(s)>

        min 1/N Σ_n -log softmax_c(<f(x_n), g(s_c)>)[y_n] + λ/2 (|A1|² + |A2|² + |B1|² + |B2|²)

    with rows x_n of class y_n and descriptions s_c of the seen classes, over which the softmax
    runs. It is minimised by Adam on mini-batches of rows, each against all seen classes.

    Parameters
    ----------
    n_hidden : width of both hidden layers.
    n_codes : length of f(x) and g(s).
    penalty : λ.
    max_iter : passes over the rows.
    learning_rate : size of a step of Adam at the start; it falls to zero along half a cosine.
    batch_size : rows per step.
    random_state : seed of the first weights and of the order of the rows.

    Attributes
    ----------
    row_layers_, class_layers_ : A1, a, A2 and B1, b, B2.
    history_ : the mean of the objective over the mini-batches of each pass.
    """

    row_reading = "rounds"
    needs: ClassVar[str] = "torch"

    n_hidden: int = parameter(256, at_least(1))
    n_codes: int = parameter(64, at_least(1))
    penalty: float = parameter(1e-3, NOT_NEGATIVE, tries=[3e-4, 1e-3, 3e-3])
    _: KW_ONLY
    max_iter: int = parameter(15, at_least(1), tries=[8, 15, 30])
    learning_rate: float = parameter(3e-3, POSITIVE)
    batch_size: int = parameter(64, at_least(1))
    random_state: int = parameter(0, at_least(0), None)

    # -- training -------------------------------------------------------------------------------

    def _fit(self, X: np.ndarray, labels: np.ndarray, table: ClassTable) -> None:
        torch = require("torch", "deep", "fitting the deep embedding")
        S = self._learn_scaling(X, table, unit_scale=True)
        S = torch.from_numpy(S.astype(X.dtype))
        rng = np.random.default_rng(self.random_state)
        widths = X.shape[1], S.shape[1]
        first = [a for w in widths for a in first_layers(w, self.n_hidden, self.n_codes, rng)]
        layers = as_layers(torch, first, X.dtype)

        def loss(batch: np.ndarray) -> Any:
            rows, own = (torch.from_numpy(a) for a in (self.scaling_(X[batch]), labels[batch]))
            return objective(torch, layers, rows, S, own, self.penalty)

        passes = Passes(self.max_iter, self.learning_rate, self.batch_size)
        order = own_order(X, self.scaling_, labels)
        self.history_ = descend(torch, layers, loss, order, passes, rng)
        arrays = as_arrays(layers)
        self.row_layers_, self.class_layers_ = arrays[:3], arrays[3:]
        self.n_iter_ = self.max_iter

    # -- test time ------------------------------------------------------------------------------

    def _row_codes(self, X: np.ndarray) -> np.ndarray:
        return network(self.scaling_(X), self.row_layers_)

    def _class_codes(self, table: ClassTable) -> np.ndarray:
        S = self.class_scaling_(table.vectors.astype(np.float64))
        return network(S, self.class_layers_)


def network(X: np.ndarray, layers: Sequence[np.ndarray]) -> np.ndarray:
    """max(0, x A1 + a) A2, in the type of X."""
    first, bias, second = (layer.astype(X.dtype, copy=False) for layer in layers)
    return np.maximum(X @ first + bias, 0) @ second


def objective(torch: Any, layers: list[Any], rows: Any, S: Any, labels: Any, penalty: float) -> Any:
    """The objective on some rows, as a number that knows its gradient."""
    A1, a, A2, B1, b, B2 = layers
    scores = (torch.relu(rows @ A1 + a) @ A2) @ (torch.relu(S @ B1 + b) @ B2).T
    square = sum((layer**2).sum() for layer in (A1, A2, B1, B2))
    return torch.nn.functional.cross_entropy(scores, labels) + 0.5 * penalty * square
