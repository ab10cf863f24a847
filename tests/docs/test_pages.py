"""The pages of docs/: complete, true to the code, and a site that opens without a network."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import unseen
from docs.blocks import refreshed
from docs.docstrings import converted
from docs.make_api import PAGE as PLAIN_API
from docs.make_api import page as plain_api
from tests.apps.cli.test_page import assert_shows
from unseen import metrics
from unseen.apps import plots
from unseen.apps.cli import command

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FILE = re.compile(r"\b(?:src|tests|benchmarks|examples|docs)/[\w/.-]*\w(?![\w<])")
FENCE = re.compile(r"^```([\w{}-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def commands(text: str) -> list[list[str]]:
    """The commands of a page, in blocks and in backticks, as lists of words."""
    blocks = [code for kind, code in FENCE.findall(text) if kind in ("", "console")]
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    lines += re.findall(r"`([^`]+)`", FENCE.sub("", text))
    starts = ("unseen ", "python -m ", "python examples/")
    return [shlex.split(line, comments=True) for line in lines if line.startswith(starts)]


def test_commands_are_found() -> None:
    page = 'x\n```\nunseen check "a b"  # looks\n```\nsee `python -m pytest x` there'
    assert commands(page) == [["unseen", "check", "a b"], ["python", "-m", "pytest", "x"]]
    with pytest.raises(AssertionError):
        check_command(["fit", "data", "--ouput", "x"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_exist(page: Path) -> None:
    for words in commands(text_of(page)):
        if words[0] == "unseen":
            check_command(words[1:])
        elif words[1] == "-m":
            assert importlib.util.find_spec(words[2]) is not None, words
        for word in words[1:]:
            assert "/" not in word or not FILE.fullmatch(word) or (ROOT / word).exists(), words


def check_command(words: list[str]) -> None:
    """The command is there, and so are its options."""
    if words[0].startswith("--"):
        return
    known = [option for parameter in command(words[0]).params for option in parameter.opts]
    for word in words[1:]:
        assert not word.startswith("-") or word in (*known, "--help"), words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_and_links_exist(page: Path) -> None:
    text = text_of(page)
    for path in FILE.findall(text):
        assert path.startswith("docs/_build") or (ROOT / path).exists(), path
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert "://" in target or (page.parent / target).exists(), target


def numbers(kind: str, text: str) -> set[int]:
    """What a table names by a number: "Eq. 7 to 9" is 7, 8, 9, and "Eq. 3, 4" is 3, 4."""
    found: set[int] = set()
    for first, rest in re.findall(rf"\| {kind} (\d+)((?:(?:, | to )\d+)*)", text):
        ends = [int(first), *map(int, re.findall(r"\d+", rest))]
        found |= set(range(ends[0], ends[-1] + 1))
    return found


def test_the_paper_map_is_complete() -> None:
    text = text_of(ROOT / "docs" / "paper-map.md")
    assert numbers("Eq.", text) == set(range(1, 32))
    assert numbers("Figure", text) == set(range(1, 8))
    assert numbers("Table", text) == {1, 2, 3, 4}
    for algorithm in (1, 2, 3, 4):
        assert re.search(rf"^\| [^|]*Algorithm {algorithm} \|", text, flags=re.MULTILINE)


def test_every_public_name_has_its_place() -> None:
    listed = re.findall(r"^\.\. auto\w+:: ([\w.]+)", text_of(ROOT / "docs" / "api.md"), re.M)
    assert {*unseen.__all__, "unseen.metrics", "unseen.apps.plots"} - {"metrics"} <= set(listed)
    assert {f"{place}.{name}" for name, place in unseen._MOVED.items()} <= set(listed)


def test_the_plain_api_is_what_the_docstrings_say() -> None:
    assert text_of(PLAIN_API) == plain_api(), "write it anew: python -m docs.make_api"
    for name in set(unseen.__all__) - {"metrics"}:
        assert f"### `unseen.{name}`\n" in text_of(PLAIN_API)
    assert not re.search(r"^\.\. |\{eval-rst\}| at 0x", text_of(PLAIN_API), re.MULTILINE)


def test_docstrings_become_markup() -> None:
    lines = """Least |x - A z|² over z_.

        min_z |x - A z|²

    Parameters
    ----------
    a, b : sizes of `A`,
        at least 1.
    """
    assert converted(inspect.cleandoc(lines).splitlines()) == [
        r"Least \|x - A z\|² over z\_.", "",
        "::", "", "    min_z |x - A z|²", "",
        ".. rubric:: Parameters", "",
        "``a``, ``b``", "    sizes of ``A``,", "    at least 1.", "",
    ]  # fmt: skip


def test_mathematics_is_drawn_as_tex_would() -> None:
    pytest.importorskip("latex2mathml", reason="the extra docs is not installed")
    from docs.mathml import drawn

    text = drawn(r"\max_{z} \log p (-1 \mid z_{i'}) \lVert z \rVert", "block")
    assert "<munder><mo>max</mo>" in text
    assert '<mi>log</mi><mspace width="0.17em" /><mi>p</mi>' in text
    assert '<mo form="prefix">\N{MINUS SIGN}</mo><mn>1</mn>' in text
    assert '<mi>i</mi><mo lspace="0">\N{PRIME}</mo>' in text
    assert text.count('stretchy="false" lspace="0" rspace="0">‖') == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own-data", "pictures", "coming-from"])
def test_the_tutorial_prints_what_it_shows(name: str) -> None:
    shown = text_of(ROOT / "docs" / f"{name}.md")
    assert_shows(refreshed(shown), shown)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", "tuning", "report", "pairs"])
def test_examples_run(name: str) -> None:
    found = FENCE.findall(text_of(ROOT / "docs" / f"{name}.md"))
    code = [f"```python\n{code}```" for kind, code in found if kind == "python"]
    assert code
    refreshed("\n".join(code))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with warnings as errors."""
    for module in ("sphinx", "myst_parser", "furo", "latex2mathml"):
        pytest.importorskip(module, reason=f"{module} of the extra docs is not installed")
    out = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr.strip()
    return out


