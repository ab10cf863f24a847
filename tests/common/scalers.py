"""Scalers that leave rows and class descriptions as they are given."""

from __future__ import annotations

from typing import Any

from unseen.rows import ClassScaler, RowScaler

ROWS_AS_GIVEN: dict[str, Any] = {"row_scaler": RowScaler(unit_length=False, center=False)}
AS_GIVEN: dict[str, Any] = {
    **ROWS_AS_GIVEN,
    "class_scaler": ClassScaler(center=False, unit_length=False),
}
NOT_CENTRED: dict[str, Any] = {
    "row_scaler": RowScaler(center=False),
    "class_scaler": ClassScaler(center=False),
}
