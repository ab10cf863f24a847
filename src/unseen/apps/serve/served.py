"""One model with its gallery, as all requests of a moment use it."""

from __future__ import annotations

import copy
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unseen import __version__
from unseen.apps.serve.answers import encoded
from unseen.apps.serve.attributes import described_attributes
from unseen.apps.serve.bodies import as_floats, checked_rows
from unseen.apps.serve.encoders import Encoders
from unseen.apps.serve.pictures import Thumbnails
from unseen.apps.serve.settings import Limits
from unseen.classes import ClassTable
from unseen.encoders.pictures import check_picture
from unseen.errors import InputError, listed, naming
from unseen.estimators import METHODS, Ensemble, GalleryIndex, ZeroShotClassifier, index
from unseen.estimators.scoring import Ranking
from unseen.support.registry import word_of


@dataclass(frozen=True)
class GalleryData:
    """Rows to search in: numbers, and what a person wants to see of them.

    key : different for every gallery, so that no browser shows the pictures of another.
    """

    X: np.ndarray
    labels: np.ndarray | None = None
    thumbnails: Thumbnails | None = None
    name: str = ""
    key: str = field(default_factory=lambda: secrets.token_hex(4))

    def shown(self, rows: list[int]) -> dict[str, Any]:
        """Labels of rows, and which of them have a picture."""
        labels = None if self.labels is None else self.labels[rows].tolist()
        pictures = None if self.thumbnails is None else self.thumbnails.known(rows)
        return {"labels": labels, "pictures": pictures}


class Served:
    """A model, ready: its gallery embedded, what does not change written out once.

    A model keeps something of its last calls, so each thread has a copy of its own; arrays are
    shared. `columns` are the names of the features, for csv.
    """

    def __init__(
        self,
        model: ZeroShotClassifier,
        name: str,
        data: GalleryData | None = None,
        encoders: Encoders | None = None,
        limits: Limits | None = None,
    ) -> None:
        model = copy.copy(model)
        names = vars(model).pop("feature_names_in_", None)
        self.columns = None if names is None else tuple(map(str, names))
        self._model, self.name, self.data = model, name, data
        self.encoders = encoders or Encoders()
        self.limits = limits or Limits()
        self._own = threading.local()
        if data is not None and data.X.shape[1] != model.n_features_in_:
            raise InputError(
                f"the gallery has {data.X.shape[1]} feature columns, the model was trained on "
                f"{model.n_features_in_}"
            )
        self._index = None if data is None else _embedded(model, data.X)
        # The usual candidates are embedded before anyone asks; pairs without names have none.
        with np.errstate(all="ignore"), suppress(InputError):
            model.similarities(np.zeros((1, model.n_features_in_)))
        self.facts = encoded(self._facts())
        self.classes = encoded(self._classes())

    @property
    def model(self) -> Any:
        """The model of the thread that asks."""
        if not hasattr(self._own, "model"):
            self._own.model = _own_copy(self._model)
        return self._own.model

    @property
    def gallery(self) -> GalleryIndex | Unembedded:
        """The rows of the gallery, embedded, for the thread that asks."""
        self.needs_gallery()
        assert self._index is not None
        if not hasattr(self._own, "gallery"):
            made = self._own.gallery = copy.copy(self._index)
            made.model = self.model
        return self._own.gallery

    @property
    def width(self) -> int:
        return self._model.n_features_in_

    @property
    def method(self) -> str:
        return word_of(type(self._model)) or type(self._model).__name__

    def gallery_rows(self, numbers: list[int]) -> np.ndarray:
        """Rows of the gallery by number."""
        data = self.needs_gallery()
        beyond = next((k for k in numbers if k >= len(data.X)), None)
        if beyond is not None:
            raise InputError(
                f"the gallery has {len(data.X):,} rows, counted from 0, and no {beyond}"
            )
        return as_floats(np.asarray(data.X[numbers]))

    def needs_gallery(self) -> GalleryData:
        if self.data is None:
            raise InputError("the service has no gallery: start it with --data")
        return self.data

    def needs(self, ability: str, what: str) -> Callable[..., Any]:
        """A function that not all methods have."""
        if not hasattr(type(self.model), ability):
            able = [name for name, kind in METHODS.items() if hasattr(kind, ability)]
            raise InputError(f"the model is of {self.method}; only {listed(able)} {what}")
        return getattr(self.model, ability)  # a model that cannot yet says why itself

    def candidates(self, given: Any) -> ClassTable:
        """Known classes: all, seen, unseen, or by their names."""
        if given is not None and not isinstance(given, str):
            return self.model._candidates(given)
        kept = vars(self._own).setdefault("tables", {})
        if given not in kept:
            kept[given] = self.model._candidates(given)
        return kept[given]

    def sentence(self, text: str) -> ClassTable:
        """What the text encoder of the class table makes of a sentence."""
        if self.encoders.sentence is None:
            raise InputError(f"this model takes no sentences: {self.encoders.why_no_sentences}")
        return self.encoders.sentence(text)

    def picture_rows(self, contents: list[bytes]) -> np.ndarray:
        """Rows of the contents of picture files."""
        if self.encoders.pictures is None:
            raise InputError(f"no pictures can be recognised here: {self.encoders.why_no_pictures}")
        for number, content in enumerate(contents):
            with naming(f"picture {number}"):
                check_picture(content, self.limits.pixels)
        return checked_rows(self.encoders.pictures(contents), self.width, self.limits.rows)

    # -- what does not change -------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        model, data = self._model, self.data
        gallery = None
        if data is not None:
            gallery = {
                "name": data.name,
                "key": data.key,
                "rows": len(data.X),
                "labels": data.labels is not None,
                "thumbnails": data.thumbnails is not None,
            }
        return {
            "name": self.name,
            "method": self.method,
            "version": __version__,
            "columns": self.width,
            "column_names": self.columns,
            "attributes": model.class_table_.n_attributes,
            "names": _has_names(model),
            "seen": int(model.seen_classes_.size),
            "unseen": int(model.unseen_classes_.size),
            "explains": hasattr(model, "explain"),
            "pairs": hasattr(model, "score_pairs"),
            "probabilities": hasattr(model, "predict_proba"),
            "pictures": self.encoders.pictures is not None,
            "why_no_pictures": self.encoders.why_no_pictures,
            "sentences": self.encoders.sentence is not None,
            "why_no_sentences": self.encoders.why_no_sentences,
            "gallery": gallery,
            "limits": {
                name: getattr(self.limits, name)
                for name in ("body", "rows", "pairs", "pictures", "pixels", "k", "seconds")
            },
        }

    def _classes(self) -> dict[str, Any]:
        table, seen = self._model.class_table_, set(self._model.seen_classes_.tolist())
        lines = zip(table.names.tolist(), table.vectors.tolist(), strict=True)
        return {
            "attributes": described_attributes(table),
            "classes": [{"name": n, "seen": n in seen, "vector": v} for n, v in lines],
        }


