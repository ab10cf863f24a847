"""The methods. A new one is a file in this folder and a line in `_PLACES`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from unseen.errors import InputError, listed, nearest
from unseen.support.lazy import lazy_names
from unseen.support.registry import class_of, promise

if TYPE_CHECKING:
    from unseen.estimators.ale import ALE as ALE
    from unseen.estimators.base import ZeroShotClassifier as ZeroShotClassifier
    from unseen.estimators.clip import CLIPZeroShot as CLIPZeroShot
    from unseen.estimators.conse import ConSE as ConSE
    from unseen.estimators.costa import COSTA as COSTA
    from unseen.estimators.dap import DAP as DAP
    from unseen.estimators.dap import IAP as IAP
    from unseen.estimators.deep import DeepEmbedding as DeepEmbedding
    from unseen.estimators.devise import DeViSE as DeViSE
    from unseen.estimators.ensemble import Ensemble as Ensemble
    from unseen.estimators.eszsl import ESZSL as ESZSL
    from unseen.estimators.exem import EXEM as EXEM
    from unseen.estimators.feature_vae import FeatureVAE as FeatureVAE
    from unseen.estimators.gallery import GalleryIndex as GalleryIndex
    from unseen.estimators.gallery import index as index
    from unseen.estimators.gallery import open_index as open_index
    from unseen.estimators.gaussian_match import GaussianMatch as GaussianMatch
    from unseen.estimators.gfzsl import GFZSL as GFZSL
    from unseen.estimators.jlse import JLSE as JLSE
    from unseen.estimators.kernel_jlse import KernelJLSE as KernelJLSE
    from unseen.estimators.latem import LatEm as LatEm
    from unseen.estimators.sae import SAE as SAE
    from unseen.estimators.sje import SJE as SJE
    from unseen.estimators.sse import SSEIntersection as SSEIntersection
    from unseen.estimators.sse import SSEReLU as SSEReLU
    from unseen.estimators.sync import SynC as SynC
    from unseen.storage.models import load as load

# Names on the command line and in model files, and where the class of each is. It is imported when
# it is asked for.
_PLACES = {
    "jlse": "jlse:JLSE",
    "kernel-jlse": "kernel_jlse:KernelJLSE",
    "gaussian-match": "gaussian_match:GaussianMatch",
    "eszsl": "eszsl:ESZSL",
    "conse": "conse:ConSE",
    "costa": "costa:COSTA",
    "dap": "dap:DAP",
    "iap": "dap:IAP",
    "sae": "sae:SAE",
    "sync": "sync:SynC",
    "exem": "exem:EXEM",
    "gfzsl": "gfzsl:GFZSL",
    "sse-int": "sse:SSEIntersection",
    "sse-relu": "sse:SSEReLU",
    "ale": "ale:ALE",
    "devise": "devise:DeViSE",
    "latem": "latem:LatEm",
    "sje": "sje:SJE",
    "deep": "deep:DeepEmbedding",
    "feature-vae": "feature_vae:FeatureVAE",
    "ensemble": "ensemble:Ensemble",
}
# What is taken where no method is named.
DEFAULT_METHOD = "gaussian-match"
# Methods for rows and classes in one space, such as that of CLIP: taken only where they are named.
_JOINT = {"clip": "clip:CLIPZeroShot"}
# The base class, and `load` of model files, which from here knows every method.
_NAMES = {"ZeroShotClassifier": f"{__name__}.base", "load": "unseen.storage.models"}
_NAMES |= dict.fromkeys(["GalleryIndex", "index", "open_index"], f"{__name__}.gallery")
for _name, _place in (_PLACES | _JOINT).items():
    promise(_name, f"{__name__}.{_place}")
    _module, _, _class = _place.partition(":")
    _NAMES[_class] = f"{__name__}.{_module}"
__getattr__, __dir__ = lazy_names(__name__, _NAMES)


class _Methods(Mapping[str, "type[ZeroShotClassifier]"]):
    def __getitem__(self, name: str) -> Any:
        if name not in _PLACES:
            raise KeyError(name)
        return class_of(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


METHODS: Mapping[str, type[ZeroShotClassifier]] = _Methods()


def available() -> list[str]:
    """Names of the methods that can be fitted here: all but those whose extra is missing."""
    return [name for name, kind in METHODS.items() if not kind.needs or find_spec(kind.needs)]


def method(name: str) -> type[ZeroShotClassifier]:
    """The estimator of a method by the name it has on the command line and in model files."""
    if name.casefold() in _JOINT:
        return class_of(name.casefold())  # pyright: ignore[reportReturnType]
    try:
        return METHODS[name.casefold()]
    except KeyError:
        hint = nearest(name, METHODS)
        known = listed(METHODS, len(METHODS))
        raise InputError(f"unknown method {name!r}{hint}; there are {known}") from None
