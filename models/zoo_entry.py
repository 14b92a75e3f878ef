# SPDX-License-Identifier: Apache-2.0
"""What a module of the zoo is, and what the optimizer should make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Expect:
    """Counts after optimization; None where more than one answer is right.

    `merges` counts the groups of Linears on one input that became one; `merged` names them, groups
    apart by semicolons; gate and up of a gated MLP count, too. `reason` is a part of what the
    optimizer says of a trap that must not be fused or merged.
    """

    attention: int | None = 1
    merges: int | None = 1
    merged: str = "q, k, v"
    linears: int | None = 2
    softmax: int | None = 0
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "attention": self.attention,
            "qkv_merges": self.merges,
            "merged": self.merged,
            "linears": self.linears,
            "softmax": self.softmax,
            "reason": self.reason,
        }


FUSED = Expect()
# One Linear holds q, k and v from the start: nothing is left to merge.
PACKED = Expect(merges=0, merged="")


def unfused(reason: str, **counts: Any) -> Expect:
    """Attention that is none: q, k and v merge all the same, the Softmax stays."""
    return Expect(**{"attention": 0, "softmax": 1, "reason": reason, **counts})


@dataclass(frozen=True)
class Entry:
    """One module: forward takes `inputs` (names of zoo_inputs.INPUTS), returns `outputs`.

    `differing` overrides `expect` for the exporters whose file legitimately fuses otherwise.
    """

    name: str
    build: Callable[[], nn.Module]
    expect: Expect = FUSED
    inputs: tuple[str, ...] = ("x",)
    outputs: tuple[str, ...] = ("y",)
    differing: Mapping[str, Expect] = field(default_factory=dict)
    # How many of the expected attentions read another sequence than x.
    cross: int = 0
    dtype: torch.dtype = torch.float32
    gain: float = 1.0

    def expected(self, exporter: str) -> Expect:
        return self.differing.get(exporter, self.expect)

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")


class Traced(nn.Module):
    """A module with tensors in and a tuple of tensors out, as the exporters trace it."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        result = self.module(*tensors)
        return result if isinstance(result, tuple) else (result,)
