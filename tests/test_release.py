"""What a release says about itself: its version, what it needs, and the lowest versions of that."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import unseen

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
SOURCE = ROOT / "src" / "unseen"
# Modules whose distributions have other names.
CALLED: dict[str, str] = {"PIL": "pillow", "sklearn": "scikit-learn", "faiss": "faiss-cpu"}
# What imports modules of an extra directly, as it is reached only where they are there.
ROOMS = {
    "apps/serve/": ["serve"],
    "apps/cli/serve.py": ["serve"],
    "apps/plots/": ["report"],
    "distributed/": ["dask"],
    "encoders/pictures.py": ["encode", "encode-onnx", "serve"],
}


def names_of(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[>=<!~]", text)[0].lower() for text in requirements}


def imports_of(path: Path) -> set[tuple[str, str]]:
    """Distributions that a file imports, each with the extra that the file says it is in, or ''."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add((node.module, ""))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
            texts = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
            found |= {(str(texts[0]), str(texts[1]))} if len(texts) == 2 else set()
    tops = {(name.partition(".")[0], extra) for name, extra in found}
    own = {*sys.stdlib_module_names, "unseen"}
    return {(CALLED.get(n, n.replace("_", "-")), extra) for n, extra in tops if n not in own}


def test_what_is_imported_is_declared() -> None:
    assert ("pillow", "encode-onnx") in imports_of(SOURCE / "encoders" / "pictures.py")
    always = names_of(PROJECT["dependencies"])
    for path in SOURCE.rglob("*.py"):
        place, found = path.relative_to(SOURCE).as_posix(), imports_of(path)
        room = [extra for start in ROOMS if place.startswith(start) for extra in ROOMS[start]]
        asked = {name for name, extra in found if extra}
        for name, extra in found - {(name, "") for name in asked}:
            for each in [extra] if extra else room or [""]:
                brought = always | names_of(EXTRAS.get(each, []))
                assert name in brought, f"{place} imports {name}, which {each!r} does not bring"


def test_the_version_is_the_same_everywhere() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest, date = re.findall(r"^## (\S+) \((\S+)\)$", changes, re.MULTILINE)[0]
    assert newest == unseen.__version__
    assert f"\nversion: {newest}\n" in citation
    assert f'\ndate-released: "{date}"\n' in citation


def test_the_lowest_versions_are_those_of_the_constraints() -> None:
    pinned = dict(
        re.findall(
            r"^([\w.-]+)==(\S+)",
            (ROOT / "constraints" / "lowest.txt").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    extras = [text for name in ("report", "data", "serve", "stores", "ann", "test")
              for text in EXTRAS[name]]  # fmt: skip
    for text in [*PROJECT["dependencies"], *extras]:
        if text.startswith("unseen["):
            continue
        name, lowest = text.split(">=")
        assert re.fullmatch(rf"{re.escape(lowest)}(\.0)*", pinned[name]), text


def test_no_upper_bound_without_a_reason() -> None:
    for text in [*PROJECT["dependencies"], *(t for texts in EXTRAS.values() for t in texts)]:
        assert "<" not in text, text
        assert "~" not in text, text


def test_the_container_file_copies_what_a_wheel_needs() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M)
    names = {name for line in copied for name in line.split()}
    assert {PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml", "src"} == names
    assert all((ROOT / name).exists() for name in names)
    assert "pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source\n" in text
    assert set(re.findall(r"^FROM (\S+)", text, re.M)) == {"python:3.11-slim"}
