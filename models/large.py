# SPDX-License-Identifier: Apache-2.0
"""Makes models of usual sizes, to measure time and memory on: python -m models.large --out DIR
[--only NAME ...]. Weights are random: they do not change how long a dense model takes."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

from models.shared.cases import Axes
from models.shared.command import arguments
from models.shared.exporters import EXPORTERS, Flat, export

_LOG = logging.getLogger("models")

_TEXT: Mapping[str, Axes] = {
    "input_ids": ("batch", "sequence"),
    "attention_mask": ("batch", "sequence"),
    "token_type_ids": ("batch", "sequence"),
}


@dataclass(frozen=True)
class Large:
    """A transformers model. `config` overrides the default sizes, those of the base model."""

    model: str
    axes: Mapping[str, Axes]
    config: Mapping[str, Any] = field(default_factory=dict)

    def build(self) -> Flat:
        kind = getattr(transformers, self.model)
        config = kind.config_class(**self.config)
        config._attn_implementation = "sdpa"
        torch.manual_seed(0)
        model = kind(config).eval()
        return Flat(model, tuple(self.axes), ("last_hidden_state", "pooler_output")).eval()

    def example(self) -> dict[str, Tensor]:
        shapes = {
            name: [2 + i if isinstance(axis, str) else axis for i, axis in enumerate(axes)]
            for name, axes in self.axes.items()
        }
        if "pixel_values" in shapes:
            return {name: torch.rand(shape) for name, shape in shapes.items()}
        return {name: torch.ones(shape, dtype=torch.long) for name, shape in shapes.items()}


MODELS = {
    "minilm-l6": Large(
        "BertModel",
        _TEXT,
        {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536},
    ),
    "bert-base": Large("BertModel", _TEXT),
    "vit-b16": Large("ViTModel", {"pixel_values": ("batch", 3, 224, 224)}),
}


def file_of(name: str) -> str:
    """The path of a model below the folder it is made in."""
    return f"{name}.onnx"


def make(name: str, folder: Path) -> None:
    """Writes model `name`; an interrupted export leaves no file that looks complete."""
    large = MODELS[name]
    flat = large.build()
    (exporter,) = (e for e in EXPORTERS if e.name == "ts")
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{name}.partial"
    export(flat, flat.outputs, large.example(), large.axes, exporter, partial)
    partial.rename(folder / file_of(name))
    _LOG.info("%s", folder / file_of(name))


def main() -> None:
    parsed = arguments(__doc__, MODELS)
    os.environ["HF_HUB_OFFLINE"] = "1"
    for name in parsed.only or MODELS:
        make(name, parsed.out)


if __name__ == "__main__":
    main()
