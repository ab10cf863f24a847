"""Retrieval over many rows: their codes are computed once, and a class is only a query."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unseen.classes import ClassTable
from unseen.errors import InputError, counted
from unseen.estimators import gallery_files as files
from unseen.estimators.approximate import Approximate, mixtures
from unseen.estimators.base import ZeroShotClassifier, checked_rows
from unseen.estimators.candidates import check_one_class
from unseen.estimators.scoring import Ranking, checked_k
from unseen.inference.relative import relative_scores
from unseen.rows.blocks import array_blocks, row_blocks
from unseen.storage.models import load
from unseen.support.parameters import POSITIVE, at_least, check_values
from unseen.support.work import tell

# From so many rows on an index is approximate unless it is said otherwise.
MANY = 10_000_000
# Codes are scored in stretches of about so many bytes.
_STRETCH = 32 * 2**20
# Classes scored at once while approximate search is set up.
_AT_ONCE = 16


def index(
    model: ZeroShotClassifier,
    rows: Any,
    folder: str | os.PathLike[str] | None = None,
    approximate: bool | None = None,
    recall: float = 0.95,
    k: int = 100,
) -> GalleryIndex:
    """Embed rows once, so that `rank` need not: a class is then one product with their codes.

    Parameters
    ----------
    model : a fitted method. Classes may be revealed later; nothing is indexed anew.
    rows : N x d_t rows, an array or a `RowStore`, read block by block.
    folder : where the codes go, if they are not to stay in memory; `open_index` reads it again.
    approximate : search a compressed copy of the codes (extra `ann`) and score the best of what it
        finds exactly. None: from ten million rows on, if the method allows it. The search is
        widened until it finds more than the share `recall` of the true first k on classes made up
        for it, with a margin for those that are harder; `recall_` is what it reaches on others. If
        that is less than `recall`, a warning says so.
    """
    check_is_fitted(model)
    check_values({"k": [at_least(1)], "recall": [POSITIVE]}, {"k": k, "recall": recall})
    if recall > 1:
        raise InputError(f"recall is a share of the best rows above 0 and up to 1, not {recall}")
    rows = checked_rows(model, rows, reset=False)
    made = GalleryIndex(copy.copy(model), [])
    if folder is None:
        made._parts.append(np.concatenate(list(_code_blocks(made.model, rows))))
        made._approximate(approximate, recall, k)
    else:
        with files.new_folder(folder) as temporary:
            made._write(temporary, rows)
            made._approximate(approximate, recall, k)
            made._seal(temporary)
            made._parts.clear()
        made._reopen(Path(folder))
    return made


def open_index(folder: str | os.PathLike[str]) -> GalleryIndex:
    """An index that `index` or `GalleryIndex.save` wrote; the codes stay on disk.

    A damaged index is refused. Codes of more than 4 GB are checked by their size alone; `check`
    reads them all.
    """
    made = GalleryIndex(load(files.model_of_index(folder)), [])
    made._reopen(Path(folder))
    return made


class GalleryIndex:
    """Codes of many rows, and the model that compares classes with them; made by `unseen.index`.

    Attributes
    ----------
    model : a copy of the model.
    n_rows : how many rows there are; a row is known by its number, in the order of adding.
    recall_ : the share of the true best rows that approximate search finds; None if it is exact.
    """

    def __init__(self, model: ZeroShotClassifier, parts: list[np.ndarray]) -> None:
        self.model, self._parts = model, parts
        self._near: Approximate | None = None
        self._folder: Path | None = None

    @property
    def n_rows(self) -> int:
        return sum(len(part) for part in self._parts)

    @property
    def _asked(self) -> float | None:
        """The recall that approximate search was asked for, if that is known."""
        return None if self._near is None else self._near.asked

    @property
    def recall_(self) -> float | None:
        return None if self._near is None else self._near.recall

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        kind = "exact" if self._near is None else f"approximate, recall {self._near.recall:.3f}"
        return f"GalleryIndex({type(self.model).__name__}, {counted(self.n_rows, 'row')}, {kind})"

    def rank(self, name: Any, k: int = 10, against: Any = None, exact: bool = False) -> Ranking:
        """The k rows that fit the class `name` best, as `rank` of the model gives them.

        A class of a table of one class need not be known. With `against` other classes compete for
        the rows, which is always exact, as is everything with `exact`.
        """
        checked_k(k, self.n_rows, "rows")
        check_one_class(name)
        if against is not None:
            return self._relative(self.model._against(_one(name), against), k)
        table = self.model._candidates(_one(name))
        if table.n_classes != 1:
            raise InputError(f"rank takes one class, not {table.n_classes}")
        if self._near is None or exact:
            return self._exact(table, k)[0]
        return self._nearly(table, k)

    def add(self, rows: Any) -> Self:
        """Index further rows, whose numbers follow those that are there; returns this index.

        An index in a folder is extended there.
        """
        rows = checked_rows(self.model, rows, reset=False)
        before = len(self._parts)
        if self._folder is not None and files.n_parts(self._folder) != before:
            raise InputError(
                f"rows were added to {self._folder} since it was opened: open it again"
            )
        if self._folder is None:
            self._parts.append(np.concatenate(list(_code_blocks(self.model, rows))))
        else:
            self._write(self._folder, rows)
        if self._near is not None:
            self._near.add(self._vectors(self._parts[before:]))
        if self._folder is not None:
            self._seal(self._folder)
        return self

    def reveal(self, classes: Any) -> GalleryIndex:
        """The same rows, for a model that knows more classes; nothing is indexed anew."""
        revealed = copy.copy(self)
        revealed.model = self.model.reveal(classes)
        return revealed

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the index to a new folder, whole or not at all; `open_index` reads it."""
        with files.new_folder(folder) as temporary:
            for number, part in enumerate(self._parts):
                blocks = (part[rows] for rows in array_blocks(part))
                files.write_codes(temporary, number, blocks, part.shape, part.dtype)
            self._seal(temporary)

    def check(self) -> None:
        """Read all codes of an index in a folder: an error if one is damaged."""
        if self._folder is not None:
            files.check_codes(self._folder)

    # -- files ----------------------------------------------------------------------------------

    def _write(self, folder: Path, rows: Any) -> None:
        blocks = _code_blocks(self.model, rows)
        first = next(blocks)
        shape = rows.shape[0], first.shape[1]
        files.write_codes(folder, len(self._parts), _chained(first, blocks), shape, first.dtype)
        self._parts.append(files.map_codes(folder, len(self._parts)))

    def _seal(self, folder: Path) -> None:
        if not files.has_model(folder):
            self.model.save(files.model_file(folder))
        files.seal(folder, [part.shape for part in self._parts], self._near)

    def _reopen(self, folder: Path) -> None:
        self._parts, self._near = files.open_codes(folder)
        self._folder = folder
        row = np.zeros((1, self.model.n_features_in_), np.float32)
        code = self.model._gallery_codes(row)
        if not self._parts or any(part.shape[1:] != code.shape[1:] for part in self._parts):
            raise InputError(f"{folder} cannot be used: its codes are not of its model")
        if self._near is None:
            return
        if not self._near.fits(self.model._gallery_vectors(code).shape[1], self.n_rows):
            raise InputError(
                f"{folder} cannot be used: its compressed rows are not those of its codes, or "
                "cannot be searched as it says; index the rows again"
            )

    # -- search ---------------------------------------------------------------------------------

    def _stretches(self) -> Iterator[tuple[int, np.ndarray]]:
        """The number of the first row, and codes of some rows; no copies are made."""
        first = 0
        for part in self._parts:
            for rows in row_blocks(len(part), part.shape[1] * part.itemsize, _STRETCH):
                yield first + rows.start, part[rows]
            first += len(part)

    def _exact(self, table: ClassTable, k: int) -> list[Ranking]:
        """The best rows of each class."""
        prepared = self.model._prepare(table)
        best = [_Best(k) for _ in range(table.n_classes)]
        for start, codes in self._stretches():
            scores = self.model._gallery_scores(codes, prepared)
            for number, found in enumerate(best):
                found.offer(start, scores[:, number])
        return [found.ranking() for found in best]

    def _relative(self, table: ClassTable, k: int) -> Ranking:
        """The first class against the others: one pass for the spread of scores, one to rank."""
        prepared, penalties = self.model._prepare(table), self.model._penalties(table)

        def scored() -> Iterator[tuple[int, np.ndarray]]:
            for start, codes in self._stretches():
                scores = self.model._gallery_scores(codes, prepared)
                if penalties is not None:
                    scores -= penalties.astype(scores.dtype)
                yield start, scores

        n_scores, total, square = self.n_rows * table.n_classes, 0.0, 0.0
        middle = next(scored())[1].mean(dtype=np.float64)
        for _, scores in scored():
            apart = scores.astype(np.float64) - middle
            total, square = total + apart.sum(), square + np.vdot(apart, apart)
        spread = float(np.sqrt(max(square / n_scores - (total / n_scores) ** 2, 0.0)))
        best = _Best(k)
        for start, scores in scored():
            best.offer(start, relative_scores(scores, spread)[:, 0])
        return best.ranking()

    def _nearly(self, table: ClassTable, k: int) -> Ranking:
        return self._nearly_by(self.model._prepare(table), k)

    def _nearly_by(self, prepared: Any, k: int) -> Ranking:
        assert self._near is not None
        queries: Any = self.model._gallery_queries(prepared)
        numbers = np.sort(self._near.search(queries, k))
        codes = self._codes_of(numbers)
        best = _Best(k)
        scores = self.model._gallery_scores(codes, prepared)[:, 0]
        order = np.argsort(-scores, kind="stable")[: best.k]
        return Ranking(numbers[order], scores[order])

    def _codes_of(self, numbers: np.ndarray) -> np.ndarray:
        firsts = np.cumsum([0, *(len(part) for part in self._parts)])
        bounds = np.searchsorted(numbers, firsts)
        parts = zip(self._parts, bounds[:-1], bounds[1:], firsts[:-1], strict=True)
        return np.concatenate([part[numbers[a:b] - first] for part, a, b, first in parts])

    # -- approximate search ---------------------------------------------------------------------

    def _vectors(self, parts: list[np.ndarray]) -> Iterator[np.ndarray]:
        for part in parts:
            for rows in row_blocks(len(part), part.shape[1] * part.itemsize, _STRETCH):
                yield self.model._gallery_vectors(part[rows])

    def _approximate(self, wanted: bool | None, recall: float, k: int) -> None:
        """Set up approximate search, if it is wanted and can be had."""
        if wanted is False or (wanted is None and self.n_rows < MANY):
            return
        made_up = mixtures(self.model)
        if self.model._gallery_queries(self.model._prepare(made_up)) is None:
            if wanted is None:
                return
            raise InputError(
                f"the scores of this {type(self.model).__name__} are no inner products, which "
                "approximate search needs: leave out `approximate`"
            )
        tell("compressing codes")
        sample = self._codes_of(_spread(self.n_rows, Approximate.sample_size(self.n_rows)))
        near = Approximate.learn(self.model._gallery_vectors(sample), self.n_rows)
        near.add(self._vectors(self._parts))
        self._near = near
        tell("widening the search until it finds enough")
        k = min(k, self.n_rows)
        names = made_up.names
        true = []
        for start in range(0, names.size, _AT_ONCE):
            some = made_up.select(names[start : start + _AT_ONCE])
            true += [found.rows for found in self._exact(some, k)]
        prepared = [self.model._prepare(made_up.select([name])) for name in names.tolist()]
        near.widen(lambda number: self._nearly_by(prepared[number], k).rows, true, recall)


