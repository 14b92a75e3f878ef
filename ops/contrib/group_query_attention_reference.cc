// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/contrib/group_query_attention.h"
#include "ops/contrib/last_axis.h"
#include "ops/contrib/reference_attention.h"
#include "ops/contrib/rotation.h"
#include "ops/normalization/normalize_rows.h"

namespace attnrun::ops {

using enum GroupQueryAttention::Input;

namespace {

absl::StatusOr<std::vector<double>> ReadRows(const OpContext& context, int i, int64_t width) {
  const Tensor& query = context.input(kQuery);
  const Tensor& tensor = context.input(i);
  if (!IsFloatingPoint(query.type()) || tensor.type() != query.type() || tensor.rank() != 3 ||
      query.rank() != 3 || tensor.dim(0) != query.dim(0) || tensor.dim(1) != query.dim(1) ||
      tensor.dim(2) != width) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected query, key and value to be floats [B,S,width] of one type, with key "
                     "and value of ",
                     width, " columns, but query is ", TypeAndShape(query), " and input ", i,
                     " is ", TypeAndShape(tensor)));
  }
  return ToDoubles(tensor);
}

// Scales each head's row to a mean square of 1, then its channels by the weights in input i.
absl::Status Normalize(const OpContext& context, int i, double epsilon, ReferenceHeads& heads) {
  const Tensor& weights = context.input(i);
  if (weights.type() != context.input(kQuery).type() || weights.shape() != Shape{heads.size}) {
    return absl::InvalidArgumentError(absl::StrCat("expected norm weights [", heads.size,
                                                   "], but found ", TypeAndShape(weights)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> weight, ToDoubles(weights));
  const int64_t rows = heads.batch * heads.heads * heads.sequence;
  NormalizeRows(heads.values, rows, heads.size, epsilon, /*centered=*/false);
  for (int64_t i = 0; i < std::ssize(heads.values); ++i) heads.values[i] *= weight[i % heads.size];
  return absl::OkStatus();
}

// Reads attention_bias, which must have a column for each of all tokens.
absl::StatusOr<AttentionBias> ReadBias(const OpContext& context, const Shape& scores) {
  if (context.has_input(kScoresBias)) {
    const Tensor& bias = context.input(kScoresBias);
    if (bias.rank() != 4 || bias.dim(3) != scores[3]) {
      return absl::InvalidArgumentError(absl::StrCat("expected attention_bias [_,_,", scores[2],
                                                     ",", scores[3], "], but it is ",
                                                     TypeAndShape(bias)));
    }
  }
  return AttentionBias::Read(context, kScoresBias, scores);
}

// Per sample: the first `kept` positions of the past, then the given ones, then zeros; `keys` in
// all.
absl::StatusOr<ReferenceHeads> Append(const OpContext& context, int past_input,
                                      const std::vector<int64_t>& kept, int64_t keys,
                                      const ReferenceHeads& given) {
  ReferenceHeads all(given.batch, given.heads, keys, given.size);
  ReferenceHeads past(given.batch, given.heads, 0, given.size);
  if (context.has_input(past_input)) {
    ATTNRUN_ASSIGN_OR_RETURN(past, ReadHeads(context, past_input, "the past",
                                             {given.batch, given.heads, -1, given.size}));
  }
  for (int64_t i = 0; i < std::ssize(all.values); ++i) {
    const int64_t h = i % given.size;
    const int64_t t = i / given.size % keys;
    const int64_t n = i / given.size / keys % given.heads;
    const int64_t b = i / given.size / keys / given.heads;
    if (kept[b] > past.sequence || kept[b] + given.sequence > keys) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sample ", b, " has ", kept[b], " tokens before ", given.sequence,
          " new ones, but the past has room for ", past.sequence, " and the present for ", keys));
    }
    if (t < kept[b]) all.values[i] = past.At(b, n, t, h);
    const bool is_new = t >= kept[b] && t < kept[b] + given.sequence;
    if (is_new) all.values[i] = given.At(b, n, t - kept[b], h);
  }
  return all;
}

// Per sample: `capacity` positions, without the first `dropped`, then zeros.
ReferenceHeads Drop(const ReferenceHeads& all, const std::vector<int64_t>& dropped,
                    int64_t capacity) {
  ReferenceHeads rest(all.batch, all.heads, capacity, all.size);
  for (int64_t i = 0; i < std::ssize(rest.values); ++i) {
    const int64_t h = i % all.size;
    const int64_t n = i / all.size / capacity % all.heads;
    const int64_t b = i / all.size / capacity / all.heads;
    const int64_t t = i / all.size % capacity + dropped[b];
    if (t < all.sequence) rest.values[i] = all.At(b, n, t, h);
  }
  return rest;
}

}  // namespace

