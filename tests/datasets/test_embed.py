"""A folder of pictures and words becomes a data set."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("PIL", reason="Pillow is not installed")

from tests.encoders.shapes import NAMES, UNSEEN, attributes, photos, picture
from tests.encoders.test_pictures import mutated
from unseen import ClassTable, read_dataset
from unseen.datasets.embed import embed_folder
from unseen.datasets.findings import missing_pictures
from unseen.encoders.images import ImageEncoder
from unseen.errors import InputError
from unseen.support.work import listening


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """photos/ and numbers.csv."""
    folder = tmp_path_factory.mktemp("shapes")
    photos(folder / "photos")
    attributes(folder / "numbers.csv")
    return folder


def skipped(out: Path) -> dict[str, str]:
    with (out / "skipped.csv").open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert header == ["file", "reason"]
    return {name: reason for name, reason in lines}


def test_the_data_set_has_the_rows_of_the_pictures(shapes: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    done = embed_folder(shapes / "photos", out, shapes / "numbers.csv", images="basic")
    (out / "unseen.txt").write_text("\n".join(UNSEEN))
    data = read_dataset(out, pictures=shapes)
    names = sorted(p.relative_to(shapes / "photos").as_posix() for p in shapes.rglob("*.png"))
    assert (done.n_pictures, done.n_classes, done.width, done.skipped) == (48, 16, 248, {})
    assert data.y.tolist() == [name.split("/")[0] for name in names]
    assert data.image_paths is not None
    assert all(map(os.path.samefile, data.image_paths, [shapes / "photos" / n for n in names]))
    expected = ImageEncoder("basic").transform([shapes / "photos" / n for n in names])
    np.testing.assert_allclose(data.X, expected, rtol=1e-5, atol=1e-6)
    assert data.X.dtype == np.float32
    assert data.classes.attributes is not None
    assert set(data.unseen) == set(UNSEEN)
    facts = json.loads((out / "encoder.json").read_text())
    assert facts["images"]["sha256"] == ImageEncoder("basic").identity.sha256
    assert data.encoder == {
        "images": {k: facts["images"][k] for k in ("name", "kind", "sha256", "width")}
    }
    # Again, over what is there: the list of unseen classes stays.
    embed_folder(shapes / "photos", out, shapes / "numbers.csv", images="basic")
    assert set(read_dataset(out).unseen) == set(UNSEEN)


def test_a_flat_folder_with_a_table_of_labels(tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    flat.mkdir()
    for k, name in enumerate(NAMES[:4]):
        picture(name, k).save(flat / f"{9 - k}.png")
    lines = [f"./{9 - k}.png,{name}" for k, name in enumerate(NAMES[:3])]
    (tmp_path / "labels.csv").write_text("\n".join(["image,label", *lines, "gone.png,red disc"]))
    out = tmp_path / "data"
    embed_folder(flat, out, labels=tmp_path / "labels.csv", images="basic")
    assert (out / "labels.txt").read_text().splitlines() == NAMES[2::-1]
    assert skipped(out) == {
        "6.png": "labels.csv does not name it",
        "gone.png": "labels.csv names it, but the folder has no such file",
    }
    # Without a table, names are what describes the classes.
    text = (out / "classes.csv").read_text().splitlines()
    assert text == ["name,text", *(f"{name},{name}" for name in sorted(NAMES[:3]))]
    (tmp_path / "labels.csv").write_text("image,label\n9.png,a\n9.png,b\n")
    with pytest.raises(InputError, match=r"line 3: '9\.png' has another label before"):
        embed_folder(flat, out, labels=tmp_path / "labels.csv", images="basic")
    (tmp_path / "labels.csv").write_text("Filename,Class\n9.png,a\n8.png,b\n")
    assert embed_folder(flat, out, labels=tmp_path / "labels.csv", images="basic").n_pictures == 2
    (tmp_path / "labels.csv").write_text("photo,label\n9.png,a\n")
    with pytest.raises(InputError, match="has no column 'image'"):
        embed_folder(flat, out, labels=tmp_path / "labels.csv", images="basic")


def test_dirt_is_left_out_with_a_reason(shapes: Path, tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos", 2, NAMES[:3])
    place = folder / NAMES[0]
    (folder / "loose.png").write_bytes((place / "0.png").read_bytes())
    (place / "notes.txt").write_text("not a picture")
    (place / "empty.jpg").touch()
    (place / "cut.png").write_bytes((place / "0.png").read_bytes()[:200])
    (place / ".hidden.png").write_bytes(b"x")
    (place / "in.png").symlink_to(place / "1.png")
    (place / "out.png").symlink_to(shapes / "photos" / NAMES[0] / "0.png")
    (place / "broken.png").symlink_to(place / "nowhere.png")
    (folder / "linked").symlink_to(shapes / "photos" / NAMES[0])
    (place / "two\nlines.png").write_bytes((place / "0.png").read_bytes())
    os.mkfifo(place / "pipe.png")
    out = tmp_path / "data"
    done = embed_folder(folder, out, shapes / "numbers.csv", images="basic")
    found, name = skipped(out), NAMES[0]
    assert done.skipped == found
    assert done.n_pictures == 7
    assert found.pop("loose.png") == "it lies in no folder that names its class"
    assert found.pop("linked") == "a link to a folder is not followed"
    assert found.pop(f"{name}/out.png") == "a link that leads out of the folder is not followed"
    assert found.pop(f"{name}/empty.jpg") == "it is empty (0 bytes)"
    assert found.pop(f"{name}/pipe.png") == "it is not a regular file"
    assert "rename it" in found.pop(f"{name}/two\nlines.png")
    assert "No such file" in found.pop(f"{name}/broken.png")
    assert "truncated" in found.pop(f"{name}/cut.png")
    assert "not a picture" in found.pop(f"{name}/notes.txt")
    assert not found


def test_nothing_usable_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "photos" / "a").mkdir(parents=True)
    (tmp_path / "photos" / "a" / "x.jpg").write_text("no")
    with pytest.raises(InputError, match=r"none of the 1 file in .* a/x\.jpg: it is not a pict"):
        embed_folder(tmp_path / "photos", tmp_path / "data", images="basic")
    assert not any((tmp_path / "data").glob("*"))
    with pytest.raises(InputError, match="has no pictures in folders"):
        embed_folder(tmp_path / "photos" / "a", tmp_path / "data", images="basic")
    with pytest.raises(InputError, match="does not exist"):
        embed_folder(tmp_path / "absent", tmp_path / "data", images="basic")


def test_words_must_fit_the_pictures(shapes: Path, tmp_path: Path) -> None:
    words, out = tmp_path / "words.csv", tmp_path / "data"
    words.write_text("name,text\nred disk,round\n")
    with pytest.raises(InputError, match=r"'blue cross', .* 11 more have files but no line in"):
        embed_folder(shapes / "photos", out, words, images="basic")
    words.write_text("name,text\nred disc,round\nred disc,again\n")
    with pytest.raises(InputError, match="names the class 'red disc' twice"):
        embed_folder(shapes / "photos", out, words, images="basic")
    with pytest.raises(InputError, match="a template is for a sentence encoder"):
        embed_folder(shapes / "photos", out, images="basic", templates=["a {name}"])
    with pytest.raises(InputError, match=r"has \{nme\}; nearest name: 'name'"):
        embed_folder(shapes / "photos", out, images="basic", templates=["a {nme}"])
    with pytest.raises(InputError, match="has no place to fill in"):
        embed_folder(shapes / "photos", out, images="basic", templates=["a"])


def test_words_may_be_given_as_they_are(shapes: Path, tmp_path: Path) -> None:
    folder, out = photos(tmp_path / "photos", 1, NAMES[:3]), tmp_path / "data"
    said = {name: f"it is {name}" for name in NAMES[:3]} | {NAMES[1]: ""}
    done = embed_folder(folder, out, said, images="basic")
    assert done.silent == [NAMES[1]]
    lines = (out / "classes.csv").read_text().splitlines()
    assert lines[:2] == ["name,description", f"{NAMES[0]},it is {NAMES[0]}"]
    table = ClassTable(NAMES[:3], [[1.5, 0], [0, 1 / 3], [1, 1]], ["long", "red"])
    assert not embed_folder(folder, out, table, images="basic").silent
    assert ClassTable.read(out / "classes.csv") == ClassTable(
        NAMES[:3], [[1.5, 0], [0, 0.333333333], [1, 1]], ["long", "red"]
    )
    odd: Any = dict.fromkeys(NAMES, 3)
    with pytest.raises(InputError, match="of strings, not 3"):
        embed_folder(folder, out, odd, images="basic")


def test_only_its_own_folder_is_written_over(shapes: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("mine")
    with pytest.raises(InputError, match=r"labels\.txt is there already"):
        embed_folder(shapes / "photos", tmp_path, images="basic")
    with pytest.raises(InputError, match="lies in the folder of the pictures"):
        embed_folder(shapes / "photos", shapes / "photos" / "data", images="basic")
    with pytest.raises(InputError, match="is not a folder"):
        embed_folder(shapes / "photos", tmp_path / "labels.txt", images="basic")


def test_it_tells_how_far_it_is(shapes: Path, tmp_path: Path, monkeypatch) -> None:
    from unseen.datasets import embed

    clock = iter(range(1000))
    # Its own clock alone: threads that decode pictures look at the real one.
    own = SimpleNamespace(monotonic=lambda: float(next(clock)), perf_counter=time.perf_counter)
    monkeypatch.setattr(embed, "time", own)
    told: list[str] = []
    with listening(told.append):
        embed_folder(shapes / "photos", tmp_path, images=ImageEncoder("basic"))
    assert told[0] == "1 of 48 pictures, 1 a second, 0:47 left"


def test_pictures_that_have_gone_are_told(shapes: Path, tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos", 1)
    embed_folder(folder, tmp_path / "data", shapes / "numbers.csv", images="basic")
    assert missing_pictures(read_dataset(tmp_path / "data", pictures=folder)) == []
    (folder / NAMES[0] / "0.png").unlink()
    (line,) = missing_pictures(read_dataset(tmp_path / "data", pictures=folder))
    assert line.startswith("1 of 16 pictures is not there: ")


@pytest.mark.parametrize("n", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_mutated_pictures_are_rows_or_have_a_reason(n: int, shapes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    for k, made in enumerate(mutated(n)):
        (folder / NAMES[k % 16]).mkdir(parents=True, exist_ok=True)
        (folder / NAMES[k % 16] / f"{k}.jpg").write_bytes(made)
    done = embed_folder(folder, tmp_path / "data", shapes / "numbers.csv", images="basic")
    reasons = skipped(tmp_path / "data")
    assert done.n_pictures + len(reasons) == n
    assert done.n_pictures > n // 20
    assert all(reasons.values())
    assert len(np.load(tmp_path / "data" / "features.npy")) == done.n_pictures


_SLOWLY = """
import sys, time
from unseen.datasets import embed
from unseen.encoders import basic, cache
encode, cache._SECONDS = basic.Basic.encode, 0.0
def slowly(self, batch):
    print("batch", flush=True)
    time.sleep(0.2)
    return encode(self, batch)
