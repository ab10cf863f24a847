"""Options from a TOML file: the same as on the command line, where they win."""

from __future__ import annotations

import tomllib
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer

from unseen.errors import InputError, listed, nearest
from unseen.files.reading import checked_path, not_utf8

_SETTINGS = "unseen.settings"
# Tables and lists inside each other; options need four, as in [fit.set.training].
_DEEPEST = 10
_TOO_DEEP = "tables or lists lie too deep inside each other: no option takes such"
_TOO_LARGE = "it holds a whole number of more than 64 bits, which no option takes"
# Whether the command line, or the file of its options, asks for JSON: errors are told so too.
JSON_ASKED: ContextVar[bool] = ContextVar("unseen.json", default=False)


def settings_of_both(context: typer.Context, given: list[str] | None) -> list[str]:
    """What `--set` gives, after what the file has under `[set]`: the later one counts."""
    return [*context.meta.get(_SETTINGS, []), *(given or [])]


def _use(context: Any, path: Path | None) -> None:
    if path is None:
        return
    content, commands = _read(path), context.parent.command.commands
    tables = {name: content.pop(name) for name in list(content) if name in commands}
    own = tables.get(context.info_name, {})
    if not isinstance(own, dict):
        raise InputError(f"{path}: {context.info_name} must be a table of options")
    content |= own
    if content.get("json") is True:
        JSON_ASKED.set(True)
    options, defaults = _options(context.command), {}
    for key, value in content.items():
        if key not in options:
            known = [*options, *(commands if isinstance(value, dict) else ())]
            raise InputError(
                f"{path}: '{context.command_path}' has no option {key!r}{nearest(key, known)}; "
                f"it has {listed(options, len(options))}"
            )
        if key != "set":
            defaults[options[key].name] = _value(path, key, value, options[key])
        elif isinstance(value, dict):
            context.meta[_SETTINGS] = [f"{name}={v}" for name, v in value.items()]
        else:
            raise InputError(
                f"{path}: set must be a table, as in [set] with a line 'max_iter = 3' below"
            )
    context.default_map = defaults


def _read(path: Path) -> dict[str, Any]:
    try:
        text = checked_path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(not_utf8(path)) from error
    try:
        content = tomllib.loads(text)
        _check_sizes(content)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not a TOML file: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: {_TOO_DEEP}") from error
    except ValueError as error:  # of Python, which reads no number of thousands of digits
        raise InputError(f"{path}: {_TOO_LARGE}") from error
    return content


def _check_sizes(value: Any, depth: int = 0) -> None:
    """An error for what could be read and not be shown: dotted keys nest without end, and a number
    in hexadecimal digits may have any number of them."""
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, int) and value.bit_length() > 64:
        raise ValueError
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            _check_sizes(one, depth + 1)


def _options(command: Any) -> dict[str, Any]:
    """The parameters of a command by the names they have for a user, without the dashes."""
    found = {}
    for parameter in command.params:
        names = [parameter.metavar] if parameter.param_type_name == "argument" else parameter.opts
        found[max(names, key=len).strip("-[].").partition("|")[0].lower()] = parameter
    return {name: parameter for name, parameter in found.items() if name not in ("config", "help")}


def _value(path: Path, key: str, value: Any, parameter: Any) -> Any:
    several = bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1
    if isinstance(value, dict) or (isinstance(value, list) and not several):
        raise InputError(f"{path}: {key} takes one value, not {value!r}")
    if getattr(parameter, "is_flag", False) and not isinstance(value, bool):
        raise InputError(f"{path}: {key} is true or false, not {value!r}")
    return [value] if several and not isinstance(value, list) else value


def configured(
    config: Annotated[
        Path | None,
        typer.Option(
            callback=_use,
            is_eager=True,
            expose_value=False,
            help="A TOML file with options by their names; those of the command line win.",
        ),
    ] = None,
) -> None:
    """A command that has nothing but the option that all commands share."""
