"""Data sets and results print on one screen, and become tables."""

from __future__ import annotations

from typing import Any

import pytest

from unseen import ESZSL, JLSE, GaussianMatch, InputError, compare, evaluate, make_zero_shot, tune
from unseen.datasets import make_pairs
from unseen.estimators import METHODS
from unseen.evaluation import cold_start, evaluate_pairs


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(12, 4, 15, n_features=300, n_attributes=20, random_state=3)


def fits_a_screen(value: Any) -> str:
    text = repr(value)
    assert 3 < len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 130
    assert value._repr_html_().startswith("<table>")
    return text


def test_a_data_set(data: Any) -> None:
    text = fits_a_screen(data)
    assert "240 of 300 columns" in text
    assert "12: 'class 00', 'class 01', 'class 02' and 9 more" in text


def test_an_evaluation(data: Any) -> None:
    model = ESZSL().fit(*data.training_set(), classes=data.classes)
    found = evaluate(model, data)
    assert f"{found.per_class_accuracy:.3f} (95 %" in fits_a_screen(found)
    frame = found.to_frame()
    assert frame["accuracy"].mean() == pytest.approx(found.per_class_accuracy)
    assert frame.index.tolist() == data.unseen.tolist()


def test_pairs() -> None:
    pairs = make_pairs(20, 40)
    assert "20 of 30 columns" in fits_a_screen(pairs)
    model = JLSE(n_target_atoms=8).fit_pairs(pairs.S, pairs.X, pairs.Y)
    found = evaluate_pairs(model, pairs.S, pairs.X, pairs.Y)
    assert f"{found.pairs:,} known pairs" in fits_a_screen(found)
    assert f"{found.roc_auc:.3f} (chance 0.500)" in repr(found)
    both = cold_start(JLSE(n_target_atoms=8), pairs.S, pairs.X, pairs.Y, n_splits=2)
    assert "in 2 splits" in fits_a_screen(both)


def test_the_best_names_and_rows(data: Any) -> None:
    X, y = data.training_set()
    model = ESZSL().fit(X, y, classes=data.classes)
    best = model.top_k(data.X[:5], 3)
    frame = best.to_frame()
    assert frame.index.names == ["row", "place"]
    assert frame.loc[(4, 2)].tolist() == [best.names[4, 1], best.scores[4, 1]]
    found = model.rank(data.unseen[0], data.X, 6)
    frame = found.to_frame()
    assert frame.index.tolist() == [1, 2, 3, 4, 5, 6]
    assert frame["row"].tolist() == found.rows.tolist()
    assert frame["score"].tolist() == found.scores.tolist()


def test_a_tuning_and_a_comparison(data: Any) -> None:
    X, y = data.training_set()
    found = tune(ESZSL(), X, y, data.classes, {"row_penalty": [1e-3, 1e-1]})
    assert "kept" in fits_a_screen(found)
    frame = found.to_frame()
    assert frame["mean"].iloc[0] == found.trials[0].mean
    assert frame["is_default"].sum() <= 1
    both = compare(X, y, data.classes, ["eszsl", "sae"])
    assert f"recommended  {both.recommended}" in fits_a_screen(both)
    assert both.to_frame().index.tolist() == [m.method for m in both.methods]


def test_results_can_be_drawn(data: Any) -> None:
    X, y = data.training_set()
    found = evaluate(ESZSL().fit(X, y, classes=data.classes), data)
    (axes,) = found.plot().axes
    accuracy = next(line for line in axes.lines if line.get_label() == "accuracy")
    assert sorted(accuracy.get_xdata()) == pytest.approx(
        sorted(100 * c.accuracy for c in found.by_class)
    )
    tried = tune(ESZSL(), X, y, data.classes, {"row_penalty": [1e-3, 1e-1]})
    assert "the default" in tried.plot().axes[0].get_legend_handles_labels()[1]
    assert len(compare(X, y, data.classes, ["eszsl", "sae"], n_splits=2).plot().axes) == 2
    with pytest.raises(InputError, match="no picture of a ZeroShotDataset"):
        data.plot()


@pytest.mark.parametrize("name", METHODS)
def test_a_model_is_shown_without_a_warning(name: str) -> None:
    """scikit-learn reads the docstring for it, and warns of sections that it does not know."""
    model = METHODS[name]()
    assert type(model).__name__ in model._repr_html_()
    assert len(repr(model)) < 80


@pytest.mark.parametrize("method", [ESZSL, GaussianMatch])
def test_an_explanation_is_shown_as_it_prints(data: Any, method: Any) -> None:
    found = method().fit(*data.training_set(), classes=data.classes).explain(data.X[0])
    assert repr(found) == str(found)
    assert max(map(len, repr(found).splitlines())) <= 100


def test_names_are_escaped_on_a_page(data: Any) -> None:
    from dataclasses import replace

    assert "<b>" not in replace(data, name="<b>x</b>")._repr_html_()
