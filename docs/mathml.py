"""Mathematics of the pages as MathML, which browsers draw without a script or a font of ours."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from docutils import nodes
from latex2mathml.converter import convert

_PRIME, _MINUS = "\N{PRIME}", "\N{MINUS SIGN}"
_GIVEN, _NORM = "\N{DIVIDES}", "\N{DOUBLE VERTICAL LINE}"

ET.register_namespace("", "http://www.w3.org/1998/Math/MathML")


def inline_math(writer: Any, node: nodes.math) -> None:
    """Mathematics within a line."""
    writer.body.append(drawn(node.astext(), "inline"))
    raise nodes.SkipNode


def displayed_math(writer: Any, node: nodes.math_block) -> None:
    """Mathematics on a line of its own; a wide one scrolls by itself."""
    writer.body.append(f'<div class="math" tabindex="0">{drawn(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def drawn(text: str, display: str) -> str:
    """LaTeX as MathML, set as TeX would set it."""
    tree = ET.fromstring(convert(text, display=display))
    for element in list(tree.iter()):
        _below(element, display)
        _prime(element)
        _signs(element)
        _spaces(element)
    return ET.tostring(tree, encoding="unicode")


def _below(element: ET.Element, display: str) -> None:
    """What max and min run over stands below them."""
    if display == "block" and _kind(element) == "msub" and element[0].text in ("max", "min"):
        element.tag = element.tag.replace("msub", "munder")


def _prime(element: ET.Element) -> None:
    """A prime is high and small already, and would vanish as an exponent of an index."""
    if _kind(element) == "msup" and element[1].text == _PRIME:
        element.tag = element.tag.replace("msup", "mrow")
        element[1].tag = element[1].tag.replace("mi", "mo")
        element[1].set("lspace", "0")


def _signs(element: ET.Element) -> None:
    """A sign with nothing to its left belongs to what follows; bars of a norm do not grow."""
    before = ""
    for child in element:
        if child.text in (_MINUS, "+") and before in ("(", "=", ",", _GIVEN, "{"):
            child.set("form", "prefix")
        if child.text == _NORM:
            child.attrib.update(stretchy="false", lspace="0", rspace="0")
        before = child.text or ""


def _spaces(element: ET.Element) -> None:
    """A logarithm stands off from its argument."""
    for place, child in reversed(list(enumerate(element))):
        if _kind(element) == "mrow" and child.text == "log":
            space = child.tag.replace("mi", "mspace")
            element.insert(place + 1, ET.Element(space, width="0.17em"))


def _kind(element: ET.Element) -> str:
    return element.tag.partition("}")[2]
