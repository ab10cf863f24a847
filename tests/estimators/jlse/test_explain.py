"""JLSE: why a row is, or is not, of a class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.common.small import fit_jlse, small_jlse, small_kernel_jlse
from unseen import JLSE, ClassTable, InputError


@pytest.mark.parametrize("make", [small_jlse, small_kernel_jlse])
@pytest.mark.parametrize("group", ["seen", "unseen"])
def test_contributions_sum_to_the_similarity(
    group: str, make: Any, data: Any, rows: np.ndarray
) -> None:
    model = make(decision=1).fit(*data.training_set(), classes=data.classes)
    name = getattr(model, f"{group}_classes_")[1].item()
    found = model.explain(rows[3], name, top=10_000)
    assert found.name == name
    assert found.bias == model.latent_.b == 0
    for parts in (found.links, found.atoms):
        total = sum(part.contribution for part in parts)
        assert total == pytest.approx(found.similarity, abs=1e-9)
    assert len(found.links) == model.latent_.W.size
    s = found.similarity
    is_hinge = model.latent_.link == "saturating"
    assert found.match == pytest.approx(min(s - 1, 1e-3 * (s - 1)) if is_hinge else s)
    assert found.score == pytest.approx(model.similarities(rows[3:4], [name])[0, 0])
    # KernelJLSE takes the level of an unseen class off, which belongs to the class as a whole.
    assert (found.score == pytest.approx(found.match)) == (is_hinge or group == "seen")


@pytest.mark.parametrize("make", [small_jlse, small_kernel_jlse])
def test_explanation_names_atoms_and_attributes(make: Any, data: Any) -> None:
    words = [f"attribute {k}" for k in range(data.classes.n_attributes)]
    table = ClassTable(data.classes.names, data.classes.vectors, words)
    X, y = data.training_set()
    model = make().fit(X, y, classes=table)
    own = model.explain(X[0], y[0].item(), top=3)
    assert len(own.links) == len(own.atoms) == len(own.attributes) == 3
    assert max(own.atoms, key=lambda a: a.contribution).source_atom == y[0]
    assert {a.source_atom for a in own.atoms} <= set(data.seen.tolist())
    assert {a.attribute for a in own.attributes} <= set(words)
    sizes = [abs(link.contribution) for link in own.links]
    assert sizes == sorted(sizes, reverse=True)
    scaled = model.latent_.spaces.descriptions(table.vectors)
    above = scaled[table.rows([y[0].item()])[0]] - scaled[table.rows(data.seen)].mean(axis=0)
    for part in own.attributes:
        assert part.is_above == (above[words.index(part.attribute)] > 0)
    text = str(own)
    for word in (y[0], own.attributes[0].attribute, "similarity", "class as a whole"):
        assert word in text
    assert len(text.splitlines()) < 20


def test_attributes_speak_for_the_own_class_more_than_for_others(data: Any, model: JLSE) -> None:
    """Over training rows the support of the own class is above that of the next class."""
    X, y = data.training_set()
    names = data.seen.tolist()

    def support(k: int, shift: int) -> float:
        name = names[(names.index(y[k].item()) + shift) % len(names)]
        return sum(a.support for a in model.explain(X[k], name, top=100).attributes)

    chosen = range(0, y.size, 9)
    assert np.mean([support(k, 0) > support(k, 1) for k in chosen]) > 0.9


def test_columns_and_centres_without_names_have_numbers(data: Any) -> None:
    model = fit_jlse(data, n_source_atoms=5, similarity_penalty=1e-3)
    found = model.explain(data.X[0], model.classes_[0].item())
    assert all(a.source_atom.startswith("source atom ") for a in found.atoms)
    assert all(a.attribute.startswith("column ") for a in found.attributes)


def test_explain_tells_the_score_and_names_the_class_itself(
    data: Any, model: JLSE, rows: np.ndarray
) -> None:
    name = model.predict(rows[:1])[0]
    found = model.explain(rows[0])
    assert found == model.explain(rows[0], name)
    assert found.score == model.similarities(rows[:1], [name])[0, 0]
    # What is not log p_W belongs to the class as a whole, so it is the same for all rows.
    others = [model.explain(row, name) for row in rows[1:6]]
    expected = found.score - found.match
    assert [o.score - o.match for o in others] == pytest.approx([expected] * 5, abs=1e-6)
    assert abs(expected) > 1e-3


def test_explain_takes_one_row_in_any_form(data: Any, model: JLSE, rows: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas")
    name = model.classes_[0].item()
    expected = model.explain(rows[0], name)
    for form in (rows[:1], rows[0].tolist()):
        assert model.explain(form, name) == expected
    X, y = data.training_set()
    columns = [f"f{k}" for k in range(X.shape[1])]
    named = small_jlse().fit(pandas.DataFrame(X, columns=columns), y, classes=data.classes)
    frame = pandas.DataFrame(rows, columns=columns)
    for form in (frame.iloc[:1], frame.iloc[0]):
        assert named.explain(form, name) == named.explain(frame.iloc[:1], name)
    for bad in (rows[:2], rows[:0], 3.0):
        with pytest.raises(InputError, match="one row"):
            model.explain(bad, name)
