"""What made vectors of pictures, and numbers of words: encoder.json beside a data set, and what a
model that was trained on it says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from unseen.encoders.backend import Identity
from unseen.encoders.images import ImageEncoder
from unseen.errors import InputError
from unseen.estimators import ZeroShotClassifier
from unseen.files.reading import checked_path

ENCODER = "encoder.json"


def read_encoder(path: Path) -> dict[str, Any]:
    """What encoder.json says, as far as it is used: names, hashes and widths."""
    try:
        facts = json.loads(checked_path(path).read_text(encoding="utf-8"))
        images = facts["images"]
        kept: dict[str, Any] = {
            key: str(images[key]) for key in ("name", "kind", "sha256", "revision") if key in images
        }
        text = facts.get("text")
        encoder = {"images": kept | {"width": int(images["width"])}}
        if text is not None:
            templates = [str(template) for template in text.get("templates", ())]
            encoder["text"] = {"name": str(text["name"]), "templates": templates}
    except InputError:
        raise
    except Exception as error:  # a stranger's file may hold anything in place of anything
        raise InputError(f"{path} is not a file of 'unseen embed', or it is damaged") from error
    return encoder


def check_same(identity: Identity, known: dict[str, Any], where: object) -> None:
    """An error unless an encoder is the one by which the rows of training were made."""
    if identity.sha256 != known.get("sha256"):
        raise InputError(
            f"the encoder {identity.name!r} is not the one that {where} was trained with "
            f"({known.get('name')!r}): its weights or settings have another hash"
        )


def encoders_of(model: ZeroShotClassifier) -> dict[str, Any]:
    """What made the rows and the class table that a model was trained on: "images" and "text"."""
    found = model.training_data_.get("encoder")
    return found if isinstance(found, dict) else {}


def image_encoder(
    model: ZeroShotClassifier, where: object, name: str = "", **settings: Any
) -> ImageEncoder | None:
    """The encoder of pictures that a model was trained with, loaded; None if it names none.

    `name` says where it is, if it is not under the name that it had in training; `settings` are
    parameters of `ImageEncoder`. A model file may come from a stranger, so nothing is fetched.
    """
    known = encoders_of(model).get("images")
    if not known:
        return None
    encoder = ImageEncoder(name or known["name"], offline=True, **settings)
    check_same(encoder.identity, known, where)
    return encoder


def check_encoder(model: ZeroShotClassifier, data: str, model_file: Path) -> None:
    """An error if the rows of a data set were made by another encoder than the model's."""
    known, beside = encoders_of(model).get("images"), Path(data) / ENCODER
    if not known or not os.path.isfile(beside):
        return
    found = read_encoder(beside)["images"]
    if found["sha256"] != known.get("sha256"):
        raise InputError(
            f"{data} was embedded by {found['name']!r}, and {model_file} was trained with "
            f"{known.get('name')!r}: their weights or settings have different hashes"
        )
