// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_MODEL_SESSIONS_H_
#define ATTNRUN_RUNTIME_MODEL_SESSIONS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/session.h"
#include "core/hash_map.h"
#include "decoder_inputs.h"
#include "generation/model_folder.h"

namespace attnrun {

// The decoder's input that has the states of the encoder, as exporters name it.
inline constexpr char kEncoderStates[] = "encoder_hidden_states";

// A session and how a decoder uses it.
struct DecoderSession {
  static absl::StatusOr<DecoderSession> Load(const std::string& path,
                                             const SessionOptions& options);

  Session session;
  // The inputs that a state carries.
  HashSet<std::string> carried;
  std::string logits;
  // False if there are logits of the last position alone.
  bool has_positions = true;
  // False if a state has values that cannot be rewound.
  bool can_rewind = true;
  // True if a state has values to which positions are appended, and so knows how many it has read.
  bool counts_positions = false;
  // True if a clone of a state may be given more memory.
  bool can_grow = true;
  // True if the first step is like the others: the model reads one id at a time, or replaces a
  // state.
  bool starts_with_state = false;
  // -1 if the model does not declare it.
  int64_t vocabulary = -1;
  // True if what it computes of an id may depend on the ids that it reads together with it.
  bool reads_prompt_whole = false;
  // True if its attention mask can hide ids.
  bool masks_ids = false;
  // If it gives for several ids behind others the bits that it gives for one after another.
  // Exporters trace a graph that only goes on with one id: it may lack the mask, or the positions,
  // of several, or the steps of a recurrent state. Without a cache nobody asks.
  enum class ReadsSeveral { kYes, kNo, kUnknown };
  std::shared_ptr<std::atomic<ReadsSeveral>> reads_several =
      std::make_shared<std::atomic<ReadsSeveral>>(ReadsSeveral::kUnknown);
};

// The sessions of a model that generates.
struct ModelSessions {
  static absl::StatusOr<ModelSessions> Load(const gen::ModelFiles& files,
                                            const SessionOptions& options);

  DecoderSession decoder;
  // Goes on where `decoder` takes no cache but gives one.
  std::optional<DecoderSession> with_past;
  std::optional<Session> encoder;
  std::optional<Session> embed_tokens;
};

// Runs the encoder, if there is one, on `inputs`: the decoder's inputs that follow from its
// outputs.
absl::StatusOr<TensorMap> Encode(const ModelSessions& sessions, const TensorMap& inputs,
                                 const RunOptions& options);

// The inputs, by name, that a file of embeddings makes of the ids: Gemma 3n's has one for each
// layer, too. The first output is inputs_embeds if none is named so.
absl::StatusOr<TensorMap> Embed(const Session& embeddings, const DecoderStep& step,
                                const RunOptions& options);

bool HasInput(const Session& session, absl::string_view name);

// The name of the input that the output of another file becomes, as past_key_values.0.key for
// present.0.key; empty if there is none.
std::string ContinuedInput(const Session& session, absl::string_view output);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_MODEL_SESSIONS_H_
