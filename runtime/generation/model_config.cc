// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"
#include "generation/json_fields.h"
#include "generation/model_folder.h"

namespace attnrun::gen {
namespace {

// The part of a configuration that describes the decoder.
const Json* TextPart(const Json& json) {
  for (const char* name : {"text_config", "decoder", "llm_config"}) {
    if (const Json& part = Field(json, name); part.As<Json::Object>() != nullptr) return &part;
  }
  return &json;
}

// Reads a number of positions; one below 1 is none.
absl::Status ReadPositions(const Json& json, absl::string_view name,
                           std::optional<int64_t>& positions) {
  ATTNRUN_RETURN_IF_ERROR(ReadField(json, name, positions));
  if (positions.value_or(1) < 1) positions.reset();
  return absl::OkStatus();
}

// The length of a table of positions. Models with relative positions have none.
absl::Status ReadMaxPositions(const Json& json, ModelFacts& facts) {
  for (const char* name : {"max_target_positions", "max_position_embeddings", "n_positions",
                           "max_sequence_length", "n_ctx"}) {
    if (facts.max_positions.has_value()) break;
    ATTNRUN_RETURN_IF_ERROR(ReadPositions(json, name, facts.max_positions));
  }
  const bool relative = facts.type == "t5" || facts.type == "mt5" || facts.type == "umt5" ||
                        facts.type == "longt5" || facts.type == "bloom" || facts.type == "mpt";
  if (relative) facts.max_positions.reset();
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadGenaiConfig(absl::string_view json, ModelFolder& folder) {
  ATTNRUN_ASSIGN_OR_RETURN(const Json object, ParseObject(json));
  const Json& model = Field(object, "model");
  ATTNRUN_RETURN_IF_ERROR(ReadField(model, "type", folder.facts.type));
  ATTNRUN_RETURN_IF_ERROR(ReadPositions(model, "context_length", folder.facts.max_positions));
  GenerationConfig& config = folder.config;
  ATTNRUN_RETURN_IF_ERROR(ReadField(model, "eos_token_id", config.eos_token_id));
  ATTNRUN_RETURN_IF_ERROR(ReadField(model, "bos_token_id", config.bos_token_id));
  ATTNRUN_RETURN_IF_ERROR(ReadField(model, "pad_token_id", config.pad_token_id));
  ATTNRUN_RETURN_IF_ERROR(
      ReadField(model, "decoder_start_token_id", config.decoder_start_token_id));
  const Json& decoder = Field(model, "decoder");
  ATTNRUN_RETURN_IF_ERROR(ReadField(decoder, "filename", folder.files.decoder));
  if (folder.files.decoder.empty() && !Field(decoder, "pipeline").is_null()) {
    return absl::UnimplementedError("attnrun does not run decoders in several files (pipeline)");
  }
  ATTNRUN_RETURN_IF_ERROR(ReadField(Field(model, "encoder"), "filename", folder.files.encoder));
  ATTNRUN_RETURN_IF_ERROR(
      ReadField(Field(model, "embedding"), "filename", folder.files.embed_tokens));
  // The builder writes early_stopping and max_length without regard to the model, so they say
  // nothing of what its makers want.
  Json search = Field(object, "search");
  auto* const settings = std::get_if<Json::Object>(&search.value);
  if (settings == nullptr) return absl::OkStatus();
  for (const char* name : {"early_stopping", "max_length"}) settings->erase(name);
  return UpdateGenerationConfig(search, /*strict=*/false, config);
}

absl::Status ReadModelConfig(absl::string_view json, bool with_generation, ModelFolder& folder) {
  ATTNRUN_ASSIGN_OR_RETURN(const Json object, ParseObject(json));
  const Json& text = *TextPart(object);
  ATTNRUN_RETURN_IF_ERROR(ReadField(object, "model_type", folder.facts.type));
  ATTNRUN_RETURN_IF_ERROR(
      ReadField(Field(object, "encoder"), "model_type", folder.facts.encoder_type));
  ATTNRUN_RETURN_IF_ERROR(ReadMaxPositions(text, folder.facts));
  ATTNRUN_RETURN_IF_ERROR(
      ReadPositions(object, "max_source_positions", folder.facts.max_source_positions));
  if (!with_generation) return absl::OkStatus();
  for (const Json* part : {&text, &object}) {
    ATTNRUN_RETURN_IF_ERROR(UpdateGenerationConfig(*part, /*strict=*/false, folder.config));
  }
  return absl::OkStatus();
}

}  // namespace attnrun::gen
