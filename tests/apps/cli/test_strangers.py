"""Names, pictures and results of strangers on the command line, and streams that are closed."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from tests.common.birds import SEEN, make_folder, write_classes, write_lines
from tests.common.command import BY_ESZSL, assert_one_sentence, run_unseen
from unseen import InputError, make_zero_shot
from unseen.apps.report.publish import row_picture
from unseen.datasets import ZeroShotDataset
from unseen.errors import listed, nearest
from unseen.storage.checkpoint import Checkpoint

ODD = ["\x1b[31mred\x07", "=1+1", "\u202eevil\x9b"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Birds whose unseen classes have odd names."""
    folder = make_folder(tmp_path_factory.mktemp("odd") / "birds")
    data = make_zero_shot(8, 3, rows_per_class=7, n_features=12, n_attributes=6, n_factors=4)
    write_classes(folder / "classes.csv", SEEN + ODD, data.classes.vectors)
    write_lines(folder / "labels.txt", np.repeat(SEEN + ODD, 7))
    write_lines(folder / "unseen.txt", ODD)
    assert run_unseen("fit", folder, *BY_ESZSL, "-o", folder.parent / "m").code == 0
    return folder


# -- names --------------------------------------------------------------------------------------


def test_nothing_that_a_terminal_obeys_is_printed(odd: Path) -> None:
    model = odd.parent / "m"
    for command in (
        ("check", odd),
        ("evaluate", model, odd),
        ("predict", model, odd, "--top", 2),
        ("retrieve", model, odd, "--class", ODD[0]),
        ("retrieve", model, odd, "--class", f"{ODD[0]}x"),
        ("fit", odd, *BY_ESZSL, "-o", odd.parent / "\x1b[2Jm"),
    ):
        found = run_unseen(*command)
        assert not set(found.out + found.err) & set("\x1b\x07\x9b\u202e"), command
    assert "\\x1b[31mred\\x07" in run_unseen("evaluate", model, odd).out


def test_the_figures_of_a_page_are_xml_whatever_the_names(odd: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run_unseen("report", odd.parent / "m", odd, "-o", out, "--tsne-rows", 12)
    assert done.code == 0, done.err
    drawn = sorted((out / "figures").glob("*.svg"))
    assert len(drawn) > 5
    for path in drawn:
        ElementTree.parse(path)
    assert not set((out / "index.html").read_text("utf-8")) & set("\x1b\x07\x9b\u202e")


def test_no_cell_of_a_csv_file_is_a_formula(odd: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    assert run_unseen("predict", odd.parent / "m", odd, "--top", 3, "-o", out).code == 0
    with out.open(encoding="utf-8", newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert "'=1+1" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "@"))]


