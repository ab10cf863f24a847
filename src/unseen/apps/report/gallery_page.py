"""The page of a retrieval: the pictures that fit a class best, in order."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from unseen.apps.report import page
from unseen.apps.report.publish import write
from unseen.encoders.pictures import PictureError, quiet, small_picture
from unseen.errors import counted

_SIDE = 240
_STYLE = (
    "<style>.gallery{display:grid;gap:1rem;"
    "grid-template-columns:repeat(auto-fill,minmax(11rem,1fr))}"
    ".gallery figure{margin:0}.gallery img{max-width:100%;height:auto}"
    ".gallery figcaption{font-size:.85rem;overflow-wrap:anywhere}</style>"
)


class Hit(NamedTuple):
    """One row that was found: its path, its score, and its label, if it has one."""

    path: str
    score: float
    label: str = ""


def gallery_page(name: str, hits: Sequence[Hit], n_rows: int, command: str) -> str:
    """The page, with its pictures inside."""
    title = f"What fits {name!r} best"
    lines = [f"The first {counted(len(hits), 'row')} of {n_rows:,}, best first."]
    labels = [hit.label for hit in hits if hit.label]
    if labels:
        right = sum(label == name for label in labels)
        lines.append(f"{right} of the {len(labels)} that have a label are of this class.")
    with quiet():
        figures = "\n".join(_figure(k, hit, name) for k, hit in enumerate(hits, start=1))
    body = [_STYLE, *map(page.paragraph, lines), f'<div class="gallery">\n{figures}\n</div>']
    return page.page(title, "\n".join([*body, page.code(command)]))


def _figure(place: int, hit: Hit, name: str) -> str:
    words = f"{place}. {hit.path}, score {hit.score:.4g}"
    if hit.label:
        words += f", labelled {hit.label!r}" + ("" if hit.label == name else " (another class)")
    try:
        small = small_picture(hit.path, _SIDE)
    except PictureError as error:
        picture = page.paragraph(f"No picture: {error}", note=True)
    else:
        content = io.BytesIO()
        small.save(content, "JPEG", quality=85)
        data = base64.b64encode(content.getvalue()).decode()
        alt = escape(Path(hit.path).name)
        size = f'width="{small.width}" height="{small.height}"'
        picture = f'<img src="data:image/jpeg;base64,{data}" {size} alt="{alt}">'
    return f"<figure>{picture}<figcaption>{escape(words)}</figcaption></figure>"


def write_gallery(path: Path, name: str, hits: Sequence[Hit], n_rows: int, command: str) -> None:
    write(path, gallery_page(name, hits, n_rows, command).encode("utf-8", "replace"))
