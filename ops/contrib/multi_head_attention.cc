// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/multi_head_attention.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/contrib/last_axis.h"
#include "ops/contrib/reference_attention.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

using enum MultiHeadAttention::Input;

absl::Status Misfit(const OpContext& context, int i, int64_t heads) {
  return absl::InvalidArgumentError(absl::StrCat(
      "expected query, key and value of ", heads, " heads, but query is ",
      TypeAndShape(context.input(kQuery)), ", key is ",
      context.has_input(kKey) ? TypeAndShape(context.input(kKey)) : "left out", " and value is ",
      context.has_input(kValue) ? TypeAndShape(context.input(kValue)) : "left out", " (input ", i,
      " does not fit)"));
}

// Reads role 0, 1 or 2 (queries, keys or values) from input i.
absl::StatusOr<ReferenceHeads> ReadRole(const OpContext& context, int role, int i, int64_t heads) {
  const Tensor& tensor = context.input(i);
  const bool typed =
      IsFloatingPoint(tensor.type()) && heads > 0 && tensor.type() == context.input(kQuery).type();
  if (!typed) return Misfit(context, i, heads);
  if (tensor.rank() == 4 && role == i && i > 0)
    return ReadHeads(context, i, "keys and values", {-1, heads, -1, -1});
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> rows, ToDoubles(tensor));
  if (tensor.rank() == 3 && role == i && tensor.dim(2) % heads == 0) {
    return ReferenceHeads::OfRows(rows, tensor.dim(0), tensor.dim(1), tensor.dim(2), 0, heads,
                                  tensor.dim(2) / heads);
  }
  // Packed: each head has 3 or 2 rows of channels, the last one for the values.
  const int64_t parts = 3 - i;
  const bool packed = tensor.rank() == 5 && tensor.dim(2) == heads && tensor.dim(3) == parts;
  if (!packed) return Misfit(context, i, heads);
  const int64_t size = tensor.dim(4);
  ReferenceHeads result(tensor.dim(0), heads, tensor.dim(1), size);
  for (int64_t j = 0; j < std::ssize(result.values); ++j) {
    const int64_t h = j % size;
    const int64_t s = j / size % result.sequence;
    const int64_t n = j / size / result.sequence % heads;
    const int64_t b = j / size / result.sequence / heads;
    result.values[j] =
        rows[(((b * result.sequence + s) * heads + n) * parts + role - i) * size + h];
  }
  return result;
}

