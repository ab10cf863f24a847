"""Damaged and forged files of every kind that the library reads, and what becomes of them.

    python -m benchmarks.attack [--quick] [--files 20000] [--seed 0] [--only NAME] [--keep FOLDER]

Each file is read in a child process. Whatever it holds, reading it must end in the content, or in
one sentence (an `InputError`), within seconds and within bounds of memory: never in another
exception, a signal or a hang. Files with checksums must never read as something else. Everything
stays in a temporary folder; files that did harm are kept with --keep. The code is 1 if any did.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import select
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.attack_targets import Target, all_targets
from unseen.apps.cli.output import show
from unseen.errors import InputError

BAD = ("changed", "uncaught", "signal", "hang", "memory")
_FINE = ("refused", "same", "other")
QUICK = 1200
_SECONDS = 10.0
_MOST_MB = 500
_BATCH = 200
_ADDRESSES = 8 * 2**30


class Harm(NamedTuple):
    """A file that did harm: which one, and what it did."""

    target: Target
    number: int
    what: str
    why: str


def damaged(target: Target, number: int, seed: int) -> tuple[Path, bytes]:
    """The file of a target that is changed, and to what; the same for the same seed."""
    rng = np.random.default_rng([seed, number])
    path = target.files[int(rng.integers(len(target.files)))]
    return path, target.damage(rng, path.read_bytes())


def attack(target: Target, numbers: Sequence[int], seed: int) -> Iterator[tuple[int, str, str]]:
    """The outcome of each damaged file of a target, by its number."""
    left = list(numbers)
    whole = {path: path.read_bytes() for path in target.files}
    while left:
        for number, outcome, why in _in_child(target, left[:_BATCH], seed):
            left.remove(number)
            yield number, outcome, why
        for path, content in whole.items():  # a child that died has not put it back
            path.write_bytes(content)


def _in_child(target: Target, numbers: list[int], seed: int) -> list[tuple[int, str, str]]:
    """Outcomes up to the first that ends the child."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        try:
            _work(target, numbers, seed, write_end)
        finally:
            os._exit(0)
    os.close(write_end)
    found, ended = _collected(read_end, numbers)
    if not ended:
        os.kill(child, 9)
    _, status = os.waitpid(child, 0)
    os.close(read_end)
    if len(found) < len(numbers) and (not found or found[-1][1] != "memory"):
        what = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "its process ended"
        why = what if ended else f"no end after {_SECONDS:.0f} s"
        found.append((numbers[len(found)], "signal" if ended else "hang", why))
    return found


def _collected(pipe: int, numbers: list[int]) -> tuple[list[tuple[int, str, str]], bool]:
    """What a child has reported, and whether it has ended by itself."""
    found, text = [], b""
    while True:
        ready, _, _ = select.select([pipe], [], [], _SECONDS)
        piece = os.read(pipe, 2**16) if ready else b""
        text += piece
        *lines, text = text.split(b"\n")
        found += [tuple(json.loads(line)) for line in lines]
        if not ready:
            return found, False
        if not piece or len(found) == len(numbers):
            return found, True


def _work(target: Target, numbers: list[int], seed: int, pipe: int) -> None:
    """Read damaged files, one after the other, and report each by a line."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silent, stream)
    expected = target.read()
    before = _peak_mb()
    for number in numbers:
        path, content = damaged(target, number, seed)
        whole = path.read_bytes()
        path.write_bytes(content)
        outcome, why = _outcome(target, expected)
        path.write_bytes(whole)
        if _peak_mb() - before > _MOST_MB:
            outcome, why = "memory", f"{_peak_mb() - before:.0f} MB"
        os.write(pipe, json.dumps([number, outcome, why]).encode() + b"\n")
        if outcome == "memory":
            return


def _outcome(target: Target, expected: Any) -> tuple[str, str]:
    try:
        found = target.read()
    except InputError as error:
        is_one = "\n" not in str(error) and len(str(error)) < 5000
        return (
            ("refused", "") if is_one else ("uncaught", f"a message of {len(str(error))} letters")
        )
    except BaseException:
        return "uncaught", traceback.format_exc()[-1500:]
    if found is None:
        return "refused", ""
    if found == expected:
        return "same", ""
    return ("changed", "another content") if target.sealed else ("other", "")


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def campaign(
    n_files: int, seed: int, only: str = "", root: Path | None = None
) -> tuple[dict[str, Counter[str]], list[Harm]]:
    """Outcomes by target, and what did harm; files are divided evenly among targets."""
    folder = Path(tempfile.mkdtemp()) if root is None else root
    counts: dict[str, Counter[str]] = {}
    harms = []
    try:
        with warnings.catch_warnings(action="ignore"):
            made = all_targets(folder)
        targets = [target for target in made if only in target.name]
        for place, target in enumerate(targets):
            numbers = range(place, n_files, len(targets))
            of_target = counts.setdefault(target.name, Counter())
            for number, outcome, why in attack(target, numbers, seed):
                of_target[outcome] += 1
                if outcome in BAD:
                    harms.append(Harm(target, number, outcome, why))
                    _keep(harms[-1], seed)
    finally:
        if root is None:
            shutil.rmtree(folder)
    return counts, harms


_KEPT: list[Path] = []


def _keep(harm: Harm, seed: int) -> None:
    for folder in _KEPT:
        path, content = damaged(harm.target, harm.number, seed)
        place = folder / f"{harm.what} {harm.target.name} {harm.number}{path.suffix}"
        place.write_bytes(content)
        place.with_suffix(".why").write_text(harm.why)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help=f"{QUICK:,} files")
    options.add_argument("--files", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="", help="targets whose name holds this")
    options.add_argument("--keep", type=Path, help="where to put files that did harm")
    chosen = options.parse_args()
    if chosen.keep is not None:
        chosen.keep.mkdir(parents=True, exist_ok=True)
        _KEPT.append(chosen.keep)
    start = time.perf_counter()
    counts, harms = campaign(QUICK if chosen.quick else chosen.files, chosen.seed, chosen.only)
    columns = ["target", "files", *_FINE, *BAD]
    rows = [[n, c.total(), *(c[what] for what in (*_FINE, *BAD))] for n, c in counts.items()]
    total = sum(counts.values(), Counter())
    rows.append(["all", total.total(), *(total[what] for what in (*_FINE, *BAD))])
    show("Damaged and forged files", columns, rows)
    print(f"{total.total():,} files in {time.perf_counter() - start:.0f} s, seed {chosen.seed}")
    for harm in harms[:20]:
        print(f"{harm.what}: {harm.target.name}, number {harm.number}: {harm.why}")
    return 1 if harms else 0


if __name__ == "__main__":
    sys.exit(main())
