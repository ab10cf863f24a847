"""Writes docs/cli.md by running the commands that it shows: python -m docs.make_cli"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docs.blocks import empty_folder, fenced, shown
from unseen.apps.cli import COMMANDS, command

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """# The command line

Made by `python -m docs.make_cli`, which ran every command shown here; times and memory, which
differ from run to run, are left out.

Results go to standard output, progress, notes and errors to standard error. `--json` prints JSON
for a program, errors too: `{{"error": ...}}`. Exit codes: 0 done, 1 the data or a file cannot be
used (one sentence says why), 2 the command was not understood, 130 interrupted.

## A file of options

Every command takes `--config FILE`, a TOML file with options by their long names and arguments by
theirs in lower case. It is the same as giving them as options, and options win. Parameters of the
method stand under `[set]`, those of its parts as `row_scaler__center = false` or in a table of the
part, `[set.row_scaler]`. A table with the name of a command is for that command alone. A name that
does not exist is an error that gives the nearest one. This is `digits.toml`, used below:

```toml
{config}```

## Completion in a shell

`unseen --install-completion` lets the shell complete commands and options.
"""
CONFIG = """data = "digits"

[fit]
method = "kernel-jlse"
out = "small.unseen"

[fit.set]
n_target_atoms = 50
"""
SHOWN: dict[str, list[str]] = {
    "check": ["unseen check digits"],
    "compare": ["unseen compare digits --method eszsl --method kernel-jlse --splits 5"],
    "fit": [
        "unseen fit digits --calibrate --out digits.unseen",
        "unseen fit --config digits.toml --set training__max_iter=1 --checkpoint small.checkpoint",
    ],
    "predict": [
        "unseen predict digits.unseen rows.npy",
        "unseen predict digits.unseen rows.npy --candidates all --top 3 --json",
        "unseen predict digits.unseen digits --out predictions.csv",
    ],
    "retrieve": ["unseen retrieve digits.unseen digits --class two -k 5"],
    "explain": ["unseen explain digits.unseen rows.npy --row 1 --top 3"],
    "evaluate": ["unseen evaluate digits.unseen digits"],
    "tune": ["unseen tune digits --method eszsl --settings 3 --splits 2"],
    "bench": ["unseen bench synthetic --method eszsl --trials 2"],
    "sweep": ["unseen sweep row_penalty synthetic --method eszsl --values 0.001,0.1 --trials 2"],
    "datasets": ["unseen datasets"],
}


def page() -> str:
    """The page, with what the commands print now."""
    parts = [INTRODUCTION.format(config=CONFIG)]
    with empty_folder():
        _write_examples()
        for name in COMMANDS:
            described = command(name)
            parts += [f"## unseen {name}\n", _about(described), _options(described)]
            parts += [fenced("console", shown(f"$ {line}")) + "\n" for line in SHOWN.get(name, [])]
    return "\n".join(parts)


def _write_examples() -> None:
    import numpy as np

    from unseen import load_digits_zero_shot

    Path("digits.toml").write_text(CONFIG, encoding="utf-8")
    np.save("rows.npy", load_digits_zero_shot().unseen_set()[0][:4])


def _about(command: Any) -> str:
    """The help of a command as text, without its example."""
    return (command.help or "").partition("Example:")[0].replace("\b", "").strip() + "\n"


def _options(command: Any) -> str:
    lines = ["| | |", "| --- | --- |"]
    for parameter in command.params:
        is_argument = parameter.param_type_name == "argument"
        name = ", ".join(parameter.opts)
        if is_argument:
            name = (parameter.metavar or parameter.name.upper()).replace("|", r"\|")
        if name not in ("--help", "-h, --help", "--help, -h"):
            lines.append(f"| `{name}` | {' '.join((parameter.help or '').split())} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
