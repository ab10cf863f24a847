"""Damaged and forged model files: refused in one sentence, or the same model to the bit."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import struct
import tempfile
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import pytest
from safetensors.numpy import load, save

import unseen
from unseen import ESZSL, JLSE, InputError, KernelJLSE, make_zero_shot
from unseen.model.latent import LatentModel, Spaces
from unseen.model.pulls import RowPulls
from unseen.rows.kernel import KernelFeatures
from unseen.rows.scaling import RowScaling
from unseen.storage import tensors
from unseen.storage.models import FORMAT

Change = Callable[[np.random.Generator, bytes], bytes]


class Saved(NamedTuple):
    """A model file in memory, and what its model says of some rows."""

    raw: bytes
    rows: np.ndarray
    scores: bytes


def loads(raw: bytes) -> Any:
    """The model of a file with these bytes."""
    with tempfile.NamedTemporaryFile(prefix="the model ") as file:
        file.write(raw)
        file.flush()
        return unseen.load(file.name)


def predictions(model: Any, rows: np.ndarray) -> bytes:
    names = model.predict(rows, "all").tolist()
    return json.dumps(names).encode() + model.similarities(rows, "all").tobytes()


@pytest.fixture(scope="module", params=["eszsl", "jlse", "kernel-jlse"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    data = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)
    models = {"eszsl": ESZSL(), "jlse": JLSE(3), "kernel-jlse": KernelJLSE(3)}
    model = models[request.param]
    model.fit(*data.training_set(), classes=data.classes)
    path = tmp_path_factory.mktemp("saved") / "model"
    model.save(path)
    return Saved(path.read_bytes(), data.X, predictions(model, data.X))


# -- damage: bytes that are not those that were written -------------------------------------------


def flip(rng: np.random.Generator, raw: bytes) -> bytes:
    damaged = bytearray(raw)
    for bit in rng.integers(8 * len(raw), size=rng.choice([1, 1, 2, 8])):
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def overwrite(rng: np.random.Generator, raw: bytes) -> bytes:
    start, length = int(rng.integers(len(raw))), int(rng.integers(1, 64))
    filling = [bytes(length), b"\xff" * length, rng.bytes(length), b" " * length]
    return raw[:start] + filling[rng.integers(4)] + raw[start + length :]


def cut(rng: np.random.Generator, raw: bytes) -> bytes:
    return raw[: rng.integers(len(raw))]


def remove(rng: np.random.Generator, raw: bytes) -> bytes:
    start = rng.integers(len(raw))
    return raw[:start] + raw[start + rng.integers(1, 64) :]


def insert(rng: np.random.Generator, raw: bytes) -> bytes:
    start = rng.integers(len(raw) + 1)
    return raw[:start] + rng.bytes(int(rng.integers(1, 64))) + raw[start:]


def swap(rng: np.random.Generator, raw: bytes) -> bytes:
    a, b, c = np.sort(rng.integers(len(raw), size=3))
    return raw[:a] + raw[b:c] + raw[a:b] + raw[c:]


def repeat(rng: np.random.Generator, raw: bytes) -> bytes:
    a, b = np.sort(rng.integers(len(raw), size=2))
    return raw[:b] + raw[a:b] + raw[b:]


def header_length(rng: np.random.Generator, raw: bytes) -> bytes:
    length = int(rng.choice([0, 1, 7, 2**20, 2**31, 2**62, int(rng.integers(len(raw)))]))
    return struct.pack("<Q", length) + raw[8:]


TOKENS = [
    "-1", "0", "1e999", "NaN", "Infinity", "9" * 50, "9" * 6000, "null", "true", "[]", "{}",
    "[" * 3000, '"../../etc/passwd"', '"array0"', '"\\ud800"', '""', "18446744073709551615",
]  # fmt: skip


def token(rng: np.random.Generator, raw: bytes) -> bytes:
    """Another word in place of one of the header's numbers, names or words; the length is right."""
    text = header_text(raw)
    words = list(re.finditer(r'\\?"[^"\\]*\\?"|-?[\d.]+|null|true|false', text))
    start, end = words[rng.integers(len(words))].span()
    return with_header(raw, text[:start] + TOKENS[rng.integers(len(TOKENS))] + text[end:])


