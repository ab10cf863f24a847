"""docs/cli.md is what its script writes."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer

from docs.blocks import without_times
from docs.make_cli import PAGE, SHOWN, page
from unseen.cli import app

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue]


def without_widths(text: str) -> list[str]:
    """A wider number of seconds makes a wider table, another machine other last digits."""
    rounded = re.sub(r"-?\d+\.\d{6,}", lambda found: f"{float(found[0]):.3g}", text)
    return [re.sub(r"[━─]+", "─", re.sub(r" +", " ", line)) for line in rounded.splitlines()]


@pytest.mark.slow
def test_the_page_is_what_the_commands_print() -> None:
    assert without_widths(page()) == without_widths(PAGE.read_text(encoding="utf-8"))


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


def test_times_are_left_out() -> None:
    text = "trained in 12.5 s: x\n┃ what ┃ seconds ┃\n│ a │ 0.25 │\n│ seconds │ 3 │"
    lines = without_times(text).splitlines()
    assert lines[0] == "trained in … s: x"
    assert not re.search(r"\d", "".join(lines))
