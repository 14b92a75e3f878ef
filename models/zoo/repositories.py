# SPDX-License-Identifier: Apache-2.0
"""Attention modules from public repositories that fit none of the other files."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.shared.expect import PACKED, Expect, unfused
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, Attention, D, H, merge, split

KV = 2
LATENTS = 6


class GroupsBeforeHeads(Attention):
    """Grouped queries by fkodom: the group axis comes first, scores are [B, group, kv, S, T]."""

    def __init__(self) -> None:
        super().__init__(kv_heads=KV)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = self.projections(x)
        q = (q * H**-0.5).reshape(batch, KV, HEADS // KV, length, H).transpose(1, 2)
        scores = torch.einsum("bghnd,bhsd->bghns", q, k)
        causal = torch.ones(length, length, dtype=torch.bool).tril_()
        scores = scores.masked_fill(~causal, torch.finfo(x.dtype).min)
        context = torch.einsum("bghns,bhsd->bghnd", torch.softmax(scores, -1), v)
        return self.o(context.permute(0, 3, 2, 1, 4).reshape(x.shape))


class BloomAlibi(Attention):
    """ALiBi over the positions that are not padding, as baddbmm's first operand. Scores are clamped
    to the lowest number of their type."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (t.reshape(batch * HEADS, length, H) for t in self.projections(x))
        slopes = torch.tensor([2.0 ** -(2 * (n + 1)) for n in range(HEADS)]).to(x)
        positions = ((mask.cumsum(-1) - 1) * mask)[:, None, :]
        alibi = (slopes[:, None] * positions).reshape(batch * HEADS, 1, length)
        scores = alibi.baddbmm(
            batch1=q, batch2=k.transpose(-1, -2), beta=1.0, alpha=H**-0.5
        )
        least = torch.finfo(x.dtype).min
        masked = torch.triu(torch.full((length, length), least, dtype=x.dtype), 1)[None, None]
        masked = masked + (1.0 - mask[:, None, None, :].to(x.dtype)) * least
        scores = torch.clamp(scores.view(batch, HEADS, length, -1) + masked, min=least)
        weights = torch.softmax(scores, -1).view(batch * HEADS, length, -1)
        return self.o(merge(torch.bmm(weights, v).view(batch, HEADS, length, H)))


class SummedHeads(nn.Module):
    """One attention for each head; the sum of their output projections is the result."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Attention(heads=1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([head(x) for head in self.heads]).sum(0)


class PackedTexts(Attention):
    """Several texts in one row: a query sees the keys of its own text up to its own position."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        texts = masks[0].cumsum(-1)
        length = texts.shape[1]
        own = texts[:, None, :, None] == texts[:, None, None, :]
        causal = torch.tril(torch.ones(length, length, dtype=torch.bool))
        return scores.masked_fill(~(own & causal), torch.finfo(scores.dtype).min)


class Latents(Attention):
    """Perceiver, Flamingo: learned queries; keys and values come from x and from the queries."""

    def __init__(self) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.zeros(LATENTS, D))

    def forward(self, x: Tensor) -> Tensor:
        latents = self.latents[None].repeat(x.shape[0], 1, 1)
        q = split(self.q(latents)) * H**-0.5
        k, v = (split(p(torch.cat((x, latents), 1))) for p in (self.k, self.v))
        scores = q @ k.transpose(-1, -2)
        scores = scores - scores.amax(-1, keepdim=True).detach()
        return self.o(merge(torch.softmax(scores, -1) @ v))


class MemoryKeys(Attention):
    """Learned keys and values precede those of x (x-transformers)."""

    def __init__(self) -> None:
        super().__init__()
        self.memory_k = nn.Parameter(torch.zeros(HEADS, 2, H))
        self.memory_v = nn.Parameter(torch.zeros(HEADS, 2, H))

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().projections(x)
        memory = (t[None].expand(x.shape[0], -1, -1, -1) for t in (self.memory_k, self.memory_v))
        k, v = (torch.cat((m, t), 2) for m, t in zip(memory, (k, v), strict=True))
        return q, k, v