def double_key(rng: np.random.Generator, raw: bytes) -> bytes:
    """One of the entries of an object of the header once more, with its value or another."""
    text = header_text(raw)
    entries = list(re.finditer(r'(\\?"\w+\\?": ?)(\d+|\\?"\w*\\?"|\[[^\[\]]*\])', text))
    found = entries[rng.integers(len(entries))]
    value = [found[2], "0", found[2].replace("1", "2")][rng.integers(3)]
    return with_header(raw, text[: found.start()] + f"{found[1]}{value}, " + text[found.start() :])


DAMAGES: list[Change] = [
    flip, overwrite, cut, remove, insert, swap, repeat, header_length, token, double_key,
]  # fmt: skip


def header_text(raw: bytes) -> str:
    return raw[8 : 8 + int.from_bytes(raw[:8], "little")].decode()


def with_header(raw: bytes, text: str) -> bytes:
    body = raw[8 + int.from_bytes(raw[:8], "little") :]
    return struct.pack("<Q", len(text.encode())) + text.encode() + body


def is_refused(saved: Saved, damaged: bytes, what: str) -> bool:
    """Whether a file is refused; if it is not, it must be the same model."""
    try:
        model = loads(damaged)
    except InputError as error:
        sentence = str(error)
    else:
        assert predictions(model, saved.rows) == saved.scores, what
        return False
    assert re.search(r"damaged|format|cannot be used|is empty", sentence), what
    assert len(sentence) < 500, what
    return True


def refused_share(saved: Saved, number: int) -> float:
    rng = np.random.default_rng(7)
    refused = []
    for k in range(number):
        change = DAMAGES[k % len(DAMAGES)]
        damaged = change(rng, saved.raw)
        if damaged != saved.raw:
            refused.append(is_refused(saved, damaged, f"{change.__name__}, number {k}"))
    return float(np.mean(refused))


def test_an_undamaged_file_is_the_model(saved: Saved) -> None:
    assert predictions(loads(saved.raw), saved.rows) == saved.scores


def test_500_damages_are_refused_or_without_effect(saved: Saved) -> None:
    assert refused_share(saved, 500) > 0.98


@pytest.mark.slow
def test_4000_damages_are_refused_or_without_effect(saved: Saved) -> None:
    assert refused_share(saved, 4_000) > 0.98


def test_a_file_that_ends_early_is_refused(saved: Saved) -> None:
    for end in range(0, len(saved.raw), 37):
        assert is_refused(saved, saved.raw[:end], f"cut at {end}")


@pytest.mark.slow
def test_a_file_that_ends_early_anywhere_is_refused(saved: Saved) -> None:
    for end in range(len(saved.raw)):
        assert is_refused(saved, saved.raw[:end], f"cut at {end}")


# -- forgeries: all checksums right --------------------------------------------------------------


class Parts(NamedTuple):
    """What a model file consists of."""

    manifest: dict[str, Any]
    arrays: dict[str, np.ndarray]


def parts(raw: bytes) -> Parts:
    manifest = json.loads(json.loads(header_text(raw))["__metadata__"]["unseen"])
    return Parts(manifest, {k: v.copy() for k, v in load(raw).items()})


def forged(found: Parts) -> bytes:
    """A file that a clever stranger could make."""
    digests = {name: tensors.digest(array) for name, array in found.arrays.items()}
    text = tensors.sealed(found.manifest | {"arrays": digests})
    return save(found.arrays, metadata={"unseen": text})


JUNK: list[Any] = [
    None, True, -1, 0, 3, 10**25, 1e300, "x", "", [], {}, {"array": "array0"}, {"array": "array99"},
    {"array": "../model"}, {"names": ["a", "b"]}, {"names": [1]}, {"list": []}, {"dict": {}},
    {"code": "1"}, {"class table": []}, {"row kernel": [1, 2, 3, 4]},
]  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every entry of every object and list inside a value, as (holder, key)."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    found = [(value, key) for key in keys]
    for key in keys:
        if isinstance(value[key], (dict, list)):
            found += places(value[key])
    return found


