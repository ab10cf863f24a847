"""JLSE and KernelJLSE on odd data and with parameters that they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.common.small import fit_jlse, small_jlse, small_kernel_jlse
from unseen import JLSE, ClassTable, InputError, KernelJLSE, make_zero_shot

MAKERS = [small_jlse, small_kernel_jlse]

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
@pytest.mark.parametrize("make", [JLSE, KernelJLSE])
def test_odd_shapes(shape: dict[str, Any], make: Any) -> None:
    data = make_zero_shot(**{"n_seen": 8, "n_unseen": 3, "rows_per_class": 10, **shape})
    model = make().fit(*data.training_set(), classes=data.classes)
    scores = model.similarities(data.X, "all")
    assert np.isfinite(scores).all()
    assert (np.diff(model.history_[:, 4]) <= 1e-6 * model.history_[0, 4]).all()
    n_rows, n_columns = data.training_set()[0].shape
    assert model.latent_.D.shape[1] <= min(n_rows, n_columns + 1, model.n_target_atoms)
    assert model.latent_.B.shape[1] <= min(data.seen.size, 200)


@pytest.mark.filterwarnings("ignore:.*have the same description")
@pytest.mark.parametrize("make", MAKERS)
def test_classes_with_one_description(make: Any, data: Any) -> None:
    table = ClassTable(data.classes.names, np.repeat(data.classes.vectors[::2], 2, axis=0))
    model = make().fit(*data.training_set(), classes=table)
    scores = model.similarities(data.X, "unseen")
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=1e-9 * np.ptp(scores))
    assert np.isfinite(model.similarities(data.X, "all")).all()


def test_constant_columns_change_nothing_but_the_width(data: Any, rows: np.ndarray) -> None:
    X, y = data.training_set()
    padded = np.hstack([X, np.zeros((len(X), 2))])
    model = fit_jlse(data, X=padded)
    wide = np.hstack([rows, np.zeros((len(rows), 2))])
    expected = fit_jlse(data).similarities(rows)
    assert np.abs(model.similarities(wide) - expected).max() <= 0.05 * np.ptp(expected)
    constant = np.hstack([X, np.full((len(X), 1), 3.0)])
    assert fit_jlse(data, X=constant).score(constant, y, "seen") > 0.5


@pytest.mark.filterwarnings("ignore:all training rows are the same")
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rows_that_tell_nothing_give_finite_scores(value: float, make: Any, data: Any) -> None:
    X, y = data.training_set()
    nothing = np.full_like(X, value)
    assert np.isfinite(make().fit(nothing, y, classes=data.classes).similarities(X, "all")).all()


def test_a_row_of_zeros_is_scored(model: JLSE) -> None:
    assert np.isfinite(model.similarities(np.zeros((1, 16)), "all")).all()


# -- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("n_target_atoms", 0),
        ("n_target_atoms", 2.5),
        ("n_source_atoms", 0),
        ("n_source_atoms", "all"),
        ("similarity_penalty", "x"),
        ("similarity_penalty", 0),
        ("positive_weight", -1),
        ("positive_weight", "heavy"),
        ("positive_weight", None),
        ("source_fit", 0),
        ("target_fit", -1),
        ("source_shrinkage", -1),
        ("target_shrinkage", np.nan),
        ("constant_feature", -0.1),
        ("constant_feature", "0.4"),
        ("constant_feature", True),
        ("decision", 3),
        ("decision", "2"),
    ],
)
def test_refuses_a_bad_parameter_by_name(name: str, bad: Any, data: Any) -> None:
    with pytest.raises(InputError, match=f"^{name} must be"):
        fit_jlse(data, **{name: bad})


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("training__max_iter", -1),
        ("training__max_iter", 1.5),
        ("training__tol", -1e-3),
        ("training__block_tol", 0),
        ("testing__source_fit", 0),
        ("testing__target_fit", np.inf),
        ("testing__offset", -1),
        ("testing__tol", 0),
        ("row_scaler__center", "yes"),
        ("class_scaler__unit_length", 1),
    ],
)
def test_refuses_a_bad_parameter_of_a_part_by_name(name: str, bad: Any, data: Any) -> None:
    part, _, own = name.partition("__")
    with pytest.raises(InputError, match=f"^{part}: {own} must be"):
        fit_jlse(data, **{name: bad})


@pytest.mark.parametrize("bad", [0, -1, "wide", np.nan])
def test_kernel_width_must_be_positive(bad: Any, data: Any) -> None:
    with pytest.raises(InputError, match=r"^kernel_width must be"):
        small_kernel_jlse(kernel_width=bad).fit(*data.training_set(), classes=data.classes)


@pytest.mark.parametrize("name", ["training", "testing"])
def test_refuses_what_is_no_part(name: str, data: Any) -> None:
    wrong: list[Any] = ["Algorithm2", 4, ClassTable]
    for bad in wrong:
        with pytest.raises(InputError, match=rf"^{name} must be Algorithm\d\(\) or"):
            JLSE(**{name: bad}).fit(*data.training_set(), classes=data.classes)


@pytest.mark.parametrize("name", ["link", "loss", "max_iter", "calibration", "row_kernel"])
def test_parameters_that_are_gone_are_unknown(name: str) -> None:
    with pytest.raises(InputError, match=f"JLSE has no parameter '{name}'"):
        JLSE().set_params(**{name: 1})
