// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/embed_layer_normalization.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/contrib/last_axis.h"
#include "ops/interface/infer_rules.h"
#include "ops/normalization/normalize_rows.h"

namespace attnrun::ops {
namespace {

using enum EmbedLayerNormalization::Input;

// The id of every token: its position if the input is left out.
absl::StatusOr<std::vector<int64_t>> ReadIds(const OpContext& context, int i) {
  const Shape& tokens = context.input(kIds).shape();
  std::vector<int64_t> ids;
  if (!context.has_input(i)) {
    for (int64_t token = 0; token < tokens[0] * tokens[1]; ++token) {
      ids.push_back(token % tokens[1]);
    }
    return ids;
  }
  const Tensor& tensor = context.input(i);
  if (tensor.type() != DataType::kInt32 || tensor.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("expected ids int32[", tokens[0], ",", tokens[1],
                                                   "], but input ", i, " is ",
                                                   TypeAndShape(tensor)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStrides(tensor.shape(), tokens));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> elements, ToInts(tensor));
  ForEachOffset(tokens, strides, [&](int64_t offset) { ids.push_back(elements[offset]); });
  return ids;
}

// Adds the table's row of each id to `sum`.
absl::Status AddRows(const OpContext& context, int table_input, const std::vector<int64_t>& ids,
                     std::vector<double>& sum) {
  const Tensor& table = context.input(table_input);
  const Tensor& words = context.input(kWords);
  if (!IsFloatingPoint(table.type()) || table.type() != words.type() || table.rank() != 2 ||
      words.rank() != 2 || table.dim(1) != words.dim(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected tables of floats of one type and one width, but found ",
                     TypeAndShape(words), " and ", TypeAndShape(table)));
  }
  const int64_t width = table.dim(1);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> rows, ToDoubles(table));
  sum.resize(ids.size() * width, 0);
  for (int64_t i = 0; i < std::ssize(sum); ++i) {
    const int64_t id = ids[i / width];
    if (id < 0 || id >= table.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat("id ", id, " is not a row of table ",
                                                     table_input, ", ", TypeAndShape(table)));
    }
    sum[i] += rows[id * width + i % width];
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> ReadParameter(const OpContext& context, int i) {
  const Tensor& words = context.input(kWords);
  if (context.input(i).type() != words.type() || context.input(i).shape() != Shape{words.dim(1)}) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected input ", i, " to be ", Name(words.type()), "[", words.dim(1),
                     "], but it is ", TypeAndShape(context.input(i))));
  }
  return ToDoubles(context.input(i));
}

absl::Status SetMaskIndex(OpContext& context) {
  const Shape& tokens = context.input(kIds).shape();
  std::vector<int64_t> counts(tokens[0], 0);
  if (context.has_input(kMask)) {
    if (context.input(kMask).shape() != tokens) {
      return absl::InvalidArgumentError(absl::StrCat("expected a mask ", ToString(tokens),
                                                     ", but it is ",
                                                     TypeAndShape(context.input(kMask))));
    }
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> mask, ReadIds(context, kMask));
    for (size_t i = 0; i < mask.size(); ++i) counts[i / tokens[1]] += mask[i] == 1 ? 1 : 0;
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor index,
                           FromInts(DataType::kInt32, {tokens[0]}, counts, context.allocator()));
  context.SetOutput(1, std::move(index));
  return absl::OkStatus();
}

absl::Status CheckInputs(const OpContext& context) {
  if (context.input(kIds).rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected input_ids [B,S], but they are ", TypeAndShape(context.input(kIds))));
  }
  for (const auto& [i, name] : {std::pair(kWords, "word_embedding"),
                                {kPositions, "position_embedding"},
                                {kGamma, "gamma"},
                                {kBeta, "beta"}}) {
    ATTNRUN_RETURN_IF_ERROR(CheckHasInput(context, i, name));
  }
  if (!context.has_input(kSegments) || context.has_input(kSegmentIds)) return absl::OkStatus();
  return absl::InvalidArgumentError("segment_embedding is given without segment_ids");
}

absl::StatusOr<std::vector<double>> SumOfRows(const OpContext& context) {
  std::vector<double> sum;
  for (const auto& [ids_input, table] :
       {std::pair(kIds, kWords), {kPositionIds, kPositions}, {kSegmentIds, kSegments}}) {
    if (!context.has_input(table)) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, ReadIds(context, ids_input));
    ATTNRUN_RETURN_IF_ERROR(AddRows(context, table, ids, sum));
  }
  return sum;
}

}  // namespace

absl::Status EmbedLayerNormalization::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckInputs(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> sum, SumOfRows(context));
  const Tensor& words = context.input(kWords);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> gamma, ReadParameter(context, kGamma));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> beta, ReadParameter(context, kBeta));
  const int64_t width = words.dim(1);
  std::vector<double> y = sum;
  const Shape& tokens = context.input(kIds).shape();
  NormalizeRows(y, tokens[0] * tokens[1], width, epsilon_, /*centered=*/true);
  for (int64_t i = 0; i < std::ssize(y); ++i) y[i] = y[i] * gamma[i % width] + beta[i % width];
  Shape shape = tokens;
  shape.push_back(width);
  ATTNRUN_RETURN_IF_ERROR(SetDoubles(context, 0, words.type(), shape, y));
  ATTNRUN_RETURN_IF_ERROR(SetMaskIndex(context));
  return SetDoubles(context, 2, words.type(), shape, sum);
}

void EmbedLayerNormalization::Infer(InferContext& context) const {
  const std::optional<Dims>& ids = context.input(kIds).dims;
  if (!context.has_input(kWords)) return;
  const std::optional<Dims>& words = context.input(kWords).dims;
  const DataType type = context.input(kWords).type;
  Dims y = UnknownDims(3);
  if (ids.has_value() && ids->size() == 2) y = {(*ids)[0], (*ids)[1], y[2]};
  if (words.has_value() && words->size() == 2) y[2] = (*words)[1];
  context.SetOutput(0, {type, y, std::nullopt});
  context.SetOutput(1, {DataType::kInt32, Dims{y[0]}, std::nullopt});
  context.SetOutput(2, {type, y, std::nullopt});
}

}  // namespace attnrun::ops
