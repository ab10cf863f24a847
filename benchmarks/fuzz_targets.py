"""What `benchmarks.fuzz` reads: every kind of file, each with what reads it and where to begin."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save as as_tensors

from benchmarks.attack_targets import Target, all_targets
from unseen import ClassTable, make_zero_shot
from unseen.apps.cli.config import _read as read_config
from unseen.datasets.class_words import read_words
from unseen.datasets.encoder_file import read_encoder
from unseen.datasets.row_files import read_rows
from unseen.datasets.stores import open_rows
from unseen.encoders.cache import Cache, key_of
from unseen.estimators import ESZSL
from unseen.estimators.gallery import index, open_index
from unseen.files.reading import sha256
from unseen.storage import tensors

# Files with checksums of which the bytes are changed too: one of each kind, as a checksum is the
# same wall before them all.
_BY_BYTES = ("model eszsl", "checkpoint ale")


class Reader(NamedTuple):
    """A file, what reads it, and inputs to begin with.

    made : the content of the file for an input; for a sealed file the input is its JSON alone, so
        that changes get past the checksums.
    is_json : whether inputs are JSON, of which values may be changed rather than bytes.
    """

    name: str
    path: Path
    read: Callable[[], Any]
    seeds: tuple[bytes, ...]
    made: Callable[[bytes], bytes] = bytes
    is_json: bool = False


def all_readers(root: Path) -> list[Reader]:
    """A reader for every kind of file, below `root`."""
    found = [r for target in all_targets(root) for r in _of_target(target)]
    return [*_distinct(found), *_others(root)]


def _of_target(target: Target) -> Iterable[Reader]:
    kind = "unseen checkpoint" if target.name.startswith("checkpoint") else "unseen"
    for path in target.files:
        raw = path.read_bytes()
        name = target.name if len(target.files) == 1 else f"{target.name}, {path.name}"
        if target.name.endswith(", sealed"):
            text, made = _unsealed(kind, raw)
            yield Reader(name, path, target.read, (text,), made, is_json=True)
            continue
        if not target.sealed or target.name in _BY_BYTES:
            yield Reader(name, path, target.read, (raw,), is_json=target.name == "results")
        if path.suffix == ".npz":
            seeds, made = _unpacked(raw)
            yield Reader(f"{name}, unpacked", path, target.read, seeds, made)


def _distinct(readers: list[Reader]) -> list[Reader]:
    """Variants of one format are seeds of one reader."""
    found: dict[tuple[str, str], Reader] = {}
    for reader in readers:
        kind, _, rest = reader.name.partition(", ")
        alike = kind == "picture" or (kind == "table" and not rest.endswith("unpacked"))
        key = (kind, Path(rest).suffix) if alike else (reader.name, "")
        known = found.get(key)
        if known is None:
            found[key] = reader._replace(name=f"{kind}, *{key[1]}" if alike else reader.name)
        else:
            found[key] = known._replace(seeds=known.seeds + reader.seeds)
    return list(found.values())


def _unsealed(kind: str, raw: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    """The JSON of a file of tensors, and what makes a file, with right checksums, of another."""
    size = int.from_bytes(raw[:8], "little")
    content = json.loads(json.loads(raw[8 : 8 + size])["__metadata__"][kind])
    arrays = dict(tensors_of(raw))
    digests = {name: tensors.digest(array) for name, array in arrays.items()}
    del content["arrays"], content["sha256"]

    def made(text: bytes) -> bytes:
        given = json.loads(text)  # what is no JSON is thrown away by the caller
        if not isinstance(given, dict):
            raise ValueError
        return as_tensors(arrays, {kind: tensors.sealed(given | {"arrays": digests})})

    return json.dumps(content).encode(), made


def _unpacked(raw: bytes) -> tuple[tuple[bytes, ...], Callable[[bytes], bytes]]:
    """The arrays of an archive, each after a byte of its number, and what packs another one."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def made(given: bytes) -> bytes:
        packed = io.BytesIO()
        hit = list(members)[given[0] % len(members)]
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in (members | {hit: given[1:]}).items():
                archive.writestr(name, content)
        return packed.getvalue()

    return tuple(bytes([k]) + content for k, content in enumerate(members.values())), made


