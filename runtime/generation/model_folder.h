// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_MODEL_FOLDER_H_
#define ATTNRUN_GENERATION_MODEL_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "attnrun/generation_config.h"

namespace attnrun::gen {

// The files of one model. Paths; empty for a file that the model does not have.
struct ModelFiles {
  std::string decoder;
  // Reads what follows the first step, if `decoder` takes no cache.
  std::string decoder_with_past;
  std::string encoder;
  // Makes inputs_embeds of ids.
  std::string embed_tokens;
};

// The facts of a configuration that generation needs.
struct ModelFacts {
  // Such as "llama" or "whisper"; empty if it is not known.
  std::string type;
  // Such as "donut-swin", where the configuration describes an encoder.
  std::string encoder_type;
  // The most ids that the decoder reads.
  std::optional<int64_t> max_positions;
  // The states that an encoder of audio makes of a window.
  std::optional<int64_t> max_source_positions;
};

struct ModelFolder {
  ModelFiles files;
  ModelFacts facts;
  GenerationConfig config;
};

// Finds the files of a model and reads its configuration. `path` is a folder or the .onnx file of a
// decoder in one. kNotFound if there is no decoder; kInvalidArgument for a configuration that
// cannot be read.
absl::StatusOr<ModelFolder> ReadModelFolder(const std::string& path);

// genai_config.json by onnxruntime-genai's builder, generation_config.json and config.json by
// transformers: `json` is the text. They name the files, relative to the folder, or give facts.
absl::Status ReadGenaiConfig(absl::string_view json, ModelFolder& folder);
absl::Status ReadModelConfig(absl::string_view json, bool with_generation, ModelFolder& folder);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_MODEL_FOLDER_H_