@dataclass
class Current:
    """The model in use; a reload puts another in its place, and requests keep the one they had."""

    served: Served
    load: Callable[[], Served] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reload(self) -> Served:
        """Load aside, check, swap; what is wrong leaves the model in use as it is."""
        if self.load is None:
            raise InputError("this model came from no file, so there is nothing to load again")
        with self.lock:
            self.served = self.load()
            return self.served


def _has_names(model: Any) -> bool:
    """Whether classes can be asked for by name; a model of pairs of vectors has none."""
    try:
        model._candidates("all")
    except InputError:
        return False
    return True


class Unembedded:
    """Rows of a model that has no codes of its own to keep, an ensemble: they are scored anew."""

    def __init__(self, model: Any, X: np.ndarray) -> None:
        self.model, self._X, self.n_rows = model, X, len(X)

    def rank(self, table: ClassTable, k: int, against: Any = None) -> Ranking:
        return self.model._rank(lambda t: self.model.similarities(self._X, t), table, k, against)


def _embedded(model: Any, X: np.ndarray) -> GalleryIndex | Unembedded:
    """A gallery that is searched exactly: answers are those of the model."""
    if isinstance(model, Ensemble):
        return Unembedded(model, X)
    return index(model, X, approximate=False)


def _own_copy(model: Any) -> Any:
    """A copy that shares arrays, and goes on by itself from what the model keeps between calls."""
    made = copy.copy(model)
    if "_kept" in vars(made):
        made._kept = dict(made._kept)
    for name, value in list(vars(made).items()):
        if isinstance(value, list) and any(isinstance(v, ZeroShotClassifier) for v in value):
            setattr(made, name, [_own_copy(v) for v in value])
    return made
