"""Zero-shot learning: recognise and retrieve classes for which there is no training example."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from unseen.support.lazy import lazy_names

if TYPE_CHECKING:
    from unseen import metrics
    from unseen.classes import ClassTable
    from unseen.datasets import (
        ZeroShotDataset,
        load_digits_zero_shot,
        make_zero_shot,
        open_dataset,
        read_dataset,
    )
    from unseen.errors import InputError
    from unseen.estimators import (
        COSTA,
        ESZSL,
        JLSE,
        SAE,
        GaussianMatch,
        KernelJLSE,
        ZeroShotClassifier,
        load,
    )
    from unseen.evaluation import evaluate, tune

__version__ = "0.1.0"

__all__ = [
    "COSTA",
    "ESZSL",
    "JLSE",
    "SAE",
    "ClassTable",
    "GaussianMatch",
    "InputError",
    "KernelJLSE",
    "ZeroShotClassifier",
    "ZeroShotDataset",
    "evaluate",
    "load",
    "load_digits_zero_shot",
    "make_zero_shot",
    "metrics",
    "open_dataset",
    "read_dataset",
    "tune",
]

_PLACES = {
    "ZeroShotClassifier": "unseen.estimators",
    "JLSE": "unseen.estimators",
    "GaussianMatch": "unseen.estimators",
    "KernelJLSE": "unseen.estimators",
    "ESZSL": "unseen.estimators",
    "SAE": "unseen.estimators",
    "COSTA": "unseen.estimators",
    "ClassTable": "unseen.classes",
    "ZeroShotDataset": "unseen.datasets",
    "open_dataset": "unseen.datasets",
    "read_dataset": "unseen.datasets",
    "load_digits_zero_shot": "unseen.datasets",
    "make_zero_shot": "unseen.datasets",
    "evaluate": "unseen.evaluation",
    "tune": "unseen.evaluation",
    "metrics": "unseen.metrics",
    "load": "unseen.estimators",
    "InputError": "unseen.errors",
}
# Names that the previous release had here.
_MOVED = {
    "ALE": "unseen.estimators",
    "SJE": "unseen.estimators",
    "DeViSE": "unseen.estimators",
    "LatEm": "unseen.estimators",
    "ConSE": "unseen.estimators",
    "DAP": "unseen.estimators",
    "IAP": "unseen.estimators",
    "SSEIntersection": "unseen.estimators",
    "SSEReLU": "unseen.estimators",
    "DeepEmbedding": "unseen.estimators",
    "RowScaler": "unseen.rows",
    "ClassScaler": "unseen.rows",
    "ClassHoldout": "unseen.classes",
    "digit_splits": "unseen.datasets",
    "make_pairs": "unseen.datasets",
    "cold_start": "unseen.evaluation",
    "evaluate_pairs": "unseen.evaluation",
}

_get, __dir__ = lazy_names(__name__, _PLACES)


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        return _get(name)
    place = _MOVED[name]
    warnings.warn(
        f"unseen.{name} will be removed in the next release; use {place}.{name}",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(import_module(place), name)
