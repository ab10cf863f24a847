"""Encoders of the transformers library: those of pictures, and joint ones of pictures and text."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unseen.encoders.backend import Identity, digests
from unseen.encoders.hub import find_model
from unseen.encoders.onnx import pooled
from unseen.errors import InputError, require

# Models that put pictures and text into one space, and how each wants its text padded.
JOINT = {"clip": True, "siglip": "max_length", "siglip2": "max_length"}


@contextmanager
def _silent(transformers: Any) -> Iterator[None]:
    """No progress bars and advice while a model is loaded: progress is told by who asked."""
    logger = logging.getLogger("transformers")
    before, bars = logger.level, transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
        if bars:
            transformers.utils.logging.enable_progress_bar()


class _Loaded:
    """A model from files that are here, with torch on so many threads."""

    def __init__(self, name: str, offline: bool, threads: int | None) -> None:
        purpose = f"the encoder {name!r}, unlike 'basic',"
        self._torch: Any = require("torch", "encode", purpose)
        self.library: Any = require("transformers", "encode", purpose)
        # A folder is found again from wherever a model is used.
        self.name = str(Path(name).absolute()) if Path(name).is_dir() else name
        self.threads = threads
        self.files = find_model(name, offline)
        self.folder = str(self.files.folder)
        self.model = self.part("AutoModel").eval()
        self.kind = str(self.model.config.model_type)

    def part(self, auto: str) -> Any:
        """What one of the Auto classes of transformers makes of the folder."""
        try:
            with _silent(self.library):
                return getattr(self.library, auto).from_pretrained(
                    self.folder, local_files_only=True, trust_remote_code=False
                )
        except Exception as error:  # whatever a stranger's files make the library raise
            text = " ".join(str(error).split())[:200]
            raise InputError(f"{self.name} cannot be loaded by transformers: {text}") from error

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """Without gradients, on the threads that were asked for."""
        before = self._torch.get_num_threads()
        if self.threads:
            self._torch.set_num_threads(self.threads)
        try:
            with self._torch.inference_mode():
                yield
        finally:
            self._torch.set_num_threads(before)

    def tensor(self, values: np.ndarray) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(values))


class Transformer:
    """AutoModel after AutoImageProcessor: a network of pictures, or the pictures' side of a joint
    model."""

    def __init__(self, name: str, offline: bool, threads: int | None) -> None:
        self._loaded = loaded = _Loaded(name, offline, threads)
        self._processor = loaded.part("AutoImageProcessor")
        side = np.zeros((64, 64, 3), dtype=np.uint8)
        self.identity = Identity(loaded.name, loaded.kind, 1, {})
        width = self.encode(self._numbers(side)).shape[1]
        self.identity = Identity(
            name=loaded.name,
            kind=loaded.kind,
            width=width,
            preprocessing=_settings(loaded.files.folder / "preprocessor_config.json"),
            files=digests(loaded.files.folder, loaded.files.names),
            revision=loaded.files.revision,
        )

    def prepare(self, picture: Any) -> np.ndarray:
        return self._numbers(picture)[0]

    def _numbers(self, picture: Any) -> np.ndarray:
        made = self._processor(images=picture, return_tensors="np")
        return np.asarray(made["pixel_values"], dtype=np.float32)

    def encode(self, batch: np.ndarray) -> np.ndarray:
        model = self._loaded.model
        with self._loaded.thinking():
            values = self._loaded.tensor(batch)
            joint = self._loaded.kind in JOINT
            out = model.get_image_features(values) if joint else model(pixel_values=values)
        return _vectors(out)


class JointText:
    """The text's side of a joint model such as CLIP: prompts to vectors in the pictures' space."""

    def __init__(self, name: str, offline: bool = False, threads: int | None = None) -> None:
        self._loaded = loaded = _Loaded(name, offline, threads)
        if loaded.kind not in JOINT:
            raise InputError(f"{name} is a model of kind {loaded.kind!r}, which does not read text")
        self._tokenizer = loaded.part("AutoTokenizer")
        self.identity = {
            "name": loaded.name,
            "kind": loaded.kind,
            "files": digests(loaded.files.folder, loaded.files.names),
        }

    def transform(self, texts: Sequence[str]) -> np.ndarray:
        model = self._loaded.model
        longest = int(model.config.text_config.max_position_embeddings)
        found = self._tokenizer(
            list(texts),
            padding=JOINT[self._loaded.kind],
            max_length=longest,
            truncation=True,
            return_tensors="pt",
        )
        with self._loaded.thinking():
            return _vectors(model.get_text_features(**found))


def is_joint(name: str, offline: bool) -> bool:
    """Whether a model of transformers puts pictures and text into one space; nothing is loaded."""
    found = find_model(name, offline)
    try:
        text = (found.folder / "config.json").read_text(encoding="utf-8")
        return json.loads(text).get("model_type") in JOINT
    except (OSError, ValueError, AttributeError):
        return False


def _vectors(out: Any) -> np.ndarray:
    """One vector each from what a model returns: its pooled output, else the first token."""
    if not hasattr(out, "shape"):
        pooler = getattr(out, "pooler_output", None)
        out = out.last_hidden_state if pooler is None else pooler
    return pooled(out.float().numpy())


def _settings(path: Path) -> dict[str, Any]:
    """What a model says of its pictures; the file, as the library's own words change."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
