# SPDX-License-Identifier: Apache-2.0
"""Spellings of the projections: biases, order, widths, convolutions, einsum."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from models.shared.expect import FUSED
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, Attention, D, H, merge


class OneHead(Attention):
    """No head axis at all: every product is of rank 3."""

    def __init__(self) -> None:
        super().__init__(heads=1, head=D)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        return self.o(torch.softmax(q @ k.transpose(1, 2) / math.sqrt(D), -1) @ v)


class Unbatched(Attention):
    """x is [S, D]."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (p(x).view(-1, HEADS, H).transpose(0, 1) for p in (self.q, self.k, self.v))
        context = torch.softmax(self.scores(q, k), -1) @ v
        return self.o(context.transpose(0, 1).reshape(-1, D))


class SeparateConv1D(Attention):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (Conv1D(D, D) for _ in range(4))


class PointwiseConvolutions(nn.Module):
    """nn.Conv1d of kernel size 1 on [B, D, S]."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Conv1d(D, D, 1) for _ in range(4))

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], HEADS, H, x.shape[2])

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(1, 2)
        q, k, v = (self._heads(p(x)) for p in (self.q, self.k, self.v))
        weights = torch.softmax(q.transpose(2, 3) @ k * H**-0.5, -1)
        context = v @ weights.transpose(2, 3)
        return self.o(context.reshape(x.shape)).transpose(1, 2)


class HeadsInBatch(Attention):
    """Heads folded into the batch, products by bmm (older BART) or baddbmm (BLOOM)."""

    def __init__(self, added: bool) -> None:
        super().__init__()
        self.added = added

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        if not self.added:
            return torch.bmm(q * H**-0.5, k.transpose(1, 2))
        zeros = q.new_zeros(q.shape[0], q.shape[1], k.shape[1])
        return torch.baddbmm(zeros, q, k.transpose(1, 2), beta=1.0, alpha=H**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        batch, length = x.shape[0], x.shape[1]
        q, k, v = (p.reshape(batch * HEADS, length, H) for p in self.projections(x))
        context = torch.bmm(torch.softmax(self.scores(q, k), -1), v)
        return self.o(merge(context.view(batch, HEADS, length, H)))


class EinsumProjections(nn.Module):
    """Projections by einsum with weights [D, heads, H], as ported from JAX."""

    def __init__(self, biased: bool) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Parameter(torch.zeros(D, HEADS, H)) for _ in range(4))
        self.b = nn.Parameter(torch.zeros(3, HEADS, H)) if biased else None

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (torch.einsum("bsd,dhe->bshe", x, w) for w in (self.q, self.k, self.v))
        if self.b is not None:
            q, k, v = q + self.b[0], k + self.b[1], v + self.b[2]
        weights = torch.softmax(torch.einsum("bqhe,bkhe->bhqk", q * H**-0.5, k), -1)
        context = torch.einsum("bhqk,bkhe->bqhe", weights, v)
        return torch.einsum("bqhe,dhe->bqd", context, self.o)


class EinsumScores(Attention):
    """Linear projections; scores and context by einsum on [B, S, heads, H]."""

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (p(x).view(batch, length, HEADS, H) for p in (self.q, self.k, self.v))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(H)
        context = torch.einsum("bhqk,bkhd->bqhd", torch.softmax(scores, -1), v)
        return self.o(context.reshape(batch, length, D))


ENTRIES = (
    Entry("separate", Attention),
    Entry("separate-no-bias", partial(Attention, bias="")),
    Entry("separate-bias-all-but-k", partial(Attention, bias="qvo")),
    Entry("separate-bias-q-only", partial(Attention, bias="q")),
    Entry("separate-bias-output-only", partial(Attention, bias="o")),
    Entry("separate-order-kvq", partial(Attention, order="kvq")),
    Entry("separate-order-vqk", partial(Attention, order="vqk", bias="qvo")),
    Entry("head-size-6", partial(Attention, head=6)),
    Entry("heads-3", partial(Attention, heads=3)),
    Entry("value-head-12", partial(Attention, value_head=12)),
    Entry("one-head-4d", partial(Attention, heads=1, head=D)),
    Entry("one-head-3d", OneHead),
    Entry("unbatched", Unbatched, inputs=("x_unbatched",)),
    Entry("conv1d-separate", SeparateConv1D),
    Entry("pointwise-convolutions", PointwiseConvolutions),
    Entry("heads-in-batch-bmm", partial(HeadsInBatch, added=False)),
    Entry("heads-in-batch-baddbmm", partial(HeadsInBatch, added=True)),
    Entry("einsum-projections", partial(EinsumProjections, biased=False)),
    Entry("einsum-projections-bias", partial(EinsumProjections, biased=True)),
    Entry("einsum-scores", EinsumScores),
    Entry("fp16", Attention, FUSED, dtype=torch.float16, gain=0.5),
)
