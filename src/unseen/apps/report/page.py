"""The parts of a self-contained HTML page: no network, no scripts, light and dark."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import Any

# A figure of so many pixels can be read on a telephone.
_NARROW = 480
# So many strips of a gallery stand in two columns.
_MANY = 12
_STYLE = """
:root { color-scheme: light dark; --ink: #1a1d21; --paper: #ffffff; --soft: #5b6470;
        --line: #d9dee4; --wrong: #d1242f; --panel: #f3f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --paper: #16191d; --soft: #a3abb5; --line: #353b43;
          --wrong: #ff6b6b; --panel: #22262c; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 900px; margin: 2.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.8rem; margin-bottom: .2rem; }
h2 { font-size: 1.2rem; margin-top: 2.4rem; }
p.note { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { text-align: left; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; }
th { vertical-align: bottom; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: .8rem 0 1.2rem; overflow-x: auto; }
figure img { display: block; height: auto; max-width: 100%; margin: 0 auto; border-radius: 6px; }
figcaption { color: var(--soft); font-size: .9rem; position: sticky; left: 0; }
nav ul { columns: 2; padding-left: 1.2rem; }
a { color: inherit; }
details > summary { cursor: pointer; margin: .6rem 0; }
.gallery { display: grid; grid-template-columns: minmax(6rem, 9rem) 1fr; gap: .7rem;
           align-items: center; }
@media (min-width: 860px) { .gallery.many { grid-template-columns: 7rem 1fr 7rem 1fr; }
  .gallery.many strong { font-size: .85rem; line-height: 1.3; }
  .gallery.many img { width: 62px; } .gallery.many .strip { gap: .25rem; } }
.gallery strong { overflow-wrap: anywhere; }
.gallery .strip { display: flex; gap: .5rem; }
.gallery .cell { position: relative; min-width: 0; }
.gallery .cell.wrong::after { content: "\\2715"; position: absolute; top: 0; right: 0;
  width: 1.1rem; height: 1.1rem; font: bold .75rem/1.1rem sans-serif; text-align: center;
  color: #ffffff; background: #d1242f; border-radius: 0 6px 0 6px; }
.gallery img { width: 88px; max-width: 100%; aspect-ratio: 1; object-fit: contain;
               border-radius: 6px; border: 3px solid transparent; background: var(--panel);
               box-sizing: border-box; display: block; }
.gallery img.tiny { image-rendering: pixelated; width: 72px; background: #ffffff; }
.gallery img.right { border-color: var(--line); }
.gallery img.wrong { border-color: var(--wrong); }
.gallery + p.note { margin-top: .5rem; margin-bottom: 1.6rem; }
pre { background: color-mix(in srgb, var(--ink) 7%, transparent); border-radius: 6px;
      padding: .6rem .8rem; overflow-x: auto; }
@media (max-width: 560px) {
  body { margin-top: 1.2rem; }
  td:first-child { white-space: normal; }
  .gallery { grid-template-columns: 1fr; gap: .3rem; }
  .gallery .strip { margin-bottom: .6rem; }
  .gallery img, .gallery img.tiny { width: 60px; }
  nav ul { columns: 1; } }
"""


# By this a page tells what wrote it.
MAKER = '<meta name="generator" content="unseen">'


def is_page(start: bytes) -> bool:
    """Whether a file that begins so is a page of the library, of an earlier version too."""
    return MAKER.encode() in start or f"<style>{_STYLE[:80]}".encode() in start


def page(title: str, body: str) -> str:
    """A whole page."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{MAKER}\n"
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    return f'<h2 id="{_anchor(title)}">{escape(title)}</h2>\n' + "\n".join(parts)


def contents(titles: Sequence[str]) -> str:
    """Links to the sections of these titles."""
    links = (f'<li><a href="#{_anchor(title)}">{escape(title)}</a></li>' for title in titles)
    return f"<nav><ul>{''.join(links)}</ul></nav>"


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-") or "section"


def details(summary: str, *parts: str) -> str:
    """Parts that are shown on demand."""
    body = "\n".join(parts)
    return f"<details><summary>{escape(summary)}</summary>\n{body}\n</details>"


def percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"


def paragraph(text: str, note: bool = False) -> str:
    return f"<p{_class('note') if note else ''}>{escape(text)}</p>"


def code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], numbers: bool = True, words: int = 1
) -> str:
    """A table; every column after the first, or the first few `words`, holds numbers."""
    numbered = [k >= words and numbers for k in range(len(columns))]
    head = _cells("th", columns, numbered)
    lines = "".join(f"<tr>{_cells('td', row, numbered)}</tr>\n" for row in rows)
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{lines}</table></div>'


def _cells(tag: str, values: Sequence[Any], numbered: Sequence[bool]) -> str:
    return "".join(
        f"<{tag}{_class('number') if is_number else ''}>{escape(str(value))}</{tag}>"
        for value, is_number in zip(values, numbered, strict=True)
    )


def _class(name: str) -> str:
    return f' class="{name}"'


def picture(light: str, dark: str, width: int, alt: str, caption: str = "") -> str:
    """A figure in two looks, of which a browser shows the one that fits; both are data URIs.

    On a narrow screen a wide figure is not made smaller than can be read: it is scrolled.
    """
    style = f' style="min-width:{round(0.8 * width)}px"' if width > _NARROW else ""
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" width="{width}" alt="{escape(alt)}"{style}></picture>{words}</figure>'
    )


def gallery(
    strips: Sequence[tuple[str, Sequence[tuple[str, bool, str]]]], tiny: bool = False
) -> str:
    """Rows of pictures under a name each; a picture is (data URI, is it right, description)."""
    cells = []
    for name, pictures in strips:
        images = "".join(_cell(*picture, tiny) for picture in pictures)
        cells.append(f'<strong>{escape(name)}</strong><div class="strip">{images}</div>')
    many = " many" if len(strips) > _MANY else ""
    return f'<div class="gallery{many}">' + "".join(cells) + "</div>"


def _cell(uri: str, right: bool, text: str, tiny: bool) -> str:
    word = "right" if right else "wrong"
    return (
        f'<span class="cell {word}"><img class="{word}{" tiny" if tiny else ""}" '
        f'src="{uri}" alt="{escape(text)}" title="{escape(text)}"></span>'
    )
