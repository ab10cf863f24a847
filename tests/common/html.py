"""Reading a page as a browser would, to see that it is whole and loads nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "img", "br", "hr", "link", "input", "source"}
LOADING = {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "background"}


class Page(HTMLParser):
    """What stands in a page: its tags and their attributes, tables and style; tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.rows: list[list[str]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], "every tag is closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def assert_loads_nothing(text: str) -> None:
    """No scripts, no frames, and no address but of a part of the page itself."""
    parsed = Page(text)
    assert not {tag for tag, _ in parsed.tags} & {"script", "link", "iframe", "object", "embed"}
    for _, attributes in parsed.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in LOADING:
                assert value.startswith(("data:image/", "#")), value[:80]
    for target in re.findall(r"url\((.*?)\)", text):
        assert target.strip("'\"").startswith("#")
    assert "@import" not in text
