// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/group_query_attention.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/contrib/head_count.h"
#include "ops/contrib/last_axis.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {

using enum GroupQueryAttention::Input;

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

absl::Status GroupQueryAttention::CheckPast(const OpContext& context) {
  const auto describe = [&](int i) {
    return context.has_input(i) ? TypeAndShape(context.input(i)) : std::string("left out");
  };
  const bool has_past = context.has_input(kPastKey);
  bool fits = has_past == context.has_input(kPastValue);
  if (fits && has_past) fits = context.input(kPastKey).shape() == context.input(kPastValue).shape();
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected past_key and past_value of one shape, but they are ",
                   describe(kPastKey), " and ", describe(kPastValue)));
}

absl::StatusOr<GroupQueryAttention::Positions> GroupQueryAttention::ReadCapacity(
    const OpContext& context) const {
  const int64_t given = context.input(kQuery).dim(1);
  const int64_t total = context.input(kTotal).data<int32_t>()[0];
  const bool has_past = context.has_input(kPastKey) && context.input(kPastKey).rank() == 4;
  const int64_t past = has_past ? context.input(kPastKey).dim(2) : 0;
  if (!sliding_) {
    if (total >= 0 && total <= past + given) {
      const int64_t capacity = std::max(total, past);
      return Positions{.past = past, .keys = capacity, .capacity = capacity};
    }
    return absl::InvalidArgumentError(absl::StrCat("expected a total_sequence_length of at most ",
                                                   past, " past and ", given,
                                                   " new tokens, but found ", total));
  }
  if (has_past && window_ > 0 && past >= window_) {
    return Positions{.past = past, .keys = past + given, .capacity = past};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a local_window_size from 1 to the number of past positions, but they are ", window_,
      " and ", past));
}

absl::StatusOr<GroupQueryAttention::Positions> GroupQueryAttention::ReadPositions(
    const OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckHasInput(context, kLengths, "seqlens_k"));
  ATTNRUN_RETURN_IF_ERROR(CheckHasInput(context, kTotal, "total_sequence_length"));
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
  ATTNRUN_RETURN_IF_ERROR(CheckPast(context));
  ATTNRUN_ASSIGN_OR_RETURN(Positions positions, ReadCapacity(context));
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = int64_t{lengths.data<int32_t>()[b]} + 1;
    const int64_t first = std::max<int64_t>(length - given, 0);
    const int64_t kept = Resident(first, positions.past);
    const int64_t dropped =
        std::max<int64_t>(length, 0) - Resident(length, positions.past) - (first - kept);
    positions.lengths.push_back(length);
    positions.first.push_back(first);
    positions.kept.push_back(kept);
    positions.dropped.push_back(sliding_ ? dropped : 0);
  }
  return positions;
}

bool GroupQueryAttention::HasHeads() const {
  return IsHeadCount(heads_) && IsHeadCount(kv_heads_) && heads_ % kv_heads_ == 0;
}

void GroupQueryAttention::Infer(InferContext& context) const {
  const std::optional<Dims>& query = context.input(kQuery).dims;
  if (!query.has_value() || query->size() != 3 || !HasHeads()) return;
  const int64_t parts = context.has_input(kKey) ? heads_ : heads_ + 2 * kv_heads_;
  const SymInt size = SymInt::Quotient((*query)[2], parts);
  SetDims(context, 0, Dims{(*query)[0], (*query)[1], size * SymInt(heads_)});
  for (const int i : {1, 2}) {
    SetDims(context, i, Dims{(*query)[0], kv_heads_, SymInt::Unknown(), size});
  }
}

}  // namespace attnrun::ops
