"""Parameters of estimators: what they may be, and those that are estimators themselves, the parts.

Each is said once, as a field: its type, its default, what it may be, and what is worth trying.

    @has_parameters
    class Mine(ZeroShotClassifier):
        strength: float = parameter(1.0, POSITIVE, tries=[0.1, 1.0, 10.0])
        row_scaler: RowScaler | None = part(RowScaler)

The constructor is made from these fields and those of the base classes. Values are checked by the
constraints of scikit-learn, with errors in plain words. A part that is None stands for its default;
`self._part("row_scaler")` gives the one in use. Parameters of parts are parameters of the method,
by the names that scikit-learn gives them: `set_params(row_scaler__center=False)`.

Plain parameters, as the command line and the logs have them, hold no objects: a part is the name of
its class, followed by its own parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    make_constraint,
    validate_parameter_constraints,
)

from unseen.errors import InputError, listed, naming, nearest
from unseen.support import registry

_MOST_SHOWN = 200
# Products of four numbers of double precision must not overflow, nor those of two of single one.
_LARGEST = {np.dtype(np.float64): 1e75, np.dtype(np.float32): 1e18}
# What each parameter may be: any of the constraints of its name.
Constraints = Mapping[str, list[Any]]


class Number(Interval):
    """A finite number within bounds. To scikit-learn True is a number, here it is not, nor is a
    whole number of more than 64 bits, with which numpy cannot compute."""

    def is_satisfied_by(self, val: Any) -> bool:
        is_other = isinstance(val, bool) or _is_endless(val)
        return not is_other and super().is_satisfied_by(val)

    def __str__(self) -> str:
        if self.left == 0 and self.closed == "neither":
            return "a positive number"
        least = "" if self.left is None else f" of at least {self.left}"
        most = "" if self.right is None else f" and at most {self.right}"
        return f"a {'whole ' if self.type is Integral else ''}number{least}{most}"


class Choice(Options):
    """One of a few strings or whole numbers."""

    def __init__(self, *options: str | int) -> None:
        kind = str if isinstance(options[0], str) else Integral
        super().__init__(kind, dict.fromkeys(options).keys())

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and super().is_satisfied_by(val)


POSITIVE = Number(Real, 0, None, closed="neither")
NOT_NEGATIVE = Number(Real, 0, None, closed="left")
SHARE = Number(Real, 0, 1, closed="both")


def at_least(least: int) -> Number:
    """A whole number that is not below `least`."""
    return Number(Integral, least, None, closed="left")


def check_values(constraints: Constraints, values: Mapping[str, Any]) -> None:
    """An error unless each value satisfies one of the constraints of its name, if it has any."""
    for name, value in values.items():
        try:
            validate_parameter_constraints(dict(constraints), {name: value}, "")
        except InvalidParameterError:
            *others, last = [word for c in constraints[name] for word in _in_words(c)]
            words = f"{', '.join(others)} or {last}" if others else last
            raise InputError(f"{name} must be {words}, not {_shown(value)}") from None


def _is_endless(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > 64


def _shown(value: Any) -> str:
    """A value in one line of a message."""
    if _is_endless(value):
        return "a whole number of more than 64 bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _in_words(constraint: Any) -> list[str]:
    if isinstance(constraint, Choice):
        return [repr(option) for option in constraint.options]
    words = {"boolean": "True or False", Mapping: "a mapping of names to numbers"}
    words |= {list: "a list", tuple: "a tuple", str: "a string"}
    return [words.get(constraint) or str(make_constraint(constraint))]


def check_positive(value: Any, name: str) -> None:
    """An error unless a value is a finite number above zero."""
    check_values({name: [POSITIVE]}, {name: value})


def check_number(
    value: Any, name: str, least: float | None = None, most: float | None = None
) -> None:
    """An error unless a value is a finite number, not below `least` nor above `most`."""
    closed = "neither" if least is None else "left" if most is None else "both"
    check_values({name: [Number(Real, least, most, closed=closed)]}, {name: value})


def is_float_array(value: Any, n_dimensions: int) -> bool:
    """Whether it is an array of so many dimensions in a precision that the library computes in."""
    return (
        isinstance(value, np.ndarray)
        and value.ndim == n_dimensions
        and value.dtype in (np.float32, np.float64)
    )


def check_moderate(array: np.ndarray, name: str) -> None:
    """An error if products of the numbers of such an array, which may not be empty, overflow."""
    if max(-float(array.min()), float(array.max())) > _LARGEST[array.dtype]:
        raise InputError(f"{name} holds numbers too large to compute with")


Kind = TypeVar("Kind", bound="Composite")
Class = TypeVar("Class", bound="type[Composite]")
Value = TypeVar("Value")


class Composite(BaseEstimator):
    """An estimator that may have parts, and may be one: `_parts` names them."""

    _parts: ClassVar[Mapping[str, Part]] = {}
    # What parameters may be, by name: lists of constraints as above.
    _parameter_constraints: ClassVar[Constraints] = {}
    # What `tune` tries.
    _grid: ClassVar[Mapping[str, list[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        registry.add(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep` those of the parts too, also where a part is None."""
        found = super().get_params(deep=deep)
        for name in self._parts if deep else ():
            if found[name] is None:
                found |= _nested(name, self._part(name))
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, those of parts by names such as `row_scaler__center`.

        A part that is changed in this way is copied first: other models may have it too.
        """
        values: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in parameters.items():
            name, _, rest = key.partition("__")
            if rest and name in self._parts:
                nested.setdefault(name, {})[rest] = value
            else:
                values[key] = value
        check_names(values, sorted(self.get_params()), type(self).__name__)
        for name, changes in nested.items():
            part: Any = clone(self._checked(name, values.get(name, getattr(self, name))))
            named = [f"{name}__{k}" for k in changes]
            check_names(named, _nested(name, part), type(self).__name__)
            values[name] = part.set_params(**changes)
        return super().set_params(**values)

    def _values(self) -> dict[str, Any]:
        """The parameters, with what is used in place of a part that is None."""
        values = self.get_params(deep=False)
        return values | {k: self._part(k) for k in self._parts if values[k] is None}

    def _inside(self, name: str) -> tuple[Composite, str] | None:
        """Whose parameter a name such as `row_scaler__center` is, and its name there."""
        owner, _, rest = name.partition("__")
        return (self._part(owner), rest) if rest and owner in self._parts else None

    def _part(self, name: str) -> Any:
        """The part that is used: the parameter, or the default where it is None."""
        return self._checked(name, getattr(self, name))

    def _checked(self, name: str, given: Any) -> Any:
        part = self._parts[name]
        if given is None:
            return part.default()
        if isinstance(given, part.classes):
            return given
        wanted = " or ".join(f"{c.__name__}()" for c in part.classes)
        raise InputError(f"{name} must be {wanted}, or None for the default, not {_shown(given)}")

    def _check_parameters(self) -> None:
        """An error if a parameter, or one of a part, cannot be used."""
        for name in self._parts:
            if getattr(self, name) is not None:
                with naming(name):
                    self._part(name)._check_parameters()
        check_values(self._parameter_constraints, self.get_params(deep=False))


class Part(NamedTuple):
    """A parameter that is an estimator: what makes its default, and the classes it may be of.

    Without `kinds` it is of the class of its default.
    """

    default: Callable[[], Composite]
    kinds: tuple[type[Composite], ...] = ()

    @property
    def classes(self) -> tuple[type[Composite], ...]:
        return self.kinds or (type(self.default()),)

    def of(self, kind: type[Composite]) -> Composite:
        """A part of this class with the default parameters."""
        default = self.default()
        return default if type(default) is kind else kind()


def parameter(default: Value, *may_be: Any, tries: list[Any] | None = None) -> Value:
    """A field, the constraints of which its value satisfies one, and the values `tune` tries."""
    about = {"may_be": list(may_be) or None, "tries": tries}
    return field(default=default, metadata=about)  # pyright: ignore[reportReturnType]


def part(default: Callable[[], Composite], kinds: tuple[type[Composite], ...] = ()) -> Any:
    """A field that is an estimator itself; None stands for what `default` makes."""
    return field(default=None, metadata={"part": Part(default, kinds)})


@dataclass_transform(eq_default=False)
def has_parameters(kind: Class) -> Class:
    """Make the fields of a class its parameters; one with just a new default may be what it was."""
    made: Any = dataclass(eq=False, repr=False)(kind)

    def said(what: str) -> dict[str, Any]:
        return {f.name: f.metadata[what] for f in fields(made) if f.metadata.get(what)}

    made._parameter_constraints = {**made._parameter_constraints, **said("may_be")}
    made._parts = {**made._parts, **said("part")}
    made._grid = {**made._grid, **said("tries")}
    return made


def built(kind: type[Kind], parameters: Mapping[str, Any]) -> Kind:
    """A model from plain parameters."""
    model = kind()
    # A part before its parameters, which depend on its class.
    for name in sorted(parameters, key=lambda name: name.count("__")):
        model.set_params(**{name: _meant(model, name, parameters[name])})
    return model


def plain_parameters(model: Composite) -> dict[str, Any]:
    """All parameters of a model. Two models in which they are the same do the same, whether their
    parts were given or left to the method."""
    return plain(model._values())


def usual_parameters(model: Composite) -> dict[str, Any]:
    """The defaults of `plain_parameters`, those of a part being the defaults of its class."""
    usual = plain_parameters(type(model)())
    for name, part in model._parts.items():
        own = plain({name: part.of(type(model._part(name)))})
        usual |= {k: v for k, v in own.items() if k != name}
    return usual


def changed_parameters(model: Composite) -> dict[str, Any]:
    """Those of `plain_parameters` that are not the defaults."""
    usual = usual_parameters(model)
    now = plain_parameters(model)
    return {k: v for k, v in now.items() if k not in usual or v != usual[k]}


def plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with every part replaced by the name of its class and its own parameters."""
    found: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, Composite):
            found[name] = type(value).__name__
            found |= {f"{name}__{k}": v for k, v in plain_parameters(value).items()}
        else:
            found[name] = value
    return found


