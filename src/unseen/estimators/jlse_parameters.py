"""What the parameters of JLSE may be, and what the paper and the tuning choose among."""

from __future__ import annotations

from typing import Any

from unseen.errors import InputError
from unseen.estimators.base import check_number, check_positive, check_whole
from unseen.model.terms import LOSSES
from unseen.pairs import pair_weights
from unseen.solvers.source_codes import SETS

# Where the choices of the paper are not the defaults.
PAPER: dict[str, Any] = {
    "source_set": "simplex",
    "row_kernel": "linear",
    "loss": "hinge",
    "positive_weight": "uniform",
    "balance": 0.0,
    "fit_bias": False,
    "center": False,
    "center_classes": False,
    "dictionary_inertia": 0.0,
    "test_target_fit": 20.0,
    "test_margin": None,
    "class_offset": 0.0,
    "similarity_penalty": 1e-5,
}
DEFAULT_GRID: dict[str, tuple[Any, ...]] = {
    "similarity_penalty": ("auto", 2e-5, 1e-4),
    "max_iter": (0, 2),
    "test_embedding": ("init", "algorithm 4"),
    "test_source_fit": (0.3, 1.0, 2.0),
}
PAPER_GRID: dict[str, tuple[Any, ...]] = {
    "source_fit": (0.2, 2.0),
    "source_shrinkage": (0.1, 1.0),
    "similarity_penalty": (1e-5, 4e-5, 2e-4),
    "n_target_atoms": (200, 800),
    "max_iter": (0, 2),
    "test_source_fit": (0.3, 1.0),
    "test_target_fit": (3.0, 20.0),
}
# Parameters that a fitted model may change.
TEST_TIME = frozenset(
    ("inference", "test_embedding", "test_source_fit", "test_target_fit", "class_offset",
     "decision", "link")
)  # fmt: skip


def check_parameters(model: Any) -> None:
    """Refuse what JLSE cannot be fitted with."""
    for name in ("source_fit", "target_fit", "test_source_fit", "test_target_fit", "block_tol",
                 "kernel_width"):  # fmt: skip
        check_positive(getattr(model, name), name)
    for name in ("source_shrinkage", "target_shrinkage", "tol", "dictionary_inertia",
                 "class_offset"):  # fmt: skip
        check_number(getattr(model, name), name, 0)
    check_number(model.balance, "balance", 0, 1)
    check_number(model.ranking, "ranking", 0, 1)
    if model.ranking and model.loss != "squared_hinge":
        raise InputError("ranking needs loss='squared_hinge': its W step is for smooth losses")
    if model.early_stopping and model.training == "pairwise":
        raise InputError("early_stopping counts rounds of Algorithm 2: training='instance'")
    check_whole(model.n_target_atoms, "n_target_atoms", 1)
    check_whole(model.n_landmarks, "n_landmarks", 2)
    check_whole(model.max_iter, "max_iter", 0)
    if model.source_set != "simplex":
        check_positive(model.source_shrinkage, f"source_shrinkage of {model.source_set} codes")
    if model.n_source_atoms is not None:
        check_whole(model.n_source_atoms, "n_source_atoms", 1)
    if model.similarity_penalty != "auto":
        check_positive(model.similarity_penalty, "similarity_penalty")
    if model.test_margin is not None:
        check_number(model.test_margin, "test_margin", 0, 1)
    if model.calibration not in (None, "holdout"):
        check_number(model.calibration, "calibration")
    pair_weights(1, 2, model.positive_weight)
    choices = {
        "source_set": SETS,
        "loss": LOSSES,
        "row_kernel": ("gauss", "linear"),
        "training": ("instance", "pairwise"),
        "inference": ("instance", "pairwise"),
        "test_embedding": ("algorithm 4", "init"),
        "decision": (1, 2),
        "link": ("margin", "saturating"),
    }
    for name, allowed in choices.items():
        if getattr(model, name) not in allowed:
            raise InputError(f"{name} must be one of {allowed}, not {getattr(model, name)!r}")
