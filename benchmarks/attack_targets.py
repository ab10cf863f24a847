"""What `benchmarks.attack` attacks: files of every kind that the library reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import unseen
from benchmarks.attack_damage import (
    Damage,
    bytes_damaged,
    npz_damaged,
    record_damaged,
    resealed,
    words_damaged,
)
from tests.common.birds import SEEN, UNSEEN, make_folder
from tests.datasets.writers import write_awa, write_bundle, write_cub, write_xlsa17
from tests.files.test_files import WRITERS
from unseen import JLSE, ClassTable, make_zero_shot
from unseen.apps.bench import page, tables
from unseen.apps.bench.jobs import Job
from unseen.apps.bench.run import run_job
from unseen.apps.report import publish
from unseen.estimators import ALE, SSEReLU, method
from unseen.support.work import listening
from unseen.training.alternating import Algorithm2
from unseen.training.pairwise import Algorithm1


class Target(NamedTuple):
    """Files below a folder, what reads them, and what damages one of them.

    read : gives what identifies the content; raises an InputError if the file is refused.
    sealed : whether a checksum must tell every change.
    """

    name: str
    folder: Path
    files: tuple[Path, ...]
    read: Callable[[], str | None]
    damage: Damage
    sealed: bool = False


def _digest(*parts: Any) -> str:
    found = hashlib.sha256()
    for part in parts:
        array = np.asarray(part)
        found.update(repr(array.tolist()).encode() if array.dtype.kind in "UO" else array.tobytes())
    return found.hexdigest()


def _of_dataset(path: Path) -> str:
    data = unseen.read_dataset(path)
    return _digest(data.X, data.y, data.classes.names, data.classes.vectors, data.unseen)


def _of_table(path: Path) -> str:
    table = ClassTable.read(path)
    return _digest(table.names, table.vectors)


def _of_model(path: Path, X: np.ndarray) -> str:
    model = unseen.load(path)
    with np.errstate(all="ignore"):
        scores = model.similarities(X, "all")
    return _digest(scores, model.predict(X), model.class_table_.names)


def _of_picture(path: Path) -> str | None:
    found = publish._small.__wrapped__(str(path))
    return None if found is None else _digest(found)


def _of_results(folder: Path) -> str:
    records = page._records(folder)
    made = tables.all_tables(tables.named_by_split(page._of_latest_data(records)))
    text = "".join(table.html() for table in made)
    return _digest(text + page._parameters(records) + page._provenance(records))


def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def _suited(path: Path) -> Damage:
    """The damage that gets furthest with a file of its kind."""
    if path.suffix == ".npz":
        return npz_damaged
    return words_damaged if path.suffix in (".txt", ".csv", ".tsv") else bytes_damaged


def all_targets(root: Path) -> list[Target]:
    """Every kind of file, whole, each in a folder of its own below `root`."""
    return [*_datasets(root), *_tables(root), *_models(root), *_others(root)]


def _datasets(root: Path) -> list[Target]:
    folders: Mapping[str, Callable[[Path], Any]] = {
        "own folder": make_folder,
        "own archive": _archive,
        "xlsa17": write_xlsa17,
        "xlsa17, MATLAB 7.3": lambda path: write_xlsa17(path, version="7.3"),
        "AWA": write_awa,
        "CUB": write_cub,
        "bundle": write_bundle,
    }
    found = []
    for name, write in folders.items():
        folder = root / name
        write(folder)
        whole = folder / "zoo.npz" if name == "own archive" else folder
        files = _files(folder)

        def read(whole: Path = whole) -> str:
            return _of_dataset(whole)

        for kind in dict.fromkeys(map(_suited, files)):
            chosen = tuple(path for path in files if _suited(path) is kind)
            found.append(Target(name, folder, chosen, read, kind))
    return found


def _archive(folder: Path) -> None:
    data = make_zero_shot(8, 3, rows_per_class=7, n_features=12, n_attributes=6, n_factors=4)
    folder.mkdir()
    names = np.array(SEEN + UNSEEN)
    parts: dict[str, Any] = {"features": data.X, "labels": np.repeat(names, 7), "unseen": UNSEEN}
    parts |= {"class_names": names, "class_vectors": data.classes.vectors, "test_rows": [1, 2]}
    np.savez_compressed(folder / "zoo.npz", **parts, image_paths=names.repeat(7))


def _tables(root: Path) -> list[Target]:
    found = []
    for name, write in WRITERS.items():
        folder = root / f"table {name}"
        folder.mkdir()
        write(folder / name)
        path = folder / name
        found.append(
            Target(f"table, {name}", folder, (path,), lambda p=path: _of_table(p), _suited(path))
        )
    return found


def _models(root: Path) -> list[Target]:
    data = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)
    folder = root / "models"
    folder.mkdir()
    found = []
    for name in ("eszsl", "gaussian-match", "jlse", "kernel-jlse", "sae", "conse", "exem"):
        path = folder / name
        method(name)().fit(*data.training_set(), classes=data.classes).save(path)

        def read(path: Path = path) -> str:
            return _of_model(path, data.X)

        found.append(Target(f"model {name}", folder, (path,), read, bytes_damaged, sealed=True))
        found.append(Target(f"model {name}, sealed", folder, (path,), read, resealed("unseen")))
    return found


def _others(root: Path) -> list[Target]:
    found = []
    for name, model in _RESUMED.items():
        folder = root / f"checkpoint {name}"
        folder.mkdir()
        found += _checkpoints(name, model, folder)
    return [*found, *_pictures(root), _results(root)]


_RESUMED: dict[str, Any] = {
    "jlse": JLSE(3, training=Algorithm2(2)),
    "jlse, Algorithm 1": JLSE(3, training=Algorithm1(2)),
    "ale": ALE(max_iter=4, tol=0.0),
    "sse-relu": SSEReLU(n_rounds=2),
}


def _checkpoints(name: str, model: Any, folder: Path) -> list[Target]:
    """The checkpoint of a fit that was stopped before its end."""
    data = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)
    rows, path, steps = data.training_set(), folder / "state", []

    with listening(steps.append):
        model.fit(*rows, data.classes)

    def stop(_: str) -> None:
        steps.pop()
        if len(steps) == 1:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt), listening(stop):
        model.fit(*rows, data.classes, checkpoint=path)

    def read() -> str:
        given = path.read_bytes()
        try:
            found = model.fit(*rows, data.classes, checkpoint=path)
        finally:
            path.write_bytes(given)
        with np.errstate(all="ignore"):
            return _digest(found.similarities(data.X, "all"))

    label = f"checkpoint {name}"
    return [
        Target(label, folder, (path,), read, bytes_damaged, sealed=True),
        Target(f"{label}, sealed", folder, (path,), read, resealed("unseen checkpoint")),
    ]


def _pictures(root: Path) -> list[Target]:
    from PIL import Image

    folder = root / "pictures"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 255, (24, 30, 3), np.uint8)
    found = []
    for kind in ("JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM", "ICO", "TGA", "DDS"):
        path = folder / f"{kind}.png"
        Image.fromarray(pixels).save(path, kind)
        read = lambda p=path: _of_picture(p)  # noqa: E731
        found.append(Target(f"picture, {kind}", folder, (path,), read, bytes_damaged))
    return found


def _results(root: Path) -> Target:
    folder = root / "results"
    folder.mkdir()
    path = folder / "results.jsonl"
    (record,) = run_job(Job("digits", method="eszsl", generalized=True))
    path.write_text(json.dumps(record) + "\n")
    return Target("results", folder, (path,), lambda: _of_results(folder), record_damaged)
