"""Pictures to vectors, as scikit-learn does it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from unseen.encoders.backend import Backend, Identity, open_backend
from unseen.encoders.cache import Cache
from unseen.encoders.pictures import PictureError
from unseen.encoders.stream import Outcome, vectors
from unseen.errors import InputError
from unseen.support.parameters import at_least, check_values

DEFAULT = "facebook/dinov2-small"


class ImageEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Pictures to vectors by a network that others have trained. It learns nothing itself.

    Parameters
    ----------
    name : a model of the Hugging Face hub that `transformers` can load, a folder of one, an .onnx
        file, or "basic" for a small encoder without weights; `unseen encoders` lists some.
    batch_size : how many pictures are encoded at once.
    cache : a folder to keep vectors in. A picture whose content is known there is not encoded
        again.
    offline : fetch nothing. A model that is not on this machine is an error that says how to get
        it.
    threads : how many pictures are read at once, and threads of the network; by default one per
        core.

    The model is loaded when it is first used, and never pickled: a copy loads its own.
    """

    def __init__(
        self,
        name: str | os.PathLike[str] = DEFAULT,
        batch_size: int = 32,
        cache: str | os.PathLike[str] | None = None,
        offline: bool = False,
        threads: int | None = None,
    ) -> None:
        self.name = name
        self.batch_size = batch_size
        self.cache = cache
        self.offline = offline
        self.threads = threads

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Nothing is learned; only the parameters are checked."""
        self._check_parameters()
        return self

    def transform(self, X: Iterable[Any]) -> np.ndarray:
        """Vectors (N x width, float32) of N pictures: paths, or images of Pillow.

        A picture that cannot be read is an error that names it.
        """
        sources = _listed(X)
        out = np.empty((len(sources), self.identity.width), dtype=np.float32)
        for k, found in enumerate(self.stream(sources)):
            if isinstance(found, PictureError):
                place = sources[k] if isinstance(sources[k], str | os.PathLike) else f"picture {k}"
                raise PictureError(f"{place} cannot be used: {found}") from found
            out[k] = found
        return out

    def stream(self, sources: Iterable[Any]) -> Iterator[Outcome]:
        """The vector of each picture in order, or a `PictureError`; memory does not grow."""
        self._check_parameters()
        backend, cache = self._backend(), None
        if self.cache is not None:
            about = backend.identity
            cache = Cache(self.cache, about.sha256, about.width)
        return vectors(backend, sources, self.batch_size, self.threads, cache)

    @property
    def identity(self) -> Identity:
        """Which encoder this is; it is loaded for it."""
        return self._backend().identity

    @property
    def _n_features_out(self) -> int:
        return self.identity.width

    def _backend(self) -> Backend:
        wanted = os.fspath(self.name), self.offline, self.threads
        made = vars(self).get("_made")
        if made is None or made[0] != wanted:
            made = self._made = wanted, open_backend(*wanted)
        return made[1]

    def _check_parameters(self) -> None:
        counts = {"batch_size": self.batch_size, "threads": self.threads}
        check_values({"batch_size": [at_least(1)], "threads": [at_least(1), None]}, counts)

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_made"}

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags


def _listed(X: Any) -> list[Any]:
    if isinstance(X, str | bytes | os.PathLike):
        raise InputError(f"give a list of pictures, not one path: [{os.fspath(X)!r}]")
    found = np.ravel(X).tolist() if isinstance(X, np.ndarray) else list(X)
    if not found:
        raise InputError("there are no pictures: the list is empty")
    return found
