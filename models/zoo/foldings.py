# SPDX-License-Identifier: Apache-2.0
"""Batch, heads and positions folded into one axis, and views between the softmax and the values."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.shared.expect import Expect
from models.zoo.entry import Entry
from models.zoo.heads import GROUP, KV, expanded
from models.zoo.parts import HEADS, Attention, D, H, merge, split

_MINIMUM = torch.finfo(torch.float32).min


class HeadsChunked(Attention):
    """Kyubyong's transformer: heads are chunks of the last axis, concatenated along the batch."""

    def folded(self, x: Tensor) -> Tensor:
        return torch.cat(x.chunk(HEADS, dim=2), dim=0)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (self.folded(p(x)) for p in (self.q, self.k, self.v))
        scores = torch.bmm(q, k.transpose(1, 2)) / k.shape[-1] ** 0.5
        keys = mask.repeat(HEADS, 1).unsqueeze(1).expand(-1, x.shape[1], -1)
        scores = torch.where(keys == 0, torch.full_like(scores, -(2.0**32) + 1), scores)
        context, size = torch.bmm(torch.softmax(scores, -1), v), x.shape[0]
        heads = [context[n * size : (n + 1) * size] for n in range(HEADS)]
        return self.o(torch.cat(heads, dim=2))


class PositionsFolded(Attention):
    """Projections of [B * S, D]; k is transposed there and kept as [heads, H, B, T]."""

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        flat = x.reshape(batch * length, D)
        q, v = (p(flat).view(batch, length, HEADS, H).transpose(1, 2) for p in (self.q, self.v))
        k = self.k(flat).t().view(HEADS, H, batch, length).permute(2, 0, 1, 3)
        context = torch.softmax(q @ k * H**-0.5, -1) @ v
        context = context.permute(0, 2, 1, 3).reshape(batch * length, D)
        return self.o(context).view(batch, length, D)


class QueriesTimesHeads(Attention):
    """GPT-BigCode: one head of k and v, queries of all heads as rows [B, S * heads, H]."""

    def __init__(self) -> None:
        super().__init__(kv_heads=1)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q = self.q(x).reshape(batch, length * HEADS, H)
        k, v = self.k(x).transpose(1, 2), self.v(x)
        zeros = q.new_zeros(batch, length * HEADS, length)
        scores = torch.baddbmm(zeros, q, k, beta=0.0, alpha=H**-0.5)
        scores = scores.view(batch, length, HEADS, length)
        causal = torch.ones(length, length, dtype=torch.bool).tril()[None, :, None, :]
        weights = torch.softmax(torch.where(causal, scores, _MINIMUM), -1)
        context = torch.bmm(weights.view(batch, length * HEADS, length), v)
        return self.o(context.view(x.shape))


class GroupsAsRows(Attention):
    """Queries of a group are further rows [B, kv, group * S, H]; mask and softmax by head."""

    def __init__(self) -> None:
        super().__init__(kv_heads=KV)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = self.projections(x)
        scores = q.reshape(batch, KV, GROUP * length, H) @ k.transpose(2, 3) / math.sqrt(H)
        scores = scores.view(batch, HEADS, length, length) + mask
        weights = torch.softmax(scores, -1).view(batch, KV, GROUP * length, length)
        return self.o(merge((weights @ v).view(batch, HEADS, length, H)))


class GroupsInBatch(Attention):
    """k and v expanded over the group and folded into the batch; baddbmm adds the mask."""

    def __init__(self) -> None:
        super().__init__(kv_heads=KV)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = self.projections(x)
        q = q.reshape(batch * HEADS, length, H)
        k, v = (expanded(t, GROUP).flatten(0, 1) for t in (k, v))
        bias = mask.expand(batch, HEADS, length, length).flatten(0, 1)
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=H**-0.5)
        context = torch.bmm(torch.softmax(scores, -1), v)
        return self.o(merge(context.view(batch, HEADS, length, H)))


