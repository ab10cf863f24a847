"""Coverage-guided fuzzing of every reader of files, by atheris (libFuzzer).

    pip install atheris
    python -m benchmarks.fuzz [--seconds 120] [--seed 0] [--only NAME] [--keep FOLDER] [--list]

Each reader runs in a child process for so many seconds. Inputs begin with small files that the
library wrote itself; what reaches new lines of code is changed further. An input must end in the
content or in one sentence (an `InputError`): another exception, a signal, more than 5 s, or 500 MB
of memory is a finding. Each is kept with --keep, and the code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import importlib
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

# Compiled loops cannot be traced.
_COMPILED = ["ascent", "compiled", "pair_kernels", "pair_similarity", "simplex"]
_UNTRACED = [f"unseen.solvers.{name}" for name in _COMPILED] + ["unseen.estimators.sse"]
_SECONDS = 5
_MOST_MB = 500
_LONGEST = 30_000
# libFuzzer ends with these where an input took too long or ended the process.
_ENDS = {70: "hang", 77: "signal"}


class Outcome(NamedTuple):
    """What became of a reader: inputs, features of the code reached, and findings by file."""

    name: str
    inputs: int
    features: tuple[int, int]
    findings: dict[str, str]


def _atheris() -> Any:
    return importlib.import_module("atheris")


def instrumented(root: Path) -> list[Any]:
    """All readers, their Python code traced."""
    atheris = _atheris()

    silent, known = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(known, 2)  # a line for each module
    try:
        with atheris.instrument_imports(include=["unseen", "PIL", "tomllib"], exclude=_UNTRACED):
            from benchmarks.fuzz_targets import all_readers

            with warnings.catch_warnings(action="ignore"):
                return all_readers(root)
    finally:
        os.dup2(silent, 2)


def fuzz(reader: Any, seconds: int, seed: int, folder: Path) -> Outcome:
    """Fuzz one reader for some time, in as many processes as its findings end."""
    found, corpus, log = folder / "found", folder / "corpus", folder / "log"
    for made in (found, corpus):
        made.mkdir(parents=True)
    for k, content in enumerate(reader.seeds):
        (corpus / str(k)).write_bytes(content)
    whole = reader.path.read_bytes()
    inputs, features, end = 0, [], time.monotonic() + seconds
    while (left := round(end - time.monotonic())) > 0:
        child = os.fork()
        if child == 0:
            try:
                _work(reader, folder, [f"-seed={seed + 1}", f"-max_total_time={left}"])
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        text = log.read_text(errors="replace")
        inputs += int((re.findall(r"number_of_executed_units: (\d+)", text) or "0")[-1])
        features += map(int, re.findall(r" ft: (\d+)", text))
        reader.path.write_bytes(whole)  # a child that died has not put it back
        code = os.waitstatus_to_exitcode(status)
        _name_ends(found, code, text)
        if code not in (0, *_ENDS):
            raise RuntimeError(f"{reader.name} ended with code {code}:\n{text[-3000:]}")
        seed += 1
    whys = {path.name: path.read_text() for path in sorted(found.glob("*.why"))}
    return Outcome(reader.name, inputs, (features[0], max(features)) if features else (0, 0), whys)


def _name_ends(found: Path, code: int, log: str) -> None:
    """Say of an input that ended the process what it did."""
    for path in list(found.iterdir()):
        if path.suffix != ".why" and not path.with_suffix(".why").exists():
            what = _ENDS.get(code, f"code {code}")
            path.with_suffix(".why").write_text(f"{log[-3000:]}\n{what}")


def _work(reader: Any, folder: Path, options: list[str]) -> None:
    """Fuzz in this process, which ends."""
    atheris = _atheris()

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    found = folder / "found"
    options += [f"-timeout={_SECONDS}", "-rss_limit_mb=0", f"-max_len={_LONGEST}"]
    options += ["-print_final_stats=1", f"-artifact_prefix={found}/", "-len_control=0"]
    custom = {"custom_mutator": _changed} if reader.is_json else {}
    atheris.Setup(["fuzz", *options, str(folder / "corpus")], _once(reader, found), **custom)
    atheris.Fuzz()


def _changed(given: bytes, most: int, seed: int) -> bytes:
    """An input of JSON with another value, an odd one or one from elsewhere; or other bytes."""
    import numpy as np

    from benchmarks.attack_damage import places, put_junk

    atheris, rng = _atheris(), np.random.default_rng(seed)
    try:
        content = json.loads(given)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or rng.random() < 0.3:
        return atheris.Mutate(given, most)
    for _ in range(int(rng.integers(1, 4))):
        spots = places(content)
        if not spots:
            break
        if rng.random() < 0.5:
            put_junk(rng, content)
        else:
            (holder, key), (other, there) = (spots[k] for k in rng.integers(len(spots), size=2))
            holder[key] = copy.deepcopy(other[there])
    return json.dumps(content).encode()[:most]


def _once(reader: Any, found: Path) -> Callable[[bytes], int | None]:
    """What an input does; a finding is written once for each place in the code."""
    from unseen.errors import InputError

    reader.read()
    peak = [_peak_mb()]

    def once(given: bytes) -> int | None:
        try:
            content = reader.made(given)
        except Exception:
            return -1  # not worth keeping
        reader.path.write_bytes(content)
        why = ""
        try:
            reader.read()
        except InputError as error:
            if "\n" in str(error) or len(str(error)) > 5000:
                why = f"a message of {len(str(error))} letters\n{str(error)[:200]!r}"
        except Exception:
            why = traceback.format_exc()
        if (grown := _peak_mb() - peak[0]) > _MOST_MB:
            why, peak[0] = f"memory: {grown:.0f} MB", _peak_mb()
        if why:
            _write(found, why, content)
        return None

    return once


def _write(found: Path, why: str, content: bytes) -> None:
    lines = re.findall(r'File "(.*)", line (\d+)', why)[-2:] or why[:8]
    name = hashlib.sha256(repr(lines).encode()).hexdigest()[:12]
    if not (found / name).exists():
        (found / name).write_bytes(content)
        (found / f"{name}.why").write_text(why[-3000:])


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=120, help="for each reader")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="", help="readers whose name holds this")
    options.add_argument("--keep", type=Path, help="where to put inputs that are findings")
    options.add_argument("--list", action="store_true", help="name the readers and stop")
    chosen = options.parse_args()
    root = Path(tempfile.mkdtemp())
    try:
        readers = [r for r in instrumented(root) if chosen.only in r.name]
        if chosen.list:
            print("\n".join(f"{len(r.seeds):3d} seeds  {r.name}" for r in readers))
            return 0
        return _campaign(readers, chosen, root / "fuzz")
    finally:
        shutil.rmtree(root)


def _campaign(readers: list[Any], chosen: Any, folder: Path) -> int:
    inputs = findings = 0
    start = time.monotonic()
    for number, reader in enumerate(readers):
        place = folder / str(number)
        made = fuzz(reader, chosen.seconds, chosen.seed, place)
        reached = f"{made.features[0]:6,d} -> {made.features[1]:6,d} features"
        print(f"{made.name:40s}{made.inputs:11,d} inputs  {reached}  {len(made.findings)} findings")
        for name, why in made.findings.items():
            print(f"  {name}: {' '.join(why.strip().splitlines()[-1:])[:300]}")
        sys.stdout.flush()
        if chosen.keep is not None and made.findings:
            shutil.copytree(place / "found", chosen.keep / made.name, dirs_exist_ok=True)
        shutil.rmtree(place)
        inputs, findings = inputs + made.inputs, findings + len(made.findings)
    seconds = time.monotonic() - start
    print(f"{inputs:,} inputs of {len(readers)} readers in {seconds:,.0f} s: {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
