# SPDX-License-Identifier: Apache-2.0
"""A module of the zoo, its inputs and outputs, and the optimizer's expected result on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from models.shared.expect import FUSED, Expect


@dataclass(frozen=True)
class Entry:
    """One module. Its forward takes `inputs` (names of inputs.INPUTS) and returns `outputs`.

    `differing` overrides `expect` for exporters whose file rightly fuses in another way.
    """

    name: str
    build: Callable[[], nn.Module]
    expect: Expect = FUSED
    inputs: tuple[str, ...] = ("x",)
    outputs: tuple[str, ...] = ("y",)
    differing: Mapping[str, Expect] = field(default_factory=dict)
    # The number of expected attentions that read another sequence than x.
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
