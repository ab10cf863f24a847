"""Labels of pairs as the compiled loops read them: class numbers, or a matrix of signs.

    y_j = c             row j has y_ij = +1 at i = c and -1 elsewhere; c = -1: row of no class
    y_j = (y_1j, ...)   any signs, +1, -1 and 0 = unknown; a size other than one weighs the pair

Loops are compiled once for each of the two, so class numbers cost no more for the signs beside
them. The cache of numba does not notice a change in this file: remove `__pycache__` after one.
"""

import numpy as np
from numba import types
from numba.extending import overload


def is_class(label):
    """Whether a numba type is that of a class number; signs of a row are an array."""
    return isinstance(label, types.Integer)


def pair(label, i, w_pos, w_neg):
    """(whether y_ij = +1, omega_ij) of class i and the row with this label, without its scale."""
    return (
        _by_class(label, i, w_pos, w_neg)
        if np.ndim(label) == 0
        else _by_sign(label, i, w_pos, w_neg)
    )


@overload(pair, inline="always")
def _pair(label, i, w_pos, w_neg):
    return _by_class if is_class(label) else _by_sign


def _by_class(label, i, w_pos, w_neg):
    own = i == label
    return own, (w_pos if own else w_neg)


def _by_sign(label, i, w_pos, w_neg):
    positive = label[i] > 0
    return positive, abs(label[i]) * (w_pos if positive else w_neg)
