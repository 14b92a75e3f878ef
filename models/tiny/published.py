# SPDX-License-Identifier: Apache-2.0
"""Adds files by ONNX Runtime's tools to the tiny models: python -m models.tiny.published --out DIR.

`opt` comes from the transformer optimizer of the onnxruntime package (Optimum publishes such
files), `ort` is the graph that a session saves, `genai` are decoders of onnxruntime-genai's
builder, which needs `pip install --no-deps onnxruntime-genai==0.18.0`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from models.shared import check
from models.shared.cases import HIDDEN, VOCABULARY
from models.shared.command import arguments
from models.shared.exporters import Flat, run
from models.shared.manifest import save_cases
from models.shared.weights import redraw, seeded
from models.tiny.families import FAMILIES
from models.tiny.family import HEADS, Family


@dataclass(frozen=True)
class Optimized:
    """An export of a model, the optimizer's name for its type, and the optimizer's options."""

    model: str
    export: str
    type: str
    level: int = 0
    multi_head: bool = False

    @property
    def file(self) -> str:
        return f"{self.model}/{self.export}-{'mha' if self.multi_head else 'opt'}.onnx"


OPTIMIZED = (
    Optimized("bert", "eager-ts", "bert"),
    Optimized("bert", "eager-ts", "bert", multi_head=True),
    Optimized("bert", "sdpa-dyn", "bert"),
    Optimized("distilbert", "eager-ts", "bert"),
    Optimized("roberta", "eager-ts", "bert"),
    Optimized("gpt2-past", "eager-dyn", "gpt2"),
    Optimized("llama-past", "sdpa-dyn", "gpt2"),
    Optimized("t5", "eager-ts", "t5"),
    Optimized("bart", "eager-dyn", "bart"),
    Optimized("whisper", "eager-ts", "bart", level=1),
    Optimized("clip", "eager-dyn", "clip"),
)
SESSIONS = (("bert", "sdpa-ts"), ("clip", "sdpa-dyn"), ("vit", "eager-ts"), ("opt", "sdpa-ts"))

# The decoders; batch, new tokens and past tokens of each case; ONNX Runtime needs heads of 16.
DECODERS = ("llama", "qwen3")
CASES = ((2, 9, 0), (2, 1, 8), (1, 4, 5))
HEAD_SIZE = 16


def optimize(spec: Optimized, out: Path) -> None:
    options = FusionOptions(spec.type)
    options.use_multi_head_attention = spec.multi_head
    optimized = optimizer.optimize_model(
        str(out / spec.model / f"{spec.export}.onnx"),
        spec.type,
        num_heads=HEADS,
        hidden_size=HIDDEN,
        opt_level=spec.level,
        optimization_options=options,
    )
    optimized.save_model_to_file(str(out / spec.file))


def write_session(model: str, export: str, out: Path) -> str:
    """Saves the graph that ONNX Runtime runs, without the rewrites that depend on the machine."""
    file = f"{model}/{export}-ort.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(out / file)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(out / model / f"{export}.onnx", options)
    return file


def add_row(entry: dict[str, Any], file: str, exporter: str, out: Path) -> None:
    """Runs all cases, then lists the file in the model's manifest entry."""
    feeds = [dict(np.load(out / case["inputs"])) for case in entry["cases"]]
    expected = [dict(np.load(out / case["expected"])) for case in entry["cases"]]
    model = onnx.load(out / file)
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    said = check.verdicts(out / file, feeds, expected, entry["dtype"])
    if "ok" not in said.values():
        raise ValueError(f"{file}: {said}")
    attention = Path(file).name.partition("-")[0]
    row = {"attention": attention, "exporter": exporter, "opset": opset}
    others = [row for row in entry["exports"] if row["file"] != file]
    entry["exports"] = [*others, {"file": file, **row, "checked": said}]


def _decoder(name: str) -> Family:
    family = next(f for f in FAMILIES if f.name == f"{name}-past")
    axes = {k: (*v[:3], HEAD_SIZE) if "past" in k else v for k, v in family.axes.items()}
    inputs = tuple(i for i in family.inputs if i != "position_ids")
    config = {**family.config, "head_dim": HEAD_SIZE}
    return replace(family, name=f"{name}-genai", inputs=inputs, axes=axes, config=config)


def _feeds(family: Family) -> list[dict[str, Tensor]]:
    feeds = []
    for case, (batch, new, past) in enumerate(CASES):
        rng = seeded(f"{family.name}/case{case}")
        sizes = {"batch": batch, "sequence": new, "past": past, "total": past + new}
        feed = {}
        for name in family.inputs:
            axes = family.axes.get(name, ("batch", "sequence"))
            shape = [a if isinstance(a, int) else sizes[a] for a in axes]
            feed[name] = _input(name, shape, rng)
        feeds.append(feed)
    return feeds


def _input(name: str, shape: Sequence[int], rng: torch.Generator) -> Tensor:
    if name == "attention_mask":
        return torch.ones(shape, dtype=torch.int64)
    if name == "input_ids":
        return torch.randint(3, VOCABULARY - 1, tuple(shape), generator=rng)
    return torch.randn(tuple(shape), generator=rng).mul(4).round().div(4)


def build_decoder(name: str, out: Path) -> tuple[str, dict[str, Any]]:
    """Makes a decoder with onnxruntime-genai's builder and checks it against PyTorch. Returns its
    name and manifest entry."""
    family = _decoder(name)
    model = family.build("eager")
    redraw(model, family.weights_seed, family.gain)
    feeds = _feeds(family)
    flat = Flat(model, family.inputs, family.outputs).eval()
    expected = [run(flat, feed) for feed in feeds]
    file = f"{family.name}/eager-genai.onnx"
    (out / family.name).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(f"{folder}/hf")
        words = Tokenizer(WordLevel({str(i): i for i in range(VOCABULARY)}, unk_token="0"))
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="0").save_pretrained(
            f"{folder}/hf"
        )
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder"]
        command = [*builder, "-i", f"{folder}/hf", "-o", folder, "-p", "fp32", "-e", "cpu"]
        subprocess.run(command, check=True, capture_output=True)
        onnx.save(onnx.load(f"{folder}/model.onnx"), out / file)
    entry: dict[str, Any] = {
        "dtype": family.dtype_name,
        "attention_layers": {"self": family.self_attention, "cross": 0},
        "cases": save_cases(out, family.name, family.dtype_name, feeds, expected),
        "exports": [],
        "not_exported": [],
    }
    add_row(entry, file, "genai", out)
    return family.name, entry


def main() -> None:
    parsed = arguments(__doc__, ("opt", "ort", "genai"))
    chosen = parsed.only or ("opt", "ort", "genai")
    path = parsed.out / "manifest.json"
    models = json.loads(path.read_text())["models"]
    for spec in OPTIMIZED if "opt" in chosen else ():
        optimize(spec, parsed.out)
        add_row(models[spec.model], spec.file, "opt", parsed.out)
    for model, export in SESSIONS if "ort" in chosen else ():
        add_row(models[model], write_session(model, export, parsed.out), "ort", parsed.out)
    for name in DECODERS if "genai" in chosen else ():
        model, entry = build_decoder(name, parsed.out)
        models[model] = entry
    path.write_text(json.dumps({"models": models}, indent=1) + "\n")


if __name__ == "__main__":
    main()
