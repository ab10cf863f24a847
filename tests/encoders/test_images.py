"""Pictures to vectors: the transformer, its cache, and the built-in encoder."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

pytest.importorskip("PIL", reason="Pillow is not installed")

from tests.encoders.shapes import NAMES, photos, picture
from unseen.encoders import stream
from unseen.encoders.backend import Identity, Preprocessing, read_preprocessing
from unseen.encoders.basic import Basic
from unseen.encoders.cache import Cache, key_of
from unseen.encoders.catalogue import known_encoders
from unseen.encoders.images import ImageEncoder
from unseen.encoders.pictures import PictureError
from unseen.errors import InputError, TrustWarning
from unseen.estimators import ESZSL


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = photos(tmp_path_factory.mktemp("shapes"), 4, NAMES[:6])
    return sorted(str(path) for path in folder.rglob("*.png"))


class Counting(Basic):
    """The built-in encoder, which remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.encoded: list[int] = []

    def encode(self, batch: np.ndarray) -> np.ndarray:
        self.encoded.append(len(batch))
        return super().encode(batch)


def test_paths_and_pictures_give_the_same_rows(paths: list[str]) -> None:
    from PIL import Image

    encoder = ImageEncoder("basic", batch_size=5, threads=3)
    found = encoder.transform(paths)
    assert found.dtype == np.float32
    assert found.shape == (24, encoder.get_feature_names_out().size)
    opened = [Image.open(path) for path in paths]
    np.testing.assert_array_equal(encoder.transform(opened), found)
    for other in (np.array(paths), map(Path, paths)):
        np.testing.assert_array_equal(ImageEncoder("basic", threads=1).transform(other), found)
    # One at a time, as a loop without batches and threads has it.
    alone = [encoder.transform([path])[0] for path in paths]
    np.testing.assert_allclose(alone, found, rtol=1e-5, atol=1e-6)


def test_it_is_a_transformer_of_scikit_learn(paths: list[str]) -> None:
    y = np.array([Path(path).parent.name for path in paths])
    encoder: Any = ImageEncoder("basic")
    with pytest.warns(TrustWarning, match="an ordinary classifier"):
        model = make_pipeline(encoder, ESZSL()).fit(paths, y)
    assert model.score(paths, y) > 0.9
    copy: Any = clone(encoder)
    frame = copy.set_output(transform="pandas").fit_transform(paths)
    assert list(frame.columns[:2]) == ["imageencoder0", "imageencoder1"]
    assert encoder.fit() is encoder
    assert not encoder.__sklearn_tags__().requires_fit
    with pytest.raises(ValueError, match="batch_size must be a whole number of at least 1"):
        ImageEncoder("basic", batch_size=0).fit()


def test_weights_are_loaded_late_and_not_pickled(paths: list[str]) -> None:
    encoder = ImageEncoder("no/such model", offline=True)
    assert "_made" not in vars(encoder)
    assert len(pickle.dumps(encoder)) < 1000
    used = ImageEncoder("basic")
    used.transform(paths[:1])
    assert "_made" in vars(used)
    assert "_made" not in vars(pickle.loads(pickle.dumps(used)))


def test_an_error_names_the_file(paths: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"no")
    with pytest.raises(PictureError, match=r"bad\.jpg cannot be used: it is not a picture"):
        ImageEncoder("basic").transform([*paths, str(tmp_path / "bad.jpg")])
    with pytest.raises(PictureError, match="picture 0 cannot be used: a picture is a path"):
        ImageEncoder("basic").transform([3])
    with pytest.raises(InputError, match="the list is empty"):
        ImageEncoder("basic").transform([])
    with pytest.raises(InputError, match="a list of pictures, not one path"):
        ImageEncoder("basic").transform("x.jpg")
    with pytest.raises(InputError, match=r"is a name, a folder or an \.onnx file"):
        ImageEncoder("").transform(paths)


