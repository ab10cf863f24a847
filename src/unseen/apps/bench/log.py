"""Results as JSON lines: one line per method and trial, written whole, never changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import Any

from unseen.errors import InputError
from unseen.files.reading import checked_path

# What a result has, and of which kind; what it may have; and what those of a sweep have beside.
_NUMBER = (int, float)
_LARGEST = 1e100
_MEASURES = ("per_class_accuracy", "mean_average_precision")
_ALWAYS = {"data": str, "method": str, "trial": int, "split": str, "sources": dict}
_ALWAYS |= {"versions": dict, "machine": dict} | dict.fromkeys(_MEASURES, _NUMBER)
_OF_JOBS = {"tuning": str, "by_class": list, "parameters": dict, "generalized": (dict, NoneType)}
_OF_JOBS |= {"relative_mean_average_precision": _NUMBER, "peak_memory_mb": (*_NUMBER, NoneType)}
_OF_JOBS |= dict.fromkeys(("X_mb", "seconds", "fit_seconds", "tune_seconds"), _NUMBER)
_OF_SWEEPS = {"parameter": str, "values": list, "fixed": dict, "trials": int, "on": str}
_OF_SWEEPS |= {"value": object}
_PERHAPS = {"inside": str, "time": str, "calibrate_seconds": _NUMBER}
_PERHAPS |= dict.fromkeys(("budget", "most_rows", "random_classes"), _NUMBER)
# Where there are only few words to choose among, and what a drawn split has beside.
_WORDS = {"inside": ("", "seen", "all"), "on": ("held-out", "unseen")}
_OF_DRAWN = {"most_rows": _NUMBER}
_OF_CLASSES = {"name": (str, *_NUMBER), "average_precision": _NUMBER}
_GENERAL: dict[str, Any] = {}
_GENERAL |= dict.fromkeys(("seen", "unseen", "harmonic_mean", "ausuc"), _NUMBER)


def is_result(record: Any) -> bool:
    """Whether a record has what tables need: a line that somebody changed is no result."""
    if not isinstance(record, dict):
        return False
    own = _OF_SWEEPS if "parameter" in record else _OF_JOBS
    there = {name: kind for name, kind in _PERHAPS.items() if name in record}
    there |= _OF_DRAWN if record.get("inside") else {}
    if not _has(record, _ALWAYS | own | there) or not record["data"].strip():
        return False
    if any(record[name] not in words for name, words in _WORDS.items() if name in record):
        return False
    texts = [*record["versions"].values(), *record["sources"].values()]
    classes, general = record.get("by_class", []), record.get("generalized")
    return (
        all(isinstance(text, str) for text in texts)
        and _has(record["machine"], {"system": str, "cores": (int, NoneType)})
        and all(_has(of_class, _OF_CLASSES) for of_class in classes)
        and (not isinstance(general, dict) or _has(general, _GENERAL))
    )


def _has(record: Any, kinds: Mapping[str, Any]) -> bool:
    """Whether a record has these fields, each of its kind; a number is neither NaN nor endless."""
    return isinstance(record, dict) and all(
        name in record
        and isinstance(record[name], kind)
        and (not isinstance(record[name], _NUMBER) or abs(record[name]) <= _LARGEST)
        for name, kind in kinds.items()
    )


class Log:
    """A file of results; a run that writes to it can be killed at any time and resumed.

    Lines are added in one write that reaches the disk before the next piece of work begins; a line
    that was cut off is dropped when the file is opened again. If a line comes twice, the later one
    counts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._writing():
            path.parent.mkdir(parents=True, exist_ok=True)
        content = checked_path(path).read_bytes() if _has_content(path) else b""
        self._records = _parsed(content, path)
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)

    def holds(self, key: str, sources: dict[str, str] | None) -> bool:
        """Whether the result of a key is there, whole, and from data with these checksums."""
        record = self._records.get(key, {})
        return is_result(record) and record["sources"] == sources

    def records(self, keys: Iterable[str]) -> list[dict[str, Any]]:
        """The records of these keys that are there, in their order."""
        return [self._records[key] for key in keys if key in self._records]

    def append(self, records: Sequence[dict[str, Any]]) -> None:
        """Add lines, all or none."""
        text = "".join(json.dumps(record, allow_nan=False) + "\n" for record in records)
        with self._writing(), self.path.open("ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        self._records |= {record["key"]: record for record in records}

    @contextmanager
    def _writing(self) -> Any:
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror or error}") from error


def _has_content(path: Path) -> bool:
    return path.exists() and (not path.is_file() or path.stat().st_size > 0)


def read_records(path: Path) -> list[dict[str, Any]]:
    """All records of a log, which is left as it is: another process may be writing to it."""
    return list(_parsed(checked_path(path).read_bytes(), path).values())


def _parsed(content: bytes, path: Path) -> dict[str, dict[str, Any]]:
    """Records by their keys; what follows the last end of line is not whole and left out."""
    records = {}
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            record = json.loads(line)
            records[record["key"]] = record
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"line {number} of {path} is not a result of 'unseen bench'; choose another folder"
            ) from error
    return records