class _Best:
    """The k best of rows that come in stretches, as a stable sort of all would give them."""

    def __init__(self, k: int) -> None:
        self.k, self._rows, self._scores = k, np.empty(0, np.intp), np.empty(0)
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._n_waiting, self._least = 0, -np.inf

    def offer(self, start: int, scores: np.ndarray) -> None:
        rows = np.flatnonzero(scores > self._least)
        if rows.size:
            self._waiting.append((rows + start, scores[rows]))
            self._n_waiting += rows.size
        if self._n_waiting >= self.k:
            self._settle()

    def _settle(self) -> None:
        rows = np.concatenate([self._rows, *(rows for rows, _ in self._waiting)])
        scores = np.concatenate(
            [s for s in (self._scores, *(s for _, s in self._waiting)) if s.size]
        )
        if rows.size > 4 * self.k:
            # Ties at the edge must stay, so that the first of them can win.
            edge = np.partition(scores, scores.size - self.k)[scores.size - self.k]
            keep = np.flatnonzero(scores >= edge)
            rows, scores = rows[keep], scores[keep]
        order = np.argsort(-scores, kind="stable")[: self.k]
        self._rows, self._scores = rows[order], scores[order]
        self._waiting, self._n_waiting = [], 0
        if order.size == self.k:
            self._least = self._scores[-1]

    def ranking(self) -> Ranking:
        if self._waiting:
            self._settle()
        return Ranking(self._rows, self._scores)


def _one(name: Any) -> Any:
    """A name as a list; a table, which may hold a class that is not known, as it is."""
    is_table = hasattr(name, "vectors") or hasattr(name, "columns") or isinstance(name, dict)
    return name if is_table else [name]


def _code_blocks(model: ZeroShotClassifier, rows: Any) -> Iterator[np.ndarray]:
    for part in array_blocks(rows):
        yield np.ascontiguousarray(model._gallery_codes(np.asarray(rows[part])))


def _chained(first: np.ndarray, others: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    yield first
    yield from others


def _spread(n_rows: int, n_wanted: int) -> np.ndarray:
    """Numbers of some rows, evenly spread."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_wanted, n_rows)).astype(np.int64))
