"""Codes of training rows are kept where they are asked for, and are not needed otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen
from tests.common.small import fit_jlse, small_kernel_jlse
from unseen import make_zero_shot
from unseen.inference.embedding import Algorithm4
from unseen.inference.pairwise import Algorithm3
from unseen.model import pulls


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(8, 4, rows_per_class=40, n_features=20, n_attributes=10, n_factors=6)


@pytest.mark.parametrize("testing", [Algorithm4(), Algorithm3(), Algorithm4(offset=0.3)])
def test_few_rows_give_the_same_with_and_without_their_codes(testing: Any, data: Any) -> None:
    whole, plain = (fit_jlse(data, keep_codes=keep, testing=testing) for keep in (True, False))
    assert whole.latent_.Zt is not None
    assert len(whole.latent_.Zt) == plain.latent_.n_rows == whole.latent_.n_rows
    assert plain.latent_.Zt is None
    rows = data.unseen_set()[0]
    expected = whole.similarities(rows, "all")
    np.testing.assert_allclose(plain.similarities(rows, "all"), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("keep", [True, False])
def test_a_model_file_keeps_what_the_model_does(keep: bool, data: Any, tmp_path: Path) -> None:
    model = fit_jlse(data, keep_codes=keep)
    model.save(tmp_path / "model")
    again = unseen.load(tmp_path / "model")
    assert again.keep_codes is keep
    assert (again.latent_.Zt is not None) is keep
    rows = data.unseen_set()[0]
    np.testing.assert_array_equal(again.similarities(rows), model.similarities(rows))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").stat().st_size == (tmp_path / "model").stat().st_size


def test_files_do_not_grow_beyond_the_room_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulls, "MOST_NUMBERS", 1)
    monkeypatch.setattr(pulls, "LEAST_ROWS", 100)
    sizes = []
    for rows_per_class in (20, 200):
        data = make_zero_shot(8, 4, rows_per_class=rows_per_class, n_features=20, n_attributes=10)
        model = fit_jlse(data)
        assert model.latent_.n_rows == 8 * rows_per_class
        model.save(tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
    assert abs(sizes[1] - sizes[0]) < 200


@pytest.mark.parametrize(
    "make", [fit_jlse, lambda data: fit_kernel(data)], ids=["jlse", "kernel-jlse"]
)
def test_a_draw_hardly_changes_what_is_predicted(
    make: Any, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the few rows there are: with thousands the difference is a tenth of this."""
    rows = data.unseen_set()[0]
    exact = make(data).similarities(rows)
    monkeypatch.setattr(pulls, "MOST_NUMBERS", 1)
    monkeypatch.setattr(pulls, "LEAST_ROWS", 160)
    model = make(data)
    assert len(model.latent_.pulls.values) == 160
    found = model.similarities(rows)
    assert 0 < np.abs(found - exact).mean() < 0.2 * exact.std()
    assert np.mean(found.argmax(axis=1) == exact.argmax(axis=1)) > 0.9


def fit_kernel(data: Any) -> Any:
    return small_kernel_jlse().fit(*data.training_set(), classes=data.classes)


def test_pairs_need_no_codes_either(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulls, "MOST_NUMBERS", 1)
    monkeypatch.setattr(pulls, "LEAST_ROWS", 50)
    X, y = data.training_set()
    S = data.classes.select(data.seen).vectors
    Y = np.where(y[:, None] == data.seen, 1, -1)
    for disjoint in (True, False):
        model = unseen.JLSE(8).fit_pairs(S, X, Y, disjoint=disjoint)
        assert model.latent_.pulls is not None
        assert len(model.latent_.pulls.values) == 50
        assert np.isfinite(model.score_pairs(S[:3] + 0.1, X[:4])).all()