class HeadsUnbound(Attention):
    """Products head by head around one softmax of stacked scores [B, S, heads, T]."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (p(x).unflatten(-1, (HEADS, H)).unbind(2) for p in (self.q, self.k, self.v))
        scores = [a @ b.transpose(1, 2) for a, b in zip(q, k, strict=True)]
        weights = torch.softmax(torch.stack(scores, dim=2) / math.sqrt(H), -1).unbind(2)
        return self.o(torch.cat([w @ c for w, c in zip(weights, v, strict=True)], dim=-1))


class HeadsHalved(Attention):
    """The probabilities are sliced into two halves of the heads, each times its values."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        weights = torch.softmax(self.scores(q, k), -1)
        first, second = weights[:, : HEADS // 2], weights[:, HEADS // 2 :]
        halves = (first @ v[:, : HEADS // 2], second @ v[:, HEADS // 2 :])
        return merge(torch.cat(halves, dim=1))


class KeysCachedTransposed(Attention):
    """BLOOM: past and present keys are [B, heads, H, T], values [B, heads, T, H]."""

    def forward(self, x: Tensor, past_key: Tensor, past_value: Tensor) -> tuple[Tensor, ...]:
        batch, length, _ = x.shape
        q = split(self.q(x)).reshape(batch * HEADS, length, H)
        k = self.k(x).view(batch, length, HEADS, H).permute(0, 2, 3, 1)
        k, v = torch.cat((past_key, k), dim=3), torch.cat((past_value, split(self.v(x))), dim=2)
        scores = torch.bmm(q, k.reshape(batch * HEADS, H, -1)) * H**-0.5
        weights = torch.softmax(scores.view(batch, HEADS, length, -1), -1)
        context = torch.bmm(weights.flatten(0, 1), v.reshape(batch * HEADS, -1, H))
        return self.o(merge(context.view(batch, HEADS, length, H))), k, v


class QueryConvolution(Attention):
    """q by a pointwise convolution on [B, D, S]; a learned scale for each head on k."""

    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Conv1d(D, D, 1)
        self.scale = nn.Parameter(torch.ones(HEADS))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q = self.q(x.transpose(1, 2)).view(batch, HEADS, H, length)
        k, v = (p(x).view(batch, length, HEADS, H) for p in (self.k, self.v))
        k = k * self.scale[:, None]
        weights = torch.softmax(torch.einsum("bhds,bthd->bhst", q, k), -1)
        return self.o(torch.einsum("bhst,bthd->bshd", weights, v).flatten(2))


class ValuesInTwoSteps(Attention):
    """The probabilities weigh x itself; each head's value projection comes after that."""

    def __init__(self) -> None:
        super().__init__()
        del self.v
        self.v = nn.Parameter(torch.zeros(HEADS, D, H))

    def forward(self, x: Tensor) -> Tensor:
        q, k = split(self.q(x)), split(self.k(x))
        rows = torch.softmax(self.scores(q, k), -1) @ x.unsqueeze(1)
        return self.o(merge(rows @ self.v))


_SQUARE = ("x", "additive")
_PAST = ("x", "past_key_transposed", "past_value")

ENTRIES = (
    Entry("folded-heads-chunked", HeadsChunked, inputs=("x", "mask")),
    Entry("folded-positions", PositionsFolded),
    Entry("folded-queries-times-heads", QueriesTimesHeads),
    Entry("folded-groups-as-rows", GroupsAsRows, inputs=_SQUARE),
    Entry("folded-groups-in-batch", GroupsInBatch, inputs=_SQUARE),
    Entry("folded-heads-unbound", HeadsUnbound),
    Entry("folded-heads-halved", HeadsHalved),
    Entry(
        "folded-keys-cached-transposed",
        KeysCachedTransposed,
        inputs=_PAST,
        outputs=("y", "present_key", "present_value"),
    ),
    Entry("folded-query-convolution", QueryConvolution),
    # The products with each head's value projection need not be a Linear.
    Entry("folded-values-in-two-steps", ValuesInTwoSteps, Expect(merged="q, k", linears=None)),
)
