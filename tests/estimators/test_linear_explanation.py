"""Why methods whose score is an inner product of codes score a row as they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen import ESZSL, InputError, make_zero_shot
from unseen.estimators import METHODS, linear_explanation
from unseen.rows import ClassScaler

LINEAR = ["eszsl", "sae", "ale", "sje", "devise", "costa", "sync", "conse"]


@pytest.fixture(scope="module")
def data() -> Any:
    return make_zero_shot(12, 4, 15, n_features=16, n_attributes=9, random_state=3)


@pytest.mark.parametrize("name", LINEAR)
def test_parts_sum_to_the_score(name: str, data: Any) -> None:
    model = METHODS[name]().fit(*data.training_set(), classes=data.classes)
    row, wanted = data.unseen_set()[0][3], data.unseen[1].item()
    found = model.explain(row, wanted, top=50)
    score = float(model.similarities(row[None], [wanted])[0, 0])
    assert found.score == score
    total = sum(e.contribution for e in found.classes) + found.rest
    assert total == pytest.approx(score, rel=1e-3, abs=1e-4)
    assert len(found.attributes) == 9
    assert np.isfinite([a.support for a in found.attributes]).all()
    assert wanted in str(found)
    assert found.tables()[0][0] == "Score"
    assert model.explain(row).name == model.predict(row[None])[0]


def test_a_seen_class_is_explained_by_itself(data: Any) -> None:
    model = METHODS["sync"]().fit(*data.training_set(), classes=data.classes)
    name = data.seen[2].item()
    found = model.explain(data.X[40], name)
    assert found.classes[0].through == name or found.classes[-1].through == name
    assert found.rest == pytest.approx(0, abs=1e-6)


def test_attributes_are_those_of_the_weights_where_nothing_is_scaled(data: Any) -> None:
    """x'V s, so the slope along an attribute is an entry of x'V."""
    model = ESZSL(class_scaler=ClassScaler(center=False, unit_length=False))
    model.fit(*data.training_set(), classes=data.classes)
    row, name = data.unseen_set()[0][:1], data.unseen[0].item()
    above = data.classes.vector(name) - data.classes.select(data.seen).vectors.mean(axis=0)
    slopes = model.scaling_(row) @ model.weights_
    expected = dict(zip(range(9), slopes[0] * above, strict=True))
    found = model.explain(row, name, top=9)
    assert sum(a.support for a in found.attributes) == pytest.approx(sum(expected.values()), 1e-4)
    largest = max(expected.values())
    assert found.attributes[0].support == pytest.approx(largest, rel=1e-4)


def test_many_columns_are_taken_in_parts(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ESZSL().fit(*data.training_set(), classes=data.classes)
    whole = model.explain(data.X[0], top=9)
    by_two = lambda n, _: [slice(k, min(k + 2, n)) for k in range(0, n, 2)]  # noqa: E731
    monkeypatch.setattr(linear_explanation, "row_blocks", by_two)
    parts = model.explain(data.X[0], top=9)
    assert [a.attribute for a in parts.attributes] == [a.attribute for a in whole.attributes]
    expected = [a.support for a in whole.attributes]
    np.testing.assert_allclose([a.support for a in parts.attributes], expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["gfzsl", "exem", "ensemble"])
def test_what_gives_no_reasons_says_so(name: str, data: Any) -> None:
    model = METHODS[name]().fit(*data.training_set(), classes=data.classes)
    with pytest.raises(InputError, match="gives no reasons: its scores do not come apart"):
        model.explain(data.X[0])
    with pytest.raises(InputError, match="no class 'x'"):
        ESZSL().fit(*data.training_set(), classes=data.classes).explain(data.X[0], "x")
