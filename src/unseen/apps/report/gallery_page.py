"""The page of a retrieval: the pictures that fit a class best, in order."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from unseen.apps.report import page
from unseen.apps.report.publish import write
from unseen.encoders.pictures import PictureError, quiet, small_picture
from unseen.errors import counted
from unseen.files.limits import is_below
from unseen.support.text import visible

_SIDE = 240
# A wrong row is told by a dashed frame and a word, not by colour alone.
_STYLE = """<style>
.gallery { display: grid; gap: 1.2rem 1rem;
           grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr)); }
.gallery figure { margin: 0; overflow: visible; }
.gallery .picture { display: flex; align-items: center; justify-content: center; height: 10rem;
                    box-sizing: border-box;
                    border: 1px solid var(--line); border-radius: 6px; padding: .3rem; }
.gallery .wrong .picture { border: 2px dashed var(--soft); }
.gallery img { max-width: 100%; max-height: 100%; width: auto; border-radius: 3px; }
.gallery p { margin: 0; font-size: .85rem; }
.gallery figcaption { position: static; overflow-wrap: anywhere; padding-top: .3rem; }
.gallery figcaption b { color: var(--ink); }
</style>"""


class Hit(NamedTuple):
    """One row that was found: its path, its score, and its label, if it has one."""

    path: str
    score: float
    label: str = ""


def gallery_page(
    found: Mapping[str, Sequence[Hit]],
    n_rows: int,
    command: str,
    place: str | os.PathLike[str] = ".",
    allowed: Sequence[str | os.PathLike[str]] | None = None,
) -> tuple[str, int]:
    """The page with its pictures inside, and how many of them it does not show.

    found : what fits each class best, in order.
    place : the folder of the page, from which it links to the pictures.
    allowed : the folders whose pictures may be shown; None for any.
    """
    parts, n_hidden = [_STYLE], 0
    with quiet():
        for name, hits in found.items():
            may = [allowed is None or any(is_below(h.path, f) for f in allowed) for h in hits]
            n_hidden += may.count(False)
            figures = [
                _figure(number, hit, name, shows, place)
                for number, (hit, shows) in enumerate(zip(hits, may, strict=True), start=1)
            ]
            grid = f'<div class="gallery">\n{"".join(figures)}</div>'
            lines = [page.paragraph(line) for line in _summary(name, hits, n_rows)]
            parts += [page.section(name, *lines, grid)] if len(found) > 1 else [*lines, grid]
    title = " and ".join(map(repr, found))
    body = "\n".join([*parts, page.section("Repeat it", page.code(command))])
    return page.page(f"What fits {title} best", body), n_hidden


def _summary(name: str, hits: Sequence[Hit], n_rows: int) -> list[str]:
    lines = [f"The first {counted(len(hits), 'row')} of {n_rows:,}, best first."]
    labels = [hit.label for hit in hits if hit.label]
    if labels:
        right = sum(label == name for label in labels)
        lines.append(f"{right} of the {len(labels)} that have a label are of this class.")
    return lines


def _figure(number: int, hit: Hit, name: str, shows: bool, place: str | os.PathLike[str]) -> str:
    is_wrong = hit.label not in ("", name)
    words = f"<b>{number}.</b> score {hit.score:.4g}"
    if hit.label:
        words += f"<br>labelled {escape(visible(hit.label))}" + (", another class" * is_wrong)
    file = escape(visible(Path(hit.path).name))
    words += f'<br><a href="{_link(hit.path, place)}">{file}</a>' if shows else f"<br>{file}"
    frame = ' class="wrong"' if is_wrong else ""
    picture = _picture(hit.path) if shows else _lacking("outside of the data, not shown")
    inner = f'<div class="picture">{picture}</div><figcaption>{words}</figcaption>'
    return f"<figure{frame}>{inner}</figure>\n"


def _link(path: str, place: str | os.PathLike[str]) -> str:
    """From the page to a file, whose name may look like anything but stays a path."""
    return f"./{quote(Path(os.path.relpath(path, place)).as_posix(), errors='replace')}"


def _picture(path: str) -> str:
    try:
        small = small_picture(path, _SIDE)
    except PictureError as error:
        return _lacking(f"No picture: {error}")
    content = io.BytesIO()
    small.save(content, "JPEG", quality=85)
    data = base64.b64encode(content.getvalue()).decode()
    size = f'width="{small.width}" height="{small.height}"'
    alt = escape(visible(Path(path).name))
    return f'<img src="data:image/jpeg;base64,{data}" {size} alt="{alt}">'


def _lacking(text: str) -> str:
    return page.paragraph(text, note=True)


def write_gallery(
    path: Path,
    found: Mapping[str, Sequence[Hit]],
    n_rows: int,
    command: str,
    allowed: Sequence[str | os.PathLike[str]] | None = None,
) -> int:
    """Write the page; how many pictures it does not show."""
    text, n_hidden = gallery_page(found, n_rows, command, path.parent, allowed)
    write(path, text.encode("utf-8", "replace"))
    return n_hidden
