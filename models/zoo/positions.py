# SPDX-License-Identifier: Apache-2.0
"""Positions: rotary embeddings, norms on q and k, and biases on the scores."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from models.zoo.entry import Entry
from models.zoo.heads import KV, expanded
from models.zoo.parts import HEADS, LONGEST, Attention, D, H, split


def angles(length: int, size: int) -> Tensor:
    """[length, size / 2]."""
    frequency = 100.0 ** (-torch.arange(0, size, 2).float() / size)
    return torch.arange(length).float()[:, None] * frequency


def rotate_half(x: Tensor) -> Tensor:
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


class Rotary(Attention):
    """Llama: tables of cos and sin over the whole head, halves rotated."""

    def __init__(self, kv_heads: int = HEADS) -> None:
        super().__init__(kv_heads=kv_heads, bias="")
        table = angles(LONGEST, self.head)
        self.register_buffer("cos", torch.cat((table, table), -1).cos())
        self.register_buffer("sin", torch.cat((table, table), -1).sin())

    def normed(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return q, k

    def rotated(self, x: Tensor) -> Tensor:
        length = x.shape[2]
        return x * self.cos[:length] + rotate_half(x) * self.sin[:length]

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().projections(x)
        q, k = self.normed(q, k)
        times = self.heads // self.kv_heads
        k = self.rotated(k)
        if times > 1:
            k, v = expanded(k, times), expanded(v, times)
        return self.rotated(q), k, v


class RotaryComputed(Rotary):
    """cos and sin are computed from positions when the model runs."""

    def __init__(self) -> None:
        super().__init__()
        del self.cos, self.sin
        frequency = 100.0 ** (-torch.arange(0, H, 2).float() / H)
        self.register_buffer("frequency", frequency)

    def rotated(self, x: Tensor) -> Tensor:
        at = torch.arange(x.shape[2], device=x.device)[None, :, None].float()
        turned = at * self.frequency[None, None, :]
        both = torch.cat((turned, turned), dim=-1).unsqueeze(1)
        return x * both.cos() + rotate_half(x) * both.sin()


class RotaryInterleaved(Rotary):
    """GPT-J: each pair of neighbours rotates."""

    def __init__(self) -> None:
        super().__init__()
        self.cos, self.sin = angles(LONGEST, H).cos(), angles(LONGEST, H).sin()

    def rotated(self, x: Tensor) -> Tensor:
        cos, sin = self.cos[: x.shape[2]], self.sin[: x.shape[2]]
        even, odd = x[..., 0::2], x[..., 1::2]
        pairs = torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1)
        return pairs.flatten(-2)


class RotaryPartial(Rotary):
    """GPT-NeoX: the first half of the head rotates, the rest passes."""

    def __init__(self) -> None:
        super().__init__()
        table = angles(LONGEST, H // 2)
        self.cos = torch.cat((table, table), -1).cos()
        self.sin = torch.cat((table, table), -1).sin()

    def rotated(self, x: Tensor) -> Tensor:
        turning, passing = x[..., : H // 2], x[..., H // 2 :]
        return torch.cat((super().rotated(turning), passing), dim=-1)


class RmsNorm(nn.Module):
    """RMSNorm as transformers spells it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + 1e-6))


class RotaryNormed(Rotary):
    """Qwen 3 (RMS) and Phi (LayerNorm): each head of q and k is normalized, then rotated."""

    def __init__(self, norm: type[nn.Module], kv_heads: int = HEADS) -> None:
        super().__init__(kv_heads)
        self.q_norm, self.k_norm = norm(H), norm(H)

    def normed(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return self.q_norm(q), self.k_norm(k)


class NormedBeforeHeads(Attention):
    """OLMo 2: RMSNorm over the whole projection, before its heads are split."""

    def __init__(self) -> None:
        super().__init__(bias="")
        self.q_norm, self.k_norm = RmsNorm(D), RmsNorm(D)

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return split(self.q_norm(self.q(x))), split(self.k_norm(self.k(x))), split(self.v(x))


ENTRIES = (
    Entry("rotary", Rotary),
    Entry("rotary-computed", RotaryComputed),
    Entry("rotary-interleaved", RotaryInterleaved),
    Entry("rotary-partial", RotaryPartial),
    Entry("rotary-grouped", partial(Rotary, KV)),
    Entry("rotary-rms-norm", partial(RotaryNormed, RmsNorm, KV)),
    Entry("rotary-layer-norm", partial(RotaryNormed, nn.LayerNorm)),
    Entry("rms-norm-before-heads", NormedBeforeHeads),
)
