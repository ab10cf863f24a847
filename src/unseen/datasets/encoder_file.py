"""encoder.json beside a data set: what made vectors of its pictures, and numbers of its words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unseen.encoders.backend import Identity
from unseen.errors import InputError
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
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a file of 'unseen embed', or it is damaged") from error
    return encoder


def check_same(identity: Identity, known: dict[str, Any], where: object) -> None:
    """An error unless an encoder is the one by which the rows of training were made."""
    if identity.sha256 != known.get("sha256"):
        raise InputError(
            f"the encoder {identity.name!r} is not the one that {where} was trained with "
            f"({known.get('name')!r}): its weights or settings have another hash"
        )
