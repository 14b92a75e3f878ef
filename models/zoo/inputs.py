# SPDX-License-Identifier: Apache-2.0
"""Graph inputs of the zoo's modules by name, at the sizes of the tiny models' three cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from models.shared.cases import CASES, HIDDEN, Axes, keep_mask
from models.shared.weights import coarse_normal, seeded

STATIC = 24  # Length of the static caches.

Make = Callable[[Sequence[int], Mapping[str, int], torch.Generator], Tensor]


def _normal(shape: Sequence[int], _: Mapping[str, int], rng: torch.Generator) -> Tensor:
    return coarse_normal(tuple(shape), 1.0, rng)


def _weight(shape: Sequence[int], _: Mapping[str, int], rng: torch.Generator) -> Tensor:
    return coarse_normal(tuple(shape), 0.25, rng)


def _kept(shape: Sequence[int], *_: object) -> Tensor:
    """1 for tokens, 0 for padding; [batch, length] or [batch, 1, 1, length]."""
    return keep_mask(shape[0], shape[-1]).view(tuple(shape))


def _kept_bool(shape: Sequence[int], *_: object) -> Tensor:
    return _kept(shape).bool()


def _padding(shape: Sequence[int], *_: object) -> Tensor:
    return ~_kept_bool(shape)


def _kept_pairs(shape: Sequence[int], _: Mapping[str, int], rng: torch.Generator) -> Tensor:
    """True (not masked) at about half of the (query, key) pairs and on the diagonal."""
    drawn = torch.rand(tuple(shape), generator=rng) < 0.5
    return drawn | torch.eye(shape[-1], dtype=torch.bool)


def _masked_pairs(shape: Sequence[int], sizes: Mapping[str, int], rng: torch.Generator) -> Tensor:
    return ~_kept_pairs(shape, sizes, rng)


def _with_masked_row(
    shape: Sequence[int], sizes: Mapping[str, int], rng: torch.Generator
) -> Tensor:
    """Pairs as above, except that the first query of every sequence sees no key at all."""
    pairs = _kept_pairs(shape, sizes, rng)
    pairs[..., 0, :] = False
    return pairs


def _large_negative(shape: Sequence[int], sizes: Mapping[str, int], rng: torch.Generator) -> Tensor:
    """An additive mask: -10000 where masked, small numbers elsewhere."""
    masked = _masked_pairs(shape, sizes, rng)
    return torch.where(masked, -10000.0, coarse_normal(tuple(shape), 1.0, rng))


def _positions(shape: Sequence[int], sizes: Mapping[str, int], _: torch.Generator) -> Tensor:
    return torch.arange(sizes["past"], sizes["past"] + shape[0])


def _last(shape: Sequence[int], sizes: Mapping[str, int], _: torch.Generator) -> Tensor:
    return keep_mask(shape[0], sizes["sequence"]).sum(1) - 1


_SQUARE = ("batch", 1, "sequence", "sequence")

INPUTS: Mapping[str, tuple[Axes, Make]] = {
    "x": (("batch", "sequence", HIDDEN), _normal),
    "x_key": (("batch", "sequence", HIDDEN), _normal),
    "x_value": (("batch", "sequence", HIDDEN), _normal),
    "positions_embedded": (("batch", "sequence", HIDDEN), _normal),
    "x_sequence_first": (("sequence", "batch", HIDDEN), _normal),
    "x_unbatched": (("sequence", HIDDEN), _normal),
    "x_of_nine": (("batch", 9, HIDDEN), _normal),
    "image": (("batch", 8, 8, HIDDEN), _normal),
    "memory": (("batch", "source", HIDDEN), _normal),
    "memory_16": (("batch", "source", 16), _normal),
    "memory_24": (("batch", "source", 24), _normal),
    "mask": (("batch", "sequence"), _kept),
    "mask_4d": (("batch", 1, 1, "sequence"), _kept),
    "mask_bool": (("batch", "sequence"), _kept_bool),
    "mask_bool_4d": (("batch", 1, 1, "sequence"), _kept_bool),
    "source_mask": (("batch", "source"), _kept),
    "padding": (("batch", "sequence"), _padding),
    "source_padding": (("batch", "source"), _padding),
    "open": (_SQUARE, _kept_pairs),
    "open_3d": (("batch", "sequence", "sequence"), _kept_pairs),
    "closed_2d": (("sequence", "sequence"), _masked_pairs),
    "open_but_row": (_SQUARE, _with_masked_row),
    "additive": (_SQUARE, _large_negative),
    "additive_2d": (("sequence", "sequence"), _large_negative),
    "past_key": (("batch", 4, "past", 8), _normal),
    "past_key_transposed": (("batch", 4, 8, "past"), _normal),
    "past_value": (("batch", 4, "past", 8), _normal),
    "past_key_2": (("batch", 2, "past", 8), _normal),
    "past_value_2": (("batch", 2, "past", 8), _normal),
    "source_key": (("batch", 4, "source", 8), _normal),
    "source_value": (("batch", 4, "source", 8), _normal),
    "static_key": (("batch", 4, STATIC, 8), _normal),
    "static_value": (("batch", 4, STATIC, 8), _normal),
    "positions": (("sequence",), _positions),
    "last": (("batch",), _last),
    "w_q": ((HIDDEN, HIDDEN), _weight),
    "w_k": ((HIDDEN, HIDDEN), _weight),
    "w_v": ((HIDDEN, HIDDEN), _weight),
}


def make_inputs(names: Sequence[str], case: int) -> dict[str, Tensor]:
    """The inputs of stored case `case`. All modules that share an input get the same values."""
    sizes = CASES[case]
    feed = {}
    for name in names:
        axes, make = INPUTS[name]
        shape = [a if isinstance(a, int) else sizes[a] for a in axes]
        feed[name] = make(shape, sizes, seeded(f"zoo/{name}/case{case}"))
    return feed
