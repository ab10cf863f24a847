"""What a killed process leaves beside its files is removed by the next one that writes there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from unseen.encoders.cache import Cache
from unseen.files.writing import remove_left, writing, writing_folder
from unseen.storage import checkpoint

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")


def killed(work: Callable[[], None]) -> None:
    """Do some work in a process that does not come to its end."""
    process = os.fork()
    if process == 0:
        try:
            work()
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL


def killed_while_writing(path: Path) -> None:
    def work() -> None:
        with writing(path) as temporary:
            temporary.write_text("half")
            (temporary.parent / "of a library").write_text("more")
            os.kill(os.getpid(), signal.SIGKILL)

    killed(work)


def hidden(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def test_the_next_write_removes_it(tmp_path: Path) -> None:
    path = tmp_path / "a*[b].txt"
    path.write_text("old")
    killed_while_writing(path)
    killed_while_writing(tmp_path / "other.txt")
    assert path.read_text() == "old"
    assert len(hidden(tmp_path)) == 2
    with writing(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"
    (left,) = hidden(tmp_path)
    assert left.startswith(".other.txt.")


def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with writing(path) as slow:
        slow.write_text("slow")
        with writing(path) as quick:
            quick.write_text("quick")
        assert path.read_text() == "quick"
        remove_left(path)
    assert path.read_text() == "slow"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_files_that_are_not_ours_stay(tmp_path: Path) -> None:
    names = [".a.txt.0123456", ".a.txt.0123456g", ".b.a.txt.01234567", "a.txt.01234567"]
    for name in names:
        (tmp_path / name).write_text("mine")
    os.symlink(tmp_path / names[0], tmp_path / ".a.txt.01234567")
    os.mkfifo(tmp_path / ".a.txt.89abcdef")
    with writing(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
    assert {*names, "a.txt", ".a.txt.01234567"} <= set(os.listdir(tmp_path))


def test_a_folder_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    def work() -> None:
        with writing_folder(path) as temporary:
            (temporary / "a").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)

    killed(work)
    assert not path.exists()
    with writing_folder(path) as temporary:
        (temporary / "a").write_text("whole")
    assert (os.listdir(tmp_path), os.listdir(path)) == (["folder"], ["a"])


def test_a_checkpoint_and_kept_vectors_are_cleared_too(tmp_path: Path) -> None:
    killed_while_writing(tmp_path / "checkpoint")
    checkpoint.remove(tmp_path / "checkpoint")
    assert os.listdir(tmp_path) == []
    place = tmp_path / ("0" * 32)
    place.mkdir()
    killed_while_writing(place / "some.npy")
    Cache(tmp_path, "0" * 64, 3)
    assert os.listdir(place) == []
