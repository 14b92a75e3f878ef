# SPDX-License-Identifier: Apache-2.0
"""Cross-attention, keys and values used twice, and KV caches."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn

from models.shared.expect import Expect
from models.zoo.entry import Entry
from models.zoo.heads import Grouped
from models.zoo.parts import HEADS, Attention, D, split


class Cross(Attention):
    """q from x, k and v from memory, an optional mask over memory."""

    def forward(self, x: Tensor, memory: Tensor, *masks: Tensor) -> Tensor:
        k, v = split(self.k(memory)), split(self.v(memory))
        return self.o(self.attend(split(self.q(x)), k, v, *masks))

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        if not masks:
            return scores
        return scores.masked_fill(masks[0][:, None, None, :] == 0, -1e9)


class CrossPacked(Cross):
    def __init__(self) -> None:
        super().__init__()
        del self.k, self.v
        self.kv = nn.Linear(D, 2 * D, bias=False)

    def forward(self, x: Tensor, memory: Tensor, *masks: Tensor) -> Tensor:
        k, v = self.kv(memory).chunk(2, -1)
        return self.o(self.attend(split(self.q(x)), split(k), split(v), *masks))


class CrossCached(Attention):
    """k and v of memory are inputs, computed before (Whisper's later steps)."""

    def __init__(self) -> None:
        super().__init__()
        del self.k, self.v

    def forward(self, x: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.o(self.attend(split(self.q(x)), key, value))


class SharedKeysValues(Attention):
    """Two attentions, each with its own queries, on the same keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.q2 = nn.Linear(D, D)
        self.o = nn.Linear(2 * D, D)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        second = self.attend(split(self.q2(x)), k, v)
        return self.o(torch.cat([self.attend(q, k, v), second], -1))


class SelfThenCross(nn.Module):
    """A decoder layer's two attentions in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.own = Attention()
        self.cross = Cross()

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        x = x + self.own(x)
        return x + self.cross(x, memory, mask)


class Cached(Grouped):
    """Takes past keys and values, returns present ones, concatenated along the length axis."""

    def forward(self, x: Tensor, past_key: Tensor, past_value: Tensor) -> tuple[Tensor, ...]:
        q, k, v = Attention.projections(self, x)
        k, v = torch.cat([past_key, k], dim=2), torch.cat([past_value, v], dim=2)
        y = self.o(self.attend(q, self.repeated(k), self.repeated(v)))
        return y, k, v

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        rows = torch.arange(scores.shape[-2]) + (scores.shape[-1] - scores.shape[-2])
        return scores.masked_fill(torch.arange(scores.shape[-1]) > rows[:, None], -math.inf)


class StaticCache(Attention):
    """A cache of fixed length, written at given positions; keys beyond them are masked."""

    def __init__(self, scatter: bool) -> None:
        super().__init__()
        self.scatter = scatter

    def written(self, cache: Tensor, new: Tensor, at: Tensor) -> Tensor:
        if not self.scatter:
            return cache.index_copy(2, at, new)
        return cache.scatter(2, at[None, None, :, None].expand(new.shape), new)

    def forward(self, x: Tensor, key: Tensor, value: Tensor, at: Tensor) -> tuple[Tensor, ...]:
        q, k, v = self.projections(x)
        key, value = self.written(key, k, at), self.written(value, v, at)
        return self.o(self.attend(q, key, value, at)), key, value

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        later = torch.arange(scores.shape[-1]) > masks[0][:, None]
        return scores.masked_fill(later, -math.inf)


_CROSS = Expect(merged="k, v", linears=3)
_PRESENT = ("y", "present_key", "present_value")

ENTRIES = (
    Entry("cross", Cross, _CROSS, inputs=("x", "memory"), cross=1),
    Entry("cross-masked", Cross, _CROSS, inputs=("x", "memory", "source_mask"), cross=1),
    Entry(
        "cross-packed-kv",
        CrossPacked,
        Expect(merges=0, merged="", linears=3),
        inputs=("x", "memory"),
        cross=1,
    ),
    Entry(
        "cross-cached",
        CrossCached,
        Expect(merges=0, merged=""),
        inputs=("x", "source_key", "source_value"),
        cross=1,
    ),
    Entry("shared-kv", SharedKeysValues, Expect(attention=2, merged="q, q2, k, v")),
    Entry(
        "self-then-cross",
        SelfThenCross,
        Expect(attention=2, merges=2, merged="q, k, v; cross k, v", linears=5),
        inputs=("x", "memory", "source_mask"),
        cross=1,
    ),
    Entry(
        "cache-concatenated",
        partial(Cached, kv_heads=HEADS),
        inputs=("x", "past_key", "past_value"),
        outputs=_PRESENT,
    ),
    Entry(
        "cache-concatenated-grouped",
        Cached,
        inputs=("x", "past_key_2", "past_value_2"),
        outputs=_PRESENT,
    ),
    *(
        Entry(
            f"cache-static-{name}",
            partial(StaticCache, scatter=scatter),
            inputs=("x", "static_key", "static_value", "positions"),
            outputs=_PRESENT,
        )
        for name, scatter in (("scatter", True), ("index-copy", False))
    ),
)