def _others(root: Path) -> list[Reader]:
    """Readers that `benchmarks.attack` leaves out."""
    folder = root / "others"
    folder.mkdir()
    words = b'name,says,weight\nzebra,striped and quick,3\nowl,"flies, at night",0.5\n'
    facts = b'{"unseen": "1", "images": {"name": "a", "sha256": "00", "width": 3, "revision": "x"},'
    facts += b' "text": {"name": "tfidf", "templates": ["a {name}"]}}'
    config = b'method = "eszsl"\n[set]\nridge = 3.0\n[fit]\nsplit = "a"\n'
    texts = b'name,says,size\na,striped horse,1\nb,"quick, striped cat",2\nc,horse with horns,3\n'
    table = b"id,label,width,height\n1,a,0.5,2\n2,b,1.5,3\n"
    found = [
        _reader(folder / "words.csv", read_words, words),
        _reader(folder / "encoder.json", read_encoder, facts),
        _reader(folder / "config.toml", read_config, config),
        _reader(folder / "rows.csv", read_rows, table),
        _reader(folder / "texts.csv", ClassTable.read, texts),
    ]
    found[1] = found[1]._replace(is_json=True)
    return [*found, *_stores(folder), *_zarr(folder), *_indexes(folder), _cache(folder)]


def _reader(path: Path, read: Callable[[Path], Any], *seeds: bytes) -> Reader:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(seeds[0])
    return Reader(path.name, path, lambda: read(path), seeds)


def _all_rows(path: Path) -> Any:
    store = open_rows(path)
    return [store[k : k + 1] for k in range(min(len(store), 5))], store.labels


def _stores(folder: Path) -> list[Reader]:
    import pandas as pd
    import scipy.sparse

    frame = pd.DataFrame({"vector": [[0.5, 1.0], [2.0, 3.0]], "label": ["a", "b"]})
    frame.to_parquet(folder / "lists.parquet")
    rows = scipy.sparse.csr_matrix(np.array([[0, 1.0, 2], [3, 0, 0]]))
    scipy.sparse.save_npz(folder / "sparse.npz", rows)
    np.save(folder / "rows.npy", np.ones((3, 2), np.float32))
    paths = [folder / name for name in ("lists.parquet", "sparse.npz", "rows.npy")]
    found = [_reader(path, _all_rows, path.read_bytes()) for path in paths]
    seeds, made = _unpacked(paths[1].read_bytes())
    return [*found, found[1]._replace(name="sparse.npz, unpacked", seeds=seeds, made=made)]


def _zarr(folder: Path) -> list[Reader]:
    """What describes an array, in both formats, and a chunk of it."""
    import zarr

    found = []
    for version in (2, 3):
        place = folder / f"version-{version}.zarr"
        array = zarr.create_array(
            str(place), shape=(4, 2), chunks=(4, 2), dtype="f4", zarr_format=version
        )
        array[:] = np.arange(8).reshape(4, 2)
        files = [path for path in sorted(place.rglob("*")) if path.is_file()]
        for path in files:
            made = _reader(path, lambda _, place=place: _all_rows(place), path.read_bytes())
            name = f"{place.name} {path.relative_to(place)}"
            is_json = path.name in ("zarr.json", ".zarray", ".zattrs")
            found.append(made._replace(name=name, is_json=is_json))
    return found


def _indexes(folder: Path) -> list[Reader]:
    data = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)
    model = ESZSL().fit(*data.training_set(), data.classes)
    place = folder / "index"
    index(model, data.X, place)
    query = model.unseen_classes_[0]
    read = lambda _: open_index(place).rank(query, 3)  # noqa: E731
    listed = json.loads((place / "index.json").read_bytes())
    del listed["sha256"]
    sealed = _reader(place / "index.json", read, (place / "index.json").read_bytes())
    sealed = sealed._replace(
        seeds=(json.dumps(listed).encode(),),
        made=lambda text: tensors.sealed(json.loads(text)).encode(),
        is_json=True,
    )
    sealed = sealed._replace(name="index.json, sealed")

    def read_resealed(path: Path) -> Any:
        with suppress(Exception):
            shape = list(np.load(path, mmap_mode="r").shape)
            facts = listed | {"codes": [{"shape": shape, "sha256": sha256(path)}]}
            (place / "index.json").write_text(tensors.sealed(facts))
        return read(path)

    codes = _reader(place / "codes-0.npy", read_resealed, (place / "codes-0.npy").read_bytes())
    return [sealed, codes._replace(name="codes-0.npy, sealed")]


def _cache(folder: Path) -> Reader:
    """A file of kept vectors has the name of its checksum: each input gets its own."""
    place = folder / "kept"
    kept = Cache(place, "0" * 64, 3)
    kept.add({key_of(b"a"): np.ones(3, np.float32)})
    kept.write()
    (path,) = place.rglob("*.npy")

    def read() -> Any:
        from hashlib import blake2b

        digest = blake2b(path.read_bytes(), digest_size=16).hexdigest()
        named = path.with_name(f"{digest}.npy")
        path.rename(named)
        try:
            return Cache(place, "0" * 64, 3).get(key_of(b"a"))
        finally:
            named.rename(path)

    return Reader("kept vectors", path, read, (path.read_bytes(),))
