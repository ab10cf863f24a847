"""How good a model is: protocols, tuning, and methods side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unseen.support.lazy import lazy_names

if TYPE_CHECKING:
    from unseen.evaluation.comparing import compare
    from unseen.evaluation.protocols import cold_start, evaluate, evaluate_pairs
    from unseen.evaluation.tuning import Protocol, tune

__all__ = ["Protocol", "cold_start", "compare", "evaluate", "evaluate_pairs", "tune"]

_PLACES = {
    "Protocol": "unseen.evaluation.tuning",
    "cold_start": "unseen.evaluation.protocols",
    "compare": "unseen.evaluation.comparing",
    "evaluate": "unseen.evaluation.protocols",
    "evaluate_pairs": "unseen.evaluation.protocols",
    "tune": "unseen.evaluation.tuning",
}
__getattr__, __dir__ = lazy_names(__name__, _PLACES)
