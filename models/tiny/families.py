# SPDX-License-Identifier: Apache-2.0
"""The table of model families: their configurations, inputs and outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models.shared.cases import HIDDEN, IMAGE
from models.tiny.family import (
    HEADS,
    LAYERS,
    STATES,
    TINY,
    Family,
    encoder_decoder,
    half,
    left_padded,
    unmasked,
    with_past,
)

KV_HEADS = 2

IDS = ("input_ids", "attention_mask")
TYPED = (*IDS, "token_type_ids")
POOLED = (*STATES, "pooler_output")
LOGITS = ("logits",)


def _decoder(name: str, model: str, **config: Any) -> Family:
    return Family(name, model, IDS, LOGITS, config)


_GROUPED = {"num_key_value_heads": KV_HEADS}
_WINDOWED = {
    **_GROUPED,
    "sliding_window": 5,
    "layer_types": ["sliding_attention", "full_attention"],
}
_WIDE_HEADS = {"head_dim": 16}
_PATCHES = {"image_size": IMAGE, "patch_size": 8}
_SOUND = {
    "conv_dim": [16, 16],
    "conv_kernel": [8, 4],
    "conv_stride": [4, 2],
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
}
_DEBERTA = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 8,
    "norm_rel_ebd": "layer_norm",
    "position_biased_input": False,
    "type_vocab_size": 2,
}
_T5 = {
    "d_model": HIDDEN,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": LAYERS,
    "num_heads": HEADS,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
}
_TWO_STACKS = {
    "d_model": HIDDEN,
    "decoder_start_token_id": 1,
    **{
        f"{side}_{key}": value
        for side in ("encoder", "decoder")
        for key, value in (("layers", LAYERS), ("attention_heads", HEADS), ("ffn_dim", 48))
    },
}
_IDS_BOTH = (*IDS, "decoder_input_ids")
_STATES_BOTH = (*STATES, "encoder_last_hidden_state")

BERT = Family("bert", "BertModel", TYPED, POOLED)
GPT2 = _decoder("gpt2", "GPT2LMHeadModel")
LLAMA = _decoder("llama", "LlamaForCausalLM", **_GROUPED)
T5 = encoder_decoder(Family("t5", "T5Model", _IDS_BOTH, _STATES_BOTH, _T5, gain=0.5))
QWEN3 = _decoder("qwen3", "Qwen3ForCausalLM", **_GROUPED, **_WIDE_HEADS)
VIT = Family("vit", "ViTModel", ("pixel_values",), POOLED, _PATCHES)

ENCODERS = (
    BERT,
    half(BERT),
    unmasked(BERT),
    Family("distilbert", "DistilBertModel", IDS, STATES, {"hidden_dim": 48}),
    Family("roberta", "RobertaModel", IDS, POOLED, {"pad_token_id": 1}),
    Family("albert", "AlbertModel", TYPED, POOLED, {"embedding_size": 16}),
    Family("electra", "ElectraModel", TYPED, STATES, {"embedding_size": 16}),
    Family("deberta-v2", "DebertaV2Model", TYPED, STATES, {**_DEBERTA, "share_att_key": True}),
    Family("deberta-v2-conv", "DebertaV2Model", TYPED, STATES, {**_DEBERTA, "conv_kernel_size": 3}),
    Family("mpnet", "MPNetModel", IDS, POOLED, {"pad_token_id": 1}),
    Family("xlm-r", "XLMRobertaModel", IDS, POOLED, {"pad_token_id": 1}),
    Family(
        "xlm-r-reranker",
        "XLMRobertaForSequenceClassification",
        IDS,
        LOGITS,
        {"pad_token_id": 1, "num_labels": 1},
    ),
    Family(
        "modernbert",
        "ModernBertModel",
        IDS,
        STATES,
        {
            "local_attention": 8,
            "cls_token_id": 1,
            "sep_token_id": 2,
            "layer_types": ["full_attention", "sliding_attention"],
        },
    ),
)

DECODERS = (
    GPT2,
    unmasked(GPT2),
    with_past(GPT2, HEADS, HIDDEN // HEADS),
    _decoder("gpt-neox", "GPTNeoXForCausalLM", rotary_pct=0.5),
    _decoder("opt", "OPTForCausalLM", ffn_dim=48, word_embed_proj_dim=HIDDEN, pad_token_id=1),
    LLAMA,
    unmasked(LLAMA),
    with_past(LLAMA, KV_HEADS, HIDDEN // HEADS),
    half(LLAMA),
    left_padded(LLAMA, "eager"),
    left_padded(LLAMA, "sdpa"),
    _decoder("mistral", "MistralForCausalLM", **_GROUPED, sliding_window=5),
    _decoder("qwen2", "Qwen2ForCausalLM", **_GROUPED),
    QWEN3,
    with_past(QWEN3, KV_HEADS, 16),
    _decoder("gemma", "GemmaForCausalLM", num_key_value_heads=1, **_WIDE_HEADS),
    _decoder("gemma2", "Gemma2ForCausalLM", **_WINDOWED, **_WIDE_HEADS, query_pre_attn_scalar=16),
    _decoder("gemma3", "Gemma3ForCausalLM", **_WINDOWED, **_WIDE_HEADS, query_pre_attn_scalar=16),
    _decoder("phi3", "Phi3ForCausalLM", **_GROUPED),
)

ENCODER_DECODERS = (
    *T5,
    replace(T5[0], name="t5-gated", config={**_T5, "feed_forward_proj": "gated-gelu"}),
    *encoder_decoder(Family("bart", "BartModel", _IDS_BOTH, _STATES_BOTH, _TWO_STACKS)),
    *encoder_decoder(
        Family(
            "marian",
            "MarianModel",
            _IDS_BOTH,
            _STATES_BOTH,
            {**_TWO_STACKS, "scale_embedding": True},
            gain=0.5,
        )
    ),
    *encoder_decoder(
        Family(
            "whisper",
            "WhisperModel",
            ("input_features", "decoder_input_ids"),
            _STATES_BOTH,
            {
                **_TWO_STACKS,
                "num_mel_bins": 8,
                "max_source_positions": 12,
                "max_target_positions": 40,
            },
        )
    ),
)

VISION_AND_SOUND = (
    VIT,
    half(VIT),
    Family("deit", "DeiTModel", ("pixel_values",), POOLED, _PATCHES),
    Family(
        "swin",
        "SwinModel",
        ("pixel_values",),
        POOLED,
        {
            "image_size": IMAGE,
            "patch_size": 4,
            "embed_dim": 16,
            "depths": [2, 2],
            "num_attention_heads": [2, 4],
            "window_size": 4,
        },
        self_attention=4,
    ),
    Family(
        "clip-text",
        "CLIPTextModelWithProjection",
        IDS,
        ("text_embeds", *STATES),
        {"projection_dim": 16},
    ),
    Family(
        "clip-vision",
        "CLIPVisionModelWithProjection",
        ("pixel_values",),
        ("image_embeds", *STATES),
        {**_PATCHES, "projection_dim": 16},
    ),
    Family(
        "clip",
        "CLIPModel",
        ("input_ids", "pixel_values", "attention_mask"),
        ("logits_per_image", "logits_per_text", "text_embeds", "image_embeds"),
        {"text_config": TINY, "vision_config": {**TINY, **_PATCHES}, "projection_dim": 16},
        self_attention=2 * LAYERS,
    ),
    Family("wav2vec2", "Wav2Vec2Model", ("input_values",), STATES, _SOUND),
    Family(
        "wav2vec2-masked",
        "Wav2Vec2Model",
        ("input_values", "attention_mask"),
        STATES,
        {**_SOUND, "feat_extract_norm": "layer", "do_stable_layer_norm": True},
        axes={"attention_mask": ("batch", "samples")},
    ),
)

FAMILIES: tuple[Family, ...] = (*ENCODERS, *DECODERS, *ENCODER_DECODERS, *VISION_AND_SOUND)
