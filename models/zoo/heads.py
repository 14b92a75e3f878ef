# SPDX-License-Identifier: Apache-2.0
"""Grouped heads: fewer heads of keys and values than of queries."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn

from models.shared.expect import Expect
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, Attention, D, H, merge, split

KV = 2
GROUP = HEADS // KV


class Grouped(Attention):
    """Fewer heads of k and v than of q; subclasses override how they are repeated."""

    def __init__(self, kv_heads: int = KV, bias: str = "qkvo") -> None:
        super().__init__(kv_heads=kv_heads, bias=bias)

    def repeated(self, x: Tensor) -> Tensor:
        return x.repeat_interleave(self.heads // self.kv_heads, dim=1)

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().projections(x)
        return q, self.repeated(k), self.repeated(v)


def expanded(x: Tensor, times: int) -> Tensor:
    """transformers' repeat_kv."""
    batch, heads, length, size = x.shape
    five = x[:, :, None, :, :].expand(batch, heads, times, length, size)
    return five.reshape(batch, heads * times, length, size)


class GroupedExpand(Grouped):
    def repeated(self, x: Tensor) -> Tensor:
        return expanded(x, self.heads // self.kv_heads)


class GroupedTiled(Grouped):
    """Head n uses head n % KV of k and v, not n // GROUP."""

    def repeated(self, x: Tensor) -> Tensor:
        return x.repeat(1, self.heads // self.kv_heads, 1, 1)


class GroupedFiveAxes(Grouped):
    """q as [B, KV, GROUP, S, H]; k and v broadcast over the group."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = Attention.projections(self, x)
        five = q.reshape(q.shape[0], KV, GROUP, q.shape[2], H)
        scores = five @ k[:, :, None].transpose(-1, -2) / math.sqrt(H)
        context = torch.softmax(scores, -1) @ v[:, :, None]
        return self.o(merge(context.reshape(q.shape)))


class MultiQuery(Grouped):
    """One head of k and v, broadcast by the products themselves."""

    def __init__(self) -> None:
        super().__init__(kv_heads=1)

    def repeated(self, x: Tensor) -> Tensor:
        return x


class PackedGrouped(nn.Module):
    """q, k and v of unequal width in one Linear (Phi-3, Falcon)."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(D, (HEADS + 2 * KV) * H)
        self.o = nn.Linear(D, D)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).split([HEADS * H, KV * H, KV * H], dim=-1)
        k, v = expanded(split(k, KV), GROUP), expanded(split(v, KV), GROUP)
        return self.o(merge(torch.softmax(split(q) @ k.transpose(-1, -2) * H**-0.5, -1) @ v))


ENTRIES = (
    Entry("grouped-repeat-interleave", Grouped),
    Entry("grouped-expand", GroupedExpand),
    Entry("grouped-expand-no-bias", partial(GroupedExpand, bias="")),
    Entry("grouped-tiled", GroupedTiled),
    Entry("grouped-five-axes", GroupedFiveAxes),
    Entry("grouped-packed", PackedGrouped, Expect(merges=0, merged="")),
    Entry("multi-query", MultiQuery),
    Entry("multi-query-expand", partial(GroupedExpand, kv_heads=1)),
)
