"""docs/cli.md is what its script writes."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer

from docs.blocks import without_times
from docs.make_cli import PAGE, SHOWN, page
from unseen.apps.cli import app

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue]


NUMBER = re.compile(r"-?\d+\.\d+")


def assert_shows(page: str, shown: str) -> None:
    """The same text; a wider number of seconds makes a wider table, and another machine, which adds
    up in another order, other last digits."""
    found, expected = (list(map(_plain, text.splitlines())) for text in (page, shown))
    assert [NUMBER.sub("#", line) for line in found] == [NUMBER.sub("#", e) for e in expected]
    for line, other in zip(found, expected, strict=True):
        numbers = [[float(n) for n in NUMBER.findall(text)] for text in (line, other)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.05, abs=0.02), other


def _plain(line: str) -> str:
    return re.sub(r"[━─]+", "─", re.sub(r" +", " ", line))


@pytest.mark.slow
def test_the_page_is_what_the_commands_print() -> None:
    assert_shows(page(), PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_on_the_page(name: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    _, found, section = text.partition(f"\n## unseen {name}\n")
    assert found
    section = section.partition("\n## ")[0]
    for parameter in COMMANDS[name].params:
        for option in parameter.opts if parameter.param_type_name == "option" else []:
            assert option in ("-h", "--help") or f"{option}" in section, option
    assert ("```console\n$ unseen " in section) == (name in SHOWN)


def test_other_last_digits_are_the_same_page_and_other_numbers_are_not() -> None:
    assert_shows("| mAP   | 96.1 % |\n━━━", "| mAP | 96.0 % |\n─")
    for other in (
        "| mAP | 86.0 % |\n─",
        "| mAP | 96 % |\n─",
        "| AP | 96.0 % |\n─",
        "| mAP | 96.0 % |",
    ):
        with pytest.raises(AssertionError):
            assert_shows("| mAP   | 96.1 % |\n━━━", other)


def test_times_are_left_out() -> None:
    text = "trained in 12.5 s: x\n┃ what ┃ seconds ┃\n│ a │ 0.25 │\n│ seconds │ 3 │"
    lines = without_times(text).splitlines()
    assert lines[0] == "trained in … s: x"
    assert not re.search(r"\d", "".join(lines))
