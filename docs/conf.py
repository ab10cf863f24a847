"""How Sphinx builds these pages: `make docs` writes them to docs/_build/html."""

from __future__ import annotations

import re
from typing import Any

import unseen
from docs import docstrings, mathml

project = "unseen"
author = "The unseen developers"
copyright = author
version = release = unseen.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
# The plain API says what the API page says, and would double what a search finds.
exclude_patterns = ["_build", "api-reference.md"]
smartquotes = False
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"unseen {version}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = html_show_sphinx = False
html_math_renderer = "mathml"
pygments_style = "friendly"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 72

PATH = re.compile(r"\b(?:src|tests|benchmarks|examples)/[\w/]+")


def break_paths(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Paths of files may break after a slash, so that they do not take the room of a table."""
    parts = re.split(r"(<[^>]+>)", context.get("body", ""))
    parts[::2] = [
        PATH.sub(lambda path: path[0].replace("/", "/<wbr>"), text) for text in parts[::2]
    ]
    context["body"] = "".join(parts)


def setup(app: Any) -> None:
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(mathml.inline_math, None),
        block_renderers=(mathml.displayed_math, None),
    )
    app.connect("html-page-context", break_paths)
    app.connect("autodoc-process-docstring", docstrings.as_rst)
    app.connect("autodoc-skip-member", docstrings.is_noise)
