# SPDX-License-Identifier: Apache-2.0
"""Spellings of masks."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from models.zoo.entry import Entry
from models.zoo.parts import LONGEST, Attention

_MINIMUM = torch.finfo(torch.float32).min


class Masked(Attention):
    """masked_fill where the mask is 0."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return scores.masked_fill(masks[0] == 0, self.value)


class MaskedBySquare(Masked):
    """mask [B, S, S], the head axis added here."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return scores.masked_fill(~masks[0].unsqueeze(1), self.value)


class MaskedByPadding(Masked):
    """padding [B, S], True where there is no token."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return scores.masked_fill(masks[0][:, None, None, :], self.value)


class MaskedWhere(Masked):
    """torch.where(mask, scores, value), mask [B, S] bool."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return torch.where(masks[0][:, None, None, :], scores, self.value)


class AddedMask(Masked):
    """BERT: (1 - mask) * value, mask [B, S] integers."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        extended = masks[0][:, None, None, :].to(scores.dtype)
        return scores + (1.0 - extended) * self.value


class AddedBias(Attention):
    """An additive mask is an input."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return scores + masks[0]


class MaskedTwice(Attention):
    """The outer product of two padding masks: queries that are padding see no key."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        pairs = masks[0][:, None, :, None] * masks[0][:, None, None, :]
        return scores.masked_fill(pairs == 0, _MINIMUM)


class Guarded(Attention):
    """-inf where masked. Fully masked rows give 0, by an explicit test for NaN."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        return scores.masked_fill(~masks[0], -math.inf)

    def weights(self, scores: Tensor) -> Tensor:
        weights = torch.softmax(scores, -1)
        return torch.where(torch.isnan(weights), torch.zeros_like(weights), weights)


class Rezeroed(Attention):
    """DeBERTa's XSoftmax: the lowest float where masked, and 0 there after the softmax."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        scores = self.scores(q, k).masked_fill(~mask, _MINIMUM)
        return self.o(self.merged(torch.softmax(scores, -1).masked_fill(~mask, 0.0) @ v))

    def merged(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).flatten(2)


class CausalBuffer(Attention):
    """GPT-2: a square of ones below the diagonal, sliced to size."""

    def __init__(self) -> None:
        super().__init__()
        ones = torch.ones(LONGEST, LONGEST, dtype=torch.bool)
        self.register_buffer("causal", torch.tril(ones).view(1, 1, LONGEST, LONGEST))

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        length = scores.shape[-1]
        return torch.where(self.causal[:, :, :length, :length], scores, _MINIMUM)


class CausalTril(Attention):
    """A triangle made in forward."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        length = scores.shape[-1]
        ones = torch.tril(torch.ones(length, length, device=scores.device))
        return scores.masked_fill(ones == 0, -math.inf)


class CausalAdded(Attention):
    """nn.Transformer's square subsequent mask: -inf above the diagonal, added."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        length = scores.shape[-1]
        return scores + torch.triu(torch.full((length, length), -math.inf), diagonal=1)


class CausalPositions(Attention):
    """Positions of queries and keys compared."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        at = torch.arange(scores.shape[-1], device=scores.device)
        return scores.masked_fill(at[None, :] > at[:, None], _MINIMUM)


class CausalAndPadding(Attention):
    """Both as one additive mask [B, 1, S, S], as transformers' eager models make it."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        at = torch.arange(scores.shape[-1], device=scores.device)
        causal = at[None, :] <= at[:, None]
        allowed = causal[None, None] & masks[0][:, None, None, :].bool()
        return scores + torch.where(allowed, 0.0, _MINIMUM)


class CausalTimesPadding(CausalBuffer):
    """Two masks in turn: causal by Where, padding added."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        scores = super().masked(scores)
        return scores + (1.0 - masks[0][:, None, None, :].to(scores.dtype)) * -10000.0


class SlidingWindow(Attention):
    """Causal, the last four keys only (Mistral)."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        at = torch.arange(scores.shape[-1], device=scores.device)
        back = at[:, None] - at[None, :]
        return scores.masked_fill((back < 0) | (back >= 4), -math.inf)


class LocalWindow(Attention):
    """Two keys on either side (ModernBERT, Longformer)."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        at = torch.arange(scores.shape[-1], device=scores.device)
        return scores.masked_fill((at[:, None] - at[None, :]).abs() > 2, _MINIMUM)


class Prefix(Attention):
    """Causal, but every query sees the first three keys (prefix LM)."""

    def masked(self, scores: Tensor, *masks: Tensor) -> Tensor:
        at = torch.arange(scores.shape[-1], device=scores.device)
        allowed = (at[None, :] <= at[:, None]) | (at[None, :] < 3)
        return torch.where(allowed, scores, torch.full_like(scores, -math.inf))


_X_MASK = ("x", "mask")

ENTRIES = (
    Entry("mask-annotated", partial(Masked, -1e9), inputs=("x", "mask_4d")),
    Entry("mask-fill-minimum", partial(Masked, _MINIMUM), inputs=("x", "mask_4d")),
    Entry("mask-fill-infinity-bool", partial(Masked, -math.inf), inputs=("x", "mask_bool_4d")),
    Entry("mask-square-3d", partial(MaskedBySquare, -1e9), inputs=("x", "open_3d")),
    Entry("mask-padding", partial(MaskedByPadding, -math.inf), inputs=("x", "padding")),
    Entry("mask-where", partial(MaskedWhere, -1e4), inputs=("x", "mask_bool")),
    Entry("mask-added-10000", partial(AddedMask, -10000.0), inputs=_X_MASK),
    Entry("mask-added-minimum", partial(AddedMask, _MINIMUM), inputs=_X_MASK),
    Entry("mask-added-float", AddedBias, inputs=("x", "additive")),
    Entry("mask-added-float-2d", AddedBias, inputs=("x", "additive_2d")),
    Entry("mask-outer-product", MaskedTwice, inputs=_X_MASK),
    Entry("mask-guarded", Guarded, inputs=("x", "open_but_row")),
    Entry("mask-rezeroed", Rezeroed, inputs=("x", "open_but_row")),
    Entry("mask-closed-row-infinity", partial(Masked, -math.inf), inputs=("x", "open_but_row")),
    Entry("mask-closed-row-minimum", partial(Masked, _MINIMUM), inputs=("x", "open_but_row")),
    Entry("causal-buffer", CausalBuffer),
    Entry("causal-tril", CausalTril),
    Entry("causal-added", CausalAdded),
    Entry("causal-positions", CausalPositions),
    Entry("causal-and-padding", CausalAndPadding, inputs=_X_MASK),
    Entry("causal-then-padding", CausalTimesPadding, inputs=_X_MASK),
    Entry("sliding-window", SlidingWindow),
    Entry("local-window", LocalWindow),
    Entry("causal-prefix", Prefix),
)
