"""Jobs in processes of their own: what Ctrl-C does while one starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from unseen.apps.bench.run import holding_interrupts


def test_an_interrupt_while_a_worker_starts_is_not_lost() -> None:
    seen = []

    def start() -> None:
        with holding_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            seen.append("the rest of the block")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert seen == ["the rest of the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_comes_to_another_thread_is_not_lost() -> None:
    """A thread begun before has no mask; the one that redraws progress is such a thread."""
    go, done = threading.Event(), threading.Event()

    def interrupt() -> None:
        go.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        done.set()

    def start() -> None:
        with holding_interrupts():
            go.set()
            assert done.wait(10)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        start()


def test_a_block_that_fails_fails_as_before() -> None:
    with pytest.raises(OSError, match="no memory"), holding_interrupts():
        raise OSError("no memory")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc to read signal masks from")
def test_what_is_started_meanwhile_leaves_ctrl_c_to_us() -> None:
    show = [sys.executable, "-c", "print(open('/proc/self/status').read())"]
    with holding_interrupts():
        inside = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    after = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    assert [_blocks_interrupts(status) for status in (inside, after)] == [True, False]


def _blocks_interrupts(status: str) -> bool:
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk"))
    return bool(int(mask, 16) >> (signal.SIGINT - 1) & 1)
