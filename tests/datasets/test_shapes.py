"""Drawn shapes: classes by their words, pictures by their chance, features by their pixels."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from unseen import InputError
from unseen.datasets import make_shapes, shape_splits
from unseen.datasets.shapes import INKS, draw_shape, picture_features, shape_table


@pytest.fixture(scope="module")
def shapes():
    return make_shapes(4)


def test_each_class_is_described_by_the_words_of_its_name():
    table = shape_table()
    assert table.attributes is not None
    assert (table.n_classes, table.n_attributes) == (60, 12)
    for name in table.names.tolist():
        words = {w for w, on in zip(table.attributes, table.vector(name), strict=True) if on}
        assert words == set(name.split())
        assert len(words) == 3


def test_the_data_set_has_pictures_and_features(shapes):
    assert shapes.X.shape == (240, 192)
    assert shapes.X.dtype == np.float32
    assert shapes.images.shape == (240, 32, 32, 3)
    assert 0 <= shapes.images.min() < shapes.images.max() <= 1
    assert set(Counter(shapes.y.tolist()).values()) == {4}
    assert (shapes.seen.size, shapes.unseen.size) == (48, 12)


def test_a_seed_gives_the_same_pictures_and_another_seed_others(shapes):
    np.testing.assert_array_equal(make_shapes(4).images, shapes.images)
    other = make_shapes(4, random_state=1).images
    assert other is not None
    assert (other == shapes.images).mean() < 0.1  # only where both are as bright as can be


def test_in_each_round_every_class_is_unseen_once(shapes):
    splits = shape_splits(3)
    assert len(splits) == 15
    for start in (0, 5, 10):
        unseen = [name for split in splits[start : start + 5] for name in split]
        assert sorted(unseen) == sorted(shape_table().names.tolist())
    assert shapes.unseen.tolist() == sorted(splits[0])
    assert shape_splits(1) == splits[:5]


@pytest.mark.parametrize("name", shape_table().names.tolist())
def test_a_drawing_has_its_colour_and_lies_in_the_middle(name):
    picture = draw_shape(name)
    inked = np.abs(picture - INKS[name.split()[0]]).max(axis=2) < 1e-9
    blank = (picture == 1).all(axis=2)
    assert 0.02 < inked.mean() < 0.5
    assert blank.mean() > 0.4
    rows, columns = np.nonzero(inked)
    assert abs((columns.min() + columns.max()) / 2 - 15.5) <= 0.5
    assert abs((rows.min() + rows.max()) / 2 - 15.5) < 4
    np.testing.assert_allclose(picture, picture[:, ::-1], atol=1e-9)


def test_all_drawings_differ():
    drawings = [draw_shape(name) for name in shape_table().names.tolist()]
    for k, one in enumerate(drawings):
        assert all(np.abs(one - other).mean() > 0.005 for other in drawings[:k])


def test_features_of_a_picture_counted_pixel_by_pixel(shapes):
    picture = shapes.images[7].astype(float)
    grey = picture.mean(axis=2)
    edges, colours = np.zeros((4, 4, 8)), np.zeros((4, 4, 4))
    for r in range(32):
        for c in range(32):
            above, below = grey[max(r - 1, 0), c], grey[min(r + 1, 31), c]
            before, after = grey[r, max(c - 1, 0)], grey[r, min(c + 1, 31)]
            down = (below - above) / (2 if 0 < r < 31 else 1)
            across = (after - before) / (2 if 0 < c < 31 else 1)
            degrees = np.degrees(np.arctan2(down, across)) % 180
            edges[r // 8, c // 8, int(degrees // 22.5) % 8] += np.sqrt(down**2 + across**2)
            red, green, blue = (min(int(4 * shade), 3) for shade in picture[r, c])
            colours[red, green, blue] += 1 / 1024
    expected = np.sqrt(np.concatenate([edges.ravel() / edges.sum(), colours.ravel()]))
    np.testing.assert_allclose(picture_features(picture[None])[0], expected, atol=1e-6)


def test_a_picture_of_one_colour_has_no_edges():
    features = picture_features(np.full((1, 32, 32, 3), 0.5))
    assert np.flatnonzero(features).tolist() == [128 + 2 * (16 + 4 + 1)]
    assert features.max() == 1


def test_no_rows_are_an_error():
    with pytest.raises(InputError, match="rows_per_class must be at least 1, not 0"):
        make_shapes(0)
