"""What Algorithm 4 needs to know of the training rows: megabytes, however many rows there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from unseen.errors import InputError
from unseen.pairs.loss import pair_loss
from unseen.rows.blocks import array_blocks
from unseen.support.parameters import check_moderate, check_number, is_float_array
from unseen.support.registry import register

# Numbers that are kept of training rows (16 MB in float32), but of this many rows in any case.
MOST_NUMBERS = 2**22
LEAST_ROWS = 5000


@register("row pulls")
@dataclass(frozen=True, eq=False)
class RowPulls:
    """f_j = W z_j of training rows j: a class with code z scores z'f_j + b on them.

    n_rows : N, how many training rows there were.
    values : f_j of all of them in their order, or of M rows that were drawn (M x h_s).
    error : by how much a mean loss over the rows drawn differs from that over all rows, at most; 0
        where these are the same.

    Rows are put in order by their largest f_ji, those of one i together, and from each of M
    stretches of N/M rows one is drawn, so that no row is more likely than another. Over the draw,
    the mean loss (1/M) Σ l(z'f_j + b) is that of all rows, with a variance of at most E_j l²/M. l²
    is convex, so on the simplex it is largest in a corner. Hence, for any code z, the root mean
    square of the difference is at most

        error = sqrt(max_i 1/N Σ_j l(f_ji + b)² / M),        l(s) = [1 + s]_+ or its square
    """

    n_rows: int
    values: np.ndarray = field(repr=False)
    error: float = 0.0

    @classmethod
    def of(
        cls,
        n_rows: int,
        W: np.ndarray,
        tops: Callable[[], tuple[np.ndarray, np.ndarray, np.ndarray]],
        pick: Callable[[np.ndarray], np.ndarray],
        random_state: int | None = 0,
    ) -> RowPulls:
        """Of N rows: tops() is `row_tops` of all, pick(numbers) the codes of some (n x h_t)."""
        most = max(LEAST_ROWS, MOST_NUMBERS // len(W))
        if n_rows <= most:
            return cls(n_rows, pick(np.arange(n_rows)) @ W.T)
        group, top, squares = tops()
        order = np.lexsort((top, group))
        places = np.arange(most) + np.random.default_rng(random_state).random(most)
        chosen = order[np.minimum((places * (n_rows / most)).astype(np.int64), n_rows - 1)]
        values = pick(chosen) @ W.T
        return cls(n_rows, values, float(np.sqrt(squares.max() / n_rows / most)))

    @classmethod
    def of_codes(
        cls, Zt: np.ndarray, W: np.ndarray, bias: float, loss: str, random_state: int | None = 0
    ) -> RowPulls:
        """The same by the codes Zt (N x h_t) of all rows."""

        def pick(numbers: np.ndarray) -> np.ndarray:
            return Zt if len(numbers) == len(Zt) else Zt[numbers]

        return cls.of(len(Zt), W, lambda: row_tops(Zt, W, bias, loss), pick, random_state)

    def check(self, h_s: int, dtype: np.dtype) -> None:
        """An error unless it is what a file of a model with such codes may hold."""
        values = self.values
        if type(self.n_rows) is not int or not is_float_array(values, 2) or values.dtype != dtype:
            raise InputError("what it keeps of its training rows is no table of numbers")
        if values.shape[1] != h_s or not 0 < len(values) <= self.n_rows:
            raise InputError(
                f"what it keeps of its {self.n_rows} training rows has shape {values.shape}"
            )
        check_moderate(values, "what it keeps of its training rows")
        check_number(self.error, "the error of what it keeps of its training rows", 0)


def row_tops(
    Zt: np.ndarray, W: np.ndarray, bias: float, loss: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The i of the largest f_ji of each row j, that f_ji, and Σ_j l(f_ji + b)² of each i."""
    group, top = np.empty(len(Zt), np.int32), np.empty(len(Zt), Zt.dtype)
    squares = np.zeros(len(W))
    for rows in array_blocks(Zt):
        F = Zt[rows] @ W.T
        group[rows] = F.argmax(axis=1)
        top[rows] = F.max(axis=1)
        F += F.dtype.type(bias)
        losses = pair_loss(np.negative(F, out=F), loss)
        squares += np.einsum("ji,ji->i", losses, losses, dtype=np.float64)
    return group, top, squares
