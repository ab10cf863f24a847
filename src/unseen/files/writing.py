"""Writing files whole or not at all.

What is being written lies beside its place in a hidden folder, `.name.1a2b3c4d`, so that what other
libraries put beside it is there too. A process that is killed leaves that folder behind; the next
one that writes to the same place removes it. It can tell by a lock, which ends with the process.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unseen.errors import InputError

try:
    import fcntl
except ImportError:  # Windows, where what a killed process leaves stays
    fcntl = None


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write to, which becomes `path` on success and is removed on error.

    Readers see the old file or the new one, never a part.
    """
    path = Path(path)
    with _aside(path) as folder, _wording(path):
        temporary = folder / path.name
        temporary.touch()
        mode = temporary.stat().st_mode
        yield temporary
        temporary.chmod(mode)  # that of the umask, whatever a library has made of it
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)


@contextmanager
def writing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The same for a folder, which must not be there yet, or be empty."""
    path = Path(path)
    with _aside(path) as folder, _wording(path):
        temporary = folder / path.name
        temporary.mkdir()
        yield temporary
        temporary.replace(path)


@contextmanager
def _aside(path: Path) -> Iterator[Path]:
    """A new folder beside a path, locked as long as it is used, and gone afterwards."""
    remove_left(path)  # first: it may be what fills the disk
    with _wording(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder, lock = _made(path)
    try:
        yield folder
    finally:
        _remove(folder)
        if lock is not None:
            os.close(lock)


@contextmanager
def _wording(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def _made(path: Path) -> tuple[Path, int | None]:
    while True:
        folder = path.parent / f".{path.name}.{secrets.token_hex(4)}"
        folder.mkdir()
        if fcntl is None:
            return folder, None
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            _locked(lock, wait=True)
            # Another process may have taken it for left behind before it was locked.
            if folder.exists():
                return folder, lock
            os.close(lock)


def _locked(handle: int, wait: bool) -> bool:
    """Whether a lock could be had; where a file system has none, nothing is taken for left."""
    assert fcntl is not None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def remove_left(path: str | os.PathLike[str], everything: bool = False) -> None:
    """Remove what killed processes have left of writing to a path, or to anything beside it."""
    path = Path(path)
    name = ".+" if everything else re.escape(path.name)
    is_left = re.compile(rf"\.{name}\.[0-9a-f]{{8}}", re.DOTALL).fullmatch
    with suppress(OSError):
        for left in filter(is_left, os.listdir(path.parent) if fcntl else ()):
            _remove_unlocked(path.parent / left)


def _remove_unlocked(path: Path) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _locked(handle, wait=False):
                _remove(path)
        finally:
            os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