@pytest.mark.slow
def test_the_site_loads_nothing_from_a_network(site: Path) -> None:
    pages = sorted(site.glob("*.html"))
    named = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"api-reference"}
    assert named <= {page.stem for page in pages}
    for page in pages:
        text = text_of(page)
        loaded = re.findall(r"""\bsrc(?:set)?=["']([^"']+)""", text)
        loaded += re.findall(r"""<link\b[^>]*\bhref=["']([^"']+)""", text)
        assert not [url for url in loaded if url.startswith(("http", "//"))], page.name
        assert "MathJax" not in text
        for url in loaded:
            assert url.startswith(("data:", "#")) or (site / url.partition("?")[0]).exists(), url
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", text_of(style)), style


@pytest.mark.slow
def test_the_search_needs_no_server(site: Path) -> None:
    """A page that is opened from a folder may run scripts, but fetch nothing."""
    assert '<script src="searchindex.js"></script>' in text_of(site / "search.html")
    index = text_of(site / "searchindex.js")
    assert index.startswith("Search.setIndex(")
    for found in ("coming-from", "calibrate_seen", "GaussianMatch"):
        assert found in index


@pytest.mark.slow
def test_the_site_has_every_public_name(site: Path) -> None:
    text = text_of(site / "api.html")
    public = [n for n, v in vars(metrics).items() if inspect.isroutine(v) or inspect.isclass(v)]
    names = [f"unseen.{n}" for n in unseen.__all__ if n != "metrics"]
    names += [f"{place}.{name}" for name, place in unseen._MOVED.items()]
    names += [f"unseen.apps.plots.{n}" for n in plots.__all__]
    names += [
        f"unseen.metrics.{n}" for n in public
        if not n.startswith("_") and vars(metrics)[n].__module__ == "unseen.metrics"
    ]  # fmt: skip
    for name in names:
        assert f'id="{name}"' in text, name
