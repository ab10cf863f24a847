"""Models of small problems."""

from __future__ import annotations

from typing import Any

from unseen import JLSE


def fit_jlse(data: Any, **parameters: Any) -> JLSE:
    X, y = data.training_set()
    return JLSE(**parameters).fit(X, y, classes=data.classes)
