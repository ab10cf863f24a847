"""Running the command line inside the test process, as `unseen` would run it."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest.mock import patch

from unseen.apps.cli import main

# A closed form, where the method does not matter.
BY_ESZSL = ["--method", "eszsl"]


class Outcome(NamedTuple):
    """What a command left: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as strict JSON: NaN and Infinity, which Python takes, are refused."""
        return json.loads(self.out, parse_constant=_refuse)


def run_unseen(*arguments: object) -> Outcome:
    """Run one command. An exception other than the exit is a failure of the test."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv = ["unseen", *map(str, arguments)]
    with patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Outcome(code, out.getvalue(), err.getvalue())


def assert_one_sentence(outcome: Outcome, *parts: str) -> None:
    """The command failed as a user should see it: exit code 1, one line on standard error."""
    assert outcome.code == 1, outcome
    assert outcome.err.startswith("Error: ")
    # Under --json the same sentence for a program.
    assert outcome.out == "" or outcome.json == {"error": outcome.err[7:-1]}
    assert outcome.err.count("\n") == 1
    for part in parts:
        assert part in outcome.err


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")
