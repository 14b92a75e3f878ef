# SPDX-License-Identifier: Apache-2.0
"""Softmax and scores as public repositories spell them: by logarithms, along other axes."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.shared.expect import unfused
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, Attention, H, merge


class LogLengthScale(Attention):
    """Scores grow with the logarithm of the number of keys."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return super().scores(q, k) * torch.log(torch.tensor(k.shape[2] + 1.0))


class Distances(Attention):
    """softmax(-|q - k|^2), with the square written out."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        squares = q.pow(2).sum(-1, keepdim=True) + k.pow(2).sum(-1).unsqueeze(-2)
        return -(squares - 2 * q @ k.transpose(-1, -2)) / math.sqrt(H)


class ExpOfLogSoftmax(Attention):
    def weights(self, scores: Tensor) -> Tensor:
        return torch.log_softmax(scores, -1).exp()


class LogSumExp(Attention):
    def weights(self, scores: Tensor) -> Tensor:
        return torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True))


class NormalizedLast(Attention):
    """Division by the sum of exponentials comes after the product with the values."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        powers = torch.exp(self.scores(q, k))
        return self.o(merge((powers @ v) / powers.sum(-1, keepdim=True)))


class BoundedSum(Attention):
    """Graph attention: exponentials times a mask, divided by their sum clamped from below."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return torch.exp(scores) * masks[0][:, None, None, :].to(scores)

    def weights(self, scores: Tensor) -> Tensor:
        return scores / scores.sum(-1, keepdim=True).clamp(min=1e-3)


class SoftmaxOfRows(Attention):
    """Scores are reshaped to a matrix for a softmax of rank 2."""

    def weights(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores.reshape(-1, scores.shape[-1]), 1).view(scores.shape)


class HeadsLast(Attention):
    """Scores as [B, S, T, heads]."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        scores = torch.einsum("bhqd,bhkd->bqkh", q, k) / math.sqrt(H)
        return self.o(merge(torch.einsum("bqkh,bhkd->bhqd", torch.softmax(scores, 2), v)))


class KeysFirst(Attention):
    """Scores as [T, B, heads, S], as in sequence-first code."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        scores = torch.einsum("bhqd,bhkd->kbhq", q, k) / math.sqrt(H)
        return self.o(merge(torch.einsum("kbhq,bhkd->bhqd", torch.softmax(scores, 0), v)))


class KeptQueries(Attention):
    """The weights of queries that are padding are zeroed."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        scores = self.scores(q, k).masked_fill(mask[:, None, None, :] == 0, -1e9)
        weights = torch.softmax(scores, -1) * mask[:, None, :, None].to(x.dtype)
        return self.o(merge(weights @ v))


class HeadConvolution(Attention):
    """Talking heads as a 1x1 convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Conv2d(HEADS, HEADS, 1)

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return self.mix(scores)


class Squared(Attention):
    """Squared weights, divided by their sum."""

    def weights(self, scores: Tensor) -> Tensor:
        weights = torch.softmax(scores, -1) ** 2
        return weights / weights.sum(-1, keepdim=True)


class Additive(Attention):
    """Bahdanau's attention: no product of q and k at all."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return torch.tanh(q.unsqueeze(3) + k.unsqueeze(2)).sum(-1)


_ADDITIVE = unfused("between the scores and the Softmax", merges=0, merged="", linears=4)
_MIXED = unfused("linear map over heads", linears=None)

ENTRIES = (
    Entry("scale-log-length", LogLengthScale),
    Entry("distances", Distances),
    Entry("softmax-by-log-softmax", ExpOfLogSoftmax),
    Entry("softmax-by-log-sum-exp", LogSumExp),
    Entry("softmax-normalized-last", NormalizedLast),
    Entry("softmax-of-rows", SoftmaxOfRows),
    Entry("scores-heads-last", HeadsLast),
    Entry("scores-keys-first", KeysFirst),
    Entry("weights-of-kept-queries", KeptQueries, inputs=("x", "mask")),
    Entry("talking-heads-convolution", HeadConvolution, _MIXED),
    Entry(
        "softmax-bounded-sum",
        BoundedSum,
        unfused("between the exponentials", softmax=0),
        ("x", "mask"),
    ),
    Entry("weights-squared", Squared, unfused("after the Softmax stands")),
    Entry("additive-scores", Additive, _ADDITIVE),
)
