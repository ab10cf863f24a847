"""Zero-shot learning: recognise and retrieve classes for which there is no training example."""

from __future__ import annotations

__version__ = "0.1.0"

from unseen import metrics
from unseen.classes import ClassTable
from unseen.classes.splits import ClassHoldout
from unseen.datasets import (
    ZeroShotDataset,
    digit_splits,
    load_digits_zero_shot,
    make_pairs,
    make_zero_shot,
    open_dataset,
    read_dataset,
)
from unseen.errors import InputError
from unseen.estimators import (
    ALE,
    COSTA,
    DAP,
    ESZSL,
    IAP,
    JLSE,
    SAE,
    SJE,
    ConSE,
    DeepEmbedding,
    DeViSE,
    KernelJLSE,
    LatEm,
    SSEIntersection,
    SSEReLU,
    load,
)
from unseen.evaluation.protocols import cold_start, evaluate, evaluate_pairs
from unseen.evaluation.tuning import tune
from unseen.rows.scaling import ClassScaler, RowScaler

__all__ = [
    "ALE",
    "COSTA",
    "DAP",
    "ESZSL",
    "IAP",
    "JLSE",
    "SAE",
    "SJE",
    "ClassHoldout",
    "ClassScaler",
    "ClassTable",
    "ConSE",
    "DeViSE",
    "DeepEmbedding",
    "InputError",
    "KernelJLSE",
    "LatEm",
    "RowScaler",
    "SSEIntersection",
    "SSEReLU",
    "ZeroShotDataset",
    "cold_start",
    "digit_splits",
    "evaluate",
    "evaluate_pairs",
    "load",
    "load_digits_zero_shot",
    "make_pairs",
    "make_zero_shot",
    "metrics",
    "open_dataset",
    "read_dataset",
    "tune",
]
