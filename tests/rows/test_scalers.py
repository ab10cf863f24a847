"""The two scalers as transformers of scikit-learn."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from unseen import ESZSL, InputError
from unseen.rows import ClassScaler, RowScaler
from unseen.rows import scaling as preprocessing
from unseen.rows.blocks import row_blocks

BOTH = pytest.mark.parametrize("kind", [RowScaler, ClassScaler])
RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((30, 5)), RNG.standard_normal((4, 5))


def by_hand(train: np.ndarray, rows: np.ndarray, order: str) -> np.ndarray:
    """Both steps written out row by row: lengths first ("rows"), or the mean first ("classes")."""

    def unit(A: np.ndarray) -> np.ndarray:
        return np.array([a / np.sqrt(a @ a) for a in A])

    if order == "rows":
        return unit(rows) - sum(unit(train)) / len(train)
    return unit(rows - sum(train) / len(train))


@BOTH
def test_passes_the_checks_of_scikit_learn(kind: Any) -> None:
    check_estimator(kind(), on_skip=None)


@pytest.mark.parametrize(("kind", "order"), [(RowScaler, "rows"), (ClassScaler, "classes")])
def test_learns_from_training_rows_only(kind: Any, order: str) -> None:
    scaler = kind().fit(X)
    np.testing.assert_allclose(scaler.transform(NEW), by_hand(X, NEW, order), atol=1e-12)
    alone = scaler.transform(NEW[:1])
    np.testing.assert_allclose(alone, by_hand(X, NEW, order)[:1], atol=1e-12)
    np.testing.assert_allclose(kind().fit_transform(X), by_hand(X, X, order), atol=1e-12)


@BOTH
def test_steps_are_taken_one_by_one(kind: Any) -> None:
    as_given = kind(center=False, unit_length=False).fit(X)
    np.testing.assert_array_equal(as_given.transform(NEW), NEW)
    centred = kind(unit_length=False).fit(X).transform(NEW)
    np.testing.assert_allclose(centred, NEW - X.mean(axis=0), atol=1e-12)
    lengths = np.linalg.norm(kind(center=False).fit(X).transform(NEW), axis=1)
    np.testing.assert_allclose(lengths, 1)


def test_a_row_of_zeros() -> None:
    zeros = np.zeros((1, 5))
    assert not RowScaler(center=False).fit(X).transform(zeros).any()
    mean = by_hand(X, X, "rows")[0] - X[0] / np.linalg.norm(X[0])
    np.testing.assert_allclose(RowScaler().fit(X).transform(zeros)[0], mean, atol=1e-12)
    middle = X.mean(axis=0, keepdims=True)
    assert not ClassScaler().fit(X).transform(middle).any()


@BOTH
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("unit_length", [False, True])
@pytest.mark.parametrize(
    ("given", "wanted"),
    [("float32", "float32"), ("float64", "float64"), ("float16", "float32"), ("int8", "float64")],
)
def test_types_of_numbers(
    kind: Any, center: bool, unit_length: bool, given: str, wanted: str
) -> None:
    rows = np.round(9 * X).astype(given)
    before = rows.copy()
    scaled = kind(center=center, unit_length=unit_length).fit_transform(rows)
    assert scaled.dtype == wanted
    assert not np.shares_memory(scaled, rows)
    np.testing.assert_array_equal(rows, before)


def test_memory_mapped_rows_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = RowScaler().fit_transform(X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    small = partial(row_blocks, row_bytes=1, block_bytes=7)
    monkeypatch.setattr(preprocessing, "array_blocks", lambda rows: small(len(rows)))
    np.testing.assert_allclose(RowScaler().fit(mapped).transform(mapped), whole, atol=1e-12)


@BOTH
def test_sparse_rows_are_refused_as_they_are_by_the_methods(kind: Any) -> None:
    sparse = scipy.sparse.csr_array(X)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        kind().fit(sparse)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        ESZSL().fit(sparse, np.arange(30) % 3)


@BOTH
@pytest.mark.parametrize("name", ["center", "unit_length"])
@pytest.mark.parametrize("bad", [None, 1, "yes"])
def test_a_switch_is_true_or_false(kind: Any, name: str, bad: Any) -> None:
    with pytest.raises(InputError, match=f"{name} must be True or False, not {bad!r}"):
        kind(**{name: bad}).fit(X)
    kind(**{name: np.bool_(True)}).fit(X)


@BOTH
def test_a_misspelt_parameter(kind: Any) -> None:
    with pytest.raises(InputError, match="no parameter 'centre'; nearest name: 'center'"):
        kind().set_params(centre=False)


@BOTH
def test_clone_keeps_the_parameters_alone(kind: Any) -> None:
    copy: Any = clone(kind(center=False).fit(X))
    assert copy.get_params() == {**kind().get_params(), "center": False}
    assert not hasattr(copy, "scaling_")
    assert repr(copy) == f"{kind.__name__}(center=False)"


def test_learn_leaves_the_scaler_as_it_is() -> None:
    scaler = RowScaler()
    scaling = scaler.learn(X, unit_scale=True)
    assert np.mean(np.sum(scaling(X) ** 2, axis=1)) == pytest.approx(1)
    assert not hasattr(scaler, "scaling_")


def test_names_of_columns_stay() -> None:
    import pandas

    frame = pandas.DataFrame(X, columns=list("abcde"))
    scaled: Any = RowScaler().set_output(transform="pandas").fit_transform(frame)
    assert list(scaled.columns) == list("abcde")


def test_powers_keep_signs_and_tables_of_zeros_and_ones() -> None:
    root = ClassScaler(False, False, power=0.5).fit(X).transform(NEW)
    np.testing.assert_allclose(root * np.abs(root), NEW, atol=1e-12)
    binary = (X > 0).astype(float)
    np.testing.assert_array_equal(ClassScaler(False, False, 0.3).fit_transform(binary), binary)


@pytest.mark.parametrize("center", [False, True])
def test_what_seen_classes_cannot_have_is_left_out(center: bool) -> None:
    """Against least squares: the nearest point to a description among all mixtures of seen ones."""
    seen = X[:3]
    plain = ClassScaler(center=center, power=0.7).fit(seen)
    found = ClassScaler(center=center, power=0.7, in_span=True).fit(seen).transform(NEW)
    atoms = plain.transform(seen).T
    mixture = np.linalg.lstsq(atoms, plain.transform(NEW).T, rcond=1e-6)[0]
    np.testing.assert_allclose(found, (atoms @ mixture).T, atol=1e-10)
    whole = ClassScaler(center=center, in_span=True).fit(X)
    np.testing.assert_allclose(
        whole.transform(NEW), ClassScaler(center=center).fit(X).transform(NEW)
    )


@pytest.mark.parametrize("bad", [0, -1, np.nan, "half", True])
def test_a_power_is_a_positive_number(bad: Any) -> None:
    with pytest.raises(InputError, match="power must"):
        ClassScaler(power=bad).fit(X)
