"""Results as JSON lines: one line per method and trial, written whole, never changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unseen.errors import InputError
from unseen.files.reading import checked_path


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
        content = path.read_bytes() if path.exists() else b""
        self._records = _parsed(content, path)
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)

    def holds(self, key: str, sources: dict[str, str] | None) -> bool:
        """Whether the result of a key is there, from data with these checksums."""
        return key in self._records and self._records[key].get("sources", {}) == sources

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
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"line {number} of {path} is not a result of 'unseen bench'; choose another folder"
            ) from error
    return records
