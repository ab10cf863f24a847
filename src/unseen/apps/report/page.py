"""The parts of a self-contained HTML page: no network, no scripts, light and dark."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from unseen.support.text import visible

_NUMERIC = ' class="number"'
# A figure of so many pixels can be read on a telephone.
_NARROW = 480
# A count, a share, a mean with its deviation, an interval, or nothing.
_NUMBER = re.compile(r"-?|[-+]?[\d.,]+(e[-+]?\d+)?( %)?( ± [\d.,]+( %)?)?( to [-+]?[\d.,]+)?")
_STYLE = "\n" + files("unseen.apps.report").joinpath("page.css").read_text("utf-8")
# What shows that the library wrote a page.
MAKER = '<meta name="generator" content="unseen">'


def page(title: str, body: str) -> str:
    """A whole page."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{MAKER}\n"
        f"<title>{_shown(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{_shown(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _shown(text: Any) -> str:
    """Text as a page shows it, whatever it holds."""
    return html.escape(visible(text))


def section(title: str, *parts: str) -> str:
    return f'<h2 id="{_anchor(title)}">{_shown(title)}</h2>\n' + "\n".join(parts)


def contents(titles: Sequence[str]) -> str:
    """Links to the sections of these titles."""
    links = (f'<li><a href="#{_anchor(title)}">{_shown(title)}</a></li>' for title in titles)
    return f"<nav><ul>{''.join(links)}</ul></nav>"


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-") or "section"


def details(summary: str, *parts: str) -> str:
    """Parts that are shown on demand."""
    body = "\n".join(parts)
    return f"<details><summary>{_shown(summary)}</summary>\n{body}\n</details>"


def percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"


def paragraph(text: str, note: bool = False) -> str:
    return f'<p class="note">{_shown(text)}</p>' if note else f"<p>{_shown(text)}</p>"


def code(text: str) -> str:
    return f"<pre><code>{html.escape(text)}</code></pre>"


def numeric_columns(n_columns: int, rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Which columns of a table hold numbers alone, and so stand to the right."""
    return [all(_NUMBER.fullmatch(str(row[k])) for row in rows) for k in range(n_columns)]


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    numbered = numeric_columns(len(columns), rows)
    head = _cells("th", columns, numbered)
    lines = "".join(f"<tr>{_cells('td', row, numbered)}</tr>\n" for row in rows)
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{lines}</table></div>'


class Table(NamedTuple):
    """A titled table, with notes under it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        lines = [f"### {self.title}", "", _line(self.columns)]
        lines.append(_line(["---", *["---:"] * (len(self.columns) - 1)]))
        lines += [_line(row) for row in self.rows]
        lines += [text for note in self.notes for text in ("", note)]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        notes = [paragraph(note, note=True) for note in self.notes]
        return section(self.title, table(self.columns, self.rows), *notes)


def _line(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(visible(cell).replace("|", "\\|") for cell in cells) + " |"


def _cells(tag: str, values: Sequence[Any], numbered: Sequence[bool]) -> str:
    return "".join(
        f"<{tag}{_NUMERIC if is_number else ''}>{_shown(value)}</{tag}>"
        for value, is_number in zip(values, numbered, strict=True)
    )


def picture(light: str, dark: str, width: int, alt: str, caption: str = "") -> str:
    """A figure in two looks, of which a browser shows the one that fits; both are data URIs.

    On a narrow screen a wide figure is not made smaller than can be read: it is scrolled.
    """
    style = f' style="min-width:{round(0.8 * width)}px"' if width > _NARROW else ""
    words = f"<figcaption>{_shown(caption)}</figcaption>" if caption else ""
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" width="{width}" alt="{_shown(alt)}"{style}></picture>{words}</figure>'
    )
