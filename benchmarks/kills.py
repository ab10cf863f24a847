"""Commands that are stopped at random moments, and what they leave.

    python -m benchmarks.kills [--kills 200] [--seed 0] [--only NAME]

`fit` with a checkpoint, `tune`, `bench`, `fit --out` over an older model, `index`, `index --add`
and `embed` over an older data set are started again and again and stopped by SIGKILL, SIGTERM or
SIGINT, anywhere from their first to their last moment; every tenth is a program of its own, the
others are forked from one that has all modules. After each stop every file must be whole, old or
new, or absent; in the end the result must have the same bits as that of a command left alone, and
nothing else may lie beside it. The code is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# A forked process may use the compiled loops of its parent by this one.
os.environ["NUMBA_THREADING_LAYER"] = "workqueue"
os.environ["NUMBA_NUM_THREADS"] = "1"

import numpy as np

from benchmarks.kills_commands import Command, all_commands
from unseen.__main__ import main as unseen_main
from unseen.apps.cli.output import show

_SIGNALS = (signal.SIGKILL,) * 4 + (signal.SIGTERM, signal.SIGINT)
_LONGEST = 120.0
# Seconds until Python itself has started, which nobody can catch, and until modules are loaded.
_PYTHON, _LOADING = 0.1, 1.5


class Stop(NamedTuple):
    """When a command is stopped: after so many seconds, counted from when it writes if `late`."""

    what: signal.Signals
    seconds: float
    late: bool
    spawn: bool


class Ended(NamedTuple):
    """How a command ended: whether by itself, its code, and what it said."""

    by_itself: bool
    code: int
    said: str


def run(command: Command, stop: Stop | None = None) -> Ended:
    """Run a command, to its end or until it is stopped."""
    told = command.folder.with_suffix(".told")
    with told.open("wb") as file:
        spawned = stop is not None and stop.spawn
        process = (_spawned if spawned else _forked)(command.words, file.fileno())
    before, start = command.begun(), time.monotonic()
    counting, limit = not (stop and stop.late), _LONGEST if stop is None else stop.seconds
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return Ended(True, code, told.read_text(errors="replace"))
        if not counting and command.begun() != before:
            counting, start = True, time.monotonic()
        if time.monotonic() - start > (limit if counting else _LONGEST):
            break
        time.sleep(0.0005)
    os.kill(process, signal.SIGKILL if stop is None else stop.what)
    code = _awaited(process)
    if stop is None:
        return Ended(False, code, "it came to no end")
    return Ended(False, code, told.read_text(errors="replace"))


def _awaited(process: int) -> int:
    """The code of a process that was stopped, and is killed if it goes on for long."""
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return 255


def _forked(words: list[str], told: int) -> int:
    process = os.fork()
    if process:
        return process
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(told, 2)
        sys.argv = ["unseen", *words]
        code = 0
        try:
            unseen_main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        sys.stderr.flush()
        os._exit(code)
    finally:
        os._exit(1)


def _spawned(words: list[str], told: int) -> int:
    command = [sys.executable, "-m", "unseen", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=told).pid


class Tally:
    """What became of one command."""

    def __init__(self, command: Command) -> None:
        self.command, self.counts, self.faults = command, Counter[str](), list[str]()

    def note(self, ended: Ended, stop: Stop | None) -> None:
        """Look at what a command left, and put things right for the next."""
        state = self._state()
        self.counts[state] += 1
        what = "by itself" if ended.by_itself else f"by {stop.what.name if stop else 'us'}"
        where = f"{self.command.name}, ended {what} with code {ended.code}"
        if state not in ("new", "old", "absent"):
            self.faults.append(f"{where}: {state}")
        if ended.by_itself and (ended.code or state != "new"):
            self.faults.append(f"{where}: {state}; {ended.said[-300:]}")
        if "Traceback" in ended.said and ended.code != -signal.SIGKILL:
            self.faults.append(f"{where}: {ended.said[-600:]}")
        if ended.code == 255:
            self.faults.append(f"{where}: it went on for 20 s")
        if state != "absent":
            self.command.reset()

    def _state(self) -> str:
        try:
            return self.command.state()
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def campaign(command: Command, n_kills: int, rng: np.random.Generator) -> Tally:
    """Stop a command so many times, and let it come to its end."""
    tally = Tally(command)
    start = time.monotonic()
    whole = run(command)
    seconds = time.monotonic() - start
    if whole.code:
        raise RuntimeError(f"{command.name} fails by itself: {whole.said}")
    command.learn()
    command.reset()
    stopped = 0
    while stopped < n_kills:
        stop = _drawn(rng, command, seconds, spawn=stopped % 10 == 9)
        ended = run(command, stop)
        tally.note(ended, stop)
        tally.counts["left"] = max(tally.counts["left"], len(left_over(command)))
        tally.counts["finished" if ended.by_itself else stop.what.name] += 1
        stopped += not ended.by_itself
    tally.note(run(command), None)
    if left := left_over(command):
        tally.faults.append(f"{command.name}: left for ever: {left}")
    return tally


def _drawn(rng: np.random.Generator, command: Command, seconds: float, spawn: bool) -> Stop:
    """A signal and its moment; a program of its own has to load its modules first."""
    late, what = bool(rng.random() < 0.6), _SIGNALS[rng.integers(len(_SIGNALS))]
    longest = command.last if late else seconds + (_LOADING if spawn else 0.0)
    first = _PYTHON if spawn and not late else 0.0
    return Stop(what, first + float(rng.random()) * longest, late, spawn)


def left_over(command: Command) -> list[str]:
    """Temporary files and folders beside results."""
    paths = command.folder.rglob(".*")
    return sorted(str(path.relative_to(command.folder)) for path in paths)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="", help="commands whose name holds this")
    chosen = options.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    root, start = Path(tempfile.mkdtemp()), time.monotonic()
    columns = ["SIGKILL", "SIGTERM", "SIGINT", "finished", "old", "new", "absent", "left"]
    rows, faults = [], []
    try:
        commands = [c for c in all_commands(root, _warm) if chosen.only in c.name]
        shares = np.bincount(np.arange(chosen.kills) % len(commands), minlength=len(commands))
        for number, (command, share) in enumerate(zip(commands, shares, strict=True)):
            print(f"{command.name}: {share} stops", file=sys.stderr, flush=True)
            tally = campaign(command, int(share), np.random.default_rng([chosen.seed, number]))
            rows.append([command.name, *(tally.counts[name] for name in columns)])
            faults += tally.faults
            with suppress(OSError):
                shutil.rmtree(command.folder)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    show("Commands that were stopped", ["command", *columns], rows)
    n_kills = sum(sum(row[1:4]) for row in rows)
    print(f"{n_kills} stops in {time.monotonic() - start:.0f} s, seed {chosen.seed}")
    print("\n".join([f"{len(faults)} faults", *faults[:20]]))
    return 1 if faults else 0


def _warm(words: list[str]) -> None:
    """Run a command in this process, so that those forked from it have all that it imports."""
    known = sys.argv
    sys.argv = ["unseen", *words]
    with open(os.devnull, "w") as null:
        streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = null
        try:
            unseen_main()
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(f"{words} failed") from stop
        finally:
            sys.stdout, sys.stderr = streams
            sys.argv = known


if __name__ == "__main__":
    sys.exit(main())
