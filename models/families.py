"""The one table of model families: what to build, what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import transformers
from torch import nn

from models.cases import HIDDEN, IMAGE, VOCABULARY, Axes

LAYERS = 2
HEADS = 4
KV_HEADS = 2

IDS = ("input_ids", "attention_mask")
TYPED = (*IDS, "token_type_ids")
STATES = ("last_hidden_state",)
POOLED = (*STATES, "pooler_output")
LOGITS = ("logits",)


@dataclass(frozen=True)
class Family:
    """One tiny model. `config` overrides the shared tiny sizes; `part` picks a submodule."""

    name: str
    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    part: Callable[[nn.Module], nn.Module] = lambda model: model
    self_attention: int = LAYERS
    cross_attention: int = 0
    axes: Mapping[str, Axes] = field(default_factory=dict)
    attention: tuple[str, ...] = ("eager", "sdpa")
    dtype: torch.dtype = torch.float32

    def build(self, attention: str) -> nn.Module:
        """The model in inference mode, with its own default initialisation."""
        model_class = getattr(transformers, self.model)
        config = model_class.config_class(**{**_TINY, **self.config})
        config._attn_implementation = attention
        return model_class(config).eval()

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")

    @property
    def gain(self) -> float:
        """Halves keep 11 bits: gentler projections leave the tolerance room for any summation."""
        return 0.5 if self.dtype == torch.float16 else 1.0

    @property
    def weights_seed(self) -> str:
        """Variants of a model (its halves, fp16, with a past) share their weights."""
        return self.name.partition("-")[0]

    @property
    def pad(self) -> int:
        return self.config.get("pad_token_id", _TINY["pad_token_id"])


_TINY: dict[str, Any] = {
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


def _with_past(base: Family, kv_heads: int, head_size: int) -> Family:
    """`base` as a decoding step: past keys and values in, present ones out."""
    past_axes = dict.fromkeys(_PAST_INPUTS, ("batch", kv_heads, "past", head_size))
    return replace(
        base,
        name=f"{base.name}-past",
        inputs=("input_ids", "attention_mask", "position_ids", *_PAST_INPUTS),
        outputs=(*base.outputs, *_PRESENT_OUTPUTS),
        axes={"attention_mask": ("batch", "total"), **past_axes},
    )


def _half(base: Family) -> Family:
    return replace(base, name=f"{base.name}-fp16", dtype=torch.float16)


def _encoder_decoder(base: Family, source: str) -> tuple[Family, ...]:
    """The whole model, its encoder alone and its decoder alone, as exporters split them."""
    is_text = source == "input_ids"
    mask = ("attention_mask",) if is_text else ()
    encoder = replace(
        base,
        name=f"{base.name}-encoder",
        part=lambda model: model.get_encoder(),
        inputs=(source, *mask),
        outputs=STATES,
        cross_attention=0,
        self_attention=LAYERS,
    )
    decoder = replace(
        base,
        name=f"{base.name}-decoder",
        part=lambda model: model.get_decoder(),
        inputs=("input_ids", "encoder_hidden_states", *(("encoder_attention_mask",) if mask else ())),
        outputs=STATES,
        self_attention=LAYERS,
    )
    return (base, encoder, decoder)


BERT = Family("bert", "BertModel", TYPED, POOLED)
LLAMA = Family("llama", "LlamaForCausalLM", IDS, LOGITS, {"num_key_value_heads": KV_HEADS})
VIT = Family(
    "vit", "ViTModel", ("pixel_values",), POOLED, {"image_size": IMAGE, "patch_size": 8}
)

FAMILIES: tuple[Family, ...] = (
    BERT,
    _half(BERT),
    LLAMA,
    _with_past(LLAMA, KV_HEADS, HIDDEN // HEADS),
    _half(LLAMA),
    VIT,
    _half(VIT),
)
