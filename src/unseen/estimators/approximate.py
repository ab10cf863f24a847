"""Approximate search by inner product: lists of rows that lie together, compressed (IVF-PQ)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import InputError, counted, require, warn_user
from unseen.support.work import tell

# Columns that share one byte of a compressed row. With more, rows of one class, which differ
# little, are no longer told apart: the true first 100 of a million are not among the first 3,200.
_COLUMNS_A_BYTE = 2
_ROWS_A_LIST, _MOST_LISTS, _SAMPLE_A_LIST = 64, 65_536, 64
_STEPS, _SAMPLE_A_CODE = 6, 40  # of k-means, for lists and codebooks
_MAKES = 256  # rows that the codebook of a byte needs
_N_QUERIES = 256
# What is found must exceed what is asked by so many standard errors over the queries that decide,
# as queries differ much and others measure what is reached.
_MARGIN = 4.0
_GLANCE = 32  # queries that tell whether a search is far too narrow
# How many times more rows than are asked for are scored exactly.
_AGAIN = (2, 8, 32, 128)


class Settings(NamedTuple):
    """How wide to search: lists looked through, and rows scored exactly for each one wanted."""

    lists: int
    again: int


class Approximate:
    """Compressed rows in lists, and how wide to search them.

    The product with a query stays an inner product: no column is added that would make it a
    distance, which costs nearly all of the recall.
    """

    def __init__(
        self, found: Any, width: int, settings: Settings, recall: float, asked: float | None = None
    ) -> None:
        self._found, self.width, self.settings = found, width, settings
        self.recall, self.asked = recall, asked

    @staticmethod
    def n_lists(n_rows: int) -> int:
        wanted = 2 * np.sqrt(n_rows)
        return int(np.clip(min(wanted, n_rows / _ROWS_A_LIST), 1, _MOST_LISTS))

    @classmethod
    def sample_size(cls, n_rows: int) -> int:
        """Rows to learn lists and codebooks from."""
        return max(_SAMPLE_A_LIST * cls.n_lists(n_rows), 20_000)

    @classmethod
    def learn(cls, sample: np.ndarray, n_rows: int) -> Approximate:
        """Lists and codebooks from some of the vectors."""
        faiss: Any = require("faiss", "ann", "approximate search")
        if len(sample) < _MAKES:
            raise InputError(
                f"{counted(len(sample), 'row')} cannot be compressed, which takes at least "
                f"{_MAKES}: leave out `approximate`"
            )
        width = sample.shape[1]
        n_bytes = -(-width // _COLUMNS_A_BYTE)
        columns, n_lists = n_bytes * _COLUMNS_A_BYTE, cls.n_lists(n_rows)
        kind = f"IVF{n_lists},PQ{n_bytes}x8"
        found = faiss.index_factory(columns, kind, faiss.METRIC_INNER_PRODUCT)
        # Codebooks need little care, as what is found is scored exactly.
        for steps, sample_size in ((found.cp, _SAMPLE_A_LIST), (found.pq.cp, _SAMPLE_A_CODE)):
            steps.niter, steps.max_points_per_centroid = _STEPS, sample_size
            steps.min_points_per_centroid = 1  # else it warns on standard error
        found.do_polysemous_training = False  # slow, and of use to Hamming distances alone
        found.train(_padded(sample, columns))
        return cls(found, width, Settings(1, _AGAIN[0]), 0.0)

    def add(self, vectors: Iterable[np.ndarray]) -> None:
        """Take in vectors, whose numbers follow those that are there."""
        for block in vectors:
            self._found.add(_padded(block, self._found.d))

    def search(self, query: np.ndarray, k: int) -> np.ndarray:
        """Numbers of rows to be scored exactly for a query (1 x h), at least k of them."""
        faiss: Any = require("faiss", "ann", "approximate search")
        n_wanted, lists = min(self.settings.again * k, self._found.ntotal), self.settings.lists
        while True:
            how = faiss.SearchParametersIVF(nprobe=lists)
            _, found = self._found.search(_padded(query, self._found.d), n_wanted, params=how)
            numbers = found[0][found[0] >= 0]
            # For a larger k than the search was set for, the lists may hold too few rows.
            if numbers.size >= k or lists >= self._found.nlist:
                return numbers
            lists *= 2

    def widen(
        self, find: Callable[[int], np.ndarray], true: Sequence[np.ndarray], recall: float
    ) -> None:
        """Look through as few lists as find the share `recall` of the true rows.

        Half of the queries decide, by what they find less `_MARGIN` standard errors; the others
        measure what is reached. `find` searches for one.
        """
        half = len(true) // 2
        choices = [self._narrowest(again, find, true[:half], recall) for again in _AGAIN]
        # Where even all lists are not enough: the widest there is.
        widest = (np.inf, Settings(self._found.nlist, _AGAIN[-1]))
        self.settings = min([widest, *(found for found in choices if found)])[1]
        self.recall = float(_shares(find, true, range(half, len(true))).mean())
        self.asked = float(recall)
        tell(f"recall {self.recall:.3f} by {self.settings.lists} of {self._found.nlist} lists")
        if self.recall < recall:
            warn_user(
                f"approximate search finds {self.recall:.1%} of the best rows, less than the "
                f"{recall:.1%} asked for: `rank` with exact=True finds all"
            )

    def _narrowest(
        self,
        again: int,
        find: Callable[[int], np.ndarray],
        true: Sequence[np.ndarray],
        recall: float,
    ) -> tuple[float, Settings] | None:
        """The fewest lists that are enough with so many rows scored exactly, and seconds taken."""
        first = range(min(_GLANCE, len(true)))
        for lists in _widths(self._found.nlist):
            self.settings = Settings(lists, again)
            if _most_likely(_shares(find, true, first)) < recall:
                continue
            start = time.perf_counter()
            if _surely(_shares(find, true, range(len(true)))) >= recall:
                return time.perf_counter() - start, self.settings
        return None

    def write(self, path: Path) -> None:
        require("faiss", "ann", "approximate search").write_index(self._found, str(path))

    @classmethod
    def read(cls, path: Path, facts: dict[str, Any]) -> Approximate:
        """What `write` wrote; the path was checked by its checksum, which anyone can write anew."""
        faiss: Any = require("faiss", "ann", f"reading {path}")
        settings = Settings(facts["lists"], facts["again"])
        try:
            found = faiss.read_index(str(path))
        except RuntimeError as error:
            raise InputError(f"{path} cannot be used: it holds no compressed rows") from error
        return cls(found, facts["width"], settings, facts["recall"], facts.get("asked"))

    def fits(self, width: int, n_rows: int) -> bool:
        """Whether these are so many rows of such a width, and the settings can be followed."""
        faiss: Any = require("faiss", "ann", "approximate search")
        found, settings = self._found, self.settings
        if not isinstance(found, faiss.IndexIVFPQ) or self.width != width:
            return False
        columns = -(-width // _COLUMNS_A_BYTE) * _COLUMNS_A_BYTE
        return (
            found.metric_type == faiss.METRIC_INNER_PRODUCT
            and found.d == found.quantizer.d == columns
            and found.ntotal == found.invlists.compute_ntotal() == n_rows
            and 1 <= settings.lists <= found.nlist == found.quantizer.ntotal
            and 1 <= settings.again <= _AGAIN[-1]
            and 0 <= self.recall <= 1
        )

    def facts(self) -> dict[str, Any]:
        known = {"width": self.width, "recall": float(self.recall), **self.settings._asdict()}
        return known | ({} if self.asked is None else {"asked": self.asked})


def mixtures(model: Any) -> ClassTable:
    """Made-up classes to try a search on: means of the descriptions of two classes each."""
    table, rng = model.class_table_, np.random.default_rng(0)
    pairs = rng.integers(0, table.n_classes, (_N_QUERIES, 2))
    shares = rng.uniform(0.5, 1.0, (_N_QUERIES, 1))
    vectors = shares * table.vectors[pairs[:, 0]] + (1 - shares) * table.vectors[pairs[:, 1]]
    names = [f"mixture {number}" for number in range(_N_QUERIES)]
    return ClassTable(names, vectors, table.attributes, table.groups)


def _shares(
    find: Callable[[int], np.ndarray], true: Sequence[np.ndarray], queries: Iterable[int]
) -> np.ndarray:
    """The share of the true rows that is found for each of these queries."""
    return np.array([np.isin(true[number], find(number)).mean() for number in queries])


def _surely(shares: np.ndarray) -> float:
    return shares.mean() - _MARGIN * shares.std() / np.sqrt(shares.size)


def _most_likely(shares: np.ndarray) -> float:
    return shares.mean() + _MARGIN * shares.std() / np.sqrt(shares.size)


def _widths(most: int) -> Iterator[int]:
    """1, 2, 3, 4, 6, 9, ... up to so many lists."""
    lists = 1
    while lists < most:
        yield lists
        lists += max(1, lists // 2)
    yield most


def _padded(vectors: np.ndarray, width: int) -> np.ndarray:
    padded = np.zeros((len(vectors), width), np.float32)
    padded[:, : vectors.shape[1]] = vectors
    return padded
