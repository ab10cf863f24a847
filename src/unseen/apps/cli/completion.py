"""What a shell offers when a user presses the tabulator key."""

from __future__ import annotations

from glob import glob, has_magic
from pathlib import Path

from unseen.datasets import EMBEDDED
from unseen.datasets.catalogue import entries
from unseen.estimators import METHODS


def method_names(incomplete: str) -> list[str]:
    return [name for name in METHODS if name.startswith(incomplete)]


def data_names(incomplete: str) -> list[str]:
    """Data sets that come along or lie in the folder of data, and paths."""
    known = [*EMBEDDED, *(entry.name for entry in entries() if entry.path is not None)]
    names = [name for name in known if name.startswith(incomplete)]
    return names + ([] if has_magic(incomplete) else _paths(incomplete))


def _paths(incomplete: str) -> list[str]:
    return sorted(f"{p}/" if Path(p).is_dir() else p for p in glob(f"{incomplete}*"))


def candidate_words(incomplete: str) -> list[str]:
    return [word for word in ("unseen", "seen", "all") if word.startswith(incomplete)]
