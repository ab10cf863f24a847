"""JLSE on odd data and with parameters that it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.common.small import fit_jlse
from unseen import JLSE, ClassTable, InputError, make_zero_shot

# -- edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        {"n_seen": 30, "n_attributes": 3, "n_factors": 3},
        {"n_seen": 2},
        {"n_seen": 3},
        {"n_attributes": 1},
        {"n_features": 1},
        {"n_features": 6},
        {"rows_per_class": 1},
        {"noise": 0.0},
        pytest.param({"n_seen": 210, "rows_per_class": 2}, marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [JLSE, JLSE.paper], ids=["default", "paper"])
def test_odd_shapes(shape: dict[str, Any], make: Any) -> None:
    data = make_zero_shot(**{"n_seen": 8, "n_unseen": 3, "rows_per_class": 10, **shape})
    model = make().fit(*data.training_set(), classes=data.classes)
    scores = model.similarities(data.X, "all")
    assert np.isfinite(scores).all()
    assert (np.diff(model.history_[:, 4]) <= 1e-6 * model.history_[0, 4]).all()
    n_rows, n_columns = data.training_set()[0].shape
    most = n_columns if model.row_kernel == "linear" else n_rows
    assert model.target_dictionary_.shape[1] <= min(most, model.n_target_atoms)


@pytest.mark.parametrize("make", [JLSE, JLSE.paper], ids=["default", "paper"])
def test_classes_with_one_description(make: Any, data: Any) -> None:
    table = ClassTable(data.classes.names, np.repeat(data.classes.vectors[::2], 2, axis=0))
    model = make().fit(*data.training_set(), classes=table)
    scores = model.similarities(data.X, "unseen")
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=1e-9 * np.ptp(scores))
    assert np.isfinite(model.similarities(data.X, "all")).all()


def test_constant_columns_change_nothing_but_the_width(data: Any, rows: np.ndarray) -> None:
    X, y = data.training_set()
    padded = np.hstack([X, np.zeros((len(X), 2))])
    model = JLSE().fit(padded, y, classes=data.classes)
    wide = np.hstack([rows, np.zeros((len(rows), 2))])
    expected = fit_jlse(data).similarities(rows)
    assert np.abs(model.similarities(wide) - expected).max() <= 0.05 * np.ptp(expected)
    constant = np.hstack([X, np.full((len(X), 1), 3.0)])
    assert JLSE().fit(constant, y, classes=data.classes).score(constant, y, "seen") > 0.5


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rows_that_tell_nothing_give_finite_scores(value: float, data: Any) -> None:
    X, y = data.training_set()
    nothing = np.full_like(X, value)
    assert np.isfinite(JLSE().fit(nothing, y, classes=data.classes).similarities(X, "all")).all()


def test_a_row_of_zeros_is_scored(model: JLSE) -> None:
    assert np.isfinite(model.similarities(np.zeros((1, 16)), "all")).all()


# -- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("source_set", "ball"),
        ("loss", "logistic"),
        ("decision", 3),
        ("link", "identity"),
        ("test_embedding", "algorithm 5"),
        ("n_target_atoms", 0),
        ("n_target_atoms", 2.5),
        ("n_source_atoms", 0),
        ("n_source_atoms", "all"),
        ("similarity_penalty", "x"),
        ("similarity_penalty", 0),
        ("positive_weight", -1),
        ("positive_weight", "heavy"),
        ("positive_weight", None),
        ("test_margin", 2),
        ("test_margin", -0.1),
        ("test_margin", "0.9"),
        ("max_iter", -1),
        ("max_iter", 1.5),
        ("calibration", "x"),
        ("calibration", np.nan),
        ("calibration", True),
        ("source_fit", 0),
        ("target_fit", -1),
        ("test_source_fit", 0),
        ("test_target_fit", np.inf),
        ("source_shrinkage", -1),
        ("target_shrinkage", np.nan),
        ("tol", -1e-3),
        ("dictionary_inertia", -1),
        ("class_offset", -1),
        ("block_tol", 0),
    ],
)
def test_refuses_a_bad_parameter_by_name(name: str, bad: Any, data: Any) -> None:
    with pytest.raises(InputError, match=f"^{name} must be"):
        fit_jlse(data, **{name: bad})


def test_refuses_early_stopping_with_too_few_classes() -> None:
    data = make_zero_shot(3, 2, 10)
    with pytest.raises(InputError, match=r"early_stopping .* at least 4; there are 3"):
        fit_jlse(data, early_stopping=True)