// Adds the bias from `column` on. `total`: the expected length of the bias.
absl::Status AddBias(const OpContext& context, int64_t column, int64_t total,
                     ReferenceHeads& heads) {
  if (!context.has_input(kBias)) return absl::OkStatus();
  const Tensor& tensor = context.input(kBias);
  if (tensor.type() != context.input(kQuery).type() || tensor.shape() != Shape{total}) {
    return absl::InvalidArgumentError(absl::StrCat("expected a bias ",
                                                   Name(context.input(kQuery).type()), "[", total,
                                                   "], but found ", TypeAndShape(tensor)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bias, ToDoubles(tensor));
  for (int64_t j = 0; j < std::ssize(heads.values); ++j) {
    const int64_t n = j / heads.size / heads.sequence % heads.heads;
    heads.values[j] += bias[column + n * heads.size + j % heads.size];
  }
  return absl::OkStatus();
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(AttributeReader& attributes)
    : heads_(attributes.Required<int64_t>("num_heads")),
      causal_(attributes.Int("unidirectional", 0) != 0),
      filter_(attributes.Float("mask_filter_value", -10000)),
      scale_(attributes.Get<float>("scale")) {
  attributes.ExpectNoInput(kPastLength, "past_sequence_length");
  attributes.ExpectNoInput(kCacheIndirection, "cache_indirection");
}

absl::StatusOr<std::vector<ReferenceHeads>> MultiHeadAttention::ReadOperands(
    const OpContext& context) const {
  std::vector<ReferenceHeads> qkv;
  int source = kQuery;
  for (int role = 0; role < 3; ++role) {
    if (context.has_input(role)) source = role;
    ATTNRUN_ASSIGN_OR_RETURN(ReferenceHeads heads, ReadRole(context, role, source, heads_));
    qkv.push_back(std::move(heads));
  }
  const auto& [q, k, v] = std::tie(qkv[0], qkv[1], qkv[2]);
  if (k.batch != q.batch || v.batch != q.batch || k.size != q.size || k.sequence != v.sequence ||
      q.size == 0) {
    return Misfit(context, 0, heads_);
  }
  if (causal_ && k.sequence != q.sequence) {
    return absl::UnimplementedError(absl::StrCat(
        "unidirectional is supported only with as many queries as new keys, but there are ",
        q.sequence, " and ", k.sequence));
  }
  const bool by_head = context.has_input(kKey) && context.input(kKey).rank() == 4;
  const int64_t width = heads_ * q.size;
  const int64_t total = 2 * width + heads_ * v.size;
  for (int role = 0; role < (by_head ? 1 : 3); ++role) {
    ATTNRUN_RETURN_IF_ERROR(AddBias(context, role * width, total, qkv[role]));
  }
  return qkv;
}

absl::StatusOr<int64_t> MultiHeadAttention::AddPast(const OpContext& context,
                                                    std::vector<ReferenceHeads>& qkv) const {
  if (context.has_input(kPastKey) != context.has_input(kPastValue)) {
    return absl::InvalidArgumentError("past_key and past_value must be given together");
  }
  int64_t past = 0;
  for (const int role : {1, 2}) {
    const int i = kPastKey + role - 1;
    if (!context.has_input(i)) continue;
    const Shape expected = {qkv[0].batch, heads_, role == 1 ? -1 : past, qkv[role].size};
    ATTNRUN_ASSIGN_OR_RETURN(const ReferenceHeads before,
                             ReadHeads(context, i, "the past", expected));
    past = before.sequence;
    qkv[role] = qkv[role].After(&before);
  }
  return past;
}

absl::Status MultiHeadAttention::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<ReferenceHeads> qkv, ReadOperands(context));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t past, AddPast(context, qkv));
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
  const DataType type = context.input(kQuery).type();
  ATTNRUN_RETURN_IF_ERROR(
      SetDoubles(context, 0, type, {q.batch, q.sequence, heads_ * v.size}, y.Merged()));
  ATTNRUN_RETURN_IF_ERROR(SetDoubles(context, 1, type, k.shape(), k.values));
  return SetDoubles(context, 2, type, v.shape(), v.values);
}

void MultiHeadAttention::Infer(InferContext& context) const {
  const std::optional<Dims>& query = context.input(kQuery).dims;
  if (!query.has_value() || query->size() < 3) return;
  Dims y = {(*query)[0], (*query)[1], SymInt::Unknown()};
  Dims present[2] = {UnknownDims(4), UnknownDims(4)};
  const int value = context.has_input(kValue) ? kValue : context.has_input(kKey) ? kKey : kQuery;
  if (context.input(value).dims.has_value() && heads_ > 0) {
    const Dims& dims = *context.input(value).dims;
    if (dims.size() == 3) y[2] = dims[2];
    if (dims.size() > 3) y[2] = dims.back() * SymInt(heads_);
  }
  for (const int i : {0, 1}) {
    present[i][0] = y[0];
    present[i][1] = heads_;
    if (!context.has_input(kPastKey + i) || !context.has_input(kKey)) continue;
    const auto& past = context.input(kPastKey + i).dims;
    const auto& key = context.input(kKey).dims;
    if (!past.has_value() || past->size() != 4 || !key.has_value() || key->size() < 3) continue;
    present[i][2] = (*past)[2] + (*key)[key->size() == 4 ? 2 : 1];
    present[i][3] = (*past)[3];
  }
  SetDims(context, 0, std::move(y));
  SetDims(context, 1, std::move(present[0]));
  SetDims(context, 2, std::move(present[1]));
}

}  // namespace attnrun::ops
