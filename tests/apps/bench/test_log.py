"""The log of results survives being cut off at any byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unseen import InputError
from unseen.apps.bench.log import Log, is_result


def test_what_was_appended_is_there_again(tmp_path: Path) -> None:
    log = Log(tmp_path / "deep" / "results.jsonl")
    log.append([{"key": "a", "value": 1.5}, {"key": "b", "value": None}])
    again = Log(log.path)
    assert again.records(["b", "a", "c"]) == [
        {"key": "b", "value": None},
        {"key": "a", "value": 1.5},
    ]
    assert again.records(["a"])
    assert not again.records(["c"])


def test_a_file_cut_off_anywhere_keeps_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    Log(path).append([{"key": name, "value": len(name)} for name in ("a", "bb", "ccc")])
    content = path.read_bytes()
    ends = [k + 1 for k, byte in enumerate(content) if byte == ord("\n")]
    for size in range(len(content)):
        path.write_bytes(content[:size])
        log = Log(path)
        whole = sum(end <= size for end in ends)
        assert len(log.records(["a", "bb", "ccc"])) == whole
        log.append([{"key": "new"}])
        assert Log(path).records(["new"]) == [{"key": "new"}]
        assert len(Log(path).records(["a", "bb", "ccc"])) == whole


def test_the_later_of_two_lines_counts(tmp_path: Path) -> None:
    log = Log(tmp_path / "r.jsonl")
    log.append([{"key": "a", "value": 1}])
    log.append([{"key": "a", "value": 2}])
    assert Log(log.path).records(["a"]) == [{"key": "a", "value": 2}]


@pytest.mark.parametrize("line", ["hello", "[1]", '{"no": "key"}', "3"])
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, line: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(line + "\nrest")
    with pytest.raises(InputError, match=r"line 1 of .* is not a result"):
        Log(path)
    assert path.read_text() == line + "\nrest"


def test_a_number_that_json_lacks_is_not_written(tmp_path: Path) -> None:
    log = Log(tmp_path / "r.jsonl")
    with pytest.raises(ValueError, match="not JSON compliant"):
        log.append([{"key": "a", "value": float("nan")}])
    assert not log.path.exists()


def a_result() -> dict[str, Any]:
    record: dict[str, Any] = {
        "data": "birds",
        "method": "eszsl",
        "trial": 0,
        "split": "",
        "tuning": "default",
    }
    record |= {"sources": {}, "versions": {}, "machine": {"system": "any", "cores": None}}
    record |= {"by_class": [], "parameters": {}, "generalized": None, "peak_memory_mb": None}
    return record | dict.fromkeys((*MEASURES, *COSTS), 0.5)


MEASURES = ("per_class_accuracy", "mean_average_precision", "relative_mean_average_precision")
COSTS = ("X_mb", "seconds", "fit_seconds", "tune_seconds")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e200, "0.5", None])
def test_a_measure_that_is_no_number_makes_no_result(value: object) -> None:
    assert is_result(a_result())
    for name in MEASURES:
        assert not is_result(a_result() | {name: value})


def test_only_known_words_make_a_result() -> None:
    drawn = a_result() | {"most_rows": 0}
    assert all(is_result(drawn | {"inside": word}) for word in ("", "seen", "all"))
    assert not any(is_result(drawn | {"inside": word}) for word in ("x", "Seen", 3))
    assert not is_result(a_result() | {"inside": "seen"}), "tables of drawn splits say of how many"
    swept = a_result() | {"parameter": "a", "values": [1], "fixed": {}, "trials": 1, "value": 1}
    assert all(is_result(swept | {"on": word}) for word in ("held-out", "unseen"))
    assert not is_result(swept | {"on": "x"})
