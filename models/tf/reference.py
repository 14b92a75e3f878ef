# SPDX-License-Identifier: Apache-2.0
"""A two-layer BERT in numpy: the weights for the models of spellings.py and their outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from models.shared.cases import HIDDEN, VOCABULARY
from models.shared.weights import coarse_normal, seeded

LAYERS = 2
HEADS = 4
HEAD = HIDDEN // HEADS
FFN = 48
LONGEST = 40
EPSILON = 1e-12

Weights = Mapping[str, np.ndarray]

# Kernels are [in, out], as TensorFlow keeps them.
_SHAPES = {
    "embeddings/word_embeddings": (VOCABULARY, HIDDEN),
    "embeddings/position_embeddings": (LONGEST, HIDDEN),
    "embeddings/token_type_embeddings": (2, HIDDEN),
}
_LAYER_KERNELS = {
    "attention/self/query": (HIDDEN, HIDDEN),
    "attention/self/key": (HIDDEN, HIDDEN),
    "attention/self/value": (HIDDEN, HIDDEN),
    "attention/output/dense": (HIDDEN, HIDDEN),
    "intermediate/dense": (HIDDEN, FFN),
    "output/dense": (FFN, HIDDEN),
}


def weights() -> Weights:
    """All weights under TensorFlow's names."""
    rng = seeded("zoo/tf")
    made = {name: coarse_normal(shape, 1.0, rng) for name, shape in _SHAPES.items()}
    norms = ["embeddings/LayerNorm"]
    for i in range(LAYERS):
        for name, shape in _LAYER_KERNELS.items():
            made[f"layer_{i}/{name}/kernel"] = coarse_normal(shape, 0.25, rng)
            made[f"layer_{i}/{name}/bias"] = coarse_normal(shape[1:], 0.25, rng)
        norms += [f"layer_{i}/attention/output/LayerNorm", f"layer_{i}/output/LayerNorm"]
    for norm in norms:
        made[f"{norm}/gamma"] = coarse_normal((HIDDEN,), 0.25, rng) + 1
        made[f"{norm}/beta"] = coarse_normal((HIDDEN,), 0.25, rng)
    return {name: tensor.numpy() for name, tensor in made.items()}


def _norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPSILON) * (
        gamma
    ) + beta


def _gelu(x: np.ndarray, exact: bool) -> np.ndarray:
    if exact:
        return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


class _Bert:
    def __init__(self, exact_gelu: bool) -> None:
        self.w = {name: value.astype(np.float64) for name, value in weights().items()}
        self.exact_gelu = exact_gelu

    def dense(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.w[f"{name}/kernel"] + self.w[f"{name}/bias"]

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        return _norm(x, self.w[f"{name}/gamma"], self.w[f"{name}/beta"])

    def attention(self, name: str, x: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Attention on x [B, S, D] with mask [B, S], one head at a time."""
        q, k, v = (self.dense(f"{name}/self/{part}", x) for part in ("query", "key", "value"))
        heads = []
        for start in range(0, HIDDEN, HEAD):
            cut = slice(start, start + HEAD)
            scores = q[..., cut] @ k[..., cut].swapaxes(1, 2) / math.sqrt(HEAD)
            scores = scores + (1.0 - mask[:, None, :]) * -10000.0
            heads.append(_softmax(scores) @ v[..., cut])
        return self.dense(f"{name}/output/dense", np.concatenate(heads, -1))

    def __call__(self, ids: np.ndarray, mask: np.ndarray, types: np.ndarray) -> np.ndarray:
        table = self.w["embeddings/position_embeddings"][: ids.shape[1]]
        x = self.w["embeddings/word_embeddings"][ids] + table
        x = self.norm("embeddings/LayerNorm", x + self.w["embeddings/token_type_embeddings"][types])
        for i in range(LAYERS):
            layer = f"layer_{i}"
            attended = self.attention(f"{layer}/attention", x, mask)
            x = self.norm(f"{layer}/attention/output/LayerNorm", x + attended)
            inner = _gelu(self.dense(f"{layer}/intermediate/dense", x), self.exact_gelu)
            x = self.norm(
                f"{layer}/output/LayerNorm", x + self.dense(f"{layer}/output/dense", inner)
            )
        return x


def bert(feed: Mapping[str, np.ndarray], exact_gelu: bool) -> np.ndarray:
    """The last hidden state [B, S, D], computed in float64."""
    result = _Bert(exact_gelu)(feed["input_ids"], feed["input_mask"], feed["segment_ids"])
    return result.astype(np.float32)
