"""Options from a TOML file: the same as on the command line, where they win."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from unseen.errors import InputError, listed, nearest
from unseen.files.reading import checked_path, not_utf8

_SETTINGS = "unseen.settings"


def settings_of_both(context: typer.Context, given: list[str] | None) -> list[str]:
    """What `--set` gives, after what the file has under `[set]`: the later one counts."""
    return [*context.meta.get(_SETTINGS, []), *(given or [])]


def _use(context: typer.Context, path: Path | None) -> None:
    if path is None:
        return
    content = _read(path)
    commands = getattr(context.parent and context.parent.command, "commands", {})
    sections = {k: content.pop(k) for k in list(content) if k in commands}
    name = str(context.info_name)
    own = sections.get(name, {})
    if not isinstance(own, dict):
        raise InputError(f"{path}: {name} must be a table of options")
    options = _options(context.command)
    defaults = {}
    for key, value in {**content, **own}.items():
        if key not in options:
            raise InputError(
                f"{path}: '{context.command_path}' has no option {key!r}"
                f"{nearest(key, [*options, *(commands if isinstance(value, dict) else ())])}; "
                f"it has {listed(options, len(options))}"
            )
        if key == "set":
            context.meta[_SETTINGS] = _settings(path, value)
        else:
            defaults[options[key].name] = _value(path, key, value, options[key])
    context.default_map = defaults


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(checked_path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(not_utf8(path)) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not a TOML file: {error}") from error


def _options(command: Any) -> dict[str, Any]:
    """The parameters of a command by the names they have for a user, without the dashes."""
    found = {}
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            shown = (parameter.metavar or "").strip("[].").lower()
            name = shown if shown.isidentifier() else parameter.name
        else:
            name = max(parameter.opts, key=len).lstrip("-")
        if name not in ("config", "help"):
            found[name] = parameter
    return found


def _settings(path: Path, values: Any) -> list[str]:
    """`--set` as a table of parameters, or as a list of NAME=VALUE."""
    if isinstance(values, dict):
        return [f"{name}={value}" for name, value in values.items()]
    if isinstance(values, list) and all(isinstance(v, str) for v in values):
        return values
    raise InputError(f"{path}: set must be a table, as in [set] with a line 'max_iter = 3' below")


def _value(path: Path, key: str, value: Any, parameter: Any) -> Any:
    several = bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1
    if isinstance(value, dict) or (isinstance(value, list) and not several):
        raise InputError(f"{path}: {key} takes one value, not {value!r}")
    if getattr(parameter, "is_flag", False) and not isinstance(value, bool):
        raise InputError(f"{path}: {key} is true or false, not {value!r}")
    return [value] if several and not isinstance(value, list) else value


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=_use,
        is_eager=True,
        help="A TOML file with options by their names; those of the command line win.",
    ),
]
