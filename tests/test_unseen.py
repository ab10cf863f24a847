"""The public face: few names, imported when they are used, and a command line that starts fast."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import unseen

HEAVY = ("scipy", "sklearn", "numba", "pandas", "matplotlib", "torch")


def loaded_by(*arguments: str) -> list[str]:
    """The heavy packages that a new process of Python has loaded at its end."""
    code = "import sys, atexit\natexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))\n"
    done = subprocess.run(
        [sys.executable, "-c", code + "\n".join(arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in HEAVY if name in done.stderr.split()]


def test_few_names_and_all_of_them_there() -> None:
    assert len(unseen.__all__) <= 22
    assert set(unseen.__all__) <= set(dir(unseen))
    for name in unseen.__all__:
        assert getattr(unseen, name) is not None
    with pytest.raises(AttributeError, match="module 'unseen' has no attribute 'JSLE'"):
        _ = unseen.JSLE


def test_names_of_the_last_release_still_work_and_tell_their_new_place() -> None:
    for name, place in unseen._MOVED.items():
        with pytest.warns(DeprecationWarning, match=f"use {place}.{name}") as caught:
            found = getattr(unseen, name)
        assert found is getattr(import_module(place), name)
        assert caught[0].filename == __file__


def test_the_import_loads_nothing_heavy() -> None:
    assert loaded_by("import unseen") == []
    assert loaded_by("import unseen, scipy") == ["scipy"], "the check can fail"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_line_starts_without_what_its_commands_need(option: str) -> None:
    start = ["import unseen.apps.cli", f"sys.argv = ['unseen', '{option}']"]
    assert loaded_by(*start, "unseen.apps.cli.main()") == []
