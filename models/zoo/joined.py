# SPDX-License-Identifier: Apache-2.0
"""Scores computed for some keys at a time: of blocks and of global tokens, of words and entities."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.shared.expect import Expect
from models.zoo.entry import Entry
from models.zoo.frames import FourAxes
from models.zoo.parts import Attention, D, merge, split


class BlocksAndGlobals(FourAxes):
    """Pegasus-X: each row of an image sees itself and the first column, in products of their own."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        scores = (
            torch.einsum("brqhd,bghd->brhqg", q, k[:, :, 0]),
            torch.einsum("brqhd,brkhd->brhqk", q, k),
        )
        of_globals, of_row = torch.softmax(torch.cat(scores, -1), -1).split(8, -1)
        context = torch.einsum("brhqg,bghd->brqhd", of_globals, v[:, :, 0])
        context = context + torch.einsum("brhqk,brkhd->brqhd", of_row, v)
        return self.o(context.flatten(-2))


class MaskedParts(FourAxes):
    """BigBird: each part is masked before they are put together; the sum goes part by part."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (p.transpose(2, 3) for p in self.projections(x))
        seen = (torch.arange(8)[:, None] >= torch.arange(8)).float()
        parts = [(k.roll(1, 1), v.roll(1, 1), 0.0), (k, v, (1.0 - seen) * -10000.0)]
        scores = [q @ keys.transpose(-1, -2) + mask for keys, _, mask in parts]
        weights = torch.softmax(torch.cat(scores, -1), -1)
        context = weights[..., :8] @ parts[0][1]
        context = context + weights[..., 8:] @ parts[1][1]
        return self.o(context.transpose(2, 3).flatten(-2))


class WordsAndEntities(Attention):
    """LUKE: queries of words and of entities have a projection for each kind of keys."""

    def __init__(self) -> None:
        super().__init__()
        self.to_entities, self.of_entities, self.among = (nn.Linear(D, D) for _ in range(3))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        both = torch.cat((x, memory), 1)
        k, v = split(self.k(both)), split(self.v(both))
        words, entities = k[:, :, : x.shape[1]], k[:, :, x.shape[1] :]
        rows = (
            ((self.q, words), (self.to_entities, entities)),
            ((self.of_entities, words), (self.among, entities)),
        )
        scores = [
            torch.cat([split(p(of)) @ keys.transpose(-1, -2) for p, keys in row], 3)
            for of, row in zip((x, memory), rows, strict=True)
        ]
        return self.o(merge(torch.softmax(torch.cat(scores, 2) / self.head**0.5, -1) @ v))


_IMAGE = ("image",)

ENTRIES = (
    Entry("joined-blocks-and-globals", BlocksAndGlobals, inputs=_IMAGE),
    Entry("joined-masked-parts", MaskedParts, inputs=_IMAGE),
    Entry(
        "joined-words-and-entities",
        WordsAndEntities,
        Expect(
            merges=3,
            merged="q, to_entities; of_entities, among; k, v",
            linears=4,
            reason="different inputs",
        ),
        inputs=("x", "memory"),
    ),
)