def junk_in_the_manifest(rng: np.random.Generator, found: Parts) -> None:
    holder, key = (spots := places(found.manifest))[rng.integers(len(spots))]
    if rng.random() < 0.2 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = copy.deepcopy(JUNK[rng.integers(len(JUNK))])


def junk_in_an_array(rng: np.random.Generator, found: Parts) -> None:
    name = list(found.arrays)[rng.integers(len(found.arrays))]
    array = found.arrays[name]
    changes = [
        lambda: array.ravel(), lambda: array.T.copy(), lambda: array[:-1], lambda: array[..., :-1],
        lambda: array[None], lambda: np.zeros((0,)), lambda: array.astype(np.int16),
        lambda: np.full_like(array, np.nan if array.dtype.kind == "f" else 1),
        lambda: np.repeat(array, 2, axis=0), lambda: array.astype(bool),
    ]  # fmt: skip
    if rng.random() < 0.1:
        del found.arrays[name]
    else:
        found.arrays[name] = changes[rng.integers(len(changes))]()


def assert_forgeries_do_no_harm(saved: Saved, number: int) -> None:
    """A stranger may make another model, never anything that ends in other than one sentence."""
    rng = np.random.default_rng(3)
    n_refused = 0
    for k in range(number):
        found = parts(saved.raw)
        change = (junk_in_the_manifest, junk_in_an_array)[k % 2]
        change(rng, found)
        raw = forged(found)
        try:
            model = loads(raw)
        except InputError:
            n_refused += 1
            continue
        with np.errstate(all="ignore"):
            assert len(model.predict(saved.rows, "all")) == len(saved.rows), (k, change)
    assert n_refused > 0.5 * number


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::unseen.errors.TrustWarning")
def test_forgeries_do_no_harm(saved: Saved) -> None:
    assert_forgeries_do_no_harm(saved, 200)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::unseen.errors.TrustWarning")
def test_many_forgeries_do_no_harm(saved: Saved) -> None:
    assert_forgeries_do_no_harm(saved, 1500)


def test_an_unchanged_forgery_is_read(saved: Saved) -> None:
    """Or else the tests around it would pass for the wrong reason."""
    assert not is_refused(saved, forged(parts(saved.raw)), "unchanged")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("feature_names_in_", 3, "names of its feature columns make no sense"),
        ("feature_names_in_", {"names": ["a", "b"]}, "names of its feature columns"),
        ("feature_names_in_", {"names": ["a"] * 6}, "names of its feature columns"),
        ("feature_names_in_", {"list": [1, 2, 3, 4, 5, 6]}, "names of its feature columns"),
        ("training_data_", {"dict": {"rows": -1}}, "its training data makes no sense"),
        ("training_data_", {"dict": {"rows": 5, "columns": "x"}}, "its training data makes"),
        ("training_data_", {"dict": {"files": 3}}, "its training data makes no sense"),
        ("training_data_", {"dict": {"name": {"list": [1]}}}, "its training data makes"),
        ("classes_", {"names": ["class 5", "class 5"]}, "its lists of classes contradict"),
        ("seen_classes_", {"names": ["class 0", "class 1", "class 1"]}, "lists of classes"),
    ],
)
def test_state_that_makes_no_sense_is_refused(
    saved: Saved, name: str, value: Any, message: str
) -> None:
    found = parts(saved.raw)
    found.manifest["state"][name] = value
    with pytest.raises(InputError, match=message):
        loads(forged(found))


@pytest.mark.parametrize("value", [10**30, -(10**30), 10**400, 1e39, -1e300])
def test_a_penalty_that_no_score_can_bear_is_refused(saved: Saved, value: Any) -> None:
    """One of these was an OverflowError when seen classes met unseen ones."""
    found = parts(saved.raw)
    found.manifest["state"]["seen_penalty_"] = value
    with pytest.raises(InputError, match="what it takes off seen classes must be a number of at"):
        loads(forged(found))


