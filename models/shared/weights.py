# SPDX-License-Identifier: Apache-2.0
"""Redraws a model's weights at order 1, on a grid coarse enough for the archive to compress them.

Default initialisation (std 0.02) makes attention nearly uniform and hides wrong heads, scales and
masks. Here a score has a standard deviation of about 2, so every head attends to a few positions.
"""

from __future__ import annotations

import math
import zlib

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

_STEPS_PER_STD = 4
_LARGEST_STEP = 10


def seeded(name: str) -> torch.Generator:
    """A generator that depends on `name` alone: it draws the same numbers on every machine."""
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


def coarse_normal(shape: tuple[int, ...], std: float, rng: torch.Generator) -> Tensor:
    """Normal values of deviation `std` (a power of two keeps them exact), rounded to std/4."""
    steps = torch.randn(shape, generator=rng).mul(_STEPS_PER_STD).round()
    return steps.clamp(-_LARGEST_STEP, _LARGEST_STEP) * (std / _STEPS_PER_STD)


def _std(module: nn.Module, weight: Tensor, gain: float) -> float:
    """1 for tables. For projections `gain` times the least power of two that is at least
    1/sqrt(fan-in)."""
    is_table = isinstance(module, nn.Embedding) or weight.shape[0] == 1
    if is_table:
        return 1.0
    fan_in = weight.shape[0] if isinstance(module, Conv1D) else weight[0].numel()
    return gain * 2.0 ** math.ceil(math.log2(fan_in**-0.5))


def _redrawn(module: nn.Module, old: Tensor, gain: float, rng: torch.Generator) -> Tensor:
    if old.dim() < 2:
        # Norm weights that start at 1 stay near 1. Biases stay near 0, and so do norm weights of
        # families that store the weight minus 1.
        return coarse_normal(old.shape, 0.25, rng) + float(old.eq(1).all())
    return coarse_normal(old.shape, _std(module, old, gain), rng)


@torch.no_grad()
def redraw(model: nn.Module, seed: str, gain: float = 1.0) -> None:
    """Replaces every parameter in place; tied parameters stay tied. `gain` scales projections."""
    rng = seeded(seed)
    for name, parameter in model.named_parameters():
        module = model.get_submodule(name.rpartition(".")[0])
        parameter.copy_(_redrawn(module, parameter, gain, rng))
