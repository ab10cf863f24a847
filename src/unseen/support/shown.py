"""How results print: a few lines in a terminal, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Shown:
    """What gives its facts (`_facts`: pairs of a name and a value) prints on one screen."""

    def _facts(self) -> Iterable[tuple[str, object]]:
        raise TypeError(f"{type(self).__name__} must define _facts")

    def __repr__(self) -> str:
        facts = [(name, str(value)) for name, value in self._facts()]
        width = max((len(name) for name, _ in facts), default=0)
        lines = [f"  {name:<{width}}  {value}" for name, value in facts]
        return "\n".join([type(self).__name__, *lines])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
            for name, value in self._facts()
        )
        return f"<table><caption>{escape(type(self).__name__)}</caption>{cells}</table>"
