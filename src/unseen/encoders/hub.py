"""Where the files of a published model are: a local folder, or the cache of the Hugging Face hub.

Nothing is fetched with `offline`; a model that is not on the machine gives the command that gets
it. No code of a model is ever run: weights and settings alone are read.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from unseen.errors import InputError, nearest, require

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
# Weights as safetensors, else in the older format, which torch reads without running code.
_WEIGHTS = ("*.safetensors", "*.bin")
_SETTINGS = ("*.json", "*.txt", "*.model")


class ModelFiles(NamedTuple):
    """A folder with the files of a model, their names, and the revision, if the hub gave it."""

    folder: Path
    names: list[str]
    revision: str = ""


def find_model(name: str, offline: bool) -> ModelFiles:
    """The files of a model, which are fetched if that is allowed and they are not here."""
    check_name(name)
    if Path(name).is_dir():
        return _checked(name, Path(name))
    folder = on_this_machine(name)
    if folder is None:
        if offline:
            raise InputError(f"the encoder {name!r} is not on this machine; {how_to_get(name)}")
        folder = _fetched(name)
    return _checked(name, folder)._replace(revision=folder.name)


def check_name(name: str) -> None:
    """An error if it is neither a folder nor like the name of a model, before any extra is asked
    for."""
    if Path(name).is_dir():
        return
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise InputError(f"{name} does not exist: give the name of a model, a folder or a file")
    if "/" not in name:
        raise InputError(
            f"{name!r} is no encoder{nearest(name, ['basic'])}: names are like 'owner/model', "
            "'unseen encoders' lists some, or give a folder or an .onnx file"
        )


def how_to_get(name: str) -> str:
    return f"get it with: hf download {name} (or give a local folder, or --images basic)"


def on_this_machine(name: str) -> Path | None:
    """The folder of a model in the cache of the hub, if its settings and weights are there."""
    if find_spec("huggingface_hub") is None:
        return None
    hub: Any = import_module("huggingface_hub")
    try:
        folder = Path(hub.snapshot_download(name, local_files_only=True))
    except Exception:  # the library says in many ways that a model is not there
        return None
    return folder if (folder / "config.json").exists() and _weights(folder) else None


def _fetched(name: str) -> Path:
    hub: Any = require("huggingface_hub", "encode", f"the encoder {name!r}")
    try:
        folder = hub.snapshot_download(name, allow_patterns=[*_SETTINGS, _WEIGHTS[0]])
        if not _weights(Path(folder)):
            folder = hub.snapshot_download(name, allow_patterns=[*_SETTINGS, *_WEIGHTS])
    except Exception as error:
        raise InputError(
            f"the encoder {name!r} is not on this machine and could not be fetched "
            f"({type(error).__name__}); {how_to_get(name)}"
        ) from error
    return Path(folder)


def _weights(folder: Path) -> list[str]:
    for pattern in _WEIGHTS:
        if found := sorted(p.name for p in folder.glob(pattern) if p.stat().st_size):
            return found
    return []


def _checked(name: str, folder: Path) -> ModelFiles:
    weights = _weights(folder)
    settings = [n for n in ("config.json", "preprocessor_config.json") if (folder / n).exists()]
    if "config.json" not in settings or not weights:
        what = "config.json" if weights else "weights (*.safetensors or *.bin)"
        raise InputError(f"{name} is no folder of a model of transformers: it has no {what}")
    return ModelFiles(folder, [*settings, *weights])
