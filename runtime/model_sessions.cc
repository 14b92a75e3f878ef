// SPDX-License-Identifier: Apache-2.0
#include "model_sessions.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/quote.h"
#include "core/status.h"
#include "decoder_inputs.h"
#include "state/name_match.h"

namespace attnrun {
namespace {

// The output with logits for each position, of which only the last count.
std::vector<std::string> PositionedLogits(const ModelInfo& model) {
  std::vector<std::string> names;
  for (const ValueInfo& info : model.outputs) {
    const bool positioned = info.shape.has_value() && info.shape->size() == 3;
    if (info.name == "logits" && positioned) names.push_back(info.name);
  }
  return names;
}

// True if the model has an attention mask that hides ids. GroupQueryAttention, as
// onnxruntime-genai's builder writes it, takes no more than the sum of the mask.
bool MasksIds(const ModelInfo& model) {
  return !model.op_counts.contains("com.microsoft.GroupQueryAttention") &&
         absl::c_any_of(model.inputs,
                        [](const ValueInfo& info) { return info.name == "attention_mask"; });
}

// True if the encoder reads features, of which it may make fewer states, and a mask. Exporters give
// the mask and the states that the decoder reads the same extent all the same.
absl::StatusOr<bool> MayShorten(const std::string& path, const Limits& limits) {
  ATTNRUN_ASSIGN_OR_RETURN(const ModelInfo encoder, InspectModel(path, limits));
  const auto has = [&](absl::string_view name) {
    return absl::c_any_of(encoder.inputs, [&](const ValueInfo& info) { return info.name == name; });
  };
  return has("attention_mask") && !has("input_ids");
}

// True if the model takes a single id.
bool TakesOneId(const Session& session) {
  return absl::c_any_of(session.inputs(), [](const ValueInfo& info) {
    const bool ids = info.name == "input_ids" || info.name == "inputs_embeds";
    return ids && info.shape.has_value() && info.shape->size() > 1 && (*info.shape)[1].value == 1;
  });
}

// True if logits may depend on which ids are read together: activations are quantized by one scale,
// or the greatest position chooses between tables, as of Phi-3's long contexts.
bool DependsOnCut(const Session& session) {
  const auto counts = session.OpCounts();
  const bool chooses = counts.contains("If") && !HasInput(session, "use_cache_branch");
  return counts.contains("DynamicQuantizeLinear") || chooses;
}

// The output that holds logits: the one of that name, or else the only one of floats [B, S, V] or
// [B, V] that is not carried.
absl::StatusOr<ValueInfo> LogitsOf(const Session& session, const HashSet<std::string>& carried) {
  std::vector<ValueInfo> candidates;
  for (const ValueInfo& info : session.outputs()) {
    const bool ranks =
        !info.shape.has_value() || info.shape->size() == 2 || info.shape->size() == 3;
    if (!IsFloatingPoint(info.type) || carried.contains(info.name) || !ranks) continue;
    if (info.name == "logits") return info;
    candidates.push_back(info);
  }
  if (candidates.size() == 1) return candidates[0];
  const auto quote = [](std::string* out, const ValueInfo& info) { *out += Quoted(info.name); };
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a decoder, but ",
      candidates.empty() ? "no output holds logits" : "none of its outputs is named 'logits': ",
      absl::StrJoin(candidates, ", ", quote)));
}

// kInvalidArgument if no cache has the type that was asked for.
absl::Status CheckCacheType(const DecoderSession& decoder, DataType type) {
  if (type == DataType::kFloat) return absl::OkStatus();
  for (const ValueInfo& info : decoder.session.inputs()) {
    if (decoder.carried.contains(info.name) && info.type == type) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no cache can be kept as ", Name(type),
                   ": expected a float input to which positions are appended"));
}

// kInvalidArgument unless the decoder of the first step gives all that the other one carries.
absl::Status CheckGoesOn(const DecoderSession& first, const DecoderSession& with_past) {
  HashSet<std::string> given;
  for (const ValueInfo& info : first.session.outputs()) {
    given.insert(ContinuedInput(with_past.session, info.name));
  }
  for (const StateValue& value : with_past.session.state_values()) {
    if (given.contains(value.input)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("no output of the decoder of the first step gives ", Quoted(value.input)));
  }
  return absl::OkStatus();
}

// kInvalidArgument if no input of the decoder follows from what the encoder gives.
absl::Status CheckReadsEncoder(const Session& decoder, const Session& encoder) {
  const auto feeds = [&](const ValueInfo& output) {
    return HasInput(decoder, output.name) ||
           HasInput(decoder, ContinuedInput(decoder, output.name));
  };
  if (HasInput(decoder, kEncoderStates) || absl::c_any_of(encoder.outputs(), feeds)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it reads nothing of what the encoder gives: expected an input '",
                   kEncoderStates, "', or one with the name of an output of the encoder"));
}

}  // namespace

bool HasInput(const Session& session, absl::string_view name) {
  return absl::c_any_of(session.inputs(), [&](const ValueInfo& info) { return info.name == name; });
}

std::string ContinuedInput(const Session& session, absl::string_view output) {
  for (const ValueInfo& info : session.inputs()) {
    if (state::NamesMatch(info.name, output)) return info.name;
  }
  return "";
}

