"""The last step of every reader: one data set of its parts, on the first of its splits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unseen.classes import ClassTable
from unseen.datasets.dataset import Split, ZeroShotDataset
from unseen.datasets.sources import Sources
from unseen.errors import naming

NO_ROWS = np.empty(0, dtype=np.intp)


def assemble(
    name: str,
    X: np.ndarray,
    y: np.ndarray,
    classes: ClassTable,
    splits: Mapping[str, Split],
    sources: Sources,
    notes: list[str],
    outline: bool,
    image_paths: np.ndarray | None = None,
) -> ZeroShotDataset:
    """A data set on the first of `splits`; an outline has no digests, as they read every byte."""
    active = next(iter(splits), "")
    if not splits:
        notes.append("no split comes with these files: no class is kept as unseen")
    unseen, test_rows = splits.get(active, Split(classes.names[:0], NO_ROWS))
    with naming(sources.folder):
        return ZeroShotDataset(
            name=name,
            X=X,
            y=y,
            classes=classes,
            unseen=unseen,
            test_rows=test_rows,
            image_paths=image_paths,
            notes=tuple(notes),
            splits=splits,
            split=active,
            sources={} if outline else sources.digests(),
        )
