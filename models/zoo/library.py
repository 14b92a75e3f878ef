# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own modules and functions."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from models.shared.expect import FUSED, PACKED, Expect
from models.zoo.entry import Entry
from models.zoo.parts import HEADS, Attention, D, merge

_FFN = 48


class MultiHead(nn.Module):
    """nn.MultiheadAttention as self-attention; `masks` names its mask arguments in order."""

    def __init__(
        self, *masks: str, batch_first: bool = True, weights: bool | None = None, **options: bool
    ) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(D, HEADS, batch_first=batch_first, **options)
        self.masks = masks
        # None: the weights are not returned. True or False: averaged over the heads, or not.
        self.weights = weights

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(self.masks, masks, strict=True))
        asked = self.weights is not None
        result = self.attention(
            q, k, v, need_weights=asked, average_attn_weights=self.weights is not False, **given
        )
        return result if asked else result[:1]

    def forward(self, x: Tensor, *masks: Tensor) -> tuple[Tensor, ...]:
        return self.attend(x, x, x, *masks)


class MultiHeadCross(MultiHead):
    def forward(self, x: Tensor, memory: Tensor, *masks: Tensor) -> tuple[Tensor, ...]:
        return self.attend(x, memory, memory, *masks)


class MultiHeadOther(nn.Module):
    """Keys of width 16 and values of width 24: three weights of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(D, HEADS, kdim=16, vdim=24, batch_first=True)

    def forward(self, x: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.attention(x, key, value, need_weights=False)[0]


class MultiHeadDetr(MultiHead):
    """DETR: positions are added to the input of q and k, not to that of v."""

    def forward(self, x: Tensor, positions: Tensor, *masks: Tensor) -> tuple[Tensor, ...]:
        placed = x + positions
        return self.attend(placed, placed, x, *masks)


class Sdpa(Attention):
    """F.scaled_dot_product_attention."""

    def __init__(self, kv_heads: int = HEADS, **options: bool | float) -> None:
        super().__init__(kv_heads=kv_heads)
        self.options = options

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        mask = masks[0] if masks else None
        return merge(scaled_dot_product_attention(q, k, v, attn_mask=mask, **self.options))


class SdpaExpandedMask(Sdpa):
    """A padding mask [B, S], expanded to [B, 1, S, S] in the model."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        length = q.shape[2]
        mask = masks[0][:, None, None, :].expand(-1, 1, length, length)
        return super().attend(q, k, v, mask)


class EncoderLayer(nn.Module):
    """nn.TransformerEncoderLayer, or a stack of them, with a padding mask."""

    def __init__(self, layers: int = 1, *, norm_first: bool, activation: str) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            D, HEADS, _FFN, 0.0, activation, batch_first=True, norm_first=norm_first
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        return self.layers(x, src_key_padding_mask=padding)


class DecoderLayer(nn.Module):
    """nn.TransformerDecoderLayer: causal, with a padding mask over memory."""

    def __init__(self, *, norm_first: bool, activation: str) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(
            D, HEADS, _FFN, 0.0, activation, batch_first=True, norm_first=norm_first
        )

    def forward(self, x: Tensor, memory: Tensor, padding: Tensor) -> Tensor:
        length = x.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool).triu(1)
        return self.layer(x, memory, causal, memory_key_padding_mask=padding)


_MASK_NAMES = {"key_padding_mask": "padding", "attn_mask": "closed_2d"}
# The probabilities are a second output of the attention. TorchScript fixes the sizes, which hides
# the heads, so counts differ by exporter.
_WEIGHTS = Expect(attention=None, softmax=None, merges=0, merged="", linears=None)
_CROSS_PACKED = Expect(merges=0, merged="", linears=3)
_ENCODER = Expect(merges=0, merged="", linears=4)
# Self-attention has two (packed q, k and v; output), cross-attention three (q; packed k and v;
# output), the feed-forward two.
_DECODER = Expect(attention=2, merges=0, merged="", linears=7)
_SHAPES = (("post-relu", False, "relu"), ("pre-gelu", True, "gelu"))


def _masked(*masks: str) -> dict[str, tuple[str, ...]]:
    return {"inputs": ("x", *(_MASK_NAMES[mask] for mask in masks))}


ENTRIES = (
    Entry("multihead", MultiHead, PACKED),
    Entry("multihead-no-bias", partial(MultiHead, bias=False), PACKED),
    Entry(
        "multihead-sequence-first",
        partial(MultiHead, batch_first=False),
        PACKED,
        inputs=("x_sequence_first",),
    ),
    Entry(
        "multihead-weights-averaged",
        partial(MultiHead, weights=True),
        _WEIGHTS,
        outputs=("y", "weights"),
    ),
    Entry(
        "multihead-weights",
        partial(MultiHead, weights=False),
        _WEIGHTS,
        outputs=("y", "weights"),
    ),
    *(
        Entry(f"multihead-{name}", partial(MultiHead, *masks), PACKED, **_masked(*masks))
        for name, masks in (
            ("padding", ("key_padding_mask",)),
            ("bool-mask", ("attn_mask",)),
            ("both-masks", ("attn_mask", "key_padding_mask")),
        )
    ),
    Entry("multihead-float-mask", partial(MultiHead, "attn_mask"), PACKED, ("x", "additive_2d")),
    Entry("multihead-zero-key", partial(MultiHead, add_zero_attn=True), PACKED),
    Entry("multihead-cross", MultiHeadCross, _CROSS_PACKED, ("x", "memory"), cross=1),
    Entry(
        "multihead-cross-padding",
        partial(MultiHeadCross, "key_padding_mask"),
        _CROSS_PACKED,
        ("x", "memory", "source_padding"),
        cross=1,
    ),
    Entry(
        "multihead-other-widths",
        MultiHeadOther,
        Expect(merges=0, merged="", linears=4, reason="different inputs"),
        ("x", "memory_16", "memory_24"),
        cross=1,
    ),
    Entry(
        "multihead-detr",
        MultiHeadDetr,
        Expect(merged="q, k", linears=3, reason="different inputs"),
        ("x", "positions_embedded"),
    ),
    Entry("sdpa", Sdpa),
    Entry("sdpa-causal", partial(Sdpa, is_causal=True)),
    Entry("sdpa-scale", partial(Sdpa, scale=0.5)),
    Entry("sdpa-bool-mask", Sdpa, FUSED, ("x", "open")),
    Entry("sdpa-bool-mask-4d", Sdpa, FUSED, ("x", "mask_bool_4d")),
    Entry("sdpa-padding-expanded", SdpaExpandedMask, FUSED, ("x", "mask_bool")),
    Entry("sdpa-closed-row", Sdpa, FUSED, ("x", "open_but_row")),
    Entry("sdpa-float-mask", Sdpa, FUSED, ("x", "additive")),
    Entry("sdpa-grouped", partial(Sdpa, 2, enable_gqa=True)),
    *(
        Entry(
            f"encoder-layer-{name}",
            partial(EncoderLayer, norm_first=first, activation=activation),
            _ENCODER,
            ("x", "padding"),
        )
        for name, first, activation in _SHAPES
    ),
    Entry(
        "encoder-two-layers",
        partial(EncoderLayer, 2, norm_first=False, activation="gelu"),
        Expect(attention=2, merges=0, merged="", linears=8),
        ("x", "padding"),
    ),
    *(
        Entry(
            f"decoder-layer-{name}",
            partial(DecoderLayer, norm_first=first, activation=activation),
            _DECODER,
            ("x", "memory", "source_padding"),
            cross=1,
        )
        for name, first, activation in _SHAPES
    ),
)
