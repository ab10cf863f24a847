"""Manifests of older model files, brought up to the present format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Manifest = dict[str, Any]


def upgraded(manifest: Manifest, arrays: Mapping[str, np.ndarray]) -> Manifest:
    """The manifest with the method, parameters and state of the present format."""
    if manifest["format"] == 1:
        manifest = _parts(manifest, arrays)
    if manifest["method"] in _RANKING:
        kept = {k: v for k, v in manifest["parameters"].items() if k not in _UNUSED}
        return manifest | {"parameters": kept}
    return manifest


# Parameters that the ranking methods once had, and that a fitted model does not need.
_RANKING, _UNUSED = ("ale", "sje", "devise", "latem"), ("early_stopping", "verbose")


def _parts(manifest: Manifest, arrays: Mapping[str, np.ndarray]) -> Manifest:
    """Format 1 has switches for scaling and for every choice of JLSE; format 2 has parts, and a
    latent model."""
    old = dict(manifest["parameters"])
    row = {"unit_length": old.pop("unit_rows"), "center": old.pop("center")}
    new = {"row_scaler": {"default": {"row scaler": row}}}
    if "center_classes" in old:
        # COSTA had no switch for the length, which was always one.
        scaled = {"center": old.pop("center_classes"), "unit_length": old.pop("unit_classes", True)}
        new["class_scaler"] = {"default": {"class scaler": scaled}}
    if manifest["method"] != "jlse":
        return manifest | {"parameters": old | new}
    state = _latent_state(old, manifest["state"], arrays)
    parameters = {name: old[name] for name in _KEPT + _KEPT_LAMBDAS} | _algorithms(old) | new
    return manifest | {"method": "kernel-jlse", "parameters": parameters, "state": state}


# Parameters of JLSE that mean the same in KernelJLSE. All else is in the latent model; KernelJLSE
# does not train like that any more.
_KEPT = ("n_target_atoms", "n_source_atoms", "decision", "random_state", "positive_weight")
_KEPT_LAMBDAS = ("source_fit", "source_shrinkage", "target_fit", "target_shrinkage")


def _algorithms(old: Mapping[str, Any]) -> dict[str, Any]:
    """The algorithms of training and of test time."""
    pairwise = old.get("training") == "pairwise"
    rounds = {name: old[name] for name in ("max_iter", "tol", "block_tol")}
    fits = {"source_fit": old["test_source_fit"], "target_fit": old["test_target_fit"]}
    if old.get("inference") == "pairwise":
        testing = {"algorithm 3": fits}
    elif old["test_embedding"] == "init":
        testing = {"data fit": {}}
    else:
        tol = min(old["block_tol"], 1e-4)
        testing = {"algorithm 4": fits | {"offset": old["class_offset"], "tol": tol}}
    return {"training": {"algorithm 1" if pairwise else "algorithm 2": rounds}, "testing": testing}


def _latent_state(
    old: Mapping[str, Any], state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """The state with the arrays of the model in one latent model."""
    Zs, Zt = state["source_codes_"], state["target_codes_"]
    n_pairs = len(arrays[Zs["array"]]) * len(arrays[Zt["array"]])
    # Decision 2 used the λ2s of test time in -log p_B, even for codes of the data fit.
    is_data_fit = old["test_embedding"] == "init" and old.get("inference") != "pairwise"
    ratio = old["source_fit"] / old["test_source_fit"] if is_data_fit else 1.0
    latent = [
        {"spaces": [state["scaling_"], state["class_scaling_"], state["kernel_"], None]},
        Zs,
        Zt,
        *(state[f"{word}_"] for word in _MATRICES),
        state["test_bias_"],
        old["source_shrinkage"] * old["source_fit"],
        old["source_fit"],
        old["target_shrinkage"] * old["target_fit"],
        old["target_fit"],
        ratio,
        state["negative_weight_"] * n_pairs,
        old["source_set"],
        old["loss"],
        old["link"],
        old.get("training") == "pairwise",
    ]
    kept = {name: value for name, value in state.items() if name[:-1] not in _GONE}
    penalty = {"seen_penalty_": state["calibration_"]} if state["calibration_"] else {}
    return kept | penalty | {"latent_": {"latent model": latent}}


_MATRICES = ("source_dictionary", "target_dictionary", "similarity", "bias")
_OTHERS = ("scaling", "class_scaling", "kernel", "source_codes", "target_codes", "calibration")
_GONE = (*_MATRICES, *_OTHERS, "test_bias", "negative_weight")
