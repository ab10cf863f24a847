"""The spaces in which the dictionaries lie: how rows and descriptions are brought there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unseen.errors import InputError
from unseen.rows.kernel import KernelFeatures
from unseen.rows.scaling import ClassScaling, RowScaling
from unseen.support.registry import register


@register("spaces")
@dataclass(frozen=True)
class Spaces:
    """Rows become X̃, the space of D, and descriptions S̃, the space of B.

    rows, descriptions : the scaling of each; in the paper there is nothing else.
    row_kernel, class_kernel : kernel features of the scaled vectors, or None.
    """

    rows: RowScaling
    descriptions: ClassScaling
    row_kernel: KernelFeatures | None = None
    class_kernel: KernelFeatures | None = None

    def describe(self, vectors: np.ndarray) -> np.ndarray:
        """S̃: descriptions in the space of B, C x d_s."""
        scaled = self.descriptions(vectors)
        return scaled if self.class_kernel is None else self.class_kernel(scaled)

    def features(self, X: np.ndarray) -> np.ndarray:
        """X̃ of a block of rows, n x d_t."""
        scaled = self.rows(X)
        return scaled if self.row_kernel is None else self.row_kernel(scaled)

    def attributes(self, vector: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """What a direction `pull` in the space of B asks of each attribute of a description.

        The gradient of pull's̃ in the scaled description: `pull` itself, where there is no kernel.
        """
        if self.class_kernel is None:
            return pull
        return self.class_kernel.gradient(self.descriptions(vector[None])[0], pull)

    def check(self, n_features: int, n_attributes: int) -> tuple[int, int]:
        """The widths of X̃ and S̃ for rows and descriptions so wide; an error if parts do not fit."""
        for scaling, kind in ((self.rows, RowScaling), (self.descriptions, ClassScaling)):
            if not isinstance(scaling, kind):
                raise InputError("it does not say how rows and descriptions are scaled")
        wide = self.rows.check(n_features)
        self.descriptions.check(n_attributes)
        return _width(self.row_kernel, wide), _width(self.class_kernel, n_attributes)


def _width(kernel: KernelFeatures | None, n_columns: int) -> int:
    if kernel is not None and not isinstance(kernel, KernelFeatures):
        raise InputError("what stands in place of its kernel is none")
    return n_columns if kernel is None else kernel.check(n_columns)
