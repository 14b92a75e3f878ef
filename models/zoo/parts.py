# SPDX-License-Identifier: Apache-2.0
"""Shared by the zoo's modules: sizes, splitting and merging heads, one plain attention."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.shared.cases import HIDDEN

D = HIDDEN
HEADS = 4
H = D // HEADS
LONGEST = 40  # Rows of position tables and of causal buffers.


def split(x: Tensor, heads: int = HEADS) -> Tensor:
    """[B, S, heads * H] -> [B, heads, S, H]."""
    return x.view(x.shape[0], x.shape[1], heads, x.shape[2] // heads).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    """[B, heads, S, H] -> [B, S, heads * H]."""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


class Attention(nn.Module):
    """softmax(q k^T / sqrt(H)) v on four projections of x; variants override a step.

    `bias` names the projections that have one, `order` the order in which they are computed.
    """

    def __init__(
        self,
        heads: int = HEADS,
        kv_heads: int | None = None,
        head: int = H,
        value_head: int | None = None,
        bias: str = "qkvo",
        order: str = "qkv",
    ) -> None:
        super().__init__()
        self.heads = heads
        self.kv_heads = kv_heads or heads
        self.head = head
        self.order = order
        value_head = value_head or head
        self.q = nn.Linear(D, heads * head, bias="q" in bias)
        self.k = nn.Linear(D, self.kv_heads * head, bias="k" in bias)
        self.v = nn.Linear(D, self.kv_heads * value_head, bias="v" in bias)
        self.o = nn.Linear(heads * value_head, D, bias="o" in bias)

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q, k, v as [B, heads, S, H]."""
        heads = {"q": self.heads, "k": self.kv_heads, "v": self.kv_heads}
        made = {name: split(getattr(self, name)(x), heads[name]) for name in self.order}
        return made["q"], made["k"], made["v"]

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-1, -2) / math.sqrt(self.head)

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return scores

    def weights(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, -1)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        return merge(self.weights(self.masked(self.scores(q, k), *masks)) @ v)

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        return self.o(self.attend(*self.projections(x), *masks))
