"""The commands that `benchmarks.kills` stops, and how to tell what they left."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.common.killed import options, write_data
from tests.encoders.shapes import NAMES, photos, picture
from unseen import load, read_dataset
from unseen.apps.bench.log import read_records
from unseen.datasets import make_zero_shot
from unseen.errors import InputError
from unseen.estimators.gallery import open_index

_MEASURES = ("per_class_accuracy", "mean_average_precision", "by_class", "parameters", "sources")


class Command:
    """A command that writes into a folder of its own, and what is there before it begins.

    last : seconds from when it writes to its end, about.
    """

    name: str
    last = 0.3

    def __init__(self, root: Path, warm: Callable[[list[str]], None]) -> None:
        self.warm = warm
        self.root, self.folder = root / "given", root / self.name
        self.folder.mkdir(parents=True)
        self.known: Any = None
        self.words = self.prepared()
        self.reset()

    def prepared(self) -> list[str]:
        """The words of the command; what it reads is there, or is made."""
        raise NotImplementedError

    def begun(self) -> Any:
        """What changes when the command writes its first file."""
        return sorted(name for _, _, names in os.walk(self.folder) for name in names)

    def found(self) -> Any:
        """What identifies the result that is there; None if there is none."""
        raise NotImplementedError

    def older(self) -> Any:
        """What identifies the result that was there before; None if there was none."""
        return None

    def reset(self) -> None:
        """Take away the result, or put back the older one."""
        raise NotImplementedError

    def learn(self) -> None:
        """The result that is there is that of a command left alone."""
        self.known = self.found()

    def state(self) -> str:
        """new, old or absent; or what is wrong."""
        found = self.found()
        if found is None:
            return "absent"
        if found == self.known:
            return "new"
        return "old" if found == self.older() else "another result"


class _Model(Command):
    """A command that writes a model."""

    @property
    def out(self) -> Path:
        return self.folder / "model"

    def found(self) -> Any:
        if not self.out.exists():
            return None
        load(self.out)
        return self.out.read_bytes()

    def reset(self) -> None:
        self.out.unlink(missing_ok=True)


class Fit(_Model):
    """A long fit, which resumes from its checkpoint."""

    name = "fit"

    def prepared(self) -> list[str]:
        words = ["fit", str(self.root / "data.npz"), "--out", str(self.out), *options("jlse")]
        return [*words, "--checkpoint", str(self.folder / "checkpoint")]


class Tune(_Model):
    name = "tune"

    def prepared(self) -> list[str]:
        words = ["tune", str(self.root / "data.npz"), "--out", str(self.out), "-m", "eszsl"]
        words += ["--settings", "12", "--splits", "3"]
        return [*words, "--checkpoint", str(self.folder / "checkpoint")]


class Save(_Model):
    """A quick fit, whose model, of some megabytes, replaces another one."""

    name = "save"
    last = 0.015

    def prepared(self) -> list[str]:
        wide = make_zero_shot(12, 3, rows_per_class=6, n_features=4000, n_attributes=300)
        path, names = self.root / "wide.npz", wide.classes.names
        np.savez(
            path, features=wide.X, labels=wide.y, unseen=wide.unseen, class_names=names,
            class_vectors=wide.classes.vectors,
        )  # fmt: skip
        self.warm(["fit", str(path), "-m", "eszsl", "-o", str(self.root / "older"), "--set",
                   "row_penalty=0.5"])  # fmt: skip
        return ["fit", str(path), "-m", "eszsl", "--out", str(self.out)]

    def older(self) -> bytes:
        return (self.root / "older").read_bytes()

    def reset(self) -> None:
        shutil.copyfile(self.root / "older", self.out)


class Bench(Command):
    """Results that are added line by line; a run goes on where it was stopped."""

    name = "bench"

    def prepared(self) -> list[str]:
        words = ["bench", str(self.root / "data.npz"), "--out", str(self.folder / "results")]
        return [*words, "-m", "eszsl", "-m", "sae", "--trials", "2"]

    def found(self) -> Any:
        path = self.folder / "results" / "results.jsonl"
        if not path.exists() or not path.stat().st_size:
            return None
        return {r["key"]: json.dumps([r[name] for name in _MEASURES]) for r in read_records(path)}

    def state(self) -> str:
        found = self.found()
        if found is None or (set(found) < set(self.known) and found.items() <= self.known.items()):
            return "absent"  # more is to come
        return "new" if found == self.known else "another result"

    def reset(self) -> None:
        shutil.rmtree(self.folder / "results", ignore_errors=True)


class Index(Command):
    name = "index"
    last = 0.1

    @property
    def out(self) -> Path:
        return self.folder / "rows.index"

    def prepared(self) -> list[str]:
        rows = np.random.default_rng(0).standard_normal((60_000, 20)).astype(np.float32)
        np.save(self.root / "rows.npy", rows)
        model = self.root / "small"
        self.warm(["fit", str(self.root / "data.npz"), "-m", "eszsl", "-o", str(model)])
        return ["index", str(model), str(self.root / "rows.npy"), "--out", str(self.out)]

    def found(self) -> Any:
        if not self.out.exists() or (self.out.is_dir() and not any(self.out.iterdir())):
            return None
        made = open_index(self.out)
        made.check()
        digest = hashlib.sha256()
        for _, codes in made._stretches():
            digest.update(np.ascontiguousarray(codes).data)
        return made.n_rows, digest.hexdigest()

    def reset(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)


class Add(Index):
    """More rows for an index that is there."""

    name = "index --add"

    def prepared(self) -> list[str]:
        words = super().prepared()
        self.warm([*words[:-1], str(self.root / "older.index")])
        return [*words, "--add"]

    def older(self) -> Any:
        known = type("Older", (Index,), {"out": self.root / "older.index"})
        return known.found(object.__new__(known))

    def reset(self) -> None:
        """Put back the older index; what does not belong to it stays, as it would."""
        self.out.mkdir(exist_ok=True)
        for path in (self.root / "older.index").iterdir():
            shutil.copyfile(path, self.out / path.name)


class Embed(Command):
    """A data set of pictures over an older one, of as many other pictures."""

    name = "embed"
    last = 0.004

    def begun(self) -> Any:
        """The first of the files takes its place; they are written from the beginning on."""
        path = self.out / "skipped.csv"
        return path.stat().st_mtime_ns if path.exists() else None

    def prepared(self) -> list[str]:
        now, before = self.root / "photos", self.root / "photos of before"
        photos(now, 6)
        shutil.copytree(now, before)
        for name in NAMES:
            for k, path in enumerate(sorted((before / name).iterdir())):
                picture(name, 500 + k).save(path)
        (now / NAMES[0] / "0.png").rename(now / NAMES[1] / "moved.png")
        kept = ["--images", "basic", "--checkpoint"]
        older = ["embed", str(before), *kept, str(self.root / "kept")]
        self.warm([*older, "--out", str(self.root / "older data")])
        (self.root / "older data" / "unseen.txt").write_text(f"{NAMES[-1]}\n")
        return ["embed", str(now), *kept, str(self.folder / "kept"), "--out", str(self.out)]

    @property
    def out(self) -> Path:
        return self.folder / "data"

    def found(self) -> Any:
        return _of_dataset(self.out)

    def older(self) -> Any:
        return _of_dataset(self.root / "older data")

    def reset(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(self.root / "older data", self.out)
        shutil.rmtree(self.folder / "kept", ignore_errors=True)


def _of_dataset(folder: Path) -> Any:
    try:
        data = read_dataset(folder)
    except InputError:  # it says that it cannot be used
        return None
    return data.X.tobytes(), data.y.tolist(), data.classes.vectors.tobytes()


def all_commands(root: Path, warm: Callable[[list[str]], None]) -> list[Command]:
    """Every command, below `root`; `warm` runs one in this process."""
    (root / "given").mkdir()
    write_data(root / "given" / "data.npz")
    return [kind(root, warm) for kind in (Fit, Tune, Save, Bench, Index, Add, Embed)]
