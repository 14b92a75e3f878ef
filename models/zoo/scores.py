# SPDX-License-Identifier: Apache-2.0
"""Spellings of the scale and of the softmax."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.shared.expect import Expect
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, Attention, D, H, merge, split


class ScaleTimesScores(Attention):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return torch.matmul(q, k.transpose(2, 3)) * H**-0.5


class ScaleOnQuery(Attention):
    """The scale multiplies the projection before heads are split (BART, Whisper, OPT)."""

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return split(self.q(x) * H**-0.5), split(self.k(x)), split(self.v(x))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-1, -2)


class ScaleDividesQuery(Attention):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q / math.sqrt(H)) @ k.transpose(-1, -2)


class ScaleOnKey(Attention):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ (k * H**-0.5).transpose(-1, -2)


class ScaleOnBoth(Attention):
    """The square root of the scale on q and on k."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        root = H**-0.25
        return (q * root) @ (k.transpose(-1, -2) * root)


class ScaleFromShape(Attention):
    """The scale is computed from k when the model runs."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        size = torch.zeros_like(k[0, 0, :1]).add(1.0).sum()
        return q @ k.transpose(-1, -2) / size.sqrt()


class ScaleFromHeadSize(Attention):
    """nanoGPT: 1 / sqrt(k.size(-1)), which TorchScript keeps as Shape, Gather, Cast, Sqrt, Div."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))


class NoScale(Attention):
    """T5: no scale."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-1, -2)


class ScaleTwice(Attention):
    """One scale on q and another on the scores (the options of Whisper and GPT-2 together)."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q * H**-0.5) @ k.transpose(-1, -2) / 2.0


class LearnedScale(Attention):
    """One learned number, exported as an initializer, is a constant for the optimizer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-1, -2) * self.scale


class LearnedScaleByHead(Attention):
    """One learned number for each head (Swin v2), a factor of the queries."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(HEADS))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-1, -2) * self.scale.view(1, HEADS, 1, 1)


class LearnedScaleOfFolded(LearnedScaleByHead):
    """The same behind a view: the product has samples and heads in one axis."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        product = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).transpose(1, 2))
        product = product.view(q.shape[0], HEADS, q.shape[2], k.shape[2])
        return product * self.scale.view(HEADS, 1, 1)


class LearnedScaleThenCap(LearnedScaleByHead):
    """The same before a softcap."""

    def weights(self, scores: Tensor) -> Tensor:
        return torch.softmax(5.0 * torch.tanh(scores / 5.0), -1)


class ScaleAfterBias(Attention):
    """The scale multiplies the bias too: scale * (q k^T + b), not scale * q k^T + b."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-1, -2)

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return (scores + masks[0]) / math.sqrt(H)


class KeyTransposedAtOnce(Attention):
    """BERT's eager spelling: k permuted to [B, heads, H, S] by a single Transpose."""

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (p(x).view(batch, length, HEADS, H) for p in (self.q, self.k, self.v))
        scores = q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1) / math.sqrt(H)
        return self.o(merge(torch.softmax(scores, -1) @ v.permute(0, 2, 1, 3)))


class KeyTimesQuery(Attention):
    """Scores as (k q^T)^T."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (k @ q.transpose(-1, -2)).transpose(-1, -2) / math.sqrt(H)


class SoftmaxByExp(Attention):
    """Softmax written out: exp(s - max) / sum."""

    def weights(self, scores: Tensor) -> Tensor:
        powers = torch.exp(scores - scores.amax(-1, keepdim=True))
        return powers / powers.sum(-1, keepdim=True)


class SoftmaxInFloat(Attention):
    """float16 everywhere but in the softmax."""

    def weights(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, -1, dtype=torch.float32).to(scores.dtype)


class Sinks(Attention):
    """gpt-oss: one learned logit for each head takes part in the softmax, then is dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.sinks = nn.Parameter(torch.zeros(HEADS))

    def weights(self, scores: Tensor) -> Tensor:
        batch, _, length, _ = scores.shape
        sinks = self.sinks.view(1, HEADS, 1, 1).expand(batch, HEADS, length, 1)
        return torch.softmax(torch.cat([scores, sinks], -1), -1)[..., :-1]


class Softcap(Attention):
    """Gemma 2: 5 tanh(s / 5) before the softmax."""

    def weights(self, scores: Tensor) -> Tensor:
        return torch.softmax(5.0 * torch.tanh(scores / 5.0), -1)


class CosineScores(Attention):
    """q and k scaled to length 1, one constant temperature."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        normal = nn.functional.normalize
        return normal(q, dim=-1) @ normal(k, dim=-1).transpose(-1, -2) * 10.0


class NoProjections(Attention):
    """x plays q, k and v itself: nothing is projected but the result."""

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return split(x), split(x), split(x)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-1, -2) / math.sqrt(D)


_HALF = {"dtype": torch.float16, "gain": 0.5}

ENTRIES = (
    Entry("scale-times-scores", ScaleTimesScores),
    Entry("scale-times-query", ScaleOnQuery),
    Entry("scale-divides-query", ScaleDividesQuery),
    Entry("scale-times-key", ScaleOnKey),
    Entry("scale-on-both", ScaleOnBoth),
    Entry("scale-from-shape", ScaleFromShape),
    Entry("scale-from-head-size", ScaleFromHeadSize),
    Entry("scale-none", NoScale, gain=0.5),
    Entry("scale-twice", ScaleTwice),
    Entry("scale-learned", LearnedScale),
    Entry("scale-learned-by-head", LearnedScaleByHead),
    Entry("scale-learned-by-head-folded", LearnedScaleOfFolded),
    Entry("scale-learned-by-head-capped", LearnedScaleThenCap),
    Entry("scale-after-bias", ScaleAfterBias, inputs=("x", "additive")),
    Entry("key-transposed-at-once", KeyTransposedAtOnce),
    Entry("key-times-query", KeyTimesQuery),
    Entry("softmax-by-exp", SoftmaxByExp),
    Entry("softmax-in-float", SoftmaxInFloat, **_HALF),
    Entry("sinks", Sinks),
    Entry("softcap", Softcap),
    Entry("cosine-scores", CosineScores),
    Entry("no-projections", NoProjections, Expect(merges=0, merged="", linears=1)),
)