absl::StatusOr<std::vector<ReferenceHeads>> GroupQueryAttention::ReadOperands(
    const OpContext& context) const {
  const Tensor& query = context.input(kQuery);
  const bool packed = !context.has_input(kKey);
  if (!HasHeads()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected num_heads to be a multiple of kv_num_heads, both from 1 to 2^31, "
                     "but found ",
                     heads_, " and ", kv_heads_));
  }
  const int64_t parts = packed ? heads_ + 2 * kv_heads_ : heads_;
  if (query.rank() != 3 || query.dim(2) == 0 || query.dim(2) % parts != 0 ||
      packed == context.has_input(kValue)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected both key and value or neither, and a query of ", parts,
                     " heads, but the query is ", TypeAndShape(query)));
  }
  const int64_t size = query.dim(2) / parts;
  std::vector<ReferenceHeads> qkv;
  for (int role = 0; role < 3; ++role) {
    const int64_t count = role == 0 ? heads_ : kv_heads_;
    const int64_t width = packed ? query.dim(2) : count * size;
    const int64_t column = packed && role > 0 ? (heads_ + (role - 1) * kv_heads_) * size : 0;
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> rows,
                             ReadRows(context, packed ? kQuery : role, width));
    qkv.push_back(
        ReferenceHeads::OfRows(rows, query.dim(0), query.dim(1), width, column, count, size));
  }
  for (int role = 0; role < 2; ++role) {
    if (!context.has_input(kQueryNorm + role)) continue;
    ATTNRUN_RETURN_IF_ERROR(Normalize(context, kQueryNorm + role, norm_epsilon_, qkv[role]));
  }
  return qkv;
}

absl::Status GroupQueryAttention::Rotate(const OpContext& context, const Positions& positions,
                                         std::vector<ReferenceHeads>& qkv) const {
  if (!rotary_) return absl::OkStatus();
  ATTNRUN_RETURN_IF_ERROR(CheckHasInput(context, kCos, "cos_cache"));
  ATTNRUN_RETURN_IF_ERROR(CheckHasInput(context, kSin, "sin_cache"));
  ATTNRUN_ASSIGN_OR_RETURN(const RotaryTables angles, RotaryTables::Read(context, kCos));
  std::vector<int64_t> at;
  for (const int64_t first : positions.first) {
    for (int64_t s = 0; s < qkv[0].sequence; ++s) at.push_back(first + s);
  }
  ATTNRUN_RETURN_IF_ERROR(angles.Rotate(at, interleaved_, qkv[0]));
  return angles.Rotate(at, interleaved_, qkv[1]);
}

absl::StatusOr<std::vector<double>> GroupQueryAttention::ReadSinks(const OpContext& context) const {
  if (!context.has_input(kSinks)) return std::vector<double>(smooth_ ? heads_ : 0, 0);
  const Tensor& sinks = context.input(kSinks);
  const DataType type = context.input(kQuery).type();
  if (sinks.type() == type && sinks.shape() == Shape{heads_}) return ToDoubles(sinks);
  return absl::InvalidArgumentError(absl::StrCat("expected head_sink ", Name(type), "[", heads_,
                                                 "], but it is ", TypeAndShape(sinks)));
}

absl::Status GroupQueryAttention::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<ReferenceHeads> qkv, ReadOperands(context));
  ATTNRUN_ASSIGN_OR_RETURN(const Positions positions, ReadPositions(context));
  ATTNRUN_RETURN_IF_ERROR(Rotate(context, positions, qkv));
  for (const int role : {1, 2}) {
    ATTNRUN_ASSIGN_OR_RETURN(
        qkv[role], Append(context, kPastKey + role - 1, positions.kept, positions.keys, qkv[role]));
  }
  const ReferenceHeads& q = qkv[0];
  const int64_t total = context.input(kTotal).data<int32_t>()[0];
  const Shape scores = {q.batch, heads_, q.sequence, total};
  ATTNRUN_ASSIGN_OR_RETURN(const AttentionBias bias, ReadBias(context, scores));
  ReferenceAttention attention;
  attention.scale = scale_ != 0 ? scale_ : static_cast<float>(1 / std::sqrt(q.size));
  attention.softcap = softcap_;
  ATTNRUN_ASSIGN_OR_RETURN(attention.sinks, ReadSinks(context));
  attention.term = [&](int64_t b, int64_t n, int64_t s, int64_t key) {
    const int64_t t = key + positions.first[b] - positions.kept[b];
    const int64_t p = positions.first[b] + s;
    // A sliding cache may hold fewer tokens than total_sequence_length.
    const int64_t end = sliding_ ? positions.lengths[b] : std::min(positions.lengths[b], total);
    const bool unmasked = t < end && (!causal_ || t <= p) && (window_ < 0 || t > p - window_);
    return unmasked ? bias.At(b, n, s, t) : -std::numeric_limits<double>::infinity();
  };
  const ReferenceHeads y = attention.Run(q, qkv[1], qkv[2]);
  const DataType type = context.input(kQuery).type();
  ATTNRUN_RETURN_IF_ERROR(
      SetDoubles(context, 0, type, {q.batch, q.sequence, heads_ * q.size}, y.Merged()));
  for (const int i : {1, 2}) {
    const ReferenceHeads present = Drop(qkv[i], positions.dropped, positions.capacity);
    ATTNRUN_RETURN_IF_ERROR(SetDoubles(context, i, type, present.shape(), present.values));
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