def test_a_name_that_looks_like_an_option(
    odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(odd, tmp_path / "--out")
    monkeypatch.chdir(tmp_path)
    found = run_unseen("check", "--", "--out")
    assert "unseen fit ./--out --out model.unseen" in found.out


def test_the_nearest_of_very_many_names_is_found_at_once() -> None:
    names = [f"class number {k:06}" for k in range(100_000)]
    start = time.perf_counter()
    assert nearest("class nmber 012345", names) == "; nearest name: 'class number 012345'"
    assert nearest("x" * 1_000_000, names) == ""
    assert time.perf_counter() - start < 5
    assert len(listed(["x" * 1_000_000] * 3)) < 1000


def test_a_message_is_not_endless(odd: Path) -> None:
    found = run_unseen("retrieve", odd.parent / "m", odd, "--class", "x" * 100_000)
    assert_one_sentence(found, "no class 'xxx")
    assert len(found.err) < 3000


# -- pictures -----------------------------------------------------------------------------------


def png(width: int, height: int) -> bytes:
    """A picture that says it is of this size."""
    made = io.BytesIO()
    Image.new("L", (1, 1)).save(made, "PNG")
    raw = bytearray(made.getvalue())
    raw[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    raw[29:33] = zlib.crc32(raw[12:29]).to_bytes(4, "big")
    return bytes(raw)


@pytest.mark.parametrize(
    "raw",
    [
        png(60_000, 60_000),
        png(1_000_000, 1_000_000),
        png(0, 5),
        b"DDS " + bytes([124, 0, 0, 0]) + b"\xff" * 200,
        b"\x00\x00\x00\x1cftypavif" + b"\xff" * 200,
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        b"P5 4 4 255\nxx",
        b"",
    ],
    ids=["large", "huge", "flat", "DDS", "AVIF", "EPS", "PPM", "empty"],
)
def test_a_picture_that_is_none_is_left_out(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a.png").write_bytes(raw)
    assert row_picture(of_pictures(tmp_path / "a.png"), 0) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
def test_a_pipe_is_no_picture(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for path in (tmp_path / "pipe.png", tmp_path, Path("/dev/zero"), Path("a\x00b")):
        assert row_picture(of_pictures(path), 0) is None


def of_pictures(path: Path) -> ZeroShotDataset:
    data = make_zero_shot(3, 1, rows_per_class=1)
    paths = np.array([str(path)] * data.y.size, dtype=object)
    return ZeroShotDataset("x", data.X, data.y, data.classes, data.unseen, image_paths=paths)


# -- results ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bench")
    done = run_unseen("bench", "digits", *BY_ESZSL, "--trials", 1, "--out", out)
    assert done.code == 0, done.err
    return out


def without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.pop(name) and None


def with_value(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.update({name: value})


FIELDS = ("data", "split", "method", "trial", "tuning", "generalized", "by_class", "sources")
FIELDS += ("parameters", "per_class_accuracy", "fit_seconds", "X_mb", "versions", "machine")


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.usefixtures("blank_figures")
def test_a_result_that_was_changed_is_one_sentence(
    measured: Path, tmp_path: Path, name: str
) -> None:
    line = (measured / "results.jsonl").read_text()
    changes = [without(name), *(with_value(name, v) for v in ([1], {"a": [{}]}, 10**400, "", True))]
    for k, change in enumerate(changes):
        record = json.loads(line)
        change(record)
        (tmp_path / "results.jsonl").write_text(json.dumps(record) + "\n")
        found = run_unseen("report", tmp_path, "-o", tmp_path / "page")
        if found.code or k == 0:
            assert_one_sentence(found, "results.jsonl holds a record", "was changed")


@pytest.mark.usefixtures("blank_figures")
def test_an_unknown_way_to_draw_classes_is_one_sentence(measured: Path, tmp_path: Path) -> None:
    record = json.loads((measured / "results.jsonl").read_text())
    (tmp_path / "results.jsonl").write_text(json.dumps(record | {"inside": "x"}) + "\n")
    found = run_unseen("report", tmp_path, "-o", tmp_path / "page")
    assert_one_sentence(found, "results.jsonl holds a record", "was changed")


def test_a_changed_result_is_measured_again(measured: Path, tmp_path: Path) -> None:
    record = json.loads((measured / "results.jsonl").read_text())
    log = tmp_path / "results.jsonl"
    log.write_text(json.dumps(record | {"by_class": 3}) + "\n")
    done = run_unseen("bench", "digits", *BY_ESZSL, "--trials", 1, "--out", tmp_path)
    assert done.code == 0, done.err
    again = json.loads(log.read_text().splitlines()[-1])
    assert again["by_class"] == record["by_class"]


def test_a_line_of_endless_depth(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"key":' + "[" * 100_000 + "\n")
    found = run_unseen("report", tmp_path, "-o", tmp_path / "page")
    assert_one_sentence(found, "line 1 of", "is not a result")


# -- pipes, and streams that are closed or full -------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
def test_pipes_in_the_place_of_files(odd: Path, tmp_path: Path) -> None:
    model, pipe = odd.parent / "m", tmp_path / "p.csv"
    os.mkfifo(pipe)
    for command in (
        ("predict", model, pipe),
        ("predict", pipe, odd),
        ("predict", model, odd, "--out", pipe),
        ("fit", odd, *BY_ESZSL, "--out", pipe),
        ("fit", odd, "-m", "jlse", "--out", tmp_path / "n", "--checkpoint", pipe),
        ("report", pipe, odd),
        ("evaluate", model, odd, "--config", pipe),
    ):
        assert_one_sentence(run_unseen(*command), "p.csv")
    with pytest.raises(InputError, match="is not a checkpoint of unseen"):
        Checkpoint(pipe, {})
    (tmp_path / "log").mkdir()
    os.mkfifo(tmp_path / "log" / "results.jsonl")
    found = run_unseen("bench", "digits", *BY_ESZSL, "--out", tmp_path / "log")
    assert_one_sentence(found, "a device or a pipe")


def by_shell(text: str) -> subprocess.CompletedProcess[bytes]:
    command = f"'{sys.executable}' -m unseen {text}"
    return subprocess.run(["sh", "-c", command], capture_output=True, check=False, timeout=100)


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="a quarter of a minute: not on each push")
def test_streams_that_are_closed() -> None:
    for text in ("--help >&-", "methods >&- 2>&-", "datasets --json >&-"):
        found = by_shell(text)
        assert (found.returncode, found.stdout, found.stderr) == (0, b"", b""), text
    assert by_shell("check nowhere 2>&-").returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a system without /dev/full")
@pytest.mark.parametrize(
    "command",
    ["--version", "methods", "methods jlse", pytest.param("datasets", marks=pytest.mark.slow)],
)
def test_a_full_disk_is_one_sentence(command: str) -> None:
    found = by_shell(f"{command} > /dev/full")
    assert found.returncode == 1
    said = "Error: the result cannot be written: No space left on device\n"
    assert found.stderr.decode() == said


def test_a_file_that_cannot_be_read_keeps_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path))

    monkeypatch.setattr("unseen.apps.cli.app", refused)
    told = run_unseen("methods")
    assert_one_sentence(told, f"Error: {tmp_path}: No space left on device")
