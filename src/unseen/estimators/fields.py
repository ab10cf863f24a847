"""Parameters of methods, each said once: type, default, what it may be, and what is worth trying.

    @has_parameters
    class Mine(ZeroShotClassifier):
        strength: float = parameter(1.0, POSITIVE, tries=[0.1, 1.0, 10.0])
        row_scaler: RowScaler | None = part(RowScaler)

The constructor, `default_grid`, and what `Composite` knows of parameters and parts are made from
these fields and those of the base classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

from unseen.support.parameters import Composite, Part

Kind = TypeVar("Kind", bound=type[Composite])
Value = TypeVar("Value")


def parameter(default: Value, *may_be: Any, tries: list[Any] | None = None) -> Value:
    """A field, what it may be (see `support.parameters`), and the values that `tune` tries."""
    about = {"may_be": list(may_be) or None, "tries": tries}
    return field(default=default, metadata=about)  # pyright: ignore[reportReturnType]


def part(default: Callable[[], Composite], kinds: tuple[type[Composite], ...] = ()) -> Any:
    """A field that is an estimator itself; None stands for what `default` makes."""
    return field(default=None, metadata={"part": Part(default, kinds)})


@dataclass_transform(eq_default=False)
def has_parameters(kind: Kind) -> Kind:
    """Make the fields of a class its parameters; one with just a new default may be what it was."""
    made: Any = dataclass(eq=False, repr=False)(kind)

    def said(what: str) -> dict[str, Any]:
        return {f.name: f.metadata[what] for f in fields(made) if f.metadata.get(what)}

    made._parameter_constraints = {**made._parameter_constraints, **said("may_be")}
    made._parts = {**made._parts, **said("part")}
    made._grid = {**made._grid, **said("tries")}
    return made
