# SPDX-License-Identifier: Apache-2.0
"""The description of a tiny model, and the variants that can be made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import transformers
from torch import nn
from transformers import PreTrainedModel

from models.shared.cases import HIDDEN, VOCABULARY, Axes

LAYERS = 2
HEADS = 4

STATES = ("last_hidden_state",)


@dataclass(frozen=True)
class Family:
    """One tiny model. `config` overrides the shared tiny sizes; `part` picks a submodule."""

    name: str
    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    part: Callable[[PreTrainedModel], nn.Module] = lambda model: model
    self_attention: int = LAYERS
    cross_attention: int = 0
    axes: Mapping[str, Axes] = field(default_factory=dict)
    attention: tuple[str, ...] = ("eager", "sdpa")
    gain: float = 1.0
    left_padded: bool = False
    dtype: torch.dtype = torch.float32

    def build(self, attention: str) -> PreTrainedModel:
        """The model in inference mode, with its own default initialisation."""
        if not self.supports(attention):
            raise ValueError(f"transformers has no {attention} attention for {self.model}")
        config = self._class.config_class(**{**TINY, **self.config})
        config._attn_implementation = attention
        return self._class(config).eval()

    def supports(self, attention: str) -> bool:
        return attention == "eager" or self._class._supports_sdpa

    @property
    def _class(self) -> type[PreTrainedModel]:
        return getattr(transformers, self.model)

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")

    @property
    def weights_seed(self) -> str:
        """Variants of a model (encoder, decoder, fp16, with a past) share their weights."""
        return self.name.partition("-")[0]

    @property
    def pad(self) -> int:
        return self.config.get("pad_token_id", TINY["pad_token_id"])


TINY: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}

_PAST_INPUTS = tuple(f"past_key_values.{i}.{kv}" for i in range(LAYERS) for kv in ("key", "value"))
_PRESENT_OUTPUTS = tuple(f"present.{i}.{kv}" for i in range(LAYERS) for kv in ("key", "value"))


def with_past(base: Family, kv_heads: int, head_size: int) -> Family:
    """`base` as a decoding step: past keys and values in, present ones out."""
    past_axes = dict.fromkeys(_PAST_INPUTS, ("batch", kv_heads, "past", head_size))
    return replace(
        base,
        name=f"{base.name}-past",
        inputs=("input_ids", "attention_mask", "position_ids", *_PAST_INPUTS),
        outputs=(*base.outputs, *_PRESENT_OUTPUTS),
        axes={"attention_mask": ("batch", "total"), **past_axes},
    )


def half(base: Family) -> Family:
    """`base` in float16, with smaller weights: any order of summation stays within tolerance."""
    return replace(base, name=f"{base.name}-fp16", dtype=torch.float16, gain=0.5)


def unmasked(base: Family) -> Family:
    """`base` with ids as its only input, as scripts without padding export it. Causal masks become
    is_causal."""
    return replace(base, name=f"{base.name}-unmasked", inputs=("input_ids",))


def left_padded(base: Family, attention: str) -> Family:
    """`base` with padding on the left, so that some rows see no key at all: eager gives the mean of
    all values there, sdpa gives zeros."""
    return replace(
        base, name=f"{base.name}-left-{attention}", attention=(attention,), left_padded=True
    )


def encoder_decoder(whole: Family) -> tuple[Family, ...]:
    """The whole model, its encoder alone and its decoder alone, as exporters split them."""
    masked = "attention_mask" in whole.inputs
    whole = replace(whole, self_attention=2 * LAYERS, cross_attention=LAYERS)
    encoder = replace(
        whole,
        name=f"{whole.name}-encoder",
        part=lambda model: model.get_encoder(),
        inputs=tuple(name for name in whole.inputs if name != "decoder_input_ids"),
        outputs=STATES,
        self_attention=LAYERS,
        cross_attention=0,
    )
    decoder = replace(
        whole,
        name=f"{whole.name}-decoder",
        part=lambda model: model.get_decoder(),
        inputs=(
            "input_ids",
            "encoder_hidden_states",
            *(("encoder_attention_mask",) if masked else ()),
        ),
        outputs=STATES,
        self_attention=LAYERS,
    )
    return (whole, encoder, decoder)
