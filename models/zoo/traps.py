# SPDX-License-Identifier: Apache-2.0
"""Modules that must not be fused, must not be merged, or must keep a value alive."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.shared.expect import FUSED, Expect, unfused
from models.zoo.entry import Entry
from models.zoo.parts import Attention, D, H, merge, split


class Inner(Attention):
    """Also returns the named values from inside the attention."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        q, k, v = self.projections(x)
        product = q @ k.transpose(-1, -2)
        scores = product / math.sqrt(H)
        weights = torch.softmax(scores, -1)
        context = merge(weights @ v)
        values = {
            "q": q,
            "v": v,
            "product": product,
            "scores": scores,
            "attention_weights": weights,
            "context": context,
        }
        return self.o(context), *(values[name] for name in self.names)


class FlatQuery(Attention):
    """Also returns the projection before its heads are split."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        q = self.q(x)
        return self.o(self.attend(split(q), split(self.k(x)), split(self.v(x)))), q


class SecondConsumer(Attention):
    """Something else reads one of the values."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        scores = self.scores(q, k)
        weights = torch.softmax(scores, -1)
        values = {"q": q, "k": k, "v": v, "scores": scores, "weights": weights}
        extra = values[self.name].mean(dim=(1, 3)).unsqueeze(-1)
        return self.o(merge(weights @ v)) + extra


class WeightsAsInputs(nn.Module):
    """Some of the projections' weights are graph inputs."""

    def __init__(self, names: str) -> None:
        super().__init__()
        self.names = names
        for name in "qkv":
            if name not in names:
                self.add_module(name, nn.Linear(D, D, bias=False))
        self.o = nn.Linear(D, D)

    def forward(self, x: Tensor, *weights: Tensor) -> Tensor:
        given = dict(zip(self.names, weights, strict=True))
        made = [x @ given[n] if n in given else getattr(self, n)(x) for n in "qkv"]
        q, k, v = (split(part) for part in made)
        return self.o(merge(torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(H), -1) @ v))


class DifferentInputs(Attention):
    def forward(self, x: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.o(self.attend(split(self.q(x)), split(self.k(key)), split(self.v(value))))


class Detr(Attention):
    """q and k from x plus positions, v from x alone."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        placed = x + positions
        return self.o(self.attend(split(self.q(placed)), split(self.k(placed)), split(self.v(x))))


class OneWeightTwice(Attention):
    """q and k are made by one module (Reformer)."""

    def __init__(self) -> None:
        super().__init__()
        self.k = self.q


class WeightsOnTwoInputs(Attention):
    """The same k and v weights serve x and memory. Merged with q they would be stored twice."""

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        q, k, v = self.projections(x)
        own = self.attend(q, k, v)
        return self.o(own + self.attend(q, split(self.k(memory)), split(self.v(memory))))


class PositionTable(Attention):
    """x has length 9; a table [9, D] is added to q and k where a bias would be."""

    def __init__(self) -> None:
        super().__init__(bias="o")
        self.q_table, self.k_table = (nn.Parameter(torch.zeros(9, D)) for _ in range(2))

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k = self.q(x) + self.q_table, self.k(x) + self.k_table
        return split(q), split(k), split(self.v(x))


class ActivatedQuery(Attention):
    """q passes a ReLU, k and v do not."""

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return split(torch.relu(self.q(x))), split(self.k(x)), split(self.v(x))


class ValuesNotProjected(Attention):
    """v is x itself; q and k are projected."""

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return split(self.q(x)), split(self.k(x)), split(x)


class QueryTwice(Attention):
    """Scores of q with itself: one projection serves as q and k."""

    def projections(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q = split(self.q(x))
        return q, q, split(self.v(x))


def _returned(*names: str, expect: Expect = FUSED) -> Entry:
    name = "-".join(names).replace("attention_weights", "weights")
    return Entry(f"returned-{name}", lambda: Inner(*names), expect, outputs=("y", *names))


def _second(name: str, expect: Expect = FUSED) -> Entry:
    return Entry(f"second-consumer-{name}", lambda: SecondConsumer(name), expect)


_THREE = ("x", "x_key", "x_value")

ENTRIES = (
    _returned("q"),
    _returned("v"),
    _returned("context"),
    Entry("returned-q-projection", FlatQuery, outputs=("y", "q")),
    _returned("product", expect=unfused("is a graph output")),
    _returned("scores", expect=unfused("is a graph output")),
    _returned("attention_weights"),
    _second("q"),
    _second("k"),
    _second("v"),
    _second("scores", unfused("has another consumer")),
    _second("weights"),
    Entry(
        "weights-as-inputs",
        lambda: WeightsAsInputs("qkv"),
        Expect(merges=0, merged="", linears=1, reason="is not constant"),
        ("x", "w_q", "w_k", "w_v"),
    ),
    Entry(
        "weights-as-inputs-k",
        lambda: WeightsAsInputs("k"),
        Expect(merged="q, v", linears=2, reason="is not constant"),
        ("x", "w_k"),
    ),
    Entry(
        "different-inputs",
        DifferentInputs,
        Expect(merges=0, merged="", linears=4, reason="different inputs"),
        _THREE,
    ),
    Entry(
        "detr",
        Detr,
        Expect(merged="q, k", linears=3, reason="different inputs"),
        ("x", "positions_embedded"),
    ),
    Entry("shared-weight-q-k", OneWeightTwice, Expect(merged="q (which is k), v")),
    Entry(
        "weights-on-two-inputs",
        WeightsOnTwoInputs,
        Expect(attention=2, merges=None, linears=None, reason="is shared with"),
        ("x", "memory"),
    ),
    Entry("position-table", PositionTable, Expect(linears=2), ("x_of_nine",)),
    Entry("activated-query", ActivatedQuery, Expect(linears=None)),
    Entry("values-not-projected", ValuesNotProjected, Expect(merged="q, k")),
    Entry("query-is-key", QueryTwice, Expect(merged="q (which is k), v")),
)