def test_a_temperature_without_the_penalty_learned_with_it_is_refused(saved: Saved) -> None:
    found = parts(saved.raw)
    found.manifest["state"] |= {"temperature_": 2.0, "seen_penalty_": 0.5}
    assert loads(forged(found)).seen_penalty_ == 0.5
    del found.manifest["state"]["seen_penalty_"]
    with pytest.raises(InputError, match="it lacks seen_penalty_"):
        loads(forged(found))


LATENT = [field.name for field in fields(LatentModel)]


@pytest.mark.parametrize("name", ["Zs", "B", "D", "W", "source_fit", "target_shrink", "b"])
def test_numbers_too_large_to_compute_with_are_refused(saved: Saved, name: str) -> None:
    """The squares of some were infinite, of which there are no eigenvalues."""
    found = parts(saved.raw)
    if "latent_" not in found.manifest["state"]:
        pytest.skip("it is no JLSE")
    values = found.manifest["state"]["latent_"]["latent model"]
    place = LATENT.index(name)
    if isinstance(values[place], dict):
        found.arrays[values[place]["array"]] *= 1e25
    else:
        values[place] = 1e200
    with pytest.raises(InputError, match=rf"its {name} (holds numbers too large|must be a number)"):
        loads(forged(found))


def test_a_dictionary_that_codes_cannot_be_told_by_is_one_sentence(saved: Saved) -> None:
    found = parts(saved.raw)
    if "latent_" not in found.manifest["state"]:
        pytest.skip("it is no JLSE")
    values = found.manifest["state"]["latent_"]["latent model"]
    values[LATENT.index("target_shrink")] = 0.0
    found.arrays[values[LATENT.index("D")]["array"]][:, 0] = 0.0
    model = loads(forged(found))
    with pytest.raises(InputError, match="codes with a pair loss need λ1t > 0"):
        model.predict(saved.rows)


def test_empty_arrays_do_not_vouch_for_a_width(saved: Saved) -> None:
    """A model of so many columns would take gigabytes to check."""
    found = parts(saved.raw)
    found.manifest["state"]["n_features_in_"] = 10**6
    found.arrays["array99"] = np.empty((10**6, 0))
    with pytest.raises(InputError, match="no array in it fits the number of feature columns"):
        loads(forged(found))
    found.arrays["array99"] = np.empty((10**9, 0))
    with pytest.raises(InputError, match="an array without numbers has an endless shape"):
        loads(forged(found))
    content = json.loads(header_text(saved.raw))
    end = max(entry["data_offsets"][1] for k, entry in content.items() if k != "__metadata__")
    content["array99"] = {"dtype": "F64", "shape": [10**20, 0], "data_offsets": [end, end]}
    text = json.dumps(content).encode()
    body = saved.raw[8 + struct.unpack("<Q", saved.raw[:8])[0] :]
    with pytest.raises(InputError, match="not a model file of unseen, or it is damaged"):
        loads(struct.pack("<Q", len(text)) + text + body)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_refused(saved: Saved, value: float) -> None:
    found = parts(saved.raw)
    floats = [name for name, array in found.arrays.items() if array.dtype.kind == "f"]
    for name in floats:
        found = parts(saved.raw)
        found.arrays[name].flat[0] = value
        with pytest.raises(InputError, match="NaN or infinite"):
            loads(forged(found))


@pytest.mark.parametrize("version", [0, FORMAT + 1, -1, "1", 1.0, True, None])
def test_an_unknown_format_is_named(saved: Saved, version: Any) -> None:
    found = parts(saved.raw)
    found.manifest["format"] = version
    with pytest.raises(InputError, match=re.escape(f"has format {version!r}")):
        loads(forged(found))


def test_every_array_is_needed(saved: Saved) -> None:
    for name in parts(saved.raw).arrays:
        found = parts(saved.raw)
        del found.arrays[name]
        with pytest.raises(InputError, match="the model"):
            loads(forged(found))


@pytest.mark.parametrize("name", ["../array0", "/etc/passwd", "array01", "array-1", "ARRAY0", ""])
def test_names_of_arrays_are_ours(saved: Saved, name: str) -> None:
    found = parts(saved.raw)
    found.arrays[name] = np.zeros(3)
    with pytest.raises(InputError, match="an unknown name"):
        loads(forged(found))


