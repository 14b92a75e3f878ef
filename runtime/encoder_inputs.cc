// SPDX-License-Identifier: Apache-2.0
#include "encoder_inputs.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "decoder_inputs.h"
#include "generation/prompt_mask.h"

namespace attnrun {
namespace {

// The extent that `given` inputs have where the model declares `dim` for them.
std::optional<int64_t> ExtentOf(const Dim& dim, const std::vector<ValueInfo>& declared,
                                const TensorMap& given) {
  if (dim.is_fixed()) return dim.value;
  if (dim.symbol.empty()) return std::nullopt;
  std::optional<int64_t> extent;
  for (const ValueInfo& info : declared) {
    const auto found = given.find(info.name);
    if (found == given.end() || !info.shape.has_value()) continue;
    const auto same = absl::c_find(*info.shape, dim);
    const auto axis = static_cast<int>(same - info.shape->begin());
    if (same != info.shape->end() && axis < found->second.rank()) extent = found->second.dim(axis);
  }
  return extent;
}

absl::StatusOr<gen::PromptMask> MaskOfText(const Tensor& text, const GenerationConfig& config) {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, text.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, ToInts(dense));
  return gen::MaskOfPads(ids, config);
}

// Adds a mask as long as the other inputs, of ones but for pads. False if they do not tell how long
// it is.
bool AddMask(const ValueInfo& mask, const std::vector<ValueInfo>& declared,
             const GenerationConfig& config, TensorMap& inputs) {
  Shape shape;
  for (const Dim& dim : mask.shape.value_or(std::vector<Dim>())) {
    const std::optional<int64_t> extent = ExtentOf(dim, declared, inputs);
    if (!extent.has_value()) return false;
    shape.push_back(*extent);
  }
  absl::StatusOr<Tensor> made = FilledTensor(mask.type, shape, 1);
  const auto text = inputs.find("input_ids");
  if (text != inputs.end() && text->second.shape() == shape && shape.size() == 2 && shape[0] == 1) {
    const absl::StatusOr<gen::PromptMask> seen = MaskOfText(text->second, config);
    // Otherwise the encoder says what is wrong with the text.
    if (seen.ok()) made = MaskTensor(mask.type, 1, shape[1], *seen);
  }
  if (!made.ok()) return false;
  inputs[mask.name] = *std::move(made);
  return true;
}

}  // namespace

absl::StatusOr<TensorMap> EncoderInputs(
    const std::vector<ValueInfo>& declared, const TokenIds& ids, const TensorMap& given,
    const GenerationConfig& config,
    const std::function<absl::StatusOr<Tensor>(const TokenIds&)>& embed) {
  TensorMap inputs = given;
  bool reads_ids = false;
  const auto length = static_cast<int64_t>(ids.size());
  for (const ValueInfo& info : declared) {
    if (inputs.count(info.name) > 0 || info.has_default) continue;
    if (ids.empty()) {
      if (info.name == "attention_mask" && AddMask(info, declared, config, inputs)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the encoder's input '", info.name, "', ", TypeAndShape(info),
                       info.name == "input_ids" ? ", needs the ids of a text" : ", is missing"));
    }
    if (info.name == "input_ids") {
      ATTNRUN_ASSIGN_OR_RETURN(inputs[info.name], IdTensor(info.type, {ids}));
      reads_ids = true;
    } else if (info.name == kEmbeddings && embed) {
      ATTNRUN_ASSIGN_OR_RETURN(inputs[info.name], embed(ids));
      reads_ids = true;
    } else if (info.name == "attention_mask") {
      ATTNRUN_ASSIGN_OR_RETURN(inputs[info.name],
                               MaskTensor(info.type, 1, length, gen::MaskOfPads(ids, config)));
    } else if (info.name == "token_type_ids") {
      ATTNRUN_ASSIGN_OR_RETURN(inputs[info.name], FilledTensor(info.type, {1, length}, 0));
    }
  }
  if (!ids.empty() && !reads_ids) {
    return absl::InvalidArgumentError(
        declared.empty() ? "the encoder reads nothing"
                         : absl::StrCat("the encoder reads no ids of a text beside its input '",
                                        declared[0].name, "'"));
  }
  return inputs;
}

}  // namespace attnrun
