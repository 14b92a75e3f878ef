// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_CONFIG_SEEDS_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_CONFIG_SEEDS_H_

namespace attnrun::testing {

// Configurations that fuzzing starts from: every setting of generation, genai_config.json and
// config.json.
inline constexpr const char* kConfigSeeds[] = {
    R"({"max_length": 9, "max_new_tokens": 5, "min_length": 2, "min_new_tokens": 1, "max_time": 9.5,
        "do_sample": true, "num_beams": 1, "num_beam_groups": 1, "diversity_penalty": 0.0,
        "num_return_sequences": 2, "early_stopping": "never", "length_penalty": 1.5,
        "temperature": 0.7, "top_k": 7, "top_p": 0.9, "min_p": 0.1, "typical_p": 0.8,
        "epsilon_cutoff": 0.01, "eta_cutoff": 0.01, "repetition_penalty": 1.2,
        "encoder_repetition_penalty": 1.1, "no_repeat_ngram_size": 2,
        "encoder_no_repeat_ngram_size": 2, "bad_words_ids": [[3], [4, 5]],
        "sequence_bias": [[[3], 1.5], [[6, 7], -2.0]], "renormalize_logits": true,
        "remove_invalid_values": true, "forced_bos_token_id": 3, "forced_eos_token_id": [2],
        "exponential_decay_length_penalty": [3, 1.5], "suppress_tokens": [8],
        "begin_suppress_tokens": [9], "forced_decoder_ids": [[1, 5], [2, 6]], "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": [2], "decoder_start_token_id": 1, "use_cache": true,
        "prefill_chunk_size": 2, "presence_penalty": 0.5, "frequency_penalty": 0.5,
        "stop_sequences": [[7, 8]], "seed": 3})",
    R"({"return_timestamps": true, "no_timestamps_token_id": 9, "max_initial_timestamp_index": 3,
        "num_beams": 3, "early_stopping": true, "eos_token_id": 2})",
    R"({"model": {"type": "llama", "context_length": 64, "eos_token_id": [1, 2], "bos_token_id": 1,
        "pad_token_id": 0, "decoder_start_token_id": 1, "decoder": {"filename": "model.onnx"},
        "encoder": {"filename": "encoder.onnx"}, "embedding": {"filename": "embed.onnx"}},
        "search": {"do_sample": true, "num_beams": 2, "max_length": 64, "early_stopping": true,
        "top_k": 5, "top_p": 0.5, "temperature": 0.5, "length_penalty": 1.0,
        "repetition_penalty": 1.0, "no_repeat_ngram_size": 0}})",
    R"({"model_type": "t5", "max_position_embeddings": 128, "n_positions": 64, "n_ctx": 64,
        "max_target_positions": 32, "eos_token_id": 2, "is_encoder_decoder": true,
        "text_config": {"max_sequence_length": 16, "num_beams": 2}, "decoder": {"n_ctx": 8}})"};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_CONFIG_SEEDS_H_
