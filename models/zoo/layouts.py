# SPDX-License-Identifier: Apache-2.0
"""Heads, queries and keys on other axes than [B, heads, S, T], by permutes and by einsum."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.zoo.entry import Entry
from models.zoo.heads import GROUP, KV
from models.zoo.parts import HEADS, Attention, D, H

_MINIMUM = torch.finfo(torch.float32).min


class FourAxes(Attention):
    """Subclasses take q, k and v as [B, S, heads, H] and return their result so."""

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        batch, length, _ = x.shape
        q, k, v = (p(x).view(batch, length, -1, H) for p in (self.q, self.k, self.v))
        return q, k, v

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        return self.o(self.attend(*self.projections(x), *masks).reshape(x.shape))


class HeadsBeforeBatch(FourAxes):
    """Scores [heads, B, S, T] of permuted operands; the mask [B, T] gets axes on both sides."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        q, k, v = q.permute(2, 0, 1, 3), k.permute(2, 0, 3, 1), v.permute(2, 0, 1, 3)
        scores = torch.matmul(q, k) / math.sqrt(H)
        scores = scores.masked_fill(masks[0][None, :, None, :] == 0, -1e9)
        return torch.matmul(torch.softmax(scores, -1), v).permute(1, 2, 0, 3)


class QueriesFirst(FourAxes):
    """Scores [S, B, heads, T] by einsum, an additive mask [1, B, 1, T]."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        scores = torch.einsum("bqhd,bkhd->qbhk", q * H**-0.5, k)
        scores = scores + (1.0 - masks[0].to(q.dtype))[None, :, None, :] * -1e4
        return torch.einsum("qbhk,bkhd->bqhd", torch.softmax(scores, -1), v)


class KeysOverQueries(FourAxes):
    """Scores [B, heads, T, S], causal in that layout; the softmax is over the last axis but one."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        scores = (k * H**-0.5).transpose(1, 2) @ q.permute(0, 2, 3, 1)
        at = torch.arange(q.shape[1], device=q.device)
        scores = torch.where(at[:, None] <= at[None, :], scores, _MINIMUM)
        context = v.permute(0, 2, 3, 1) @ torch.softmax(scores, dim=-2)
        return context.permute(0, 3, 1, 2)


class HeadsBetween(FourAxes):
    """Scores [B, S, heads, T]; the probabilities are permuted to [B, heads, T, S]."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        scores = torch.einsum("bqhd,bkhd->bqhk", q, k).mul(H**-0.5)
        scores = scores.masked_fill(masks[0][:, None, None, :], -math.inf)
        weights = torch.softmax(scores, dim=3).permute(0, 2, 3, 1)
        return torch.matmul(v.permute(0, 2, 3, 1), weights).permute(0, 3, 1, 2)


class HeadsLastBiased(FourAxes):
    """Scores [B, S, T, heads] plus a table of distances [S, T, heads] as it is looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, HEADS)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        at = torch.arange(q.shape[1], device=q.device)
        bias = self.table((at[None, :] - at[:, None]).clamp(-4, 4) + 4)
        scores = torch.einsum("bihd,bjhd->bijh", q, k) / math.sqrt(H) + bias
        weights = torch.softmax(scores, dim=2).permute(0, 3, 1, 2)
        return (weights @ v.transpose(1, 2)).transpose(1, 2)


class GroupsByLetters(FourAxes):
    """A letter for the group: q [B, S, group, kv, H], scores [B, kv, S, group, T]."""

    def __init__(self) -> None:
        super().__init__(kv_heads=KV)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        q = q.unflatten(2, (GROUP, KV))
        scores = torch.einsum("bigkd,bjkd->bkigj", q, k) / math.sqrt(H)
        return torch.einsum("bkigj,bjkd->bigkd", torch.softmax(scores, -1), v)


class SequenceFirstRows(Attention):
    """[S, B * heads, H] throughout: scores [S, B * heads, T], a mask [S, 1, T]."""

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        length, batch, _ = x.shape
        q, k, v = (p(x).view(length, batch * HEADS, H) for p in (self.q, self.k, self.v))
        scores = torch.einsum("snd,tnd->snt", q, k) * H**-0.5 + masks[0].unsqueeze(1)
        context = torch.einsum("snt,tnd->snd", torch.softmax(scores, dim=-1), v)
        return self.o(context.reshape(length, batch, D))


class UnbatchedRows(Attention):
    """x [S, D], scores [S, heads, T], as a matrix for the softmax."""

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        length = x.shape[0]
        q, k, v = (p(x).view(length, HEADS, H) for p in (self.q, self.k, self.v))
        scores = torch.einsum("shd,thd->sht", q, k) / math.sqrt(H)
        weights = torch.softmax(scores.reshape(length * HEADS, length), dim=1)
        weights = weights.reshape(length, HEADS, length).transpose(0, 1)
        return self.o((weights @ v.transpose(0, 1)).transpose(0, 1).reshape(length, D))


class KeysTimesQueries(Attention):
    """baddbmm adds a bias [B * heads, T, S] to k q^T; the softmax is over axis 1."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, HEADS)

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (t.reshape(batch * HEADS, length, H) for t in self.projections(x))
        at = torch.arange(length, device=x.device)
        bias = self.table((at[None, :] - at[:, None]).clamp(-4, 4) + 4).permute(2, 0, 1)
        bias = bias.repeat(batch, 1, 1)
        scores = torch.baddbmm(bias, k, q.transpose(1, 2), beta=1.0, alpha=H**-0.5)
        context = torch.bmm(torch.softmax(scores, dim=1).transpose(1, 2), v)
        return self.o(context.view(batch, HEADS, length, H).transpose(1, 2).reshape(x.shape))


class WindowsByLetters(Attention):
    """4 windows of an 8 x 8 image, rows and columns each with a letter, in one einsum."""

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        batch = x.shape[0]
        q, k, v = (p(x).view(batch, 2, 4, 2, 4, HEADS, H) for p in (self.q, self.k, self.v))
        scores = torch.einsum("bxiyjhd,bxkylhd->bxyhijkl", q, k) / math.sqrt(H)
        weights = torch.softmax(scores.flatten(-2), dim=-1).unflatten(-1, (4, 4))
        context = torch.einsum("bxyhijkl,bxkylhd->bxiyjhd", weights, v)
        return self.o(context.reshape(batch, 8, 8, D))


_X_MASK = ("x", "mask")

ENTRIES = (
    Entry("layout-heads-batch", HeadsBeforeBatch, inputs=_X_MASK),
    Entry("layout-queries-first", QueriesFirst, inputs=_X_MASK),
    Entry("layout-keys-over-queries", KeysOverQueries),
    Entry("layout-heads-between", HeadsBetween, inputs=("x", "padding")),
    Entry("layout-heads-last-biased", HeadsLastBiased),
    Entry("layout-groups-by-letters", GroupsByLetters),
    Entry(
        "layout-sequence-first-rows",
        SequenceFirstRows,
        inputs=("x_sequence_first", "additive_2d"),
    ),
    Entry("layout-unbatched-rows", UnbatchedRows, inputs=("x_unbatched",)),
    Entry("layout-keys-times-queries", KeysTimesQueries),
    Entry("layout-windows-by-letters", WindowsByLetters, inputs=("image",)),
)
