"""Parts: parameters of a method that are estimators themselves, with parameters of their own.

A class names its parts once,

    _parts = {"row_scaler": Part(RowScaler), "class_scaler": Part(ClassScaler)}

takes each of them in its constructor with the default None, which stands for the default part, and
reads them by `self._part("row_scaler")`. Parameters of parts are then parameters of the method, by
the names that scikit-learn gives them: `set_params(row_scaler__center=False)`.

Plain parameters, as the command line and the logs have them, hold no objects: a part is the name of
its class, followed by its own parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from sklearn.base import BaseEstimator, clone

from unseen.errors import InputError, listed, naming, nearest
from unseen.support import registry
from unseen.support.checks import Constraints, check_values

Kind = TypeVar("Kind", bound="Composite")


class Composite(BaseEstimator):
    """An estimator that may have parts, and may be one: `_parts` names them."""

    _parts: ClassVar[Mapping[str, Part]] = {}
    # What parameters may be, by name: lists of constraints as in `unseen.support.checks`.
    _parameter_constraints: ClassVar[Constraints] = {}

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
        raise InputError(f"{name} must be {wanted}, or None for the default, not {given!r}")

    def _check_parameters(self) -> None:
        """An error if a parameter, or one of a part, cannot be used."""
        for name in self._parts:
            part = self._part(name)
            with naming(name):
                part._check_parameters()
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
    values = model.get_params(deep=False)
    return plain(values | {k: model._part(k) for k in model._parts if values[k] is None})


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
    return {k: v for k, v in plain_parameters(model).items() if v != usual[k]}


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
    *owners, last = name.split("__")
    for owner in owners:
        if owner not in model._parts:
            return value
        model = model._part(owner)
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
