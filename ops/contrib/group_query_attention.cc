#include "ops/contrib/group_query_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/contrib/last_axis.h"
#include "ops/contrib/naive_attention.h"
#include "ops/contrib/rotation.h"
#include "ops/infer_rules.h"

namespace attnrun {
namespace {

using enum GroupQueryAttention::Input;

absl::StatusOr<std::vector<double>> ReadRows(const OpContext& context, int i, int64_t width) {
  const Tensor& query = context.input(kQuery);
  const Tensor& tensor = context.input(i);
  if (!IsFloatingPoint(query.type()) || tensor.type() != query.type() || tensor.rank() != 3 ||
      query.rank() != 3 || tensor.dim(0) != query.dim(0) || tensor.dim(1) != query.dim(1) ||
      tensor.dim(2) != width) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected query, key and value to be floats [B,S,width] of one type, key and value of ",
        width, " columns here, but query is ", TypeAndShape(query), " and input ", i, " is ",
        TypeAndShape(tensor)));
  }
  return ToDoubles(tensor);
}

// Scales each head's row to a mean square of 1, and its channels by the weights of input i.
absl::Status Normalize(const OpContext& context, int i, double epsilon, NaiveHeads& heads) {
  const Tensor& weights = context.input(i);
  if (weights.type() != context.input(kQuery).type() || weights.shape() != Shape{heads.size}) {
    return absl::InvalidArgumentError(absl::StrCat("expected norm weights [", heads.size,
                                                   "], but found ", TypeAndShape(weights)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> weight, ToDoubles(weights));
  for (int64_t first = 0; first < std::ssize(heads.values); first += heads.size) {
    double square = 0;
    for (int64_t h = 0; h < heads.size; ++h) square += std::pow(heads.values[first + h], 2);
    const double root = std::sqrt(square / static_cast<double>(heads.size) + epsilon);
    for (int64_t h = 0; h < heads.size; ++h) heads.values[first + h] *= weight[h] / root;
  }
  return absl::OkStatus();
}

// Of each sample the `kept` first positions of the past, then the given ones, then zeros.
absl::StatusOr<NaiveHeads> Append(const OpContext& context, int past_input,
                                  const std::vector<int64_t>& kept, int64_t keys,
                                  const NaiveHeads& given) {
  NaiveHeads all(given.batch, given.heads, keys, given.size);
  NaiveHeads past(given.batch, given.heads, 0, given.size);
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

// So many positions, from the first that is not dropped on, then zeros.
NaiveHeads Drop(const NaiveHeads& all, const std::vector<int64_t>& dropped, int64_t capacity) {
  NaiveHeads rest(all.batch, all.heads, capacity, all.size);
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

GroupQueryAttention::GroupQueryAttention(AttributeReader& attributes)
    : heads_(attributes.Required<int64_t>("num_heads")),
      kv_heads_(attributes.Required<int64_t>("kv_num_heads")),
      scale_(attributes.Float("scale", 0)),
      softcap_(attributes.Float("softcap", 0)),
      causal_(attributes.Int("causal", 1) != 0),
      window_(attributes.Int("local_window_size", -1)),
      rotary_(attributes.Int("do_rotary", 0) != 0),
      interleaved_(attributes.Int("rotary_interleaved", 0) != 0),
      smooth_(attributes.Int("smooth_softmax", -1) == 1),
      sliding_(attributes.Int("sliding_window_cache", 0) != 0),
      norm_epsilon_(attributes.Float("qk_norm_epsilon", 1e-6F)) {
  attributes.ExpectInt("qk_output", 0);
  attributes.Ignore("kv_cache_bit_width");
  attributes.OneOf("k_quant_type", "NONE", {"NONE"});
  attributes.OneOf("v_quant_type", "NONE", {"NONE"});
  attributes.ExpectNoInput(kPositionIds, "position_ids");
  attributes.ExpectNoInput(kKeyScale, "k_scale");
  attributes.ExpectNoInput(kValueScale, "v_scale");
}

int64_t GroupQueryAttention::Resident(int64_t length, int64_t capacity) const {
  if (!sliding_ || length <= capacity) return length;
  const int64_t evicted = capacity - window_ + 1;
  return length - (length - capacity + evicted - 1) / evicted * evicted;
}

absl::StatusOr<GroupQueryAttention::Positions> GroupQueryAttention::ReadPositions(
    const OpContext& context) const {
  const Tensor& lengths = context.input(kLengths);
  const Tensor& total = context.input(kTotal);
  const int64_t batch = context.input(kQuery).dim(0);
  const int64_t given = context.input(kQuery).dim(1);
  if (lengths.type() != DataType::kInt32 || lengths.num_elements() != batch ||
      total.type() != DataType::kInt32 || total.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected seqlens_k int32[", batch,
                     "] and total_sequence_length int32 of one element, "
                     "but found ",
                     TypeAndShape(lengths), " and ", TypeAndShape(total)));
  }
  Positions positions;
  positions.capacity = total.data<int32_t>()[0];
  const bool has_past = context.has_input(kPastKey) && context.input(kPastKey).rank() == 4;
  const int64_t past = has_past ? context.input(kPastKey).dim(2) : 0;
  if (sliding_) {
    if (!has_past || window_ <= 0 || past < window_) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a local_window_size above 0 and a past that holds as many "
                       "positions, but found ",
                       window_, " and ", past));
    }
    positions.capacity = past;
    positions.keys = past + given;
  } else if (positions.capacity < 0 || positions.capacity > past + given) {
    return absl::InvalidArgumentError(absl::StrCat("expected a total_sequence_length of at most ",
                                                   past, " past and ", given,
                                                   " new ones, but found ", positions.capacity));
  } else {
    positions.capacity = positions.keys = std::max(positions.capacity, past);
  }
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = int64_t{lengths.data<int32_t>()[b]} + 1;
    const int64_t first = std::max<int64_t>(length - given, 0);
    positions.lengths.push_back(length);
    positions.first.push_back(first);
    positions.kept.push_back(Resident(first, past));
    const int64_t base = first - positions.kept[b];
    positions.dropped.push_back(std::max<int64_t>(length, 0) - Resident(length, past) - base);
    if (!sliding_) positions.dropped[b] = 0;
  }
  return positions;
}

