"""The folder of an index: codes, the model, and a sealed list of them with their checksums.

`index.json` is written last and alone says which files belong to the index, so that an interrupted
`add` leaves the index as it was. Nothing in the folder is code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import InputError
from unseen.estimators.approximate import Approximate
from unseen.files import reading
from unseen.files.writing import writing, writing_folder
from unseen.storage.tensors import DamagedError, sealed

KIND, FORMAT = "unseen index", 1
_LIST, _MODEL = "index.json", "model.unseen"
# Codes of no more bytes than these are compared with their checksums when an index is opened.
_CHECKED_BYTES = 4 * 10**9


@contextmanager
def new_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary sibling to fill, which becomes `folder` on success and is removed on error."""
    folder = Path(folder)
    if os.path.exists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        what = "is an index already: add rows to it" if is_index(folder) else "exists already"
        raise InputError(f"cannot write {folder}: it {what}, or choose another name")
    with writing_folder(folder) as temporary:
        yield temporary


def is_index(folder: str | os.PathLike[str]) -> bool:
    return os.path.isfile(Path(folder) / _LIST)


def model_file(folder: Path) -> Path:
    return folder / _MODEL


def model_of_index(folder: str | os.PathLike[str]) -> Path:
    """The model of an index; an error that says so where there is none."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise InputError(f"{folder} is a file, and an index is a folder")
    if not is_index(folder):
        raise InputError(f"{folder} is not an index of unseen; 'unseen index' makes one")
    return model_file(Path(folder))


def n_parts(folder: Path) -> int:
    """How many times rows were added, the first included."""
    return len(_read_list(folder)["codes"])


def has_model(folder: Path) -> bool:
    return (folder / _MODEL).exists()


def write_codes(
    folder: Path, number: int, blocks: Iterable[np.ndarray], shape: tuple[int, ...], dtype: Any
) -> None:
    """Write codes as they come, without having them all in memory."""
    with writing(folder / _codes(number)) as temporary, temporary.open("wb") as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_2_0(file, header)
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype).data)


def map_codes(folder: Path, number: int) -> np.ndarray:
    return reading.read_npy(folder / _codes(number))


def seal(folder: Path, shapes: list[tuple[int, ...]], near: Approximate | None) -> None:
    """Write the list of files, with which all that was written before counts from now on."""
    known = _read_list(folder)["codes"] if is_index(folder) else []
    codes = known + [
        {"shape": list(shape), "sha256": reading.sha256(folder / _codes(number))}
        for number, shape in list(enumerate(shapes))[len(known) :]
    ]
    content: dict[str, Any] = {"kind": KIND, "format": FORMAT, "codes": codes, "near": None}
    content["model"] = reading.sha256(folder / _MODEL)
    if near is not None:
        name = f"compressed-{len(codes)}.faiss"
        with writing(folder / name) as temporary:
            near.write(temporary)
        content["near"] = near.facts() | {"file": name, "sha256": reading.sha256(folder / name)}
    try:
        text = sealed(content)
    except DamagedError as error:
        raise InputError(f"cannot write {folder}: {error}") from error
    with writing(folder / _LIST) as temporary:
        temporary.write_text(text, encoding="utf-8")
    for stale in folder.glob("compressed-*.faiss"):
        if near is None or stale.name != content["near"]["file"]:
            stale.unlink()


def open_codes(folder: Path) -> tuple[list[np.ndarray], Approximate | None]:
    """Codes, mapped, and the compressed ones, if the index has them."""
    content = _read_list(folder)
    _check(folder / _MODEL, content["model"])
    parts = []
    for number, facts in enumerate(content["codes"]):
        part = map_codes(folder, number)
        if list(part.shape) != facts["shape"] or part.dtype.kind != "f":
            raise InputError(f"{folder / _codes(number)} is damaged: it is not what was written")
        parts.append(part)
    if sum(part.nbytes for part in parts) <= _CHECKED_BYTES:
        check_codes(folder)
    near = content["near"]
    if near is None:
        return parts, None
    path = folder / Path(near["file"]).name
    _check(path, near["sha256"])
    return parts, Approximate.read(path, near)


def check_codes(folder: Path) -> None:
    """Compare all codes with their checksums."""
    for number, facts in enumerate(_read_list(folder)["codes"]):
        _check(folder / _codes(number), facts["sha256"])


def _check(path: Path, sha256: str) -> None:
    if reading.sha256(path) != sha256:
        raise InputError(f"{path} is damaged: it does not match its checksum; index the rows again")


def _read_list(folder: Path) -> dict[str, Any]:
    if not is_index(folder):
        raise InputError(f"{folder} is not an index of unseen; 'unseen index' makes one")
    path = folder / _LIST
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text)
        whole = content.get("kind") == KIND and sealed(content) == text
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is damaged; index the rows again") from error
    if not whole:
        raise InputError(f"{path} is damaged; index the rows again")
    if content.get("format") != FORMAT:
        version = repr(content.get("format"))[:50]
        raise InputError(f"{path} has format {version}; this version reads {FORMAT}")
    if not _makes_sense(content):
        raise InputError(f"{path} cannot be used: its list of files makes no sense")
    return content


def _makes_sense(content: dict[str, Any]) -> bool:
    """Whether a list, which anyone can seal, says of each file what is needed to read it."""
    codes, near = content.get("codes"), content.get("near", {})
    return (
        isinstance(codes, list)
        and all(_has(part, shape=list, sha256=str) for part in codes)
        and isinstance(content.get("model"), str)
        and (near is None or _has(near, file=str, sha256=str, width=int, lists=int, again=int))
        and (near is None or isinstance(near.get("recall"), float))
        and (near is None or isinstance(near.get("asked", 0.0), float))
    )


def _has(facts: Any, **kinds: type) -> bool:
    """Whether facts have these entries, each of its kind."""
    return isinstance(facts, dict) and all(type(facts.get(k)) is kind for k, kind in kinds.items())


def _codes(number: int) -> str:
    return f"codes-{number}.npy"
