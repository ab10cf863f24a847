"""Pictures and words to vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unseen.support.lazy import lazy_names

if TYPE_CHECKING:
    from unseen.encoders.images import ImageEncoder
    from unseen.encoders.text import TextEncoder

__all__ = ["ImageEncoder", "TextEncoder"]

_PLACES = {"ImageEncoder": "unseen.encoders.images", "TextEncoder": "unseen.encoders.text"}
__getattr__, __dir__ = lazy_names(__name__, _PLACES)
