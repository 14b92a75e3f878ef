# SPDX-License-Identifier: Apache-2.0
"""Norms, activations and feed-forwards around the zoo's attentions."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from models.zoo.parts import D

_FFN = 48


class LayerNormByHand(nn.Module):
    """(x - mean) / sqrt(variance + epsilon) * gain + shift, with pow (`power`) or a product for the
    square."""

    def __init__(self, power: bool) -> None:
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))
        self.power = power

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        square = centred.pow(2) if self.power else centred * centred
        deviation = torch.sqrt(square.mean(-1, keepdim=True) + 1e-5)
        return self.gain * (centred / deviation) + self.shift


def gelu_tanh(x: Tensor) -> Tensor:
    """GPT-2's approximation of gelu, written out."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def gelu_erf(x: Tensor) -> Tensor:
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


def gelu_quick(x: Tensor) -> Tensor:
    """CLIP's approximation of gelu."""
    return x * torch.sigmoid(1.702 * x)


class FeedForward(nn.Module):
    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(D, _FFN), nn.Linear(_FFN, D)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.activation(self.up(x)))


class GatedFeedForward(nn.Module):
    """down(activation(gate(x)) * up(x)): SwiGLU, GEGLU."""

    def __init__(self, activation: nn.Module, packed: bool = False) -> None:
        super().__init__()
        self.packed = packed
        self.activation = activation
        if packed:
            self.both = nn.Linear(D, 2 * _FFN, bias=False)
        else:
            self.gate, self.up = (nn.Linear(D, _FFN, bias=False) for _ in range(2))
        self.down = nn.Linear(_FFN, D, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.both(x).chunk(2, -1) if self.packed else (self.gate(x), self.up(x))
        return self.down(self.activation(gate) * up)


class Function(nn.Module):
    """Wraps a function as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)
