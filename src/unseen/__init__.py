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
        open_rows,
        read_dataset,
    )
    from unseen.datasets.embed import embed_folder
    from unseen.errors import InputError
    from unseen.estimators import (
        COSTA,
        ESZSL,
        JLSE,
        SAE,
        GaussianMatch,
        KernelJLSE,
        ZeroShotClassifier,
        index,
        load,
    )
    from unseen.evaluation import compare, evaluate, tune

__version__ = "0.2.0"

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
    "compare",
    "embed_folder",
    "evaluate",
    "index",
    "load",
    "load_digits_zero_shot",
    "make_zero_shot",
    "metrics",
    "open_dataset",
    "open_rows",
    "read_dataset",
    "tune",
]


def _by_name(places: dict[str, str]) -> dict[str, str]:
    return {name: place for place, names in places.items() for name in names.split()}


_PLACES = _by_name(
    {
        "unseen.classes": "ClassTable",
        "unseen.datasets": "ZeroShotDataset open_dataset open_rows read_dataset "
        "load_digits_zero_shot make_zero_shot",
        "unseen.datasets.embed": "embed_folder",
        "unseen.errors": "InputError",
        "unseen.estimators": "ZeroShotClassifier GaussianMatch JLSE KernelJLSE ESZSL "
        "SAE COSTA load index",
        "unseen.evaluation": "compare evaluate tune",
        "unseen.metrics": "metrics",
    }
)
# Names that the previous release had here.
_MOVED = _by_name(
    {
        "unseen.classes": "ClassHoldout",
        "unseen.datasets": "digit_splits make_pairs",
        "unseen.estimators": "ALE SJE DeViSE LatEm ConSE DAP IAP SSEIntersection SSEReLU "
        "DeepEmbedding",
        "unseen.evaluation": "cold_start evaluate_pairs",
        "unseen.rows": "RowScaler ClassScaler",
    }
)
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
