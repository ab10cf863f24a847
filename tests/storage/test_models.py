"""Model files: what comes back is what was saved, or a clear error; never code."""

from __future__ import annotations

import hashlib
import itertools
import json
import resource
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

import unseen
from unseen import ESZSL, ClassTable, InputError, make_zero_shot
from unseen.estimators import METHODS, ZeroShotClassifier, available
from unseen.rows import ClassScaler, RowScaler
from unseen.storage.models import FORMAT
from unseen.support.parameters import Part

NAMES: dict[str, Callable[[int], Any]] = {
    "str": lambda k: f"żółw № {k}, [grün]",
    "int": lambda k: 10 * k - 3,
    "float": lambda k: float(k),
    "bool": lambda k: bool(k),
}


@cache
def problem(kind: str = "str", n_unseen: int = 3, dtype: type = np.float64) -> Any:
    """Rows, labels and a class table whose names are of one kind."""
    n_seen = 2 if kind == "bool" else 6
    data = make_zero_shot(
        n_seen, n_unseen, rows_per_class=5, n_features=40, n_attributes=7, dtype=dtype
    )
    names = np.array([NAMES[kind](k) for k in range(n_seen + n_unseen)])
    table = ClassTable(names, data.classes.vectors, [f"attribute {k}" for k in range(7)])
    rows = slice(0, 5 * n_seen)
    return data.X[rows], np.repeat(names[:n_seen], 5), table, data.X


@cache
def fitted(
    method: str, kind: str = "str", n_unseen: int = 3, dtype: type = np.float64
) -> ZeroShotClassifier:
    """A method with its defaults; tests that share it leave it as it is."""
    X, y, table, _ = problem(kind, n_unseen, dtype)
    return METHODS[method]().fit(X, y, classes=table)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[ESZSL, Path, np.ndarray]:
    X, y, table, rows = problem()
    path = tmp_path_factory.mktemp("saved") / "model.unseen"
    model = ESZSL().fit(X, y, classes=table)
    model.save(path)
    return model, path, rows


def manifest_of(path: Path) -> dict[str, Any]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["unseen"])


