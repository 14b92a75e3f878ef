# SPDX-License-Identifier: Apache-2.0
"""llama.cpp as a peer: builds its llama-bench, and measures a model of the same shape with it.

The source comes with the package llama-cpp-python. Weights are random: the time does not depend on
them. llama.cpp rounds activations to 8 bits where weights have fewer than 16.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build/llama.cpp"
PACKAGE = "llama-cpp-python"
VERSION = "0.3.36"
SOURCE = HOME / f"llama_cpp_python-{VERSION}/vendor/llama.cpp"
PROGRAM = HOME / "build/bin/llama-bench"
MODEL = HOME / "model.gguf"
# GCC 12's _tile_loadconfig drops stores of the configuration that it loads, and llama.cpp crashes.
COMPILERS = ("-DCMAKE_C_COMPILER=gcc-14", "-DCMAKE_CXX_COMPILER=g++-14")
LEFT_OUT = ("TESTS", "EXAMPLES", "SERVER", "MTMD")
# By the bits of the weights: the file type's number in GGUF, and the name of the quantization.
FORMATS = {4: (2, "Q4_0"), 8: (7, "Q8_0"), 32: (0, "F32")}


def fetch() -> None:
    """Unpacks the source into build/, once."""
    if SOURCE.exists():
        return
    HOME.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", PACKAGE]
    subprocess.run([*pip, "--dest", str(HOME), f"{PACKAGE}=={VERSION}"], check=True)
    archive = next(HOME.glob("*.tar.gz"))
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(HOME)], check=True)


def build() -> None:
    """Builds llama-bench for this processor, once. Takes some minutes."""
    if PROGRAM.exists():
        return
    fetch()
    options = [f"-DLLAMA_BUILD_{part}=OFF" for part in LEFT_OUT]
    options += ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=ON"]
    options += COMPILERS
    folder = str(HOME / "build")
    subprocess.run(["cmake", "-S", str(SOURCE), "-B", folder, *options], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "llama-bench", "-j"], check=True)


def weights_of(model: onnx.ModelProto, name: str) -> tuple[int, int]:
    """The columns of the first product whose node has this in its name, and the bits of its
    weights."""
    for node in model.graph.node:
        if name not in node.name or not node.op_type.startswith("MatMul"):
            continue
        numbers = {attribute.name: attribute.i for attribute in node.attribute}
        if "N" in numbers:
            return numbers["N"], numbers.get("bits", 4)
        for weight in model.graph.initializer:
            if weight.name == node.input[1]:
                return weight.dims[1], 32
    raise SystemExit(f"no product named '{name}': llama.cpp is compared on gated decoders alone")


class Writer:
    """Writes a model of the shape that a genai_config.json and its model tell."""

    def __init__(self, path: Path, decoder: Mapping[str, Any], bits: int) -> None:
        self.file_type, self.format = FORMATS[bits]
        self.random = np.random.default_rng(0)
        self.decoder = decoder
        self.file = gguf.GGUFWriter(str(path), "llama")

    def add_settings(self, vocabulary: int, inner: int) -> None:
        decoder = self.decoder
        self.file.add_context_length(8192)
        self.file.add_embedding_length(decoder["hidden_size"])
        self.file.add_block_count(decoder["num_hidden_layers"])
        self.file.add_feed_forward_length(inner)
        self.file.add_head_count(decoder["num_attention_heads"])
        self.file.add_head_count_kv(decoder["num_key_value_heads"])
        self.file.add_rope_dimension_count(decoder["head_size"])
        self.file.add_layer_norm_rms_eps(1e-5)
        self.file.add_vocab_size(vocabulary)
        self.file.add_tokenizer_model("no_vocab")
        self.file.add_file_type(self.file_type)

    def add_weight(self, name: str, rows: int, columns: int) -> None:
        weight = self.random.standard_normal((rows, columns), dtype=np.float32) * 0.04
        if self.format == "F32":
            self.file.add_tensor(f"{name}.weight", weight)
            return
        kind = gguf.GGMLQuantizationType[self.format]
        packed = gguf.quants.quantize(weight, kind)
        self.file.add_tensor(f"{name}.weight", packed, raw_dtype=kind)

    def add_ones(self, name: str) -> None:
        self.file.add_tensor(f"{name}.weight", np.ones(self.decoder["hidden_size"], np.float32))

    def add_layer(self, layer: int, inner: int) -> None:
        width = self.decoder["hidden_size"]
        queries = self.decoder["num_attention_heads"] * self.decoder["head_size"]
        keys = self.decoder["num_key_value_heads"] * self.decoder["head_size"]
        prefix = f"blk.{layer}."
        self.add_ones(prefix + "attn_norm")
        self.add_ones(prefix + "ffn_norm")
        for name, rows, columns in (
            ("attn_q", queries, width),
            ("attn_k", keys, width),
            ("attn_v", keys, width),
            ("attn_output", width, queries),
            ("ffn_gate", inner, width),
            ("ffn_up", inner, width),
            ("ffn_down", width, inner),
        ):
            self.add_weight(prefix + name, rows, columns)

    def finish(self) -> None:
        self.file.write_header_to_file()
        self.file.write_kv_data_to_file()
        self.file.write_tensors_to_file()
        self.file.close()


def write_model(folder: Path, path: Path) -> None:
    """Writes a model of the shape of the folder's; its embeddings are the head's weights, too."""
    config = json.loads((folder / "genai_config.json").read_text())["model"]
    decoder = config["decoder"]
    model = onnx.load(str(folder / decoder["filename"]), load_external_data=False)
    inner, bits = weights_of(model, "mlp/gate_proj")
    writer = Writer(path, decoder, bits)
    writer.add_settings(config["vocab_size"], inner)
    writer.add_weight("token_embd", config["vocab_size"], decoder["hidden_size"])
    writer.add_ones("output_norm")
    for layer in range(decoder["num_hidden_layers"]):
        writer.add_layer(layer, inner)
    writer.finish()


def measure(path: Path, prompt_tokens: int, new_tokens: int, threads: int) -> dict[str, float]:
    """The rates of one run. llama-bench decodes behind an empty cache, unless told a depth."""
    command = [str(PROGRAM), "-m", str(path), "-t", str(threads), "-o", "json", "-r", "3"]
    command += ["-p", str(prompt_tokens), "-n", "0"]
    prompt = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    command[-4:] = ["-p", "0", "-n", str(new_tokens), "-d", str(prompt_tokens)]
    decode = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {
        "prompt_tokens_per_second": max(prompt[0]["samples_ts"]),
        "decode_tokens_per_second": max(decode[0]["samples_ts"]),
    }
