"""What is kept of training rows in place of their codes: all, or a draw with a known error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.common.latent import latent_model
from unseen import InputError
from unseen.inference.embedding import Algorithm4, AwayScorer, class_levels
from unseen.model import pulls
from unseen.model.latent import LatentModel
from unseen.model.pulls import RowPulls

LOSSES = ("hinge", "squared_hinge")
N, M = 700, 60


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for M rows only."""
    monkeypatch.setattr(pulls, "MOST_NUMBERS", 1)
    monkeypatch.setattr(pulls, "LEAST_ROWS", M)


def losses(scores: np.ndarray, loss: str) -> np.ndarray:
    return np.maximum(1 + scores, 0) ** (1 if loss == "hinge" else 2)


def kept(model: LatentModel, random_state: int | None = 0) -> RowPulls:
    found = model.without_codes(random_state)
    assert found.Zt is None
    assert found.n_rows == model.n_rows
    assert found.pulls is not None
    return found.pulls


def test_of_few_rows_all_is_kept() -> None:
    model = latent_model(n_rows=N)
    found = kept(model)
    np.testing.assert_array_equal(found.values, model.away_pulls())
    assert (found.n_rows, found.error) == (N, 0.0)


def test_there_is_room_for_megabytes_and_some_thousand_rows_in_any_case() -> None:
    assert pulls.MOST_NUMBERS * 4 <= 16 * 2**20
    wide = latent_model(n_rows=5001, h_s=900, h_t=2, n_classes=2)
    assert kept(wide).values.shape == (5000, 900)
    narrow = latent_model(n_rows=5001, h_s=800, h_t=2, n_classes=2)
    assert kept(narrow).values.shape == (5001, 800)


@pytest.mark.usefixtures("few")
def test_of_many_rows_some_are_drawn_the_same_ones_with_the_same_seed() -> None:
    model = latent_model(n_rows=N)
    found, again, other = kept(model), kept(model), kept(model, 1)
    assert found.values.shape == (M, model.W.shape[0])
    np.testing.assert_array_equal(found.values, again.values)
    assert np.abs(found.values - other.values).max() > 0.1
    assert found.error == again.error == other.error > 0
    known = {row.round(9).tobytes() for row in model.away_pulls()}
    assert all(row.round(9).tobytes() in known for row in found.values)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [0.2, -1.5])
def test_the_error_is_that_of_the_formula_and_holds_for_any_code(loss: str, bias: float) -> None:
    model = latent_model(n_rows=N, loss=loss, away_bias=bias)
    F, h = model.away_pulls(), model.W.shape[0]
    rng = np.random.default_rng(1)
    codes = np.vstack([np.eye(h), np.full((1, h), 1 / h), rng.dirichlet(np.ones(h), 20)])
    expected = losses(F @ codes.T + bias, loss).mean(axis=0)
    draws = [kept(model, seed) for seed in range(100)]
    found = np.array([losses(d.values @ codes.T + bias, loss).mean(axis=0) for d in draws])
    worst = max(np.mean([losses(f[i] + bias, loss) ** 2 for f in F]) for i in range(h))
    assert draws[0].error == pytest.approx(np.sqrt(worst / M))
    away = np.sqrt(np.mean((found - expected) ** 2, axis=0))
    assert (away <= draws[0].error).all()
    # No row is more likely than another: the mean of many draws is that of all rows.
    assert (np.abs(found.mean(axis=0) - expected) <= 4 * found.std(axis=0) / 10).all()


@pytest.mark.usefixtures("few")
def test_drawing_from_stretches_beats_drawing_anywhere() -> None:
    model = latent_model(n_rows=N)
    F, code = model.away_pulls(), np.full(model.W.shape[0], 1 / model.W.shape[0])
    rng = np.random.default_rng(0)
    expected = losses(F @ code, "hinge").mean()
    anywhere = [losses(F[rng.choice(N, M)] @ code, "hinge").mean() for _ in range(200)]
    found = [losses(kept(model, k).values @ code, "hinge").mean() for k in range(200)]
    assert np.mean((found - expected) ** 2) < 0.8 * np.mean((anywhere - expected) ** 2)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_that_are_all_there_several_times_lose_nothing(loss: str) -> None:
    """M different rows, 8 times each: one of each is drawn, and weighs as much as eight."""
    model = latent_model(n_rows=M, loss=loss)
    assert model.Zt is not None
    order = np.random.default_rng(3).permutation(8 * M)
    many = latent_model(n_rows=M, loss=loss, Zt=np.tile(model.Zt, (8, 1))[order])
    few_, S = many.without_codes(), np.random.default_rng(4).standard_normal((5, 8))
    assert few_.pulls is not None
    assert {r.tobytes() for r in few_.pulls.values} == {r.tobytes() for r in model.away_pulls()}
    exact, found = (away(m).embed_classes(S) for m in (many, few_))
    np.testing.assert_allclose(found, exact, atol=1e-4)
    np.testing.assert_allclose(class_levels(few_, found), class_levels(model, found))
    XD = np.random.default_rng(5).standard_normal((6, many.W.shape[1]))
    np.testing.assert_array_equal(away(few_).embed_rows(XD), away(many).embed_rows(XD))


def away(model: LatentModel) -> AwayScorer:
    return AwayScorer(model, 1, Algorithm4(tol=1e-7))


def test_a_model_without_codes_has_none_to_lose() -> None:
    model = latent_model().without_codes()
    assert model.without_codes() is model


def bad(**fields: Any) -> RowPulls:
    return RowPulls(**{"n_rows": 40, "values": np.ones((40, 5)), "error": 0.0, **fields})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_rows": 39}, r"of its 39 training rows has shape \(40, 5\)"),
        ({"n_rows": 40.0}, "no table of numbers"),
        ({"values": np.ones((40, 4))}, r"has shape \(40, 4\)"),
        ({"values": np.ones((0, 5))}, r"has shape \(0, 5\)"),
        ({"values": np.ones((40, 5), np.float32)}, "no table of numbers"),
        ({"values": None}, "no table of numbers"),
        ({"error": -0.1}, "the error of what it keeps"),
    ],
)
def test_what_no_model_keeps_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    latent_model(Zt=None, pulls=bad()).check(9, 8, 6)
    with pytest.raises(InputError, match=sentence):
        latent_model(Zt=None, pulls=bad(**wrong)).check(9, 8, 6)


def test_codes_and_pulls_at_once_or_neither_are_refused() -> None:
    with pytest.raises(InputError, match="what it keeps of its training rows makes no sense"):
        latent_model(pulls=bad()).check(9, 8, 6)
    with pytest.raises(InputError, match="its Zt is not a table"):
        latent_model(Zt=None).check(9, 8, 6)