def test_the_built_in_encoder_sees_colours_and_edges() -> None:
    def encoded(name: str) -> np.ndarray:
        return ImageEncoder("basic").transform([picture(name, seed) for seed in range(8)])

    red, blue, square = map(encoded, ("red disc", "blue disc", "red square"))
    apart = np.linalg.norm(red.mean(0) - blue.mean(0))
    assert apart > np.linalg.norm(red - red.mean(0), axis=1).mean()
    assert np.linalg.norm((red.mean(0) - square.mean(0))[112:]) > 0.2
    # By hand: a white picture has all pixels of the lightest colour and no edges.
    from PIL import Image

    (white,) = ImageEncoder("basic").transform([Image.new("RGB", (9, 5), "white")])
    np.testing.assert_array_equal(np.flatnonzero(white), np.arange(63, 112))
    np.testing.assert_allclose(white[63:112], 1)


# -- the stream ---------------------------------------------------------------------------------


def test_results_come_in_order_whatever_fails(paths: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"no")
    bad = str(tmp_path / "bad.png")
    mixed = [bad, *paths[:3], bad, bad, *paths[3:], bad]
    plain = dict(zip(paths, ImageEncoder("basic").transform(paths), strict=True))
    for size in (1, 2, 5, 100):
        found = list(stream.vectors(Basic(), mixed, size, 2))
        assert len(found) == len(mixed)
        for path, outcome in zip(mixed, found, strict=True):
            if isinstance(outcome, PictureError):
                assert path == bad
            else:
                np.testing.assert_allclose(outcome, plain[path], rtol=1e-5, atol=1e-6)


def test_memory_is_that_of_a_few_batches(paths: list[str]) -> None:
    """No more pictures are asked for than two batches ahead, however many there are."""
    asked = 0

    def endless() -> Any:
        nonlocal asked
        while True:
            asked += 1
            yield paths[asked % len(paths)]

    found = stream.vectors(Basic(), endless(), batch_size=4, threads=2)
    for k in range(200):
        next(found)
        assert asked <= k + 8 * 4
    found.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert not [t for t in threading.enumerate() if t.name.startswith("unseen-pictures")]


def test_what_an_encoder_cannot_take_or_say_is_left_out(paths: list[str]) -> None:
    class Odd(Basic):
        def prepare(self, picture: Any) -> np.ndarray:
            raise RuntimeError("no")

        def encode(self, batch: np.ndarray) -> np.ndarray:
            return np.full((len(batch), 248), np.nan, dtype=np.float32)

    (found,) = stream.vectors(Odd(), paths[:1])
    assert str(found) == "the encoder cannot take it (RuntimeError)"
    Odd.prepare = Basic.prepare  # pyright: ignore[reportAttributeAccessIssue]
    (found,) = stream.vectors(Odd(), paths[:1])
    assert str(found) == "its vector is not finite"


# -- the cache ----------------------------------------------------------------------------------


def test_only_what_is_new_is_encoded(paths: list[str], tmp_path: Path) -> None:
    backend = Counting()
    for wanted, new in ((paths[:10], 10), (paths, 14), (paths, 0)):
        backend.encoded.clear()
        cache = Cache(tmp_path, "a" * 64, 248)
        found = list(stream.vectors(backend, wanted, 4, 2, cache))
        assert sum(backend.encoded) == new
        expected = ImageEncoder("basic").transform(wanted)
        np.testing.assert_allclose(np.array(found), expected, rtol=1e-5, atol=1e-6)
    other = Cache(tmp_path, "b" * 64, 248)
    assert other.get(key_of(Path(paths[0]).read_bytes())) is None


