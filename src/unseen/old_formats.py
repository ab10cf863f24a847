"""Manifests of older model files, in the words of the present format."""

from __future__ import annotations

from typing import Any


def upgraded(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest with the parameters that the method has now."""
    method, parameters = manifest["method"], dict(manifest["parameters"])
    for step in _STEPS[manifest["format"] - 1 :]:
        parameters = step(method, parameters)
    return manifest | {"parameters": parameters}


def _scalers(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Format 1 has a switch for each step of scaling, format 2 the two scalers."""
    if method == "jlse":  # has the switches
        return parameters
    old = dict(parameters)
    row = {"unit_length": old.pop("unit_rows"), "center": old.pop("center")}
    new = {"row_scaler": {"default": {"row scaler": row}}}
    if "center_classes" in old:
        # COSTA had no switch for the length, which was always one.
        scaled = {"center": old.pop("center_classes"), "unit_length": old.pop("unit_classes", True)}
        new["class_scaler"] = {"default": {"class scaler": scaled}}
    return old | new


# Each makes of the parameters of one format those of the next, as they stand in the file.
_STEPS = (_scalers,)