basic.Basic.encode = slowly
images = embed.ImageEncoder("basic", batch_size=4, cache=sys.argv[3])
print(embed.embed_folder(sys.argv[1], sys.argv[2], images=images).n_pictures)
"""


@pytest.mark.slow
def test_a_killed_run_resumes(shapes: Path, tmp_path: Path) -> None:
    """Killed while it works, it leaves no part of a file, and does not encode again what it had."""
    command = [sys.executable, "-c", _SLOWLY, shapes / "photos", tmp_path / "data", tmp_path / "c"]
    run = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    for _ in range(6):
        assert run.stdout.readline() == "batch\n"
    time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert not (tmp_path / "data" / "features.npy").exists()
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    *batches, n = done.stdout.split()
    assert n == "48"
    assert len(batches) <= 12 - 4
    again = embed_folder(shapes / "photos", tmp_path / "other", images="basic")
    assert again.n_pictures == 48
    found, plain = (np.load(tmp_path / d / "features.npy") for d in ("data", "other"))
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.parametrize("n_replaced", range(7))
def test_a_kill_never_mixes_two_data_sets(
    n_replaced: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after so many of the six files have taken their places."""

    def embedded(seed: int, out: str) -> None:
        for k, name in enumerate(NAMES[:3]):
            (tmp_path / out / "photos" / name).mkdir(parents=True, exist_ok=True)
            picture(name, seed + k).save(tmp_path / out / "photos" / name / "a.png")
        embed_folder(tmp_path / out / "photos", tmp_path / "data", images="basic")

    def content() -> bytes | None:
        try:
            data = read_dataset(tmp_path / "data")
        except InputError:
            return None
        return data.X.tobytes() + str(data.image_paths).encode()

    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    embedded(0, "new")
    new = content()
    embedded(50, "old")
    old, replaced = content(), []
    monkeypatch.setattr(Path, "replace", _killing(replaced, n_replaced))
    process = os.fork()
    if process == 0:
        try:
            embedded(0, "new")
        finally:
            os._exit(0)
    os.waitpid(process, 0)
    monkeypatch.undo()
    assert old not in (None, new)
    assert content() == (None if n_replaced < 6 else new)


def _killing(replaced: list[Path], most: int) -> Any:
    replace = Path.replace

    def counted(self: Path, target: Path) -> Any:
        if Path(target).parent.name == "data":
            if len(replaced) == most:
                os._exit(9)
            replaced.append(target)
        return replace(self, target)

    return counted
