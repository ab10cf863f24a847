"""Encoders that are known by name. Any other one that the libraries can load works as well."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

from unseen.encoders.hub import on_this_machine


class Known(NamedTuple):
    """An encoder: what it is for, how wide its vectors are, how large its download is."""

    name: str
    what: str
    width: int
    megabytes: int
    licence: str
    here: str = ""
    needs: str = ""


# Widths, sizes of the weights and licences as the model cards have them.
_KNOWN = (
    Known("basic", "pictures: colours and edges, no weights", 248, 0, "BSD-3-Clause", needs="PIL"),
    Known("facebook/dinov2-small", "pictures (the default)", 384, 88, "Apache-2.0"),
    Known("facebook/dinov2-base", "pictures", 768, 346, "Apache-2.0"),
    Known("microsoft/resnet-50", "pictures", 2048, 103, "Apache-2.0"),
    Known("openai/clip-vit-base-patch32", "pictures and text", 512, 605, "MIT"),
    Known("google/siglip-base-patch16-224", "pictures and text", 768, 813, "Apache-2.0"),
    Known("tfidf", "text: weighted words (the default)", 0, 0, "BSD-3-Clause", needs="sklearn"),
    Known("sentence-transformers/all-MiniLM-L6-v2", "text", 384, 91, "Apache-2.0"),
    Known("sentence-transformers/all-mpnet-base-v2", "text", 768, 438, "Apache-2.0"),
)


def known_encoders() -> list[Known]:
    """The encoders, and of each whether it can be used here without fetching anything."""
    return [encoder._replace(here=_here(encoder)) for encoder in _KNOWN]


def _here(encoder: Known) -> str:
    if encoder.needs:
        return "yes" if find_spec(encoder.needs) else f"needs {encoder.needs}"
    if find_spec("transformers") is None:
        return "no (extra encode)"
    return "yes" if on_this_machine(encoder.name) else "no"
