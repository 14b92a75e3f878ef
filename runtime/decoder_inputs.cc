// SPDX-License-Identifier: Apache-2.0
#include "decoder_inputs.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "attnrun/session.h"
#include "core/elements.h"
#include "core/quote.h"
#include "core/status.h"
#include "generation/prompt_mask.h"

namespace attnrun {
namespace {

// The positions of the ids in the shape that is declared: [S], [B, S], or [3, B, S] for models
// whose images have rows and columns.
absl::StatusOr<Tensor> Positions(const ValueInfo& info, const DecoderStep& step) {
  const auto length = static_cast<int64_t>(step.ids[0].size());
  const int rank = info.shape.has_value() ? static_cast<int>(info.shape->size()) : 2;
  Shape shape = {length};
  if (rank >= 2) shape.insert(shape.begin(), static_cast<int64_t>(step.ids.size()));
  if (rank >= 3) shape.insert(shape.begin(), 3);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  const std::vector<int64_t> of_row = gen::MaskedPositions(step.past, length, step.mask);
  std::vector<int64_t> positions(count);
  for (int64_t i = 0; i < count; ++i) positions[i] = of_row[i % length];
  return FromInts(info.type, shape, positions);
}

// A number as a tensor of the shape that is declared, with one element.
absl::StatusOr<Tensor> Number(const ValueInfo& info, int64_t number) {
  const size_t rank = info.shape.has_value() ? info.shape->size() : 0;
  return FilledTensor(info.type, Shape(rank, 1), static_cast<double>(number));
}

// nullopt for an input of no known name.
absl::StatusOr<std::optional<Tensor>> Make(const ValueInfo& info, const DecoderStep& step) {
  const auto rows = static_cast<int64_t>(step.ids.size());
  const auto length = static_cast<int64_t>(step.ids[0].size());
  const int64_t total = step.past + length;
  const std::string& name = info.name;
  if (name == "input_ids" || name == "decoder_input_ids" || name == "tokens") {
    return IdTensor(info.type, step.ids);
  }
  if (name == "attention_mask" || name == "decoder_attention_mask") {
    return MaskTensor(info.type, rows, total, step.mask);
  }
  if (name == "position_ids" || name == "decoder_position_ids") return Positions(info, step);
  if (name == "cache_position") {
    // Places in the cache count hidden ids, too.
    DecoderStep all = step;
    all.mask = {};
    return Positions(info, all);
  }
  if (name == "token_type_ids") return FilledTensor(info.type, {rows, length}, 0);
  if (name == "use_cache_branch") return FilledTensor(info.type, {1}, step.past > 0 ? 1 : 0);
  // Left out it is 1.
  if (name == kLastPositions && step.positions == 1) return std::nullopt;
  if (name == "logits_to_keep" || name == "num_logits_to_keep" || name == kLastPositions) {
    return Number(info, step.positions);
  }
  if (name == "past_sequence_length" || name == "past_seq_len") return Number(info, step.past);
  if (name == "total_sequence_length" || name == "total_seq_len") return Number(info, total);
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Tensor> IdTensor(DataType type, absl::Span<const TokenIds> ids) {
  std::vector<int64_t> all;
  for (const TokenIds& row : ids) all.insert(all.end(), row.begin(), row.end());
  const Shape shape = {static_cast<int64_t>(ids.size()), static_cast<int64_t>(ids[0].size())};
  return FromInts(type, shape, all);
}

absl::StatusOr<Tensor> FilledTensor(DataType type, absl::Span<const int64_t> shape, double value) {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  return FromDoubles(type, shape, std::vector<double>(count, value));
}

absl::StatusOr<Tensor> MaskTensor(DataType type, int64_t rows, int64_t length,
                                  absl::Span<const uint8_t> mask) {
  const Shape shape = {rows, length};
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  std::vector<int64_t> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = gen::IsSeen(mask, i % length) ? 1 : 0;
  return FromInts(type, shape, values);
}

absl::StatusOr<TensorMap> DecoderInputs(const std::vector<ValueInfo>& declared,
                                        const HashSet<std::string>& carried, const TensorMap& given,
                                        const DecoderStep& step) {
  TensorMap inputs;
  for (const ValueInfo& info : declared) {
    if (carried.contains(info.name)) continue;
    const auto known = given.find(info.name);
    if (known != given.end()) {
      inputs[info.name] = known->second;
      continue;
    }
    absl::StatusOr<std::optional<Tensor>> made = Make(info, step);
    if (!made.ok()) return Annotate(made.status(), absl::StrCat("input ", Quoted(info.name)));
    if (made->has_value()) {
      inputs[info.name] = **made;
    } else if (!info.has_default) {
      const bool embeds = info.name == "inputs_embeds";
      return absl::UnimplementedError(absl::StrCat(
          "generation does not know how to fill the decoder's input ", Quoted(info.name), ", ",
          TypeAndShape(info), embeds ? "; embed_tokens.onnx beside it would make it of ids" : ""));
    }
  }
  return inputs;
}

}  // namespace attnrun
