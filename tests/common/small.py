"""Models of small problems."""

from __future__ import annotations

from typing import Any

from unseen import JLSE, KernelJLSE

# Tests must not turn on the defaults, which are chosen by accuracy.
SMALL: dict[str, Any] = {
    "n_target_atoms": 12,
    "n_source_atoms": None,
    "source_fit": 1.5,
    "source_shrinkage": 1.0,
    "target_fit": 20.0,
    "target_shrinkage": 0.02,
    "similarity_penalty": 5e-3,
    "positive_weight": 4.0,
    "constant_feature": 0.4,
    "training__max_iter": 2,
    "training__tol": 0.0,
    "training__block_tol": 1e-3,
}


def small_jlse(**parameters: Any) -> JLSE:
    """JLSE with all numbers given, and others in place of some of them."""
    return JLSE().set_params(**_chosen(parameters))


def small_kernel_jlse(**parameters: Any) -> KernelJLSE:
    return KernelJLSE().set_params(**{"kernel_width": 1.0, **_chosen(parameters)})


def _chosen(parameters: dict[str, Any]) -> dict[str, Any]:
    """A part that is given as a whole comes with its own parameters."""
    usual = {k: v for k, v in SMALL.items() if k.partition("__")[0] not in parameters}
    return usual | parameters


def fit_jlse(data: Any, X: Any = None, **parameters: Any) -> JLSE:
    rows, y = data.training_set()
    return small_jlse(**parameters).fit(rows if X is None else X, y, classes=data.classes)