def test_a_number_of_columns_asks_for_no_memory(saved: Saved) -> None:
    found = parts(saved.raw)
    found.manifest["state"]["n_features_in_"] = 10**12
    with pytest.raises(InputError, match="feature columns"):
        loads(forged(found))


@pytest.mark.parametrize("limit", ["MOST_TEXT", "MOST_ARRAYS", "MOST_BYTES"])
def test_limits_hold_for_readers_and_writers(
    saved: Saved, limit: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    model = loads(saved.raw)
    monkeypatch.setattr(tensors, limit, 3)
    with pytest.raises(InputError, match="more than such"):
        loads(saved.raw)
    with pytest.raises(InputError, match="cannot write"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_model_with_numbers_that_are_none_is_not_saved(saved: Saved, tmp_path: Any) -> None:
    model = loads(saved.raw)
    for value in (np.nan, np.array([1.0, np.inf])):
        model.extra_ = value
        with pytest.raises(InputError, match="NaN or infinite"):
            model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


# -- the latent model of JLSE ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def latent(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """KernelJLSE, whose file has all there is: codes, scaling, kernel and λ."""
    data = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)
    path = tmp_path_factory.mktemp("latent") / "model"
    KernelJLSE(3).fit(*data.training_set(), classes=data.classes).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def with_codes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The same, with the codes of its rows."""
    data = make_zero_shot(5, 2, rows_per_class=4, n_features=6, n_attributes=4, n_factors=3)
    path = tmp_path_factory.mktemp("with_codes") / "model"
    KernelJLSE(3, keep_codes=True).fit(*data.training_set(), classes=data.classes).save(path)
    return path.read_bytes()


def field(found: Parts, name: str) -> tuple[list[Any], int]:
    """Where a field of the latent model lies, or one of its spaces or kernel."""
    place = found.manifest["state"]["latent_"]["latent model"]
    if name.startswith("pulls."):
        place = place[[f.name for f in fields(LatentModel)].index("pulls")]["row pulls"]
        return place, [f.name for f in fields(RowPulls)].index(name.partition(".")[2])
    for owner, kind, word in (
        ("spaces", Spaces, "spaces"), ("rows", RowScaling, "row scaling"),
        ("class_kernel", KernelFeatures, "row kernel"),
    ):  # fmt: skip
        if name.startswith(f"{owner}."):
            inside = [f.name for f in fields(Spaces)]
            place = place[0]["spaces"]
            place = place if owner == "spaces" else place[inside.index(owner)][word]
            return place, [f.name for f in fields(kind)].index(name.partition(".")[2])
    return place, [f.name for f in fields(LatentModel)].index(name)


ARRAYS = ["Zs", "Zt", "B", "D", "W", "rows.mean", "class_kernel.landmarks",
          "class_kernel.projection", "pulls.values"]  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    "change",
    [
        lambda a: a[:-1],
        lambda a: a[..., :-1],
        lambda a: a[..., None],
        lambda a: a.ravel()[:1],
        lambda a: a[:0],
        lambda a: a.astype(np.int32),
        lambda a: a.astype(np.float16),
        lambda a: np.repeat(a, 2, axis=-1),
    ],
    ids=["fewer rows", "narrower", "deeper", "flat", "empty", "whole", "half", "wider"],
)
def test_arrays_of_another_shape_or_kind_are_refused(
    name: str, change: Any, latent: bytes, with_codes: bytes, request: Any
) -> None:
    if name in ("Zt", "pulls.values") and request.node.callspec.id.startswith("fewer rows"):
        pytest.skip("a model of fewer rows is another model")
    found = parts(with_codes if name == "Zt" else latent)
    place, k = field(found, name)
    reference = place[k]["array"]
    found.arrays[reference] = np.ascontiguousarray(change(found.arrays[reference]))
    with pytest.raises(InputError, match="cannot be used: "):
        loads(forged(found))


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("source_shrink", -1e-9), ("source_fit", 0), ("source_fit", -1.0), ("target_shrink", -1),
        ("target_fit", 0.0), ("target_fit", "x"), ("positive_weight", 0), ("negative_weight", -2),
        ("positive_weight", None), ("negative_weight", True), ("b", "x"),
        ("b", {"array": "array0"}),
        ("away_bias", None), ("source_set", "ball"), ("source_set", 1),
        ("source_set", {"list": []}),
        ("loss", "logistic"), ("link", "identity"), ("link", None), ("spaces", None),
        ("spaces", {"list": []}), ("W", None), ("Zs", {"names": ["a"]}), ("Zt", 3),
        ("B", {"list": [1.0]}), ("D", {"array": "array0"}), ("spaces.rows", None),
        ("spaces.descriptions", None), ("spaces.class_kernel", None), ("spaces.class_kernel", 3),
        ("spaces.row_kernel", True), ("rows.unit_length", 1), ("rows.scale", 0),
        ("rows.scale", None), ("rows.constant", -0.1), ("rows.constant", 0.0),
        ("rows.constant", "x"), ("rows.mean", 0.5), ("class_kernel.width", 0),
        ("class_kernel.width", -1.0), ("class_kernel.shift", 0.0), ("is_coupled", 1),
        ("is_coupled", None), ("pulls", None), ("pulls", 3), ("pulls", {"list": []}),
        ("pulls.n_rows", 19), ("pulls.n_rows", 20.0), ("pulls.n_rows", None),
        ("pulls.error", -1.0), ("pulls.error", "x"), ("pulls.values", 1.0),
        ("Zt", {"array": "array0"}),
    ],
)  # fmt: skip
def test_values_that_no_model_has_are_refused(name: str, bad: Any, latent: bytes) -> None:
    found = parts(latent)
    place, k = field(found, name)
    place[k] = bad
    with pytest.raises(InputError, match=r"cannot be used: |cannot be understood"):
        loads(forged(found))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_lambdas_that_are_no_numbers_are_refused(value: str, latent: bytes) -> None:
    text = header_text(latent)
    manifest = json.loads(json.loads(text)["__metadata__"]["unseen"])
    place, k = field(Parts(manifest, {}), "source_fit")
    place[k] = float(value.replace("Infinity", "inf"))
    arrays = parts(latent).arrays
    del manifest["sha256"]
    manifest["sha256"] = hashlib.sha256(json.dumps(manifest).encode()).hexdigest()
    with pytest.raises(InputError, match=r"damaged|cannot be used"):
        loads(save(arrays, metadata={"unseen": json.dumps(manifest)}))


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"seen_penalty_": "x"}, "takes off seen classes must be a number"),
        ({"seen_penalty_": True}, "takes off seen classes must be a number"),
        ({"pairs_": 3}, "of its pairs"),
        ({"pairs_": {"dict": {"named": True}}}, "of its pairs"),
        ({"pairs_": {"dict": {"named": 1, "disjoint": False}}}, "of its pairs"),
        ({"pair_threshold_": "x"}, "threshold of pairs must be a number"),
        ({"pair_curve_": {"list": []}}, "curve of probabilities"),
        ({"pair_curve_": {"dict": {"slope": 1.0}}}, "curve of probabilities"),
        ({"pair_curve_": {"dict": {"slope": "x", "intercept": 0.0}}}, "slope"),
        ({"pair_curve_": {"dict": {"scores": 1, "probabilities": 2}}}, "curve of probabilities"),
        ({"latent_": None}, "no latent model"),
    ],
)
def test_other_state_that_makes_no_sense_is_refused(
    state: dict[str, Any], sentence: str, latent: bytes
) -> None:
    found = parts(latent)
    found.manifest["state"] |= state
    with pytest.raises(InputError, match=f"cannot be used: .*{sentence}"):
        loads(forged(found))


@pytest.mark.parametrize("number", [4, 6])
def test_codes_must_be_of_the_seen_classes(number: int, latent: bytes) -> None:
    """A class more or less than there are codes."""
    found = parts(latent)
    state = found.manifest["state"]
    names = state["seen_classes_"]["names"] + state["unseen_classes_"]["names"]
    state["seen_classes_"]["names"], rest = names[:number], names[number:]
    state["unseen_classes_"]["names"] = state["classes_"]["names"] = rest
    with pytest.raises(InputError, match="its Zs has shape"):
        loads(forged(found))