def test_a_damaged_cache_is_not_used(tmp_path: Path) -> None:
    vectors = {key_of(bytes([k])): np.full(3, k, dtype=np.float32) for k in range(5)}
    cache = Cache(tmp_path, "c" * 64, 3)
    cache.add(vectors)
    cache.write()
    (file,) = tmp_path.rglob("*.npy")
    again = Cache(tmp_path, "c" * 64, 3)
    for key, vector in vectors.items():
        np.testing.assert_array_equal(again.get(key), vector)
    good = file.read_bytes()
    for bad in (good[:-1], good[:-3] + b"x" + good[-2:], b"", b"junk"):
        file.write_bytes(bad)
        assert Cache(tmp_path, "c" * 64, 3).get(key_of(b"\0")) is None
    file.write_bytes(good)
    assert Cache(tmp_path, "c" * 64, 4).get(key_of(b"\0")) is None, "of another width"
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is not a folder"):
        Cache(tmp_path / "file", "c" * 64, 3)


def test_a_stopped_run_keeps_what_it_had(paths: list[str], tmp_path: Path) -> None:
    class Stopping(Counting):
        def encode(self, batch: np.ndarray) -> np.ndarray:
            if len(self.encoded) == 3:
                raise KeyboardInterrupt
            return super().encode(batch)

    with pytest.raises(KeyboardInterrupt):
        list(stream.vectors(Stopping(), paths, 4, 2, Cache(tmp_path, "d" * 64, 248)))
    backend = Counting()
    list(stream.vectors(backend, paths, 4, 2, Cache(tmp_path, "d" * 64, 248)))
    assert sum(backend.encoded) == len(paths) - 12


# -- which encoder it is ------------------------------------------------------------------------


def test_the_hash_is_of_what_counts() -> None:
    first = Identity("a", "onnx", 3, {"size": 4}, {"x": "1"})
    assert first.sha256 == Identity("b", "onnx", 3, {"size": 4}, {"y": "1"}, "rev").sha256
    others = [("onnx", 2, {"size": 4}, {"x": "1"}), ("onnx", 3, {"size": 5}, {"x": "1"})]
    others += [("onnx", 3, {"size": 4}, {"x": "2"}), ("vit", 3, {"size": 4}, {"x": "1"})]
    assert all(Identity("a", *other).sha256 != first.sha256 for other in others)


def test_preprocessing_equals_resize_then_crop() -> None:
    from PIL import Image

    random = np.random.default_rng(0)
    noise = Image.fromarray(random.integers(0, 256, (70, 100, 3), dtype=np.uint8))
    settings = Preprocessing(resize=35, size=28)
    whole = noise.resize((50, 35), Image.Resampling.BICUBIC).crop((11, 3, 39, 31))
    expected = (np.asarray(whole) / 255 - settings.mean) / settings.std
    np.testing.assert_allclose(settings(noise), expected.transpose(2, 0, 1), atol=0.02)
    assert settings(Image.new("RGB", (1, 3))).shape == (3, 28, 28)


@pytest.mark.parametrize("text", ["[]", "{", '{"size": 0}', '{"std": [1, 0, 1]}', '{"mean": 3}'])
def test_preprocessing_that_makes_no_sense(text: str, tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(text)
    with pytest.raises(InputError, match=r"net\.json"):
        read_preprocessing(tmp_path / "net.json", None)
    (tmp_path / "net.json").write_text('{"size": 96, "resize": 96, "mean": [0, 0, 0]}')
    assert read_preprocessing(tmp_path / "net.json", None).mean == (0, 0, 0)


def test_a_name_that_is_not_here_gives_the_command() -> None:
    pytest.importorskip("transformers", reason="the extra encode is not installed")
    with pytest.raises(InputError, match="get it with: hf download facebook/dinov2-absent"):
        ImageEncoder("facebook/dinov2-absent", offline=True).transform([picture("red disc")])
    with pytest.raises(InputError, match="does not exist"):
        ImageEncoder("no such/folder/there", offline=True).transform([picture("red disc")])


def test_known_encoders() -> None:
    found = {encoder.name: encoder for encoder in known_encoders()}
    assert found["basic"].here == "yes"
    assert found["basic"].width == ImageEncoder("basic").identity.width
    assert all(e.licence and e.here for e in found.values())
