"""JLSE at test time: blocks of rows, candidates, and what is kept of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tests.common.small import fit_jlse
from unseen import JLSE, ClassTable, InputError


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("candidates", ["unseen", "all"])
def test_one_row_equals_a_batch(dtype: Any, candidates: str, data: Any) -> None:
    X, y = data.training_set()
    model = JLSE().fit(X.astype(dtype), y, classes=data.classes)
    rows = data.unseen_set()[0].astype(dtype)
    batch = model.similarities(rows, candidates)
    single = np.vstack([model.similarities(row[None], candidates) for row in rows])
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(single, batch, atol=tolerance * np.ptp(batch))


def test_block_size_does_not_matter(data: Any, model: JLSE, monkeypatch: Any) -> None:
    rows, whole = data.unseen_set()[0], model.similarities(data.unseen_set()[0], "all")
    monkeypatch.setattr("unseen.blocks.row_blocks.__defaults__", (16 * 8 * 7,))
    np.testing.assert_allclose(model.similarities(rows, "all"), whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        fit_jlse(data).similarities(rows, "all"), whole, atol=0.05 * np.ptp(whole)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"test_embedding": "init"},
        {"decision": 1},
        {"test_source_fit": 0.3},
        {"test_target_fit": 1.0},
        {"link": "saturating"},
        {"class_offset": 0.0},
    ],
    ids=str,
)
def test_changed_test_time_parameters_take_effect_at_once(
    change: dict[str, Any], data: Any, rows: np.ndarray
) -> None:
    model = fit_jlse(data, calibration=None)
    before = model.similarities(rows, "all")
    after = model.set_params(**change).similarities(rows, "all")
    assert np.abs(after - before).max() > 1e-6
    fresh = fit_jlse(data, calibration=None, **change)
    np.testing.assert_allclose(after, fresh.similarities(rows, "all"), rtol=1e-12)


def test_the_level_of_a_class_comes_off_its_scores_and_only_with_algorithm_4(
    data: Any, rows: np.ndarray
) -> None:
    model = fit_jlse(data, calibration=None, class_offset=0.0)
    seen, unseen = model.similarities(rows, data.seen), model.similarities(rows)
    on_training = model.target_codes_ @ (model.transform_classes() @ model.similarity_).T
    level = np.quantile(on_training + model.bias_, 0.98, axis=0)
    model.set_params(class_offset=0.5)
    np.testing.assert_allclose(model.similarities(rows), unseen - 0.5 * level, rtol=1e-6)
    np.testing.assert_array_equal(model.similarities(rows, data.seen), seen)

    model.set_params(test_embedding="init")
    with_level = model.similarities(rows)
    model.set_params(class_offset=0.0)
    np.testing.assert_array_equal(model.similarities(rows), with_level)


def test_refit_and_reveal_do_not_answer_from_before(data: Any, rows: np.ndarray) -> None:
    model = fit_jlse(data)
    model.similarities(rows)
    X, y = data.training_set()
    half = np.arange(y.size) % 2 == 0
    model.fit(X[half], y[half], classes=data.classes)
    fresh = JLSE().fit(X[half], y[half], classes=data.classes)
    np.testing.assert_array_equal(model.similarities(rows), fresh.similarities(rows))

    revealed = model.reveal({"mean": data.classes.vectors.mean(axis=0)})
    assert revealed.similarities(rows).shape[1] == 5
    revealed.fit(X, y, classes=data.classes)
    np.testing.assert_array_equal(model.similarities(rows), fresh.similarities(rows))
    np.testing.assert_array_equal(revealed.similarities(rows), fit_jlse(data).similarities(rows))


def test_many_sets_of_candidates_push_each_other_out(data: Any, model: JLSE, rows: Any) -> None:
    names = data.classes.names
    pairs = [[names[k], names[k + 1]] for k in range(names.size - 1)]
    first = [model.similarities(rows, pair) for pair in pairs]
    for pair, expected in zip(pairs, first, strict=True):
        np.testing.assert_array_equal(model.similarities(rows, pair), expected)


def test_clone_takes_nothing_along(model: JLSE) -> None:
    fresh: Any = clone(model)
    assert not set(vars(fresh)) - set(model.get_params())


def test_a_known_name_with_another_description_is_a_new_class(
    data: Any, model: JLSE, rows: np.ndarray
) -> None:
    seen, new = data.seen[0].item(), data.unseen[0].item()
    other = ClassTable([seen], data.classes.vector(new)[None])
    expected = model.similarities(rows, [new])
    np.testing.assert_allclose(model.similarities(rows, other), expected, atol=1e-9)


def test_codes_do_not_depend_on_the_other_candidates(model: JLSE, rows: np.ndarray) -> None:
    together = model.similarities(rows)
    alone = np.hstack([model.similarities(rows, [name]) for name in model.classes_])
    turned = model.similarities(rows, model.classes_[::-1])[:, ::-1]
    np.testing.assert_allclose(alone, together, atol=1e-9 * np.ptp(together))
    np.testing.assert_allclose(turned, together, atol=1e-9 * np.ptp(together))


def test_score_pairs_equals_similarities_with_a_table(data: Any, model: JLSE, rows: Any) -> None:
    S = data.classes.select(model.classes_).vectors
    scores = model.score_pairs(S, rows)
    assert scores.shape == (len(rows), len(S))
    np.testing.assert_allclose(scores, model.similarities(rows), rtol=1e-12)
    np.testing.assert_allclose(model.score_pairs(S[0], rows[:1]), scores[:1, :1], rtol=1e-6)
    with pytest.raises(InputError, match="3 columns"):
        model.score_pairs(np.ones((1, 3)), rows)


@pytest.mark.parametrize("name", ["pair {}", "{}"])
def test_score_pairs_is_not_misled_by_names(name: str, data: Any, rows: Any) -> None:
    """Classes that happen to be called "pair 0", or by numbers."""
    model = fit_jlse(data, block_tol=1e-4)
    new = [name.format(k) for k in range(data.classes.n_classes)]
    names = dict(zip(data.classes.names.tolist(), new, strict=True))
    X, y = data.training_set()
    table = ClassTable([*names.values()], data.classes.vectors)
    other = JLSE(block_tol=1e-4).fit(X, [names[n] for n in y.tolist()], classes=table)
    S = data.classes.select(data.unseen).vectors
    expected = model.score_pairs(S, rows)
    np.testing.assert_allclose(other.score_pairs(S, rows), expected, atol=0.05 * np.ptp(expected))
