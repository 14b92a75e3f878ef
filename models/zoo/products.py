# SPDX-License-Identifier: Apache-2.0
"""Products of an attention written in other ways than as a MatMul or an einsum of heads."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.shared.expect import PACKED, Expect
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, Attention, D, H, merge, split


class BroadcastSums(Attention):
    """Both products as broadcast products that are summed: scores [B, S, T, heads]."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (p(x).unflatten(-1, (HEADS, H)) for p in (self.q, self.k, self.v))
        weights = torch.softmax((q[:, :, None] * k[:, None]).sum(-1) * H**-0.5, dim=2)
        return self.o((weights[..., None] * v[:, None]).sum(2).flatten(2))


class MatrixTimesVector(Attention):
    """Each query is a vector: keys [B, 1, heads, T, H] times queries [B, S, heads, H, 1]."""

    def forward(self, x: Tensor) -> Tensor:
        q = self.q(x).unflatten(-1, (HEADS, H)).unsqueeze(-1)
        k, v = (split(p(x)).unsqueeze(1) for p in (self.k, self.v))
        weights = torch.softmax(torch.matmul(k, q).squeeze(-1) * H**-0.5, -1)
        return self.o(torch.matmul(weights.unsqueeze(-2), v).flatten(2))


class Gemms(Attention):
    """torch.mm on [S, D], which some exporters write as Gemm; addmm adds the mask."""

    def __init__(self) -> None:
        super().__init__(heads=1, head=D)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        scores = torch.addmm(mask, self.q(x), self.k(x).t(), alpha=D**-0.5)
        return self.o(torch.mm(torch.softmax(scores, dim=1), self.v(x)))


class OneQuerySums(Attention):
    """One query for each sample; the scores [B, T, heads] and the result are sums."""

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        q = self.q(x[:, 0]).view(-1, HEADS, H)
        k, v = (p(memory).unflatten(-1, (HEADS, H)) for p in (self.k, self.v))
        weights = torch.softmax((q[:, None] * k).sum(-1) / math.sqrt(H), dim=1)
        return self.o((weights[..., None] * v).sum(1).flatten(1))


class SumByLetters(Attention):
    """Exponentials divided by their sum, which is an einsum, behind the product with V."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        e = torch.exp(self.scores(q, k) * 0.25)
        context = torch.einsum("bhst,bhtd->bhsd", e, v)
        return self.o(merge(context / torch.einsum("bhst->bhs", e).unsqueeze(-1)))


class LearnedQueryByHead(Attention):
    """Pooling by one learned query for each head, by einsum over keys [B, S, heads, H]."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(HEADS, H))

    def forward(self, x: Tensor) -> Tensor:
        k, v = (p(x).unflatten(-1, (HEADS, H)) for p in (self.k, self.v))
        scores = torch.einsum("hd,bshd->bhs", self.query * H**-0.5, k)
        return self.o(torch.einsum("bhs,bshd->bhd", torch.softmax(scores, -1), v).flatten(1))


class RepeatedQuery(Attention):
    """One query, expanded to three rows before the heads are split."""

    def forward(self, x: Tensor) -> Tensor:
        q = split(self.q(x[:, :1]).expand(-1, 3, -1))
        k, v = split(self.k(x)), split(self.v(x))
        return self.o(merge(torch.softmax(self.scores(q, k), -1) @ v))


class HeadsStacked(Attention):
    """A loop over heads, whose results are stacked before or behind the positions."""

    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unbind(1) for t in self.projections(x))
        heads = [torch.softmax(self.scores(a, b), -1) @ c for a, b, c in zip(q, k, v, strict=True)]
        stacked = torch.stack(heads, self.axis)
        return self.o(merge(stacked) if self.axis == 1 else stacked.flatten(2))


class PairsOfHeads(Attention):
    """The heads in chunks of two, one attention for each chunk."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.chunk(2, 1) for t in self.projections(x))
        pairs = [torch.softmax(self.scores(a, b), -1) @ c for a, b, c in zip(q, k, v, strict=True)]
        return self.o(merge(torch.cat(pairs, 1)))


class GuidedDiffusion(nn.Module):
    """Heads packed one by one in the channels [B, heads * 3 * H, S] of a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.o = nn.Conv1d(D, 3 * D, 1), nn.Conv1d(D, D, 1)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        x = x.transpose(1, 2)
        q, k, v = self.qkv(x).reshape(batch * HEADS, 3 * H, length).split(H, dim=1)
        scores = torch.einsum("bct,bcs->bts", q * H**-0.25, k * H**-0.25)
        context = torch.einsum("bts,bcs->bct", torch.softmax(scores, -1), v)
        return (x + self.o(context.reshape(batch, D, length))).transpose(1, 2)


class KeysBeforeQueries(nn.Module):
    """SAGAN: f^T g of 1x1 convolutions, the softmax over the rows, narrow queries."""

    def __init__(self) -> None:
        super().__init__()
        self.f, self.g, self.h = nn.Conv2d(D, H, 1), nn.Conv2d(D, H, 1), nn.Conv2d(D, D, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = image.permute(0, 3, 1, 2)
        f, g, h = (p(x).flatten(2) for p in (self.f, self.g, self.h))
        weights = torch.softmax(torch.bmm(f.transpose(1, 2), g), dim=1)
        return torch.bmm(h, weights).view(x.shape) + x


class ForgetGate(Attention):
    """Forgetting transformer: differences of cumulative gates are added to causal scores."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(D, HEADS)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        gates = nn.functional.logsigmoid(self.gate(x)).cumsum(1).transpose(1, 2)
        scores = self.scores(q, k) + gates[..., :, None] - gates[..., None, :]
        causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return self.o(merge(torch.softmax(scores.masked_fill(~causal, -math.inf), -1) @ v))


_KEYS = Expect(merged="k, v", linears=3)

ENTRIES = (
    Entry("product-broadcast-sums", BroadcastSums),
    Entry("product-matrix-vector", MatrixTimesVector),
    Entry("product-gemm", Gemms, inputs=("x_unbatched", "additive_2d")),
    Entry("product-one-query-sums", OneQuerySums, _KEYS, inputs=("x", "memory"), cross=1),
    Entry("product-sum-by-letters", SumByLetters),
    Entry("product-learned-query-by-head", LearnedQueryByHead, Expect(merged="k, v")),
    Entry("product-repeated-query", RepeatedQuery, _KEYS),
    Entry("product-heads-stacked", lambda: HeadsStacked(2)),
    Entry("product-heads-stacked-first", lambda: HeadsStacked(1)),
    Entry("product-pairs-of-heads", PairsOfHeads),
    Entry("product-guided-diffusion", GuidedDiffusion, PACKED),
    # Its convolutions are one product.
    Entry(
        "product-keys-before-queries", KeysBeforeQueries, Expect(linears=1), inputs=("image",)
    ),
    Entry("product-forget-gate", ForgetGate, Expect(linears=3)),
)