class Axial(nn.Module):
    """Attention along the rows of an image, with tensors of rank 5."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D)
        self.o = nn.Linear(D, D)

    def forward(self, image: Tensor) -> Tensor:
        batch, rows, columns, _ = image.shape
        parts = self.qkv(image).chunk(3, -1)
        q, k, v = (
            p.reshape(batch, rows, columns, HEADS, H).permute(0, 2, 3, 1, 4) for p in parts
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(H), -1)
        return self.o((weights @ v).permute(0, 3, 1, 2, 4).reshape(image.shape))


class ChannelsFirst(nn.Module):
    """Stable Diffusion's autoencoder: 1x1 convolutions, one head, products over channels."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Conv2d(D, D, 1) for _ in range(4))

    def forward(self, image: Tensor) -> Tensor:
        x = image.permute(0, 3, 1, 2)
        q, k, v = (p(x).flatten(2) for p in (self.q, self.k, self.v))
        weights = torch.softmax(torch.bmm(q.transpose(1, 2), k) * D**-0.5, -1)
        return self.o(torch.bmm(v, weights.transpose(1, 2)).reshape(x.shape))


class LatentKeys(nn.Module):
    """DeepSeek's latent attention: keys and values come from one narrow vector per position, and
    heads of values are narrower than heads of keys."""

    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Linear(D, HEADS * H, bias=False)
        self.down = nn.Linear(D, 16, bias=False)
        self.norm = nn.LayerNorm(16)
        self.up = nn.Linear(16, HEADS * (H + 6), bias=False)
        self.o = nn.Linear(HEADS * 6, D, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q = split(self.q(x))
        k, v = split(self.up(self.norm(self.down(x)))).split([H, 6], -1)
        return self.o(merge(torch.softmax(q @ k.transpose(2, 3) / math.sqrt(H), -1) @ v))


class SharedQueryKey(Attention):
    """Reformer: keys are normalized queries. No position sees itself unless it is the only one."""

    def forward(self, x: Tensor) -> Tensor:
        q, v = split(self.q(x)), split(self.v(x))
        scores = q @ functional.normalize(q, dim=-1).transpose(-1, -2) / math.sqrt(H)
        scores = scores.masked_fill(torch.eye(x.shape[1], dtype=torch.bool), -5e4)
        return self.o(merge(torch.softmax(scores, -1) @ v))


class CrossCovariance(Attention):
    """XCiT: channels attend to channels; a score sums over all positions."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.transpose(-1, -2) for t in self.projections(x))
        q, k = functional.normalize(q, dim=-1), functional.normalize(k, dim=-1)
        return self.o(merge((torch.softmax(q @ k.transpose(-1, -2) * 2.0, -1) @ v).transpose(2, 3)))


class StandardWithPast(nn.Module):
    """The standard Attention operator on tensors of rank 3, with a past."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(D, D) for _ in range(4))

    def forward(self, x: Tensor, past_key: Tensor, past_value: Tensor) -> tuple[Tensor, ...]:
        y, key, value, _ = torch.onnx.ops.attention(
            *(p(x) for p in (self.q, self.k, self.v)),
            past_key=past_key,
            past_value=past_value,
            q_num_heads=HEADS,
            kv_num_heads=HEADS,
        )
        return self.o(y), key, value


_PAST = ("x", "past_key", "past_value")

ENTRIES = (
    Entry("groups-before-heads", GroupsBeforeHeads),
    Entry("alibi-bloom", BloomAlibi, inputs=("x", "mask")),
    Entry("heads-summed", SummedHeads, Expect(2, merges=2, merged="q, k, v; q, k, v", linears=4)),
    Entry("mask-packed-texts", PackedTexts, inputs=("x", "mask")),
    Entry("latents", Latents, Expect(merged="k, v", linears=3)),
    Entry("memory-keys", MemoryKeys),
    Entry("axial", Axial, PACKED, inputs=("image",)),
    # K and V are read with channels first, and their convolutions stay.
    Entry(
        "channels-first",
        ChannelsFirst,
        Expect(merges=0, merged="", linears=2),
        inputs=("image",),
    ),
    Entry("latent-keys", LatentKeys, Expect(merged="q, down", linears=3)),
    Entry("shared-query-key", SharedQueryKey, Expect(merged="q, v")),
    Entry("standard-with-past", StandardWithPast, inputs=_PAST, outputs=("y", "key", "value")),
    Entry("cross-covariance", CrossCovariance, unfused("the size of the heads of V")),
)
