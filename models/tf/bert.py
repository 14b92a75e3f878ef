# SPDX-License-Identifier: Apache-2.0
"""Shared by the spellings of BERT of TensorFlow origin."""

from __future__ import annotations

import math

import onnx

from models.tf.reference import EPSILON, HEAD, HEADS, HIDDEN, LAYERS, weights
from models.tf.writer import Writer

INPUTS = ("input_ids", "input_mask", "segment_ids")


class Bert(Writer):
    """The common parts of a BERT; each spelling overrides the dense layers and the attention."""

    exact_gelu = True

    def __init__(self) -> None:
        super().__init__()
        self.weights = weights()
        self.batch = self.extent("bert", "input_ids", 0)
        self.length = self.extent("bert/length", "input_ids", 1)

    def weight(self, name: str) -> str:
        return self.constant(f"bert/{name}/read:0", self.weights[name])

    def norm(self, name: str, x: str) -> str:
        """tf.nn.moments and tf.nn.batch_normalization: x * s + (beta - mean * s)."""
        at = f"bert/{name}"
        mean = self.node(f"{at}/moments/mean", "ReduceMean", x, axes=[-1], keepdims=1)
        gap = self.node(f"{at}/moments/SquaredDifference__sub", "Sub", x, mean)
        square = self.squared(f"{at}/moments/SquaredDifference", gap)
        variance = self.node(f"{at}/moments/variance", "ReduceMean", square, axes=[-1], keepdims=1)
        at = f"{at}/batchnorm"
        root = self.node(
            f"{at}/Rsqrt__sqrt", "Sqrt", self.binary(f"{at}/add", "Add", variance, EPSILON)
        )
        scale = self.node(f"{at}/Rsqrt", "Reciprocal", root)
        scale = self.node(f"{at}/mul", "Mul", scale, self.weight(f"{name}/gamma"))
        shift = self.node(f"{at}/mul_2", "Mul", mean, scale)
        shift = self.node(f"{at}/sub", "Sub", self.weight(f"{name}/beta"), shift)
        return self.node(f"{at}/add_1", "Add", self.node(f"{at}/mul_1", "Mul", x, scale), shift)

    def squared(self, name: str, x: str) -> str:
        return self.node(name, "Mul", x, x)

    def gelu(self, name: str, x: str) -> str:
        halved = self.binary(f"{name}/Gelu/mul", "Mul", x, 0.5)
        scaled = self.binary(f"{name}/Gelu/truediv", "Div", x, math.sqrt(2))
        erf = self.node(f"{name}/Gelu/Erf", "Erf", scaled)
        return self.node(
            f"{name}/Gelu/mul_1", "Mul", halved, self.binary(f"{name}/Gelu/add", "Add", erf, 1.0)
        )

    def token_types(self) -> str:
        table = self.weight("embeddings/token_type_embeddings")
        return self.node("bert/embeddings/GatherV2_1", "Gather", table, "segment_ids", axis=0)

    def embedded(self) -> str:
        words = self.weight("embeddings/word_embeddings")
        x = self.node("bert/embeddings/GatherV2", "Gather", words, "input_ids", axis=0)
        x = self.node("bert/embeddings/add", "Add", x, self.token_types())
        start, axes = self.constant("const_0", [0]), self.constant("const_0", [0])
        end = self.packed("bert/embeddings/Slice", self.length)
        table = self.weight("embeddings/position_embeddings")
        rows = self.node("bert/embeddings/Slice", "Slice", table, start, end, axes)
        rows = self.node("bert/embeddings/ExpandDims", "Unsqueeze", rows, axes)
        return self.norm("embeddings/LayerNorm", self.node("bert/embeddings/add_1", "Add", x, rows))

    def mask(self) -> str:
        """(1 - mask) * -10000, [B, 1, 1, S]."""
        mask = self.node("bert/Cast", "Cast", "input_mask", to=onnx.TensorProto.FLOAT)
        axes = self.constant("const_1_2", [1, 2])
        mask = self.node("bert/mask/strided_slice", "Unsqueeze", mask, axes)
        return self.additive("bert", mask)

    def additive(self, name: str, mask: str) -> str:
        """(1 - mask) * -10000."""
        one = self.constant(f"{name}/sub/x:0", 1.0)
        return self.binary(f"{name}/mul", "Mul", self.node(f"{name}/sub", "Sub", one, mask), -1e4)

    def dense(self, name: str, x: str) -> str:
        raise NotImplementedError

    def split(self, name: str, x: str) -> str:
        """[B, S, D] or [B * S, D] -> [B, heads, S, H]."""
        shape = self.packed(f"bert/{name}/Reshape", self.batch, self.length, HEADS, HEAD)
        four = self.node(f"bert/{name}/Reshape", "Reshape", x, shape)
        return self.node(f"bert/{name}/transpose", "Transpose", four, perm=[0, 2, 1, 3])

    def scaled(self, name: str, scores: str) -> str:
        return self.binary(f"{name}/truediv", "Div", scores, math.sqrt(HEAD))

    def merged_shape(self, name: str) -> str:
        return self.packed(name, self.batch, self.length, HIDDEN)

    def attention(self, name: str, x: str, mask: str) -> str:
        q, k, v = (
            self.split(f"{name}/self/{part}", self.dense(f"{name}/self/{part}", x))
            for part in ("query", "key", "value")
        )
        at = f"bert/{name}/self"
        turned = self.node(f"{at}/MatMul__transpose", "Transpose", k, perm=[0, 1, 3, 2])
        scores = self.scaled(at, self.node(f"{at}/MatMul", "MatMul", q, turned))
        scores = self.node(f"{at}/add", "Add", scores, mask)
        soft = self.node(f"{at}/Softmax", "Softmax", scores, axis=-1)
        context = self.node(f"{at}/MatMul_1", "MatMul", soft, v)
        context = self.node(f"{at}/transpose_3", "Transpose", context, perm=[0, 2, 1, 3])
        merged = self.node(
            f"{at}/Reshape_3", "Reshape", context, self.merged_shape(f"{at}/Reshape_3")
        )
        return self.dense(f"{name}/output/dense", merged)

    def layer(self, name: str, x: str, mask: str) -> str:
        attended = self.attention(f"{name}/attention", x, mask)
        x = self.norm(
            f"{name}/attention/output/LayerNorm",
            self.node(f"bert/{name}/attention/output/add", "Add", attended, x),
        )
        inner = self.dense(f"{name}/intermediate/dense", x)
        y = self.dense(f"{name}/output/dense", self.gelu(f"bert/{name}/intermediate", inner))
        return self.norm(
            f"{name}/output/LayerNorm", self.node(f"bert/{name}/output/add", "Add", y, x)
        )

    def write(self, opset: int) -> onnx.ModelProto:
        x, mask = self.embedded(), self.mask()
        for i in range(LAYERS):
            x = self.layer(f"layer_{i}", x, mask)
        return self.model(opset, INPUTS, self.finished(x), HIDDEN)

    def finished(self, x: str) -> str:
        return x