absl::Status GroupQueryAttention::Reference(OpContext& context) const {
  const Tensor& query = context.input(kQuery);
  const bool packed = !context.has_input(kKey);
  const int64_t parts = packed ? heads_ + 2 * kv_heads_ : heads_;
  if (heads_ <= 0 || kv_heads_ <= 0 || heads_ % kv_heads_ != 0 || query.rank() != 3 ||
      query.dim(2) == 0 || query.dim(2) % parts != 0 || packed == context.has_input(kValue)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected key and value, or neither, and a query of ", parts, " heads, ", heads_,
        " being a multiple of ", kv_heads_, ", but the query is ", TypeAndShape(query)));
  }
  const int64_t size = query.dim(2) / parts;
  const int64_t batch = query.dim(0);
  const int64_t sequence = query.dim(1);
  std::vector<NaiveHeads> qkv;
  for (int role = 0; role < 3; ++role) {
    const int64_t count = role == 0 ? heads_ : kv_heads_;
    const int64_t width = packed ? query.dim(2) : count * size;
    const int64_t column = packed && role > 0 ? (heads_ + (role - 1) * kv_heads_) * size : 0;
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> rows,
                             ReadRows(context, packed ? kQuery : role, width));
    qkv.push_back(NaiveHeads::OfRows(rows, batch, sequence, width, column, count, size));
  }
  ATTNRUN_RETURN_IF_ERROR(CheckHasInput(context, kLengths, "seqlens_k"));
  ATTNRUN_RETURN_IF_ERROR(CheckHasInput(context, kTotal, "total_sequence_length"));
  ATTNRUN_ASSIGN_OR_RETURN(const Positions positions, ReadPositions(context));
  for (int role = 0; role < 2; ++role) {
    if (!context.has_input(kQueryNorm + role)) continue;
    ATTNRUN_RETURN_IF_ERROR(Normalize(context, kQueryNorm + role, norm_epsilon_, qkv[role]));
  }
  if (rotary_) {
    if (!context.has_input(kCos) || !context.has_input(kSin)) {
      return absl::InvalidArgumentError("do_rotary needs cos_cache and sin_cache");
    }
    ATTNRUN_ASSIGN_OR_RETURN(const NaiveAngles angles, NaiveAngles::Read(context, kCos));
    std::vector<int64_t> at;
    for (int64_t row = 0; row < batch * sequence; ++row) {
      at.push_back(positions.first[row / sequence] + row % sequence);
    }
    for (int role = 0; role < 2; ++role) {
      ATTNRUN_RETURN_IF_ERROR(angles.Turn(at, interleaved_, qkv[role]));
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(const NaiveHeads k,
                           Append(context, kPastKey, positions.kept, positions.keys, qkv[1]));
  ATTNRUN_ASSIGN_OR_RETURN(const NaiveHeads v,
                           Append(context, kPastValue, positions.kept, positions.keys, qkv[2]));
  const int64_t total = context.input(kTotal).data<int32_t>()[0];
  ATTNRUN_ASSIGN_OR_RETURN(const NaiveBias bias,
                           NaiveBias::Read(context, kScoresBias, {batch, heads_, sequence, total}));
  NaiveAttention attention;
  attention.scale = scale_ != 0 ? scale_ : static_cast<float>(1 / std::sqrt(size));
  attention.softcap = softcap_;
  if (smooth_) attention.sinks.assign(heads_, 0);
  if (context.has_input(kSinks)) {
    if (context.input(kSinks).shape() != Shape{heads_}) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected head_sink [", heads_, "], but it is ", TypeAndShape(context.input(kSinks))));
    }
    ATTNRUN_ASSIGN_OR_RETURN(attention.sinks, ToDoubles(context.input(kSinks)));
  }
  attention.term = [&](int64_t b, int64_t n, int64_t s, int64_t key) {
    const int64_t t = key + positions.first[b] - positions.kept[b];
    const int64_t p = positions.first[b] + s;
    const bool open = t < std::min(positions.lengths[b], total) && (!causal_ || t <= p) &&
                      (window_ < 0 || t > p - window_);
    return open ? bias.At(b, n, s, t) : -std::numeric_limits<double>::infinity();
  };
  const NaiveHeads y = attention.Run(qkv[0], k, v);
  ATTNRUN_RETURN_IF_ERROR(
      SetDoubles(context, 0, query.type(), {batch, sequence, heads_ * size}, y.Merged()));
  for (const int i : {1, 2}) {
    const NaiveHeads present = Drop(i == 1 ? k : v, positions.dropped, positions.capacity);
    ATTNRUN_RETURN_IF_ERROR(SetDoubles(context, i, query.type(), present.shape(), present.values));
  }
  return absl::OkStatus();
}

void GroupQueryAttention::Infer(InferContext& context) const {
  const std::optional<Dims>& query = context.input(kQuery).dims;
  if (!query.has_value() || query->size() != 3 || heads_ <= 0 || kv_heads_ <= 0) return;
  const int64_t parts = context.has_input(kKey) ? heads_ : heads_ + 2 * kv_heads_;
  const SymInt size = SymInt::Quotient((*query)[2], parts);
  SetDims(context, 0, Dims{(*query)[0], (*query)[1], size * SymInt(heads_)});
  for (const int i : {1, 2}) {
    SetDims(context, i, Dims{(*query)[0], kv_heads_, SymInt::Unknown(), size});
  }
}

}  // namespace attnrun
