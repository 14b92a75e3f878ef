// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/contrib_attention.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/contrib/last_axis.h"
#include "ops/contrib/reference_attention.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

using enum ContribAttention::Input;

// x·weights + bias, row by row.
absl::StatusOr<std::vector<double>> Project(const OpContext& context) {
  const Tensor& x = context.input(kX);
  const Tensor& weights = context.input(kWeights);
  if (!IsFloatingPoint(x.type()) || x.rank() != 3 || weights.type() != x.type() ||
      weights.rank() != 2 || weights.dim(0) != x.dim(2)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected floats [B,S,D] and weights [D,N] of one type, but found ",
                     TypeAndShape(x), " and ", TypeAndShape(weights)));
  }
  const int64_t depth = x.dim(2);
  const int64_t width = weights.dim(1);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> in, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> w, ToDoubles(weights));
  std::vector<double> bias(width, 0);
  if (context.has_input(kBias)) {
    if (context.input(kBias).shape() != Shape{width} || context.input(kBias).type() != x.type()) {
      return absl::InvalidArgumentError(absl::StrCat("expected a bias ", Name(x.type()), "[", width,
                                                     "], but found ",
                                                     TypeAndShape(context.input(kBias))));
    }
    ATTNRUN_ASSIGN_OR_RETURN(bias, ToDoubles(context.input(kBias)));
  }
  std::vector<double> rows;
  for (int64_t row = 0; row < x.dim(0) * x.dim(1); ++row) {
    for (int64_t j = 0; j < width; ++j) {
      double sum = bias[j];
      for (int64_t i = 0; i < depth; ++i) sum += in[row * depth + i] * w[i * width + j];
      rows.push_back(sum);
    }
  }
  return rows;
}

// Reads one half of the past: keys (0) or values (1).
absl::StatusOr<ReferenceHeads> ReadPast(const OpContext& context, int half, int64_t heads,
                                        int64_t size) {
  const Tensor& past = context.input(kPast);
  if (past.rank() != 5 || past.type() != context.input(kX).type() || past.dim(0) != 2 ||
      past.dim(1) != context.input(kX).dim(0) || past.dim(2) != heads || past.dim(4) != size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a past ", Name(context.input(kX).type()), "[2,", context.input(kX).dim(0), ",",
        heads, ",past,", size, "], but found ", TypeAndShape(past)));
  }
  ReferenceHeads result(past.dim(1), heads, past.dim(3), size);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> both, ToDoubles(past));
  const auto count = static_cast<int64_t>(result.values.size());
  result.values.assign(both.begin() + half * count, both.begin() + (half + 1) * count);
  return result;
}

}  // namespace

ContribAttention::ContribAttention(AttributeReader& attributes)
    : heads_(attributes.Required<int64_t>("num_heads")),
      causal_(attributes.Int("unidirectional", 0) != 0),
      filter_(attributes.Float("mask_filter_value", -10000)),
      scale_(attributes.Get<float>("scale")),
      sizes_(attributes.Ints("qkv_hidden_sizes")) {
  attributes.ExpectInt("do_rotary", 0);
  attributes.ExpectInt("past_present_share_buffer", 0);
  attributes.Ignore("rotary_embedding_dim");
  attributes.ExpectNoInput(kPastLength, "past_sequence_length");
}

absl::StatusOr<std::vector<int64_t>> ContribAttention::Sizes(int64_t width) const {
  std::vector<int64_t> sizes = sizes_;
  if (sizes.empty()) sizes.assign(3, width / 3);
  bool fits = sizes.size() == 3 && heads_ > 0 && sizes[0] == sizes[1] && sizes[0] > 0;
  for (size_t i = 0; fits && i < 3; ++i) {
    fits = sizes[i] >= 0 && sizes[i] <= width && sizes[i] % heads_ == 0;
  }
  if (fits && width - sizes[0] - sizes[1] == sizes[2]) return sizes;
  return absl::InvalidArgumentError(
      absl::StrCat("expected widths of q, k and v that are multiples of num_heads = ", heads_,
                   ", equal for q "
                   "and k, and ",
                   width, " together, but found ", absl::StrJoin(sizes, ", ")));
}

absl::Status ContribAttention::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> rows, Project(context));
  const Tensor& x = context.input(kX);
  const int64_t width = context.input(kWeights).dim(1);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, Sizes(width));
  std::vector<ReferenceHeads> qkv;
  int64_t past = 0;
  int64_t column = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t size = sizes[i] / heads_;
    qkv.push_back(ReferenceHeads::OfRows(rows, x.dim(0), x.dim(1), width, column, heads_, size));
    column += sizes[i];
    if (i == 0 || !context.has_input(kPast)) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const ReferenceHeads before, ReadPast(context, i - 1, heads_, size));
    past = before.sequence;
    qkv[i] = qkv[i].After(&before);
  }
  const ReferenceHeads& q = qkv[0];
  const ReferenceHeads& k = qkv[1];
  const ReferenceHeads& v = qkv[2];
  const MaskedAttention attention{.bias = kScoresBias,
                                  .mask = kMask,
                                  .past = past,
                                  .causal = causal_,
                                  .filter = filter_,
                                  .scale = scale_};
  ATTNRUN_ASSIGN_OR_RETURN(const ReferenceHeads y, attention.Run(context, q, k, v));
  ATTNRUN_RETURN_IF_ERROR(
      SetDoubles(context, 0, x.type(), {x.dim(0), x.dim(1), sizes[2]}, y.Merged()));
  if (!context.wants_output(1)) return absl::OkStatus();
  if (k.size != v.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected keys and values of one size for output present, but found ", k.size,
                     " and ", v.size));
  }
  std::vector<double> present = k.values;
  present.insert(present.end(), v.values.begin(), v.values.end());
  return SetDoubles(context, 1, x.type(), {2, k.batch, k.heads, k.sequence, k.size}, present);
}

void ContribAttention::Infer(InferContext& context) const {
  const std::optional<Dims>& x = context.input(kX).dims;
  const std::optional<Dims>& weights = context.input(kWeights).dims;
  Dims y = x.has_value() && x->size() == 3 ? *x : UnknownDims(3);
  y[2] = SymInt::Unknown();
  if (sizes_.size() == 3) y[2] = sizes_[2];
  if (sizes_.empty() && weights.has_value() && weights->size() == 2) {
    y[2] = SymInt::Quotient((*weights)[1], 3);
  }
  Dims present = UnknownDims(5);
  present[0] = 2;
  present[1] = y[0];
  present[2] = heads_;
  if (!context.has_input(kPast)) present[3] = y[1];
  if (context.has_input(kPast) && context.input(kPast).dims.value_or(Dims()).size() == 5) {
    const Dims& past = *context.input(kPast).dims;
    present[3] = past[3] + y[1];
    present[4] = past[4];
  }
  SetDims(context, 0, std::move(y));
  SetDims(context, 1, std::move(present));
}

}  // namespace attnrun::ops
