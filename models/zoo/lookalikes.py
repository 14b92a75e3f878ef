# SPDX-License-Identifier: Apache-2.0
"""Modules that look like attention but are not: no softmax, another softmax, or extra work. Beside
them are some that are attention after all: gates that commute, a sum that acts as a sink."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.shared.expect import Expect, unfused
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, Attention, D, merge, split


class SoftmaxOverQueries(Attention):
    def weights(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=-2)


class SoftmaxOverHeads(Attention):
    def weights(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=1)


class Linearized(Attention):
    """Linear attention: feature maps elu + 1, no softmax."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        q, k = nn.functional.elu(q) + 1, nn.functional.elu(k) + 1
        total = (q * k.sum(dim=2, keepdim=True)).sum(-1, keepdim=True)
        return self.o(merge(q @ (k.transpose(-1, -2) @ v) / total))


class Efficient(Attention):
    """Softmax on q and k by themselves, then q (k^T v)."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        return self.o(merge(torch.softmax(q, -1) @ (torch.softmax(k, 2).transpose(-1, -2) @ v)))


class ReluWeights(Attention):
    """ReLU divided by the length in place of the softmax."""

    def weights(self, scores: Tensor) -> Tensor:
        return torch.relu(scores) / scores.shape[-1]


class TalkingHeads(Attention):
    """A linear map over the heads before the softmax, after it, or both."""

    def __init__(self, before: bool, after: bool) -> None:
        super().__init__()
        self.before = nn.Linear(HEADS, HEADS, bias=False) if before else nn.Identity()
        self.after = nn.Linear(HEADS, HEADS, bias=False) if after else nn.Identity()

    def weights(self, scores: Tensor) -> Tensor:
        mixed = self.before(scores.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        weights = torch.softmax(mixed, -1)
        return self.after(weights.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class GatedWeights(Attention):
    """The weights are multiplied by a gate for each head and query."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(D, HEADS)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        gate = torch.sigmoid(self.gate(x)).transpose(1, 2).unsqueeze(-1)
        return self.o(merge((torch.softmax(self.scores(q, k), -1) * gate) @ v))


class KeyGatedWeights(Attention):
    """The weights are multiplied by a gate for each key, so they no longer sum to 1."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        weights = torch.softmax(self.scores(q, k), -1) * mask[:, None, None, :].to(x.dtype)
        return self.o(merge(weights @ v))


class SoftmaxPlusOne(Attention):
    """exp(s) / (1 + sum exp(s)): a softmax beside a sink of 0."""

    def weights(self, scores: Tensor) -> Tensor:
        powers = torch.exp(scores)
        return powers / (1.0 + powers.sum(-1, keepdim=True))


class TwoSoftmaxes(Attention):
    """Differential attention: the difference of two attentions' weights."""

    def __init__(self) -> None:
        super().__init__()
        self.q2, self.k2 = nn.Linear(D, D), nn.Linear(D, D)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        other = torch.softmax(self.scores(split(self.q2(x)), split(self.k2(x))), -1)
        return self.o(merge((torch.softmax(self.scores(q, k), -1) - 0.5 * other) @ v))


class SoftplusWeights(Attention):
    """Another positive function than exp, divided by its sum."""

    def weights(self, scores: Tensor) -> Tensor:
        powers = nn.functional.softplus(scores)
        return powers / powers.sum(-1, keepdim=True)


class PowersOfTwo(Attention):
    """2^s divided by its mean."""

    def weights(self, scores: Tensor) -> Tensor:
        powers = torch.pow(2.0, scores)
        return powers / powers.mean(-1, keepdim=True)


class AttendedTwice(Attention):
    """The weights multiply the values, and then the result: P (P v)."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        weights = torch.softmax(self.scores(q, k), -1)
        return self.o(merge(weights @ (weights @ v)))


_HEAD_MAP = unfused("linear map over heads", linears=None)

ENTRIES = (
    Entry("softmax-over-queries", SoftmaxOverQueries, unfused("over another axis")),
    Entry("softmax-over-heads", SoftmaxOverHeads, unfused("over another axis")),
    Entry("linear-attention", Linearized, unfused("no Softmax", softmax=0)),
    Entry("efficient-attention", Efficient, unfused("linear map over heads", softmax=2)),
    Entry("relu-weights", ReluWeights, unfused("no Softmax", softmax=0)),
    Entry("softplus-weights", SoftplusWeights, unfused("no Softmax", softmax=0)),
    Entry("powers-of-two", PowersOfTwo, unfused("no Softmax", softmax=0)),
    Entry("attended-twice", AttendedTwice),
    Entry("talking-heads-before", lambda: TalkingHeads(True, False), _HEAD_MAP),
    Entry("talking-heads-after", lambda: TalkingHeads(False, True), _HEAD_MAP),
    Entry("talking-heads-both", lambda: TalkingHeads(True, True), _HEAD_MAP),
    Entry("gated-weights", GatedWeights, Expect(linears=3)),
    Entry("gated-weights-by-key", KeyGatedWeights, inputs=("x", "mask")),
    Entry("softmax-plus-one", SoftmaxPlusOne),
    Entry(
        "differential",
        TwoSoftmaxes,
        unfused("after the Softmax stands", softmax=2, merged="q, k, v, q2, k2"),
    ),
)
