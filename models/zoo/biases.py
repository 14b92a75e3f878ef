# SPDX-License-Identifier: Apache-2.0
"""Biases on the scores: distances, tables, windows."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.shared.expect import Expect
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, LONGEST, Attention, D, H, merge, split
from models.zoo.positions import angles


class Alibi(Attention):
    """A slope for each head times the distance between query and key, causal."""

    def __init__(self) -> None:
        super().__init__()
        slopes = 2.0 ** -torch.arange(1, HEADS + 1).float()
        self.register_buffer("slopes", slopes.view(HEADS, 1, 1))

    def bias(self, length: int) -> Tensor:
        at = torch.arange(length)
        return self.slopes * -(at[:, None] - at[None, :]).abs()

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        length = scores.shape[-1]
        causal = torch.triu(torch.full((length, length), -math.inf), 1)
        return scores + self.bias(length) + causal


class AlibiInProduct(Alibi):
    """BLOOM: baddbmm adds the bias to the product."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        batch, length = q.shape[0], q.shape[2]
        q, k, v = (p.reshape(batch * HEADS, length, H) for p in (q, k, v))
        bias = self.bias(length).expand(batch, HEADS, length, length)
        bias = bias.reshape(batch * HEADS, length, length)
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), beta=1.0, alpha=H**-0.5)
        context = torch.bmm(torch.softmax(scores, -1), v)
        return merge(context.view(batch, HEADS, length, H))


class RelativeBuckets(Attention):
    """T5: a table over clamped distances, looked up when the model runs; no scale."""

    def __init__(self) -> None:
        super().__init__(bias="")
        self.table = nn.Embedding(9, HEADS)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-1, -2)

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        at = torch.arange(scores.shape[-1], device=scores.device)
        bucket = (at[None, :] - at[:, None]).clamp(-4, 4) + 4
        bias = self.table(bucket).permute(2, 0, 1).unsqueeze(0)
        extended = (1.0 - masks[0][:, None, None, :].to(scores.dtype)) * -1e9
        return scores + (bias + extended)


class BiasTable(Attention):
    """A learned bias for each head and pair of positions, sliced to size."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(LONGEST, HEADS * LONGEST))

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        length = scores.shape[-1]
        table = self.table.view(LONGEST, HEADS, LONGEST).transpose(0, 1)
        return scores + table[:, :length, :length]


class Disentangled(Attention):
    """DeBERTa: content-to-content, content-to-position and position-to-content scores."""

    def __init__(self) -> None:
        super().__init__()
        self.relative = nn.Parameter(torch.zeros(9, D))

    def _distances(self, length: int) -> Tensor:
        at = torch.arange(length)
        return (at[:, None] - at[None, :]).clamp(-4, 4) + 4

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        batch, length = q.shape[0], q.shape[2]
        index = self._distances(length).expand(batch, HEADS, length, length)
        key = self.k(self.relative).view(9, HEADS, H).transpose(0, 1)
        query = self.q(self.relative).view(9, HEADS, H).transpose(0, 1)
        to_position = torch.gather(q @ key.transpose(-1, -2), -1, index)
        from_position = torch.gather(k @ query.transpose(-1, -2), -1, index).transpose(-1, -2)
        scale = math.sqrt(3 * H)
        return q @ k.transpose(-1, -2) / scale + (to_position + from_position) / scale


class ShiftedRelative(Attention):
    """Transformer-XL: (q + u) k^T plus (q + w) r^T shifted by padding and reshaping."""

    def __init__(self) -> None:
        super().__init__(bias="")
        self.u, self.w = (nn.Parameter(torch.zeros(HEADS, H)) for _ in range(2))
        self.r = nn.Linear(D, D, bias=False)
        table = angles(2 * LONGEST, D)
        self.register_buffer("table", torch.cat((table.sin(), table.cos()), -1))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        batch, length = q.shape[0], q.shape[2]
        r = split(self.r(self.table[: 2 * length - 1][None]))
        by_distance = (q + self.w[:, None]) @ r.transpose(-1, -2)
        padded = nn.functional.pad(by_distance, (1, 0))
        shifted = padded.view(batch, HEADS, 2 * length, length)[:, :, 1:]
        shifted = shifted.reshape(batch, HEADS, length, 2 * length - 1)[..., :length]
        return ((q + self.u[:, None]) @ k.transpose(-1, -2) + shifted) / math.sqrt(H)


class ShiftedWindows(Attention):
    """Swin: an 8 x 8 image rolled by 2, in windows of 4 x 4, with relative bias and mask."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(49, HEADS))
        at = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij"))
        at = at.flatten(1)
        distance = (at[:, :, None] - at[:, None, :]) + 3
        self.register_buffer("index", distance[0] * 7 + distance[1])
        bands = torch.tensor([0, 0, 0, 0, 1, 1, 2, 2])
        region = self.windows((bands[:, None] * 3 + bands)[None, :, :, None])[..., 0]
        other = region[:, None, :] != region[:, :, None]
        self.register_buffer("mask", torch.where(other, -100.0, 0.0))

    def windows(self, x: Tensor) -> Tensor:
        """[B, 8, 8, C] -> [B * 4, 16, C]."""
        return x.view(-1, 2, 4, 2, 4, x.shape[-1]).transpose(2, 3).reshape(-1, 16, x.shape[-1])

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        bias = self.table[self.index.view(-1)].view(16, 16, HEADS).permute(2, 0, 1)
        scores = (scores + bias).view(-1, 4, HEADS, 16, 16) + self.mask[None, :, None]
        return scores.view(-1, HEADS, 16, 16)

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        rolled = torch.roll(x, shifts=(-2, -2), dims=(1, 2))
        y = super().forward(self.windows(rolled)).view(-1, 2, 2, 4, 4, D).transpose(2, 3)
        return torch.roll(y.reshape(-1, 8, 8, D), shifts=(2, 2), dims=(1, 2))


class RegionBias(Attention):
    """MViT: biases of rows and columns of a 2 x 4 image, which a class token before it lacks."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.zeros(2, 2, H))
        self.columns = nn.Parameter(torch.zeros(4, 4, H))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        scores = self.scores(q, k)
        grid = q[:, :, 1:].reshape(-1, HEADS, 2, 4, H)
        by_row = torch.einsum("bnyxc,ykc->bnyxk", grid, self.rows)
        by_column = torch.einsum("bnyxc,xkc->bnyxk", grid, self.columns)
        scores[:, :, 1:, 1:] = (
            scores[:, :, 1:, 1:].view(-1, HEADS, 2, 4, 2, 4)
            + by_row[..., :, None]
            + by_column[..., None, :]
        ).view(-1, HEADS, 8, 8)
        return merge(self.weights(scores) @ v)


ENTRIES = (
    Entry("alibi", Alibi),
    Entry("alibi-baddbmm", AlibiInProduct),
    Entry("relative-buckets", RelativeBuckets, inputs=("x", "mask"), gain=0.5),
    Entry("bias-table", BiasTable),
    Entry("disentangled", Disentangled),
    Entry("shifted-relative", ShiftedRelative, Expect(linears=3)),
    Entry("shifted-windows", ShiftedWindows, inputs=("image",)),
    Entry("region-bias", RegionBias, inputs=("x_of_nine",)),
)
