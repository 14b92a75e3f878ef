# SPDX-License-Identifier: Apache-2.0
"""Quantizes weights of the tiny models: python -m models.tiny.quantized --from TINY --out DIR.

It uses MatMulNBitsQuantizer of onnxruntime.quantization, as onnxruntime-genai's builder does. The
expected outputs are those of ONNX Runtime without rounding of activations.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization.matmul_nbits_quantizer import (
    DefaultWeightOnlyQuantConfig,
    MatMulNBitsQuantizer,
)

from models.shared import check


@dataclass(frozen=True)
class Quantized:
    """A model, its export and the format of its weights."""

    model: str
    export: str
    bits: int
    block: int
    symmetric: bool = True
    embeddings: bool = False

    @property
    def name(self) -> str:
        kind = "" if self.symmetric else "-points"
        return f"{self.model}-q{self.bits}-{self.block}{kind}"


QUANTIZED = (
    Quantized("bert", "sdpa-dyn", 4, 32, embeddings=True),
    Quantized("bert", "eager-ts", 4, 16, symmetric=False, embeddings=True),
    Quantized("bert", "sdpa-ts", 8, 32),
    Quantized("vit", "sdpa-dyn", 4, 128, symmetric=False),
    Quantized("llama-past", "sdpa-dyn", 4, 32, embeddings=True),
    Quantized("llama-past", "sdpa-dyn23", 8, 16, symmetric=False),
    Quantized("llama-genai", "eager-genai", 4, 32),
    Quantized("qwen3-genai", "eager-genai", 4, 16, symmetric=False),
)


def quantize(spec: Quantized, source: Path, target: Path) -> None:
    config = DefaultWeightOnlyQuantConfig(
        block_size=spec.block,
        is_symmetric=spec.symmetric,
        bits=spec.bits,
        op_types_to_quantize=("MatMul", "Gather") if spec.embeddings else ("MatMul",),
        quant_axes=(("MatMul", 0), ("Gather", 1)),
    )
    model = onnx.load(source / spec.model / f"{spec.export}.onnx")
    quantizer = MatMulNBitsQuantizer(model, algo_config=config)
    quantizer.process()
    onnx.save(quantizer.model.model, target)


def add(spec: Quantized, source: Path, out: Path) -> dict[str, Any]:
    """Writes the model's files below `out` and returns its manifest entry."""
    listed = json.loads((source / "manifest.json").read_text())["models"][spec.model]
    (out / spec.name).mkdir(parents=True, exist_ok=True)
    file = f"{spec.name}/{spec.export}.onnx"
    quantize(spec, source, out / file)
    session = onnxruntime.InferenceSession(str(out / file))
    names = [output.name for output in session.get_outputs()]
    cases = []
    for index, case in enumerate(listed["cases"]):
        feed = dict(np.load(source / case["inputs"]))
        feed = {i.name: feed[i.name] for i in session.get_inputs()}
        result = dict(zip(names, session.run(None, feed), strict=True))
        files = {kind: f"{spec.name}/case{index}.{kind}.npz" for kind in ("inputs", "expected")}
        np.savez(out / files["inputs"], allow_pickle=False, **feed)
        np.savez(out / files["expected"], allow_pickle=False, **result)
        cases.append({**files, "tolerance": check.tolerance(listed["dtype"], result)})
    return {"dtype": listed["dtype"], "cases": cases, "exports": [{"file": file}]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parsed = parser.parse_args()
    models = {spec.name: add(spec, parsed.source, parsed.out) for spec in QUANTIZED}
    (parsed.out / "manifest.json").write_text(json.dumps({"models": models}, indent=1) + "\n")


if __name__ == "__main__":
    main()