absl::StatusOr<DecoderSession> DecoderSession::Load(const std::string& path,
                                                    const SessionOptions& options) {
  SessionOptions last = options;
  // The same for all of a model's decoders, so that it does not matter which of them computes what.
  last.few_rows = true;
  ATTNRUN_ASSIGN_OR_RETURN(const ModelInfo model, InspectModel(path, options.limits));
  last.last_positions_of = PositionedLogits(model);
  ATTNRUN_ASSIGN_OR_RETURN(Session session, Session::Load(path, last));
  DecoderSession decoder{std::move(session), {}, ""};
  HashSet<std::string> carried;
  for (const StateValue& value : decoder.session.state_values()) {
    decoder.carried.insert(value.input);
    carried.insert(value.output);
    if (value.kind == StateKind::kAppended) decoder.counts_positions = true;
    if (value.kind == StateKind::kWritten) decoder.can_grow = false;
    if (value.kind == StateKind::kWindow || value.kind == StateKind::kReplaced) {
      decoder.can_rewind = false;
    }
    if (value.kind == StateKind::kReplaced) decoder.starts_with_state = true;
  }
  decoder.masks_ids = MasksIds(model);
  decoder.reads_prompt_whole = DependsOnCut(decoder.session);
  if (TakesOneId(decoder.session) && !decoder.carried.empty()) {
    decoder.starts_with_state = true;
    *decoder.reads_several = ReadsSeveral::kNo;
  }
  const absl::StatusOr<ValueInfo> logits = LogitsOf(decoder.session, carried);
  if (!logits.ok()) return Annotate(logits.status(), path);
  decoder.logits = logits->name;
  const auto& shape = logits->shape;
  const bool of_last = shape.has_value() && shape->size() == 3 && (*shape)[1].value == 1 &&
                       !TakesOneId(decoder.session);
  decoder.has_positions = !shape.has_value() || (shape->size() > 2 && !of_last);
  if (shape.has_value() && !shape->empty()) decoder.vocabulary = shape->back().value;
  return decoder;
}

absl::StatusOr<ModelSessions> ModelSessions::Load(const gen::ModelFiles& files,
                                                  const SessionOptions& options) {
  SessionOptions settings = options;
  if (!files.encoder.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(const bool shortens, MayShorten(files.encoder, options.limits));
    if (shortens) settings.anonymous_extents_of = {"encoder_attention_mask"};
  }
  if (!files.decoder_with_past.empty() && settings.cache_type != DataType::kFloat) {
    return absl::InvalidArgumentError(absl::StrCat(
        files.decoder_with_past, ": a decoder in two files keeps its caches as they are, but ",
        Name(settings.cache_type), " was asked for"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(DecoderSession decoder, DecoderSession::Load(files.decoder, settings));
  ATTNRUN_RETURN_IF_ERROR(Annotate(CheckCacheType(decoder, settings.cache_type), files.decoder));
  ModelSessions sessions{std::move(decoder), std::nullopt, std::nullopt, std::nullopt};
  // A decoder that reads a cache goes on by itself.
  if (!files.decoder_with_past.empty() && !sessions.decoder.counts_positions) {
    ATTNRUN_ASSIGN_OR_RETURN(DecoderSession with_past,
                             DecoderSession::Load(files.decoder_with_past, settings));
    ATTNRUN_RETURN_IF_ERROR(
        Annotate(CheckGoesOn(sessions.decoder, with_past), files.decoder_with_past));
    sessions.with_past = std::move(with_past);
  }
  if (!files.encoder.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(sessions.encoder, Session::Load(files.encoder, options));
    ATTNRUN_RETURN_IF_ERROR(
        Annotate(CheckReadsEncoder(sessions.decoder.session, *sessions.encoder), files.decoder));
  }
  if (!files.embed_tokens.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(sessions.embed_tokens, Session::Load(files.embed_tokens, options));
  }
  return sessions;
}

absl::StatusOr<TensorMap> Encode(const ModelSessions& sessions, const TensorMap& inputs,
                                 const RunOptions& options) {
  TensorMap encoded;
  if (!sessions.encoder.has_value()) return encoded;
  absl::StatusOr<TensorMap> run = sessions.encoder->Run(inputs, options);
  if (!run.ok()) return Annotate(run.status(), "the encoder");
  const TensorMap outputs = *std::move(run);
  const Session& decoder = sessions.decoder.session;
  const Tensor& states = outputs.at(sessions.encoder->outputs()[0].name);
  for (const ValueInfo& info : decoder.inputs()) {
    if (info.name == kEncoderStates) encoded[info.name] = states;
    if (info.name != "encoder_attention_mask") continue;
    // The decoder sees all that the encoder read.
    const auto mask = inputs.find("attention_mask");
    if (mask != inputs.end() && mask->second.type() == info.type) {
      encoded[info.name] = mask->second;
    } else if (states.rank() == 3) {
      ATTNRUN_ASSIGN_OR_RETURN(encoded[info.name],
                               FilledTensor(info.type, {states.dim(0), states.dim(1)}, 1));
    }
  }
  for (const auto& [name, tensor] : outputs) {
    for (const std::string& input : {name, ContinuedInput(decoder, name)}) {
      if (HasInput(decoder, input) && !sessions.decoder.carried.contains(input)) {
        encoded[input] = tensor;
      }
    }
  }
  return encoded;
}

absl::StatusOr<TensorMap> Embed(const Session& embeddings, const DecoderStep& step,
                                const RunOptions& options) {
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap inputs,
                           DecoderInputs(embeddings.inputs(), {}, {}, step));
  ATTNRUN_ASSIGN_OR_RETURN(TensorMap outputs, embeddings.Run(inputs, options));
  const Tensor first = outputs.at(embeddings.outputs()[0].name);
  outputs.emplace(kEmbeddings, first);
  return outputs;
}

}  // namespace attnrun
