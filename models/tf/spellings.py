# SPDX-License-Identifier: Apache-2.0
"""BERT of TensorFlow origin, written node by node as tf2onnx does, in three spellings:

tf-bert        google-research/bert: hidden states of rank 2, gelu by tanh, token types one-hot
tf-bert-dense  transformers' TFBert: Dense as Reshape, MatMul, Reshape, Add; gelu by erf
tf-bert-keras  Keras' MultiHeadAttention: EinsumDense; gelu by erf
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from models.shared import check
from models.shared.cases import CASES
from models.shared.cases import make_inputs as tiny_inputs
from models.shared.expect import Expect
from models.shared.manifest import save_cases
from models.tf.bert import INPUTS, Bert
from models.tf.reference import HEAD, HEADS, HIDDEN, LAYERS, bert

_OPSETS = (13, 17)


class Original(Bert):
    exact_gelu = False

    def token_types(self) -> str:
        flat = self.constant("const_minus_1", [-1])
        ids = self.node("bert/embeddings/Reshape_2", "Reshape", "segment_ids", flat)
        depth, values = (
            self.constant("const_depth_2", [2]),
            self.constant("const_off_on", [0.0, 1.0]),
        )
        hot = self.node("bert/embeddings/one_hot", "OneHot", ids, depth, values, axis=-1)
        table = self.weight("embeddings/token_type_embeddings")
        rows = self.node("bert/embeddings/MatMul", "MatMul", hot, table)
        shape = self.packed("bert/embeddings/Reshape_3", self.batch, self.length, HIDDEN)
        return self.node("bert/embeddings/Reshape_3", "Reshape", rows, shape)

    def embedded(self) -> str:
        shape = self.constant("const_rank_2", [-1, HIDDEN])
        return self.node("bert/encoder/Reshape_1", "Reshape", super().embedded(), shape)

    def mask(self) -> str:
        """Ones [B, S, 1] times the mask [B, 1, S], then a head axis: [B, 1, S, S]."""
        shape = self.packed("bert/encoder/ones", self.batch, self.length, 1)
        value = onnx.numpy_helper.from_array(np.ones(1, np.float32))
        ones = self.node("bert/encoder/ones", "ConstantOfShape", shape, value=value)
        mask = self.node("bert/encoder/Cast", "Cast", "input_mask", to=onnx.TensorProto.FLOAT)
        axes = self.constant("const_1", [1])
        mask = self.node("bert/encoder/Reshape", "Unsqueeze", mask, axes)
        pairs = self.node("bert/encoder/mul", "Mul", ones, mask)
        return self.additive("bert/mask", self.node("bert/ExpandDims", "Unsqueeze", pairs, axes))

    def dense(self, name: str, x: str) -> str:
        product = self.node(f"bert/{name}/MatMul", "MatMul", x, self.weight(f"{name}/kernel"))
        return self.node(f"bert/{name}/BiasAdd", "Add", product, self.weight(f"{name}/bias"))

    def scaled(self, name: str, scores: str) -> str:
        return self.binary(f"{name}/Mul", "Mul", scores, HEAD**-0.5)

    def merged_shape(self, name: str) -> str:
        return self.constant("const_rank_2", [-1, HIDDEN])

    def gelu(self, name: str, x: str) -> str:
        cube = self.binary(f"{name}/Pow", "Pow", x, 3.0)
        cube = self.binary(f"{name}/mul", "Mul", cube, 0.044715)
        inner = self.node(f"{name}/add", "Add", x, cube)
        tanh = self.node(
            f"{name}/Tanh",
            "Tanh",
            self.binary(f"{name}/mul_1", "Mul", inner, math.sqrt(2 / math.pi)),
        )
        half = self.binary(
            f"{name}/mul_2", "Mul", self.binary(f"{name}/add_1", "Add", tanh, 1.0), 0.5
        )
        return self.node(f"{name}/mul_3", "Mul", x, half)

    def finished(self, x: str) -> str:
        shape = self.packed("bert/encoder/Reshape_4", self.batch, self.length, HIDDEN)
        return self.node("bert/encoder/Reshape_4", "Reshape", x, shape)


class Dense(Bert):
    def squared(self, name: str, x: str) -> str:
        return self.binary(name, "Pow", x, 2.0)

    def dense(self, name: str, x: str) -> str:
        kernel = self.weight(f"{name}/kernel")
        width, out = self.weights[f"{name}/kernel"].shape
        at = f"bert/{name}/Tensordot"
        flat = self.node(
            f"{at}/Reshape", "Reshape", x, self.constant(f"const_flat_{width}", [-1, width])
        )
        product = self.node(f"{at}/MatMul", "MatMul", flat, kernel)
        shape = self.packed(at, self.batch, self.length, out)
        product = self.node(at, "Reshape", product, shape)
        return self.node(f"bert/{name}/BiasAdd", "Add", product, self.weight(f"{name}/bias"))


class Keras(Dense):
    def squared(self, name: str, x: str) -> str:
        return self.node(name, "Mul", x, x)

    def projected(self, name: str, x: str) -> str:
        """EinsumDense: [B, S, D] -> [B, S, heads, H]."""
        kernel = self.weights[f"{name}/kernel"].reshape(HIDDEN, HEADS, HEAD)
        bias = self.weights[f"{name}/bias"].reshape(HEADS, HEAD)
        at = f"bert/{name}"
        product = self.node(
            f"{at}/einsum/Einsum",
            "Einsum",
            x,
            self.constant(f"{at}/einsum/ReadVariableOp:0", kernel),
            equation="abc,cde->abde",
        )
        return self.node(f"{at}/add", "Add", product, self.constant(f"{at}/add/read:0", bias))

    def attention(self, name: str, x: str, mask: str) -> str:
        q, k, v = (self.projected(f"{name}/self/{part}", x) for part in ("query", "key", "value"))
        at = f"bert/{name}"
        q = self.binary(f"{at}/Mul", "Mul", q, HEAD**-0.5)
        scores = self.node(f"{at}/einsum/Einsum", "Einsum", k, q, equation="aecd,abcd->acbe")
        scores = self.node(f"{at}/masked/add", "Add", scores, mask)
        soft = self.node(f"{at}/softmax/Softmax", "Softmax", scores, axis=-1)
        context = self.node(f"{at}/einsum_1/Einsum", "Einsum", soft, v, equation="acbe,aecd->abcd")
        kernel = self.weights[f"{name}/output/dense/kernel"].reshape(HEADS, HEAD, HIDDEN)
        product = self.node(
            f"{at}/output/einsum/Einsum",
            "Einsum",
            context,
            self.constant(f"{at}/output/einsum/ReadVariableOp:0", kernel),
            equation="abcd,cde->abe",
        )
        return self.node(
            f"{at}/output/BiasAdd", "Add", product, self.weight(f"{name}/output/dense/bias")
        )


_STYLES = {"tf-bert": Original, "tf-bert-dense": Dense, "tf-bert-keras": Keras}
NAMES = tuple(_STYLES)


def _expect(name: str) -> Expect:
    """The expected counts. The product with one-hot rows may become a Linear or not."""
    linears = None if name == "tf-bert" else 4 * LAYERS
    return Expect(LAYERS, LAYERS, "; ".join(["query, key, value"] * LAYERS), linears)


def _feed(case: int) -> dict[str, torch.Tensor]:
    kinds = dict(zip(INPUTS, ("input_ids", "attention_mask", "token_type_ids"), strict=True))
    made = tiny_inputs(tuple(kinds.values()), {}, 0, case, "zoo")
    return {name: made[kind] for name, kind in kinds.items()}


def generate(name: str, out: Path) -> dict[str, Any]:
    """Writes the files of spelling `name` below `out` and returns its manifest entry."""
    style = _STYLES[name]
    (out / name).mkdir(parents=True, exist_ok=True)
    feeds = [_feed(case) for case in range(len(CASES))]
    arrays = [{k: v.numpy() for k, v in feed.items()} for feed in feeds]
    expected = [{"last_hidden_state": bert(feed, style.exact_gelu)} for feed in arrays]
    exports = []
    for opset in _OPSETS:
        file = f"{name}/tf{opset}.onnx"
        model = style().write(opset)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, out / file)
        said = check.verdicts(out / file, arrays, expected, "float32")
        if "ok" not in said.values():
            raise ValueError(f"{file}: no runtime agrees with numpy: {said}")
        row = {"attention": "module", "exporter": "tf", "opset": opset}
        exports.append({"file": file, **row, "checked": said})
    return {
        "dtype": "float32",
        "attention_layers": {"self": LAYERS, "cross": 0},
        "expect": _expect(name).as_json(),
        "cases": save_cases(out, name, "float32", feeds, expected),
        "exports": exports,
        "not_exported": [],
    }
