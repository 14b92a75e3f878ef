# SPDX-License-Identifier: Apache-2.0
"""Samples on several axes, or last: frames, columns of images, pairs of residues; keys before
queries in groups."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.shared.expect import PACKED, Expect
from models.zoo.entry import Entry
from models.zoo.heads import GROUP, KV
from models.zoo.parts import HEADS, Attention, D, H


class FourAxes(Attention):
    """q, k and v of an image [B, rows, columns, D] as [B, rows, columns, heads, H]."""

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (p(x).unflatten(-1, (HEADS, H)) for p in (self.q, self.k, self.v))
        return q * H**-0.5, k, v


class AcrossFrames(FourAxes):
    """Attention over the second axis, scores [B, columns, heads, S, T]."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        weights = torch.softmax(torch.einsum("bishd,bjshd->bshij", q, k), -1)
        return self.o(torch.einsum("bshij,bjshd->bishd", weights, v).flatten(-2))


class WithinFrames(FourAxes):
    """flax: letters stand for the last axes, and dots for the samples."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        weights = torch.softmax(torch.einsum("...qhd,...khd->...hqk", q, k), -1)
        return self.o(torch.einsum("...hqk,...khd->...qhd", weights, v).flatten(-2))


class Triangle(FourAxes):
    """AlphaFold: attention around a node, with a bias of each pair for all rows."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Linear(D, HEADS, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        scores = torch.einsum("bijhd,bikhd->bhijk", q, k)
        scores = scores + self.bias(x).permute(0, 3, 1, 2)[:, :, None]
        return self.o(torch.einsum("bhijk,bikhd->bijhd", torch.softmax(scores, -1), v).flatten(3))


class Grid(nn.Module):
    """MaxViT: each window holds every other row and column of the image."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.o = nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, x: Tensor) -> Tensor:
        batch = x.shape[0]
        windows = x.view(batch, 4, 2, 4, 2, D).permute(0, 2, 4, 1, 3, 5).reshape(batch, 4, 16, D)
        q, k, v = self.qkv(windows).view(batch, 4, 16, 3, HEADS, H).permute(3, 0, 1, 4, 2, 5)
        weights = torch.softmax(torch.einsum("bwhid,bwhjd->bwhij", q * H**-0.5, k), -1)
        context = torch.einsum("bwhij,bwhjd->bwhid", weights, v)
        rows = self.o(context.transpose(2, 3).reshape(batch, 2, 2, 4, 4, D))
        return rows.permute(0, 3, 1, 4, 2, 5).reshape(x.shape)


class SamplesLast(Attention):
    """[S, D, B]: the weights come first, in einsums, and samples are the last axis throughout."""

    def _project(self, linear: nn.Linear, x: Tensor) -> Tensor:
        return torch.einsum("ed,sdb->seb", linear.weight, x) + linear.bias[:, None]

    def forward(self, x: Tensor) -> Tensor:
        x = x.permute(1, 2, 0)
        q, k, v = (self._project(p, x).unflatten(1, (HEADS, H)) for p in (self.q, self.k, self.v))
        weights = torch.softmax(torch.einsum("ihdb,jhdb->bhij", q, k) * H**-0.5, -1)
        context = torch.einsum("bhij,jhdb->ihdb", weights, v).flatten(1, 2)
        return self._project(self.o, context).permute(2, 0, 1)


class KeysBeforeGroups(Attention):
    """Groups by letters, with K first in the product and heads before the samples."""

    def __init__(self) -> None:
        super().__init__(kv_heads=KV)

    def forward(self, x: Tensor) -> Tensor:
        q = self.q(x).unflatten(-1, (KV, GROUP, H)).permute(2, 3, 4, 1, 0)
        k = self.k(x).unflatten(-1, (KV, H)).permute(1, 2, 3, 0)
        v = self.v(x).unflatten(-1, (KV, H))
        scores = torch.einsum("hgdqb,khdb->qhbkg", q, k) / math.sqrt(H)
        context = torch.einsum("qhbkg,bkhd->bqhgd", torch.softmax(scores, 3), v)
        return self.o(context.reshape(x.shape))


class OneHeadFolded(Attention):
    """One head of K, repeated and folded behind the heads with the batch; one matrix of scores."""

    def __init__(self) -> None:
        super().__init__(kv_heads=1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, HEADS, H).permute(2, 0, 1, 3).reshape(-1, length, H)
        k, v = (p(x)[None].expand(HEADS, -1, -1, -1).reshape(q.shape) for p in (self.k, self.v))
        scores = torch.bmm(q, k.transpose(1, 2)).view(HEADS, batch, length, length) / math.sqrt(H)
        scores = scores.masked_fill(mask[:, None] == 0, -1e9).view(-1, length)
        context = torch.bmm(torch.softmax(scores, 1).view(-1, length, length), v)
        context = context.view(HEADS, batch, length, H).permute(1, 2, 0, 3)
        return self.o(context.reshape(x.shape))


_IMAGE = ("image",)

ENTRIES = (
    Entry("frames-across", AcrossFrames, inputs=_IMAGE),
    Entry("frames-within", WithinFrames, inputs=_IMAGE),
    Entry("frames-triangle", Triangle, Expect(linears=3), inputs=_IMAGE),
    Entry("frames-grid", Grid, PACKED, inputs=_IMAGE),
    Entry("frames-samples-last", SamplesLast),
    Entry("frames-keys-before-groups", KeysBeforeGroups),
    Entry("frames-one-head-folded", OneHeadFolded, inputs=("x", "mask")),
)
