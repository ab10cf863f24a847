"""Blocks of rows, and tables that lie in memory or on disk."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from unseen import InputError
from unseen.rows import layout as module
from unseen.rows.layout import Blocks, Layout, RowProduct, added, let_go


@pytest.mark.parametrize(("n_rows", "n_blocks"), [(1, 1), (7, 1), (100, 5), (1003, 8), (9, 4)])
def test_every_row_is_in_one_block(n_rows: int, n_blocks: int) -> None:
    layout = Layout(n_rows, n_blocks)
    order = np.arange(n_rows) if layout.order is None else layout.order
    assert sorted(order) == list(range(n_rows))
    assert len(layout.blocks) == n_blocks
    covered = np.concatenate([np.arange(n_rows)[rows] for rows in layout.blocks])
    np.testing.assert_array_equal(covered, np.arange(n_rows))
    sizes = [rows.stop - rows.start for rows in layout.blocks]
    assert max(sizes) - min(sizes) <= max(1, n_rows // (16 * n_blocks))


def test_a_block_of_rows_sorted_by_class_has_rows_of_all_classes() -> None:
    layout, labels = Layout(20_000, 10), np.repeat(np.arange(10), 2000)
    assert layout.order is not None
    for rows in layout.blocks:
        own = layout.order[rows]
        assert set(labels[own]) == set(range(10))
        assert np.count_nonzero(np.diff(own) != 1) < 20, "rows are read in runs"


def test_a_table_comes_back_in_the_order_of_the_rows(tmp_path: Path) -> None:
    for layout in (Layout(103, 4), Layout(103, 4, str(tmp_path)), Layout(103)):
        table = np.arange(206.0).reshape(103, 2)
        inside = table if layout.order is None else table[layout.order]
        np.testing.assert_array_equal(layout.in_rows_order(inside), table)


def test_a_table_on_disk_keeps_its_numbers_and_leaves_no_file(tmp_path: Path) -> None:
    table = Layout(5000, 3, str(tmp_path)).zeros((5000, 7), np.float32)
    assert type(table) is np.ndarray
    assert not table.any()
    table[1234] = 5
    let_go(table[7:9])
    assert table.sum() == 35
    assert os.listdir(tmp_path) == []
    assert Layout(5, 1, str(tmp_path)).zeros((0, 7), np.float32).shape == (0, 7)


def test_no_room_is_an_error_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"has no room for another .*TMPDIR names another folder"):
        Layout(10, 1, str(tmp_path / "absent")).zeros((10, 7), np.float32)

    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match="No space left"):
        Layout(10, 1, str(tmp_path)).zeros((10, 7), np.float32)
    assert os.listdir(tmp_path) == []


def test_blocks_go_by_the_size_of_rows_and_the_place_by_what_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "free_memory", lambda: 1e9)
    few, many = Layout.of(50_000, 800, 4000), Layout.of(120_000, 800, 4000, tmp_path)
    assert (few.n_blocks, few.folder) == (1, None)
    assert (many.n_blocks, many.folder) == (3, None)
    more = Layout.of(130_000, 800, 4000, tmp_path)
    assert (more.n_blocks, more.folder) == (4, str(tmp_path))
    monkeypatch.setattr(module, "free_memory", lambda: None)
    assert Layout.of(10_000_000, 800, 4000).folder is None
    monkeypatch.setattr(module, "free_memory", lambda: 0.0)
    assert Layout.of(1000, 800, 4000).folder is None, "next to nothing needs no disk"


class Numbers:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values


def test_blocks_are_added_up_and_hand_things_on_in_order() -> None:
    blocks = Blocks([Numbers(np.full(2, k, np.float32)) for k in range(4)])
    total, size = blocks.total(lambda block, f: (f * block.values, block.values.size), 2.0)
    np.testing.assert_array_equal(total, [12, 12])
    assert total.dtype == np.float64
    assert size == 8
    assert list(blocks.each(lambda b, own, f: own + f, 1, parts=[1, 2, 3, 4])) == [2, 3, 4, 5]
    path = blocks.hand_on(lambda b, done, _: [*done, int(b.values[0])], [], "", order=[2, 0, 3, 1])
    assert path == [2, 0, 3, 1]
    assert blocks.hand_on(lambda b, done: [*done, int(b.values[0])], []) == [0, 1, 2, 3]
    assert added([0.5, 0.25]) == 0.75


def test_rows_of_a_product_are_computed_where_they_are_asked_for() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((20, 3)), rng.standard_normal((3, 5))
    product = RowProduct(A, B)
    assert (product.shape, len(product), product.dtype) == ((20, 5), 20, np.float64)
    rows = np.array([7, 3, 19])
    np.testing.assert_allclose(product[rows], (A @ B)[rows])
    np.testing.assert_allclose(product[4:9], (A @ B)[4:9])