def without(parameters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Parameters but for those named, and for those of a part that is named."""
    names = frozenset(names)
    return {
        k: v for k, v in parameters.items() if k not in names and k.partition("__")[0] not in names
    }


def check_names(names: Iterable[str], known: Iterable[str], owner: str) -> None:
    """An error that gives the nearest name if a parameter does not exist."""
    known = list(known)
    for name in names:
        if name not in known:
            inside = [k for k in known if k.endswith(f"__{name}")]
            hint = f", but {listed(inside)}" if inside else nearest(name, known)
            raise InputError(
                f"{owner} has no parameter {name!r}{hint}; it has {listed(known, len(known))}"
            )


def _meant(model: Composite, name: str, value: Any) -> Any:
    """The value of a parameter; that of a part by the name of its class."""
    last = name
    while (found := model._inside(last)) is not None:
        model, last = found
    if last not in model._parts or not isinstance(value, str):
        return value
    part = model._parts[last]
    known = {c.__name__: c for c in part.classes}
    if value not in known:
        words = " or ".join(known)
        raise InputError(f"{name} must be {words}, not {value!r}{nearest(value, known)}")
    return part.of(known[value])


def _nested(name: str, part: Composite) -> dict[str, Any]:
    return {f"{name}__{k}": v for k, v in part.get_params().items()}