def forge(source: Path, target: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """A file that a clever stranger could make: changed at will, all checksums right."""
    manifest = manifest_of(source)
    del manifest["sha256"]
    changed = change(manifest)
    changed = manifest if changed is None else changed
    if isinstance(changed, dict):
        changed["sha256"] = hashlib.sha256(json.dumps(changed).encode()).hexdigest()
    save_file(load_file(source), target, metadata={"unseen": json.dumps(changed)})
    return target


# -- what comes back ----------------------------------------------------------------------------


CASES = [("str", 3), ("str", 0), ("int", 3), ("int", 0), ("float", 3), ("bool", 0)]


@pytest.mark.parametrize("method", available())
def test_every_method_gives_the_same_bits_after_loading(tmp_path: Path, method: str) -> None:
    assert_the_same_bits(tmp_path, method, np.float64, "str", 3)


@pytest.mark.parametrize("method", ["jlse", "kernel-jlse", "eszsl"])
@pytest.mark.parametrize(("kind", "n_unseen"), CASES)
def test_names_of_every_kind_come_back(
    tmp_path: Path, method: str, kind: str, n_unseen: int
) -> None:
    assert_the_same_bits(tmp_path, method, np.float32, kind, n_unseen)


@pytest.mark.slow
@pytest.mark.parametrize("method", available())
@pytest.mark.parametrize(("kind", "n_unseen"), CASES)
def test_a_loaded_model_gives_the_same_bits(
    tmp_path: Path, method: str, kind: str, n_unseen: int
) -> None:
    assert_the_same_bits(tmp_path, method, np.float32, kind, n_unseen)


def assert_the_same_bits(
    tmp_path: Path, method: str, dtype: type, kind: str, n_unseen: int
) -> None:
    rows, model = problem(kind, n_unseen, dtype)[3], fitted(method, kind, n_unseen, dtype)
    model.save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    assert type(loaded) is METHODS[method]
    assert loaded.get_params() == model.get_params()
    assert loaded.class_table_ == model.class_table_
    for name in ("classes_", "seen_classes_", "unseen_classes_"):
        assert getattr(loaded, name).dtype.kind == getattr(model, name).dtype.kind
        assert getattr(loaded, name).tolist() == getattr(model, name).tolist()
    # A product of one row takes another way than that of many, in which memory order counts.
    for candidates, some in product((None, "all", "seen"), (rows, rows[:1], rows[:2])):
        before, after = (m.similarities(some, candidates) for m in (model, loaded))
        assert before.dtype == after.dtype
        assert before.tobytes() == after.tobytes()
    assert loaded.predict(rows).tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("method", available())
def test_saving_what_was_loaded_gives_the_same_file(tmp_path: Path, method: str) -> None:
    fitted(method).save(tmp_path / "once")
    unseen.load(tmp_path / "once").save(tmp_path / "twice")
    assert (tmp_path / "once").read_bytes() == (tmp_path / "twice").read_bytes()


def test_loading_a_latent_model_runs_no_algorithm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even of one row: a file of millions of training rows opens as fast as it is read."""
    rows = problem()[3]

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was computed")

    for method in ("jlse", "kernel-jlse"):
        model = fitted(method)
        model.save(tmp_path / method)
        with monkeypatch.context() as patch:
            for place in (
                "unseen.model.latent.fit_source_codes",
                "unseen.solvers.block.Ridge._inverse",
                "unseen.inference.embedding.fit_source_codes_with_pairs",
                "unseen.inference.embedding.TargetSolver",
                "unseen.inference.pairwise.PairCodes",
                "unseen.rows.kernel.KernelFeatures.__call__",
                "unseen.rows.scaling.RowScaling.__call__",
                "unseen.model.latent.LatentModel.project",
                "numpy.linalg.eigh",
                "scipy.linalg.eigh",
            ):
                patch.setattr(place, refuse)
            loaded = unseen.load(tmp_path / method)
            with pytest.raises(AssertionError):
                loaded.predict(rows)
        assert loaded.predict(rows).tolist() == model.predict(rows).tolist()


def test_parameters_and_revealed_classes_are_kept(tmp_path: Path) -> None:
    X, y, table, rows = problem()
    more = ClassTable(["new"], np.arange(7.0)[None, :], table.attributes)
    model = (
        ESZSL(row_penalty=0.25, row_scaler=RowScaler(center=False))
        .fit(X, y, classes=table)
        .reveal(more)
    )
    model.save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    assert (loaded.row_penalty, loaded.row_scaler.center) == (0.25, False)
    assert "new" in loaded.classes_
    assert np.array_equal(loaded.similarities(rows, ["new"]), model.similarities(rows, ["new"]))


def test_parts_are_kept_as_words(tmp_path: Path) -> None:
    """A part that was given, and one that was left to the method, which says what it was."""
    X, y, table, _ = problem()
    ESZSL(row_scaler=RowScaler(center=False)).fit(X, y, classes=table).save(tmp_path / "model")
    parameters = manifest_of(tmp_path / "model")["parameters"]
    assert parameters["row_scaler"] == {"row scaler": RowScaler(center=False).get_params()}
    usual = {"class scaler": ClassScaler().get_params()}
    assert parameters["class_scaler"] == {"default": usual}
    assert unseen.load(tmp_path / "model").class_scaler is None


def test_a_default_that_has_changed_since_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, table, _ = problem()
    ESZSL().fit(X, y, classes=table).save(tmp_path / "model")
    later = Part(lambda: RowScaler(center=False))
    monkeypatch.setattr(ESZSL, "_parts", {**ESZSL._parts, "row_scaler": later})
    assert ESZSL().get_params()["row_scaler__center"] is False
    assert unseen.load(tmp_path / "model").row_scaler.center is True


def test_a_part_of_a_users_own_class_is_not_saved_as_another(tmp_path: Path) -> None:
    class Mine(RowScaler):
        pass

    X, y, table, _ = problem()
    with pytest.raises(InputError, match="a Mine cannot be saved"):
        ESZSL(row_scaler=Mine()).fit(X, y, classes=table).save(tmp_path / "model")


def test_names_of_feature_columns_are_kept(tmp_path: Path) -> None:
    X, y, table, _ = problem()
    frame = pd.DataFrame(X, columns=[f"f{k:02}" for k in range(40)])
    ESZSL().fit(frame, y, classes=table).save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    loaded.predict(frame)
    with pytest.raises(ValueError, match="order"):
        loaded.predict(frame[frame.columns[::-1]])


def test_groups_of_columns_are_kept_and_older_files_have_none(tmp_path: Path) -> None:
    X, y, table, rows = problem()
    grouped = ClassTable.beside({"a": table.subset(range(3)), "b": table.subset(range(3, 7))})
    model = ESZSL().fit(X, y, classes=grouped)
    model.save(tmp_path / "model")
    loaded = unseen.load(tmp_path / "model")
    assert loaded.class_table_ == grouped
    assert loaded.class_table_.groups == (("a", 0, 2), ("b", 3, 6))

    def without_groups(manifest: dict[str, Any]) -> None:
        del manifest["state"]["class_table_"]["class table"][3]

    older = unseen.load(forge(tmp_path / "model", tmp_path / "older", without_groups))
    assert older.class_table_ == table
    assert older.predict(rows).tolist() == model.predict(rows).tolist()
    ESZSL().fit(X, y, classes=table).save(tmp_path / "plain")
    assert len(manifest_of(tmp_path / "plain")["state"]["class_table_"]["class table"]) == 3


def test_byte_order_of_the_labels_does_not_matter(tmp_path: Path) -> None:
    X, y, table, rows = problem("int")
    swapped = ClassTable(table.names.astype(">i8"), table.vectors)
    model = ESZSL().fit(X, y.astype(">i8"), classes=swapped)
    model.save(tmp_path / "model")
    assert unseen.load(tmp_path / "model").predict(rows).tolist() == model.predict(rows).tolist()


# -- what is in the file ------------------------------------------------------------------------


@pytest.mark.parametrize("method", available())
def test_the_file_is_json_and_numbers_alone(tmp_path: Path, method: str) -> None:
    """Parsed by hand: eight bytes of length, JSON, and raw numbers without a gap between."""
    fitted(method).save(tmp_path / "model")
    raw = (tmp_path / "model").read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__")
    spans = sorted(tensor["data_offsets"] for tensor in header.values())
    assert spans[0][0] == 0
    assert all(a[1] == b[0] for a, b in itertools.pairwise(spans))
    assert spans[-1][1] == len(raw) - 8 - length
    for word in (b"pickle", b"\x80\x04\x95", b"\x80\x05\x95", b"numpy.core", b"__reduce__"):
        assert word not in raw


def test_the_numbers_can_be_read_without_the_library(saved: Any) -> None:
    model, path, _ = saved
    reference = manifest_of(path)["state"]["weights_"]["array"]
    assert np.array_equal(load_file(path)[reference], model.weights_)


# -- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "empty"),
        (b"row,class\n0,zebra\n", "not a model file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (struct.pack("<Q", 2**62) + b"{}", "not a model file"),
        (struct.pack("<Q", 2) + b"{}", "not a model file"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        unseen.load(tmp_path / "model")


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        unseen.load(tmp_path / "model")
    with pytest.raises(InputError, match="is a folder"):
        unseen.load(tmp_path)


def test_a_safetensors_file_of_something_else_is_refused(tmp_path: Path) -> None:
    save_file({"weights": np.eye(3)}, tmp_path / "model")
    with pytest.raises(InputError, match="not a model file"):
        unseen.load(tmp_path / "model")


# -- strangers ----------------------------------------------------------------------------------


def test_an_unchanged_forgery_is_read(saved: Any, tmp_path: Path) -> None:
    """Or else the tests below would pass for the wrong reason."""
    path = forge(saved[1], tmp_path / "forged", lambda manifest: None)
    assert unseen.load(path).predict(saved[2]).tolist() == saved[0].predict(saved[2]).tolist()


@pytest.mark.parametrize(
    "name", ["predict", "_fit", "__class__", "__init__", "get_params", "n_features_in", "fit"]
)
def test_a_file_cannot_replace_parts_of_the_estimator(
    saved: Any, tmp_path: Path, name: str
) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["state"][name] = "overwritten"

    with pytest.raises(InputError, match="cannot be understood"):
        unseen.load(forge(saved[1], tmp_path / "forged", change))


def with_scaler(manifest: dict[str, Any], encoded: Any) -> dict[str, Any]:
    return manifest | {"parameters": {"row_scaler": encoded}}


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda m: [],
    "a number": lambda m: 7,
    "no method": lambda m: {k: v for k, v in m.items() if k != "method"},
    "method of another kind": lambda m: m | {"method": 3},
    "unknown method": lambda m: m | {"method": "os.system"},
    "unknown parameter": lambda m: m | {"parameters": {"command": "ls"}},
    "no state": lambda m: m | {"state": None},
    "missing array": lambda m: m | {"state": {"weights_": {"array": "array99"}}},
    "unknown kind": lambda m: m | {"state": {"weights_": {"code": "1 + 1"}}},
    "two kinds": lambda m: m | {"state": {"weights_": {"array": "array0", "names": []}}},
    "bad table": lambda m: m | {"state": {"class_table_": {"class table": [{"names": []}]}}},
    "part of an unknown kind": lambda m: with_scaler(m, {"os.system": {"center": True}}),
    "part of another kind": lambda m: with_scaler(m, {"class scaler": {"center": True}}),
    "part with an unknown parameter": lambda m: with_scaler(m, {"row scaler": {"command": "ls"}}),
    "part with a wrong value": lambda m: with_scaler(m, {"row scaler": {"center": "yes"}}),
    "part that is a list": lambda m: with_scaler(m, {"row scaler": [True, True]}),
    "default of what is no part": lambda m: m | {"parameters": {"row_penalty": {"default": 1}}},
    "no checksums": lambda m: m | {"arrays": {}},
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_manifest_that_makes_no_sense_is_refused(
    saved: Any, tmp_path: Path, change: Callable[[dict[str, Any]], Any]
) -> None:
    with pytest.raises(InputError, match="forged"):
        unseen.load(forge(saved[1], tmp_path / "forged", change))


def test_a_later_format_is_named(saved: Any, tmp_path: Path) -> None:
    path = forge(saved[1], tmp_path / "forged", lambda m: m | {"format": FORMAT + 1})
    with pytest.raises(InputError, match=f"format {FORMAT + 1}.*reads 1 to {FORMAT}"):
        unseen.load(path)


# -- saving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_model_that_is_not_fitted_is_not_saved(tmp_path: Path, method: str) -> None:
    with pytest.raises(InputError, match="not fitted"):
        METHODS[method]().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_state_that_is_no_data_is_not_saved(tmp_path: Path) -> None:
    X, y, table, _ = problem()
    model: Any = ESZSL().fit(X, y, classes=table)
    for value in (object(), np.array([object()]), np.array([["a"]])):
        model.extra_ = value
        with pytest.raises(InputError, match="cannot be saved"):
            model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@contextmanager
def files_at_most(n_bytes: int) -> Iterator[None]:
    """A disk that is full: the system refuses to let any file grow past a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_old_file_survives_a_full_disk(saved: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(saved[1].read_bytes())
    X, y, table, _ = problem()
    other = ESZSL(row_penalty=0.5).fit(X, y, classes=table)
    with pytest.raises(InputError, match="cannot write"), files_at_most(500):
        other.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    assert unseen.load(path).row_penalty == saved[0].row_penalty


def test_a_file_that_is_no_model_stays(saved: Any, tmp_path: Path) -> None:
    model, path, _ = saved
    model.save(tmp_path / "twice")
    model.save(tmp_path / "twice")
    (tmp_path / "empty").touch()
    model.save(tmp_path / "empty")
    assert (tmp_path / "empty").read_bytes() == path.read_bytes()
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"rows.csv: it exists and is not a model"):
        model.save(tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == "a,b\n1,2\n"


def test_saving_below_a_file_is_refused(saved: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        saved[0].save(tmp_path / "file" / "model")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
