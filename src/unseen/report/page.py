"""The parts of a self-contained HTML page: no network, no scripts, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1d21; --paper: #ffffff; --soft: #5b6470;
        --line: #d9dee4; --wrong: #d1242f; --panel: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --paper: #16191d; --soft: #a3abb5; --line: #353b43;
          --wrong: #ff6b6b; --panel: #d5d9de; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 860px; margin: 2.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.8rem; margin-bottom: .2rem; }
h2 { font-size: 1.2rem; margin-top: 2.4rem; }
p.note { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { text-align: left; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; }
th { vertical-align: bottom; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: .6rem 0; }
figure.plot { background: var(--panel); border-radius: 8px; padding: .5rem; }
figure.plot svg { width: 100%; height: auto; max-width: 520px; display: block; margin: auto; }
.gallery { display: grid; grid-template-columns: 7rem 1fr; gap: .7rem; align-items: center; }
.gallery .strip { display: flex; gap: .5rem; }
.gallery img { width: 72px; min-width: 0; aspect-ratio: 1; image-rendering: pixelated;
               border-radius: 6px; border: 3px solid transparent; background: #ffffff;
               box-sizing: border-box; }
.gallery img.right { border-color: var(--line); }
.gallery img.wrong { border-color: var(--wrong); }
.gallery + p.note { margin-top: .5rem; margin-bottom: 1.6rem; }
pre { background: color-mix(in srgb, var(--ink) 7%, transparent); border-radius: 6px;
      padding: .6rem .8rem; overflow-x: auto; }
@media (max-width: 560px) {
  body { margin-top: 1.2rem; }
  .gallery { grid-template-columns: 1fr; gap: .3rem; }
  .gallery .strip { margin-bottom: .6rem; }
  .gallery img { width: 56px; }
  figure.plot { padding: .2rem; } }
"""


def page(title: str, body: str) -> str:
    """A whole page."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    return f"<h2>{escape(title)}</h2>\n" + "\n".join(parts)


def paragraph(text: str, note: bool = False) -> str:
    return f"<p{_class('note') if note else ''}>{escape(text)}</p>"


def code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], numbers: bool = True) -> str:
    """A table; every column after the first holds numbers, or else words."""
    head = "".join(f"<th{_number(k, numbers)}>{escape(c)}</th>" for k, c in enumerate(columns))
    lines = "".join(
        "<tr>"
        + "".join(f"<td{_number(k, numbers)}>{escape(str(v))}</td>" for k, v in enumerate(row))
        + "</tr>\n"
        for row in rows
    )  # fmt: skip
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{lines}</table></div>'


def _number(k: int, numbers: bool) -> str:
    return _class("number") if k and numbers else ""


def _class(name: str) -> str:
    return f' class="{name}"'


def plot(svg: str, caption: str) -> str:
    return f'<figure class="plot" role="img" aria-label="{escape(caption)}">{svg}</figure>'


def gallery(strips: Sequence[tuple[str, Sequence[tuple[str, bool, str]]]]) -> str:
    """Rows of pictures under a name each; a picture is (data URI, is it right, description)."""
    cells = []
    for name, pictures in strips:
        images = "".join(
            f"<img{_class('right' if right else 'wrong')} "
            f'src="{uri}" alt="{escape(text)}" title="{escape(text)}">'
            for uri, right, text in pictures
        )
        cells.append(f'<strong>{escape(name)}</strong><div class="strip">{images}</div>')
    return '<div class="gallery">' + "".join(cells) + "</div>"
