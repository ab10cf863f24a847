"""What training learns, one `LatentModel`, and the spaces in which its dictionaries lie."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from unseen.errors import InputError
from unseen.model import pulls as row_pulls
from unseen.model.objective import LINKS, minus_log_p
from unseen.model.pulls import RowPulls
from unseen.pairs.loss import LOSSES
from unseen.rows.kernel import KernelFeatures
from unseen.rows.scaling import ClassScaling, RowScaling
from unseen.solvers.block import Ridge
from unseen.solvers.simplex import SETS, fit_source_codes
from unseen.support.parameters import check_moderate, check_number, is_float_array
from unseen.support.registry import register

# λ and the like of a model that was trained are far from either end.
_NUMBERS = 1e75


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


@register("latent model")
@dataclass(frozen=True, eq=False)
class LatentModel:
    """B, D, W and b, codes of the training data, and the λ they were learned with.

        S̃ ~ Zs B'   (C x d_s),      X̃ ~ Zt D'   (N x d_t),      s_ij = z_i' W z_j + b

    Zt : None where only `pulls`, what Algorithm 4 needs to know of the training rows, is kept.
    away_bias : the b in the hinges of Algorithm 4; b itself in the paper.
    spaces : how rows become X̃ and descriptions S̃.
    source_shrink, source_fit, target_shrink, target_fit : λ1s, λ2s, λ1t, λ2t of J.
    positive_weight, negative_weight : ω of a pair of a row with its own class, and with any other,
        in units of the mean ω of all pairs: 1 in the paper.
    source_set : where codes of classes lie; "simplex" in the paper.
    loss, link : the form of log p_W; see `unseen.model.objective`.
    is_coupled : whether each pair had codes of its own in training (Algorithm 1), or all N pairs of
        a class and all C pairs of a row shared one (Algorithm 2).
    """

    spaces: Spaces
    Zs: np.ndarray = field(repr=False)
    Zt: np.ndarray | None = field(repr=False)
    B: np.ndarray = field(repr=False)
    D: np.ndarray = field(repr=False)
    W: np.ndarray = field(repr=False)
    b: float
    away_bias: float
    source_shrink: float
    source_fit: float
    target_shrink: float
    target_fit: float
    positive_weight: float = 1.0
    negative_weight: float = 1.0
    source_set: str = "simplex"
    loss: str = "hinge"
    link: str = "saturating"
    is_coupled: bool = False
    pulls: RowPulls | None = field(default=None, repr=False)

    def without_codes(self, random_state: int | None = 0) -> LatentModel:
        """The same model with no more of its training rows than Algorithm 4 needs to know."""
        if self.Zt is None:
            return self
        if len(self.Zt) <= max(row_pulls.LEAST_ROWS, row_pulls.MOST_NUMBERS // len(self.W)):
            pulls = RowPulls(len(self.Zt), self.Zt @ self.W.T)
        else:
            pulls = RowPulls.of_codes(self.Zt, self.W, self.away_bias, self.loss, random_state)
        return replace(self, Zt=None, pulls=pulls)

    def away_pulls(self) -> np.ndarray:
        """f_j = W z_j of training rows j, or of some that stand for all, M x h_s."""
        if self.pulls is not None:
            return self.pulls.values
        assert self.Zt is not None
        return self.Zt @ self.W.T

    @property
    def n_rows(self) -> int:
        """N, how many training rows there were."""
        if self.pulls is not None:
            return self.pulls.n_rows
        assert self.Zt is not None
        return len(self.Zt)

    def describe(self, vectors: np.ndarray) -> np.ndarray:
        """S̃: class descriptions in the space of B, C' x d_s."""
        return self.spaces.describe(vectors).astype(self.W.dtype)

    def project(self, X: np.ndarray) -> np.ndarray:
        """X̃ D of a block of rows, n x h_t: all that codes need to know of them."""
        return self.spaces.features(X) @ self.D.astype(X.dtype, copy=False)

    def embed_classes(self, S: np.ndarray) -> np.ndarray:
        """argmax log p_B(z | s) of scaled descriptions, C' x h_s: "init." in the paper."""
        return fit_source_codes(S @ self.B, self.source_ridge(), self.source_set).value

    def embed_rows(self, XD: np.ndarray) -> np.ndarray:
        """argmax log p_D(z | x) of rows given as X̃ D, n x h_t: "init." in the paper."""
        return XD @ self._ridge.astype(XD.dtype, copy=False)

    def scores(self, Zs: np.ndarray, Zt: np.ndarray) -> np.ndarray:
        """s_ij = z_i' W z_j + b of all pairs, rows down, classes across."""
        return Zt @ (Zs @ self.W).T + Zt.dtype.type(self.b)

    def source_cost(self, S: np.ndarray, Zs: np.ndarray, fit: float | None = None) -> np.ndarray:
        """-log p_B of classes at given codes, in units of the weight that log p_W(+1) has in J.

        λ are those of training, or in proportion to another λ2s.
        """
        fit = self.source_fit if fit is None else fit
        cost = minus_log_p(S, Zs, self.B, self.source_shrinkage * fit, fit)
        return cost / self.positive_weight

    @property
    def source_shrinkage(self) -> float:
        """λ1s/λ2s."""
        return self.source_shrink / self.source_fit

    @property
    def target_shrinkage(self) -> float:
        """λ1t/λ2t."""
        return self.target_shrink / self.target_fit

    def source_ridge(self, fit: float | None = None, phi: float = 1.0) -> Ridge:
        """φ p_B with the λ of training, or in proportion to another λ2s."""
        if fit is None:
            return Ridge(self._source_gram, self.source_shrink, self.source_fit, phi)
        return Ridge(self._source_gram, self.source_shrinkage * fit, fit, phi)

    def target_ridge(self, fit: float | None = None, phi: float = 1.0) -> Ridge:
        """φ p_D with the λ of training, or in proportion to another λ2t."""
        if fit is None:
            return Ridge(self._target_gram, self.target_shrink, self.target_fit, phi)
        return Ridge(self._target_gram, self.target_shrinkage * fit, fit, phi)

    @cached_property
    def _source_gram(self) -> np.ndarray:
        """B'B."""
        return self.B.T @ self.B

    @cached_property
    def _target_gram(self) -> np.ndarray:
        """D'D, in float64."""
        return self.D.T.astype(np.float64) @ self.D

    @cached_property
    def _ridge(self) -> np.ndarray:
        """λ2t (λ1t I + λ2t D'D)^-1: computed once, as it is what a single row would wait for."""
        return (self.target_fit * self.target_ridge().inverse).astype(self.W.dtype)

    def check(self, n_features: int, n_attributes: int, n_classes: int) -> None:
        """An error unless the parts fit together and to rows, descriptions and classes so wide.

        A model file may be a stranger's: anything may stand in place of anything.
        """
        if not isinstance(self.spaces, Spaces):
            raise InputError("it does not say how rows and descriptions are scaled")
        d_t, d_s = self.spaces.check(n_features, n_attributes)
        self._check_arrays(d_s, d_t, n_classes)
        for name in ("b", "away_bias"):
            check_number(getattr(self, name), f"its {name}", -_NUMBERS, _NUMBERS)
        for name in ("source_shrink", "target_shrink"):
            check_number(getattr(self, name), f"its {name}", 0, _NUMBERS)
        for name in ("source_fit", "target_fit", "positive_weight", "negative_weight"):
            check_number(getattr(self, name), f"its {name}", 1 / _NUMBERS, _NUMBERS)
        for name, allowed in (("source_set", SETS), ("loss", LOSSES), ("link", LINKS)):
            if getattr(self, name) not in allowed:
                raise InputError(f"its {name} must be one of {allowed}")
        if not isinstance(self.is_coupled, bool):
            raise InputError("it does not say whether pairs had codes of their own")

    def _check_arrays(self, d_s: int, d_t: int, n_classes: int) -> None:
        arrays = {name: getattr(self, name) for name in ("W", "B", "D", "Zs")}
        if self.pulls is None:
            arrays["Zt"] = self.Zt if self.Zt is not None else np.empty(0)
        for name, array in arrays.items():
            if not is_float_array(array, 2) or 0 in array.shape or array.dtype != self.W.dtype:
                raise InputError(f"its {name} is not a table of numbers like the others")
            check_moderate(array, f"its {name}")
        h_s, h_t = self.W.shape
        shapes = {"B": (d_s, h_s), "D": (d_t, h_t), "Zs": (n_classes, h_s)}
        if self.pulls is None:
            shapes["Zt"] = (len(arrays["Zt"]), h_t)
        elif self.Zt is not None or not isinstance(self.pulls, RowPulls):
            raise InputError("what it keeps of its training rows makes no sense")
        else:
            self.pulls.check(h_s, self.W.dtype)
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                found = arrays[name].shape
                raise InputError(f"its {name} has shape {found}, where {shape} is needed")
