"""What must not matter to any method, by its defaults: orders, names, scales, company.

Predictions and scores among all classes are compared with those of a fit to the data as they are.
Where something does matter, `MATTERS` says why, and that it does: a reason that has gone is an
error too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from unseen import ClassTable, make_zero_shot
from unseen.estimators import METHODS, available

# Rounding, and tolerances of solvers that end by a gap: scores in units of the largest.
TOLERANCE = 1e-5
SMALL: dict[str, Any] = {
    "jlse": {"n_target_atoms": 10, "training__max_iter": 2},
    "kernel-jlse": {"n_target_atoms": 10, "training__max_iter": 2},
}


class Given(NamedTuple):
    """Training rows, test rows, and the class table; its lines by their first numbers."""

    X: np.ndarray
    y: np.ndarray
    test: np.ndarray
    names: np.ndarray
    vectors: np.ndarray
    lines: np.ndarray


def given() -> Given:
    data = make_zero_shot(
        12, 5, rows_per_class=20, n_features=16, n_attributes=9, n_factors=5,
        noise=1.0, random_state=3, dtype=np.float64,
    )  # fmt: skip
    rows, labels = data.training_set()
    table = data.classes
    return Given(rows, labels, data.X, table.names, table.vectors, np.arange(table.n_classes))


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def rows(g: Given) -> Given:
    order = _rng().permutation(len(g.y))
    return g._replace(X=g.X[order], y=g.y[order])


def classes(g: Given) -> Given:
    order = _rng().permutation(len(g.names))
    return g._replace(names=g.names[order], vectors=g.vectors[order], lines=order)


def names(g: Given) -> Given:
    """Other names, in another alphabetical order."""
    new = np.array([f"{k * 7 % 17:02d} new" for k in range(len(g.names))])
    return g._replace(names=new, y=new[np.searchsorted(g.names, g.y)])


def columns(g: Given) -> Given:
    order = _rng().permutation(g.X.shape[1])
    return g._replace(X=g.X[:, order], test=g.test[:, order])


def attributes(g: Given) -> Given:
    return g._replace(vectors=g.vectors[:, _rng().permutation(g.vectors.shape[1])])


def scale(g: Given) -> Given:
    return g._replace(X=7.3 * g.X, test=7.3 * g.test)


def scales(g: Given) -> Given:
    """Each row by a factor of its own."""
    rng = _rng()
    factors = [rng.uniform(0.1, 10.0, (len(rows), 1)) for rows in (g.X, g.test)]
    return g._replace(X=factors[0] * g.X, test=factors[1] * g.test)


def descriptions(g: Given) -> Given:
    return g._replace(vectors=7.3 * g.vectors)


CHANGES: dict[str, Callable[[Given], Given]] = {
    change.__name__: change
    for change in (rows, classes, names, columns, attributes, scale, scales, descriptions)
}
_VISITS = "the solvers visit rows and classes in the order they come in, and end within a tolerance"
_MEMBER = "JLSE is one of its members"
_BATCHES = (
    "batches are drawn from rows in an order of classes and of places along a random direction"
)
_DRAWN = "its maps begin with random changes, which are drawn by column"
MATTERS = {
    ("jlse", "rows"): _VISITS,
    ("jlse", "names"): _VISITS,
    ("kernel-jlse", "rows"): _VISITS,
    ("kernel-jlse", "names"): _VISITS,
    ("ensemble", "rows"): _MEMBER,
    ("ensemble", "names"): _MEMBER,
    ("ale", "names"): _BATCHES,
    ("ale", "columns"): _BATCHES,
    ("devise", "names"): _BATCHES,
    ("devise", "columns"): _BATCHES,
    ("sje", "columns"): _BATCHES,
    ("sje", "names"): "all classes tie at first, and the first of them is taken",
    ("latem", "names"): _DRAWN,
    ("latem", "columns"): _DRAWN,
    ("latem", "attributes"): _DRAWN,
}
# Networks begin with random weights by column, and add up in single precision. The contract of all
# methods holds them to the order of rows and classes.
TRIED = sorted(set(available()) - {"deep", "feature-vae"})


def fitted(name: str, g: Given) -> Any:
    model = METHODS[name]().set_params(**SMALL.get(name, {}))
    return model.fit(g.X, g.y, ClassTable(g.names, g.vectors))


@cache
def as_it_is(name: str) -> tuple[Any, np.ndarray]:
    model = fitted(name, given())
    return model, scores(model, given())


def scores(model: Any, g: Given) -> np.ndarray:
    """Scores among all classes, in the order of the first table, in units of the largest."""
    found = model.similarities(g.test, g.names[np.argsort(g.lines)].tolist())
    return found / np.abs(found).max()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", TRIED)
def test_it_does_not_matter(name: str, change: str) -> None:
    g = CHANGES[change](given())
    model = fitted(name, g)
    _, expected = as_it_is(name)
    found = scores(model, g)
    if (name, change) in MATTERS:
        assert np.abs(found - expected).max() > TOLERANCE, "it matters no longer: tell MATTERS"
        return
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
    predicted = np.searchsorted(g.names[np.argsort(g.names)], model.predict(g.test, "all"))
    lines = g.lines[np.argsort(g.names)][predicted]
    differ = lines != expected.argmax(axis=1)
    best = np.sort(expected[differ], axis=1)
    assert np.all(best[:, -1] - best[:, -2] <= 2 * TOLERANCE), "not only where scores tie"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TRIED)
def test_a_row_is_answered_alone_as_in_company(name: str) -> None:
    """Among copies of itself, one by one, and in another order."""
    model, _ = as_it_is(name)
    test = given().test
    whole = model.similarities(test, "all")
    atol = 1e-10 * np.abs(whole).max()
    single = np.vstack([model.similarities(row[None], "all") for row in test[::9]])
    np.testing.assert_allclose(single, whole[::9], rtol=0, atol=atol)
    copies = model.similarities(np.repeat(test, 3, axis=0), "all")
    np.testing.assert_allclose(copies, whole.repeat(3, axis=0), rtol=0, atol=atol)
    order = _rng().permutation(len(test))
    assert (model.predict(test[order], "all") == model.predict(test, "all")[order]).all()
