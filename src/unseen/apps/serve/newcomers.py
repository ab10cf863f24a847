"""Classes that a request describes itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.apps.serve.encoders import DESCRIBED
from unseen.classes import ClassTable
from unseen.errors import InputError


class Newcomers:
    """Classes by name and description, beside the known ones and in their columns.

    A request names them by texts. Where the known ones are named by numbers, each has the next free
    number inside, so that all can be compared, and its text again in the answer.
    """

    def __init__(self, new: dict[str, list[float]] | None, known: ClassTable) -> None:
        new = new or {}
        for name, vector in new.items():
            if len(vector) != known.n_attributes:
                raise InputError(
                    f"class {name[:60]!r} is described by {len(vector)} numbers, the known ones by "
                    f"{known.n_attributes}"
                )
            if name != DESCRIBED and name in known and not np.allclose(vector, known.vector(name)):
                raise InputError(f"class {name!r} is known already, with a different description")
        numbered = known.names.dtype.kind != "U"
        first = known.names.max().item() + 1 if numbered else 0
        self._keys: dict[Any, Any] = {
            text: first + place if numbered else text for place, text in enumerate(new)
        }
        # Reasons hold names as texts.
        self._texts = {}
        for text, key in self._keys.items() if numbered else ():
            self._texts |= {key: text, str(key): text}
        self._table = None
        if new:
            keys, vectors = list(self._keys.values()), list(new.values())
            self._table = ClassTable(keys, vectors, known.attributes, known.groups)

    def __contains__(self, name: Any) -> bool:
        return name in self._keys

    def one(self, name: Any) -> ClassTable:
        """A table of one of them alone."""
        assert self._table is not None
        return self._table.select([self._keys[name]])

    def key(self, name: Any) -> Any:
        """The name inside, of one of them or of a known class."""
        return self._keys.get(name, name)

    def joined(self, table: ClassTable) -> ClassTable:
        """Known classes, and these after them."""
        return table if self._table is None else table.merge(self._table)

    def shown(self, name: Any) -> Any:
        """The name that an answer holds."""
        return self._texts.get(name, name)
