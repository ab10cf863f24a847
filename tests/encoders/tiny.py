"""Tiny networks with random weights, as folders that transformers loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

WORDS = ["a", "photo", "of", "red", "green", "blue", "disc", "square", "round", "cross"]


def library() -> Any:
    """transformers, or a skip where it or torch is absent."""
    pytest.importorskip("torch", reason="the extra encode is not installed")
    return pytest.importorskip("transformers", reason="the extra encode is not installed")


def _seeded(make: Any) -> Any:
    torch: Any = pytest.importorskip("torch")
    torch.manual_seed(0)
    return make().eval()


def _vision(**more: Any) -> dict[str, Any]:
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    return sizes | {"num_attention_heads": 2, "image_size": 28, "patch_size": 14} | more


def dinov2(folder: Path) -> Path:
    t = library()
    sizes = _vision()
    del sizes["intermediate_size"]
    _seeded(lambda: t.Dinov2Model(t.Dinov2Config(**sizes))).save_pretrained(folder)
    _processor(folder, "BitImageProcessor")
    return folder


def resnet(folder: Path) -> Path:
    t = library()
    config = t.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])
    _seeded(lambda: t.ResNetModel(config)).save_pretrained(folder)
    _processor(folder, "ConvNextImageProcessor", size={"shortest_edge": 32})
    return folder


def joint(folder: Path, kind: str) -> Path:
    """CLIP or SigLIP, with a tokenizer of a few words."""
    t = library()
    text = {"vocab_size": 40, "max_position_embeddings": 12, "hidden_size": 16}
    text |= {"intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    text |= {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    if kind == "clip":
        config = t.CLIPConfig(text_config=text, vision_config=_vision(), projection_dim=8)
        made = _seeded(lambda: t.CLIPModel(config))
    else:
        text["projection_size"] = 16
        made = _seeded(
            lambda: t.SiglipModel(t.SiglipConfig(text_config=text, vision_config=_vision()))
        )
    made.save_pretrained(folder)
    _processor(folder, "CLIPImageProcessor")
    _tokenizer(folder)
    return folder


def _processor(folder: Path, kind: str, **more: Any) -> None:
    settings: dict[str, Any] = {"image_processor_type": kind, "size": {"shortest_edge": 32}}
    settings |= {"crop_size": {"height": 28, "width": 28}, "do_center_crop": True}
    settings |= {"do_resize": True, "do_normalize": True, "do_rescale": True, "resample": 3}
    settings |= {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25]} | more
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))


def _tokenizer(folder: Path) -> None:
    tokenizers: Any = pytest.importorskip("tokenizers", reason="the extra encode is missing")
    marks = {"<s>": 0, "</s>": 1, "<unk>": 2}
    known = marks | {word: k for k, word in enumerate(WORDS, start=3)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    tokenizer = library().PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
        unk_token="<unk>",
    )
    tokenizer.save_pretrained(folder)
