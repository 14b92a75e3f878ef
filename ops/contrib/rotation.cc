// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/rotation.h"

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/contrib/last_axis.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// The position of each token.
absl::StatusOr<std::vector<int64_t>> Positions(const Tensor& ids, int64_t batch, int64_t sequence) {
  const bool one = ids.shape() == Shape{1};
  if (ids.type() != DataType::kInt64 || (!one && ids.shape() != Shape{batch, sequence})) {
    return absl::InvalidArgumentError(absl::StrCat("expected position_ids int64[1] or [", batch,
                                                   ",", sequence, "], but found ",
                                                   TypeAndShape(ids)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> positions, ToInts(ids));
  if (!one) return positions;
  const int64_t first = positions[0];
  positions.clear();
  for (int64_t row = 0; row < batch * sequence; ++row) positions.push_back(first + row % sequence);
  return positions;
}

}  // namespace

absl::StatusOr<RotaryTables> RotaryTables::Read(const OpContext& context, int i) {
  const Tensor& cos = context.input(i);
  const Tensor& sin = context.input(i + 1);
  if (cos.type() != context.input(0).type() || sin.type() != cos.type() || cos.rank() != 2 ||
      sin.shape() != cos.shape()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected cos_cache and sin_cache to be ", Name(context.input(0).type()),
        "[positions,pairs], but they are ", TypeAndShape(cos), " and ", TypeAndShape(sin)));
  }
  RotaryTables angles{.positions = cos.dim(0), .pairs = cos.dim(1)};
  ATTNRUN_ASSIGN_OR_RETURN(angles.cos, ToDoubles(cos));
  ATTNRUN_ASSIGN_OR_RETURN(angles.sin, ToDoubles(sin));
  return angles;
}

absl::Status RotaryTables::Rotate(const std::vector<int64_t>& position, bool interleaved,
                                  ReferenceHeads& heads) const {
  if (2 * pairs > heads.size) {
    return absl::InvalidArgumentError(absl::StrCat("expected heads of at least ", 2 * pairs,
                                                   " channels, but they have ", heads.size));
  }
  for (int64_t row = 0; row < heads.batch * heads.sequence; ++row) {
    const int64_t at = position[row];
    if (at < 0 || at >= positions) {
      return absl::InvalidArgumentError(
          absl::StrCat("position ", at, " is outside [0,", positions, ")"));
    }
    for (int64_t i = 0; i < heads.heads * pairs; ++i) {
      const int64_t n = i / pairs;
      const int64_t pair = i % pairs;
      const int64_t b = row / heads.sequence;
      const int64_t s = row % heads.sequence;
      double& x = heads.At(b, n, s, interleaved ? 2 * pair : pair);
      double& y = heads.At(b, n, s, interleaved ? 2 * pair + 1 : pair + pairs);
      const double c = cos[at * pairs + pair];
      const double d = sin[at * pairs + pair];
      const double turned = x * c - y * d;
      y = x * d + y * c;
      x = turned;
    }
  }
  return absl::OkStatus();
}

ContribRotaryEmbedding::ContribRotaryEmbedding(AttributeReader& attributes)
    : heads_(attributes.Int("num_heads", 0)),
      rotated_(attributes.Int("rotary_embedding_dim", 0)),
      interleaved_(attributes.Int("interleaved", 0) != 0) {
  attributes.ExpectInt("is_packed_batching", 0);
  attributes.ExpectFloat("scale", 1);
}

absl::Status ContribRotaryEmbedding::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const RotaryTables angles, RotaryTables::Read(context, 2));
  const int64_t width = x.rank() == 0 ? 0 : x.dim(x.rank() - 1);
  const int64_t size = heads_ > 0 ? width / heads_ : 2 * angles.pairs;
  const bool whole = size > 0 && width % size == 0 && (rotated_ == 0 || heads_ > 0);
  if ((x.rank() != 3 && x.rank() != 4) || (x.rank() == 3 && !whole) || heads_ < 0) {
    return absl::InvalidArgumentError(absl::StrCat("expected [B,N,S,H], or [B,S,N*H] of num_heads ",
                                                   heads_, ", but found ", TypeAndShape(x)));
  }
  const bool merged = x.rank() == 3;
  const int64_t heads = merged ? width / size : x.dim(1);
  const int64_t sequence = x.dim(merged ? 1 : 2);
  ReferenceHeads y(x.dim(0), heads, sequence, merged ? size : width);
  if (2 * angles.pairs != (rotated_ == 0 ? y.size : rotated_)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected to rotate ", 2 * angles.pairs,
        " channels, twice the width of cos_cache, but found ", rotated_ == 0 ? y.size : rotated_));
  }
  ATTNRUN_ASSIGN_OR_RETURN(y.values, ToDoubles(x));
  if (merged) y = ReferenceHeads::OfRows(y.values, x.dim(0), sequence, width, 0, heads, size);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> positions,
                           Positions(context.input(1), x.dim(0), sequence));
  ATTNRUN_RETURN_IF_ERROR(angles.Rotate(positions, interleaved_, y));
  return SetDoubles(context, 0, x.type(), x.shape(), merged ? y.Merged() : y.values);
}

void ContribRotaryEmbedding::Infer(InferContext& context) const { InferLikeInput(context); }

}  // namespace attnrun::ops
