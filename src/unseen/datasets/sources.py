"""The files that a data set is read from, kept as its provenance."""

from __future__ import annotations

from pathlib import Path

from unseen import files
from unseen.errors import InputError


class Sources:
    """A folder whose files are read one by one; each that was asked for is remembered."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._used: dict[str, Path] = {}

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def use(self, *names: str) -> Path:
        """The first of these files that is there, from now on one of the sources."""
        name = next((n for n in names if self.has(n)), None)
        if name is None:
            raise InputError(f"{self.folder} has no {' or '.join(names)}, which is needed")
        self._used[name] = files.checked_path(self.folder / name)
        return self._used[name]

    def use_path(self, path: Path) -> Path:
        """A file given by its path, by its name alone if it lies in another folder."""
        inside = path.is_relative_to(self.folder)
        name = path.relative_to(self.folder).as_posix() if inside else path.name
        self._used[name] = files.checked_path(path)
        return path

    def digests(self) -> dict[str, str]:
        """The SHA-256 of every file that was used, by its path inside the folder."""
        return {name: files.sha256(path) for name, path in sorted(self._used.items())}
