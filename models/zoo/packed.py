# SPDX-License-Identifier: Apache-2.0
"""Spellings of packed projections, and spellings with one Linear for each head."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from models.shared.expect import PACKED, Expect
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, Attention, D, H, merge, split


class Gpt2(nn.Module):
    """transformers' Conv1D, which is a Linear with its weight transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.c_attn = Conv1D(3 * D, D)
        self.c_proj = Conv1D(D, D)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (split(part) for part in self.c_attn(x).split(D, dim=2))
        return self.c_proj(merge(torch.softmax(q @ k.transpose(-1, -2) / H**0.5, -1) @ v))


class Packed(nn.Module):
    """One Linear(D, 3 D); subclasses cut q, k and v [B, heads, S, H] out of its result."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D)
        self.o = nn.Linear(D, D)

    def parts(self, qkv: Tensor) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.parts(self.qkv(x))
        return self.o(merge(torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(H), -1) @ v))


class PackedChunk(Packed):
    def parts(self, qkv: Tensor) -> tuple[Tensor, ...]:
        return tuple(split(part) for part in qkv.chunk(3, dim=-1))


class PackedSplit(Packed):
    def parts(self, qkv: Tensor) -> tuple[Tensor, ...]:
        return tuple(split(part) for part in qkv.split([D, D, D], dim=2))


class PackedSlices(Packed):
    def parts(self, qkv: Tensor) -> tuple[Tensor, ...]:
        return split(qkv[..., :D]), split(qkv[..., D : 2 * D]), split(qkv[..., 2 * D :])


class PackedUnbind(Packed):
    """timm's ViT: [B, S, 3, heads, H], permuted, unbound on the first axis."""

    def parts(self, qkv: Tensor) -> tuple[Tensor, ...]:
        five = qkv.reshape(qkv.shape[0], qkv.shape[1], 3, HEADS, H)
        return five.permute(2, 0, 3, 1, 4).unbind(0)


class PackedSelect(Packed):
    def parts(self, qkv: Tensor) -> tuple[Tensor, ...]:
        five = qkv.reshape(qkv.shape[0], qkv.shape[1], 3, HEADS, H).permute(2, 0, 3, 1, 4)
        return five[0], five[1], five[2]


class PackedByHead(Packed):
    """GPT-NeoX: q, k and v of one head lie side by side."""

    def parts(self, qkv: Tensor) -> tuple[Tensor, ...]:
        by_head = qkv.view(qkv.shape[0], qkv.shape[1], HEADS, 3 * H)
        cuts = (by_head[..., :H], by_head[..., H : 2 * H], by_head[..., 2 * H :])
        return tuple(part.permute(0, 2, 1, 3) for part in cuts)


class PackedChunkAfterHeads(Packed):
    def parts(self, qkv: Tensor) -> tuple[Tensor, ...]:
        return split(qkv).chunk(3, dim=-1)


class PackedKeysValues(Attention):
    """q from a Linear of its own, k and v from one Linear(D, 2 D)."""

    def __init__(self) -> None:
        super().__init__()
        del self.k, self.v
        self.kv = nn.Linear(D, 2 * D)

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        k, v = self.kv(x).chunk(2, dim=-1)
        return split(self.q(x)), split(k), split(v)


class PerHead(nn.Module):
    """One Linear(D, H) for each of q, k, v and each head."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (
            nn.ModuleList(nn.Linear(D, H) for _ in range(HEADS)) for _ in range(3)
        )
        self.o = nn.Linear(D, D)

    def context(self, x: Tensor) -> Tensor:
        q, k, v = (torch.stack([p(x) for p in ps], 1) for ps in (self.q, self.k, self.v))
        return merge(torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(H), -1) @ v)

    def forward(self, x: Tensor) -> Tensor:
        return self.o(self.context(x))


class PerHeadConcatenated(PerHead):
    """The heads' projections are concatenated, then split into heads again."""

    def context(self, x: Tensor) -> Tensor:
        q, k, v = (split(torch.cat([p(x) for p in ps], -1)) for ps in (self.q, self.k, self.v))
        return merge(torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(H), -1) @ v)


class PerHeadAttentions(PerHead):
    """Each head is an attention by itself; their results are concatenated."""

    def context(self, x: Tensor) -> Tensor:
        heads = []
        for q, k, v in zip(self.q, self.k, self.v, strict=True):
            scores = q(x) @ k(x).transpose(1, 2) / math.sqrt(H)
            heads.append(torch.softmax(scores, -1) @ v(x))
        return torch.cat(heads, -1)


_ALL_HEADS = Expect(merged="q, k, v of every head")

ENTRIES = (
    Entry("gpt2-conv1d", Gpt2, PACKED),
    Entry("packed-chunk", PackedChunk, PACKED),
    Entry("packed-split", PackedSplit, PACKED),
    Entry("packed-slices", PackedSlices, PACKED),
    Entry("packed-unbind", PackedUnbind, PACKED),
    Entry("packed-select", PackedSelect, PACKED),
    Entry("packed-by-head", PackedByHead, PACKED),
    Entry("packed-chunk-after-heads", PackedChunkAfterHeads, PACKED),
    Entry("packed-kv", PackedKeysValues, Expect(merged="q, packed kv")),
    Entry("per-head-stacked", PerHead, _ALL_HEADS),
    Entry("per-head-concatenated", PerHeadConcatenated, _ALL_HEADS),
    Entry("per-head-attentions", PerHeadAttentions, _ALL_HEADS),
)
