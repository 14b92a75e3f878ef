# SPDX-License-Identifier: Apache-2.0
"""Attention inside blocks: residuals, feed-forwards, adapters, shared layers, few rows read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from models.shared.expect import FUSED, Expect
from models.zoo.entry import Entry
from models.zoo.layers import (
    FeedForward,
    Function,
    GatedFeedForward,
    LayerNormByHand,
    gelu_erf,
    gelu_quick,
    gelu_tanh,
)
from models.zoo.masks import AddedMask
from models.zoo.parts import Attention, D, split
from models.zoo.positions import RmsNorm, Rotary

Make = Callable[[], nn.Module]


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x)); or with the norms after the sums."""

    def __init__(
        self, attention: Make, feed_forward: Make, norm: Make, norm_first: bool = True
    ) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention(), feed_forward()
        self.norm1, self.norm2 = norm(), norm()
        self.norm_first = norm_first

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        if not self.norm_first:
            x = self.norm1(x + self.attention(x, *masks))
            return self.norm2(x + self.feed_forward(x))
        x = x + self.attention(self.norm1(x), *masks)
        return x + self.feed_forward(self.norm2(x))


class ParallelBlock(nn.Module):
    """GPT-J: attention and feed-forward read the same normalized x."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.attention, self.feed_forward = Rotary(), FeedForward(nn.GELU())

    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm(x)
        return x + self.attention(normed) + self.feed_forward(normed)


class Layers(nn.Module):
    """Two blocks in turn; if `shared`, the same block twice (ALBERT)."""

    def __init__(self, block: Make, shared: bool) -> None:
        super().__init__()
        first = block()
        self.blocks = nn.ModuleList([first, first if shared else block()])

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, *masks)
        return x


class Adapted(Attention):
    """LoRA of rank 4 beside q and v."""

    def __init__(self) -> None:
        super().__init__()
        self.q_down, self.v_down = (nn.Linear(D, 4, bias=False) for _ in range(2))
        self.q_up, self.v_up = (nn.Linear(4, D, bias=False) for _ in range(2))

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q = self.q(x) + self.q_up(self.q_down(x)) * 2.0
        v = self.v(x) + self.v_up(self.v_down(x)) * 2.0
        return split(q), split(self.k(x)), split(v)


class FirstRow(nn.Module):
    """Only the first token's row is read, through a tanh pooler (BERT)."""

    def __init__(self, block: Make) -> None:
        super().__init__()
        self.block, self.pooler = block(), nn.Linear(D, D)

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        return torch.tanh(self.pooler(self.block(x, *masks)[:, 0]))


class LastRow(FirstRow):
    """Only the row of each sequence's last token is read, by an index that is an input."""

    def forward(self, x: Tensor, *masks: Tensor) -> Tensor:
        *masks, last = masks
        y = self.block(x, *masks)
        return self.pooler(y[torch.arange(y.shape[0]), last])


class GatedOutput(Attention):
    """The heads' results times a sigmoid of one more projection of x."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(D, D)

    def forward(self, x: Tensor) -> Tensor:
        return self.o(torch.sigmoid(self.gate(x)) * self.attend(*self.projections(x)))


_NORM = partial(nn.LayerNorm, D)
_BERT = partial(AddedMask, -10000.0)
_GELU = partial(FeedForward, nn.GELU())
_BLOCK = partial(Block, _BERT, _GELU, _NORM, norm_first=False)
_MASKED = ("x", "mask")
_FOUR = Expect(linears=4)
_GATED = Expect(merges=2, merged="q, k, v; gate, up", linears=4)
_TWICE = Expect(attention=2, merges=2, merged="q, k, v; q, k, v", linears=8)


def _feed_forward(function: Callable[[Tensor], Tensor]) -> Make:
    return partial(FeedForward, Function(function))


ENTRIES = (
    Entry("block-post-norm", _BLOCK, _FOUR, _MASKED),
    Entry("block-pre-norm", partial(Block, _BERT, _GELU, _NORM), _FOUR, _MASKED),
    *(
        Entry(f"block-{name}", partial(Block, Attention, _feed_forward(gelu), _NORM), _FOUR)
        for name, gelu in (
            ("gelu-tanh", gelu_tanh),
            ("gelu-erf", gelu_erf),
            ("gelu-quick", gelu_quick),
        )
    ),
    *(
        Entry(
            f"block-norm-by-hand-{name}",
            partial(Block, Attention, _GELU, partial(LayerNormByHand, power), norm_first=False),
            _FOUR,
        )
        for name, power in (("pow", True), ("mul", False))
    ),
    *(
        Entry(
            f"block-{name}",
            partial(Block, Rotary, partial(GatedFeedForward, unit), partial(RmsNorm, D)),
            _GATED,
        )
        for name, unit in (("swiglu", nn.SiLU()), ("geglu", nn.GELU()))
    ),
    Entry(
        "block-swiglu-packed",
        partial(Block, Rotary, partial(GatedFeedForward, nn.SiLU(), True), partial(RmsNorm, D)),
        _FOUR,
    ),
    # The Linear `up` may join q, k and v or not: it has an activation and they have none.
    Entry("block-parallel", ParallelBlock, Expect(linears=None)),
    Entry("lora", Adapted, Expect(merged="q, k, v, q_down, v_down", linears=4)),
    Entry("layers", partial(Layers, _BLOCK, shared=False), _TWICE, _MASKED),
    Entry("layers-shared", partial(Layers, _BLOCK, shared=True), _TWICE, _MASKED),
    Entry("first-row", partial(FirstRow, _BLOCK), Expect(merges=None, linears=None), _MASKED),
    Entry(
        "last-row",
        partial(LastRow, _BLOCK),
        Expect(merges=None, linears=None),
        (*_MASKED, "last"),
    ),
    Entry("gated-output", GatedOutput, Expect(linears=3)),
    Entry("fp16-block", _BLOCK, _FOUR, _MASKED, dtype=torch.float16, gain=0.5),
    Entry("fp16-rotary", Rotary, FUSED, dtype=torch.float16, gain=0.5),
)
