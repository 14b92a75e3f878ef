# SPDX-License-Identifier: Apache-2.0
"""Graph inputs: their element types, dynamic axes, and the three stored cases of every model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from models.shared.weights import coarse_normal, seeded

VOCABULARY = 99
HIDDEN = 32
IMAGE = 32

Axes = tuple[str | int, ...]

# An axis is a name (dynamic) or a number (fixed by the architecture).
AXES: dict[str, Axes] = {
    "input_ids": ("batch", "sequence"),
    "attention_mask": ("batch", "sequence"),
    "token_type_ids": ("batch", "sequence"),
    "position_ids": ("batch", "sequence"),
    "decoder_input_ids": ("batch", "target"),
    "encoder_hidden_states": ("batch", "source", HIDDEN),
    "encoder_attention_mask": ("batch", "source"),
    "pixel_values": ("batch", 3, IMAGE, IMAGE),
    "input_features": ("batch", 8, 24),
    "input_values": ("batch", "samples"),
}

# Case 0 is padded. Case 1 has batch 1 and length 1 (a decoding step where there is a past). Case 2
# is longer and, where there is a past, starts from an empty one.
CASES: tuple[Mapping[str, int], ...] = (
    {"batch": 2, "sequence": 9, "source": 7, "target": 6, "past": 5, "samples": 92},
    {"batch": 1, "sequence": 1, "source": 1, "target": 1, "past": 8, "samples": 20},
    {"batch": 3, "sequence": 14, "source": 10, "target": 4, "past": 0, "samples": 133},
)


def axes_of(name: str, overrides: Mapping[str, Axes]) -> Axes:
    """The axes of graph input `name`; a model may override the table above."""
    return overrides[name] if name in overrides else AXES[name]


def _valid_lengths(batch: int, length: int) -> Tensor:
    """Row 0 is full, each further row loses a sixth of the length; at least 1 stays."""
    return (length - torch.arange(batch) * max(1, length // 6)).clamp(min=1)


def keep_mask(batch: int, length: int) -> Tensor:
    """1 for tokens, 0 for the padding on the right."""
    return (torch.arange(length) < _valid_lengths(batch, length)[:, None]).long()


def _ids(shape: Sequence[int], pad: int, rng: torch.Generator) -> Tensor:
    ids = torch.randint(3, VOCABULARY - 1, tuple(shape), generator=rng)
    return torch.where(keep_mask(*shape).bool(), ids, pad)


def _input(name: str, shape: list[int], past: int, pad: int, rng: torch.Generator) -> Tensor:
    if name.endswith("input_ids"):
        return _ids(shape, pad, rng)
    if name.endswith("mask"):
        return keep_mask(*shape)
    if name == "token_type_ids":
        return torch.arange(shape[1]).ge((shape[1] + 1) // 2).long().repeat(shape[0], 1)
    if name == "position_ids":
        return torch.arange(past, past + shape[1]).repeat(shape[0], 1)
    return coarse_normal(tuple(shape), 1.0, rng)


def make_inputs(
    names: Sequence[str],
    overrides: Mapping[str, Axes],
    pad: int,
    case: int,
    seed: str,
) -> dict[str, Tensor]:
    """The inputs of stored case number `case`, in the order of `names`; padded on the right."""
    rng = seeded(f"{seed}/case{case}")
    sizes = dict(CASES[case], total=CASES[case]["past"] + CASES[case]["sequence"])
    inputs = {}
    for name in names:
        shape = [a if isinstance(a, int) else sizes[a] for a in axes_of(name, overrides)]
        inputs[name] = _input(name, shape, sizes["past"], pad, rng)
    return inputs


def cast(inputs: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """`inputs` with the floating-point ones converted to `dtype`."""
    return {k: v.to(dtype) if v.is_floating_point() else v for k, v in inputs.items()}
