// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/rotary_embedding.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "core/strided.h"

namespace attnrun::ops {
namespace {

absl::Status CheckPositions(const Tensor& ids, int64_t positions) {
  if (ids.type() != DataType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected position_ids to be int64, but they are ", TypeAndShape(ids)));
  }
  for (int64_t i = 0; i < ids.num_elements(); ++i) {
    const int64_t id = ids.data<int64_t>()[i];
    if (id < 0 || id >= positions) {
      return absl::InvalidArgumentError(absl::StrCat(
          "position id ", id, " is outside the caches' range [0,", positions - 1, "]"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

RotaryEmbedding::RotaryEmbedding(AttributeReader& attributes)
    : packed_(attributes.node().domain() == "attnrun"),
      interleaved_(attributes.Int("interleaved", 0) != 0),
      rotary_size_(attributes.Int("rotary_embedding_dim", 0)) {
  if (packed_) {
    columns_ = HeadColumns::Read(attributes);
  } else {
    heads_ = attributes.Int("num_heads", 0);
  }
}

absl::Status RotaryEmbedding::ResolveCaches(const OpContext& context, RotaryShape& shape) const {
  const Tensor& x = context.input(0);
  const Tensor& cos = context.input(1);
  const Tensor& sin = context.input(2);
  if (cos.type() != x.type() || sin.type() != x.type() || cos.shape() != sin.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("expected cos_cache and sin_cache to be ",
                                                   Name(x.type()), " of one shape, but they are ",
                                                   TypeAndShape(cos), " and ", TypeAndShape(sin)));
  }
  const int rank = context.has_input(3) ? 2 : 3;
  if (cos.rank() != rank || cos.dim(rank - 1) != shape.pairs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected caches of rank ", rank, " and width ", shape.pairs, " ",
        context.has_input(3) ? "with" : "without", " position_ids, but found ", TypeAndShape(cos)));
  }
  if (rank == 2) {
    ATTNRUN_RETURN_IF_ERROR(CheckPositions(context.input(3), cos.dim(0)));
    ATTNRUN_ASSIGN_OR_RETURN(
        shape.strides, BroadcastStrides(context.input(3).shape(), {shape.batch, shape.sequence}));
    return absl::OkStatus();
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      shape.strides, BroadcastStrides(cos.shape(), {shape.batch, shape.sequence, shape.pairs}));
  return absl::OkStatus();
}

absl::Status RotaryEmbedding::ResolveHeads(const Tensor& x, RotaryShape& shape) const {
  shape.batch = x.dim(0);
  shape.sequence = x.dim(x.rank() - 2);
  shape.width = x.dim(x.rank() - 1);
  shape.rows = shape.batch * shape.sequence;
  if (packed_) {
    shape.head_size = columns_.size;
    shape.offsets.assign(columns_.offsets.begin(), columns_.offsets.end());
    return columns_.Check(x);
  }
  if (x.rank() == 4) {
    shape.rows *= x.dim(1);
    shape.head_size = shape.width;
    shape.offsets = {0};
    return absl::OkStatus();
  }
  if (heads_ <= 0 || shape.width % heads_ != 0) {
    return absl::InvalidArgumentError(absl::StrCat("expected num_heads to divide the width of ",
                                                   TypeAndShape(x), ", but it is ", heads_));
  }
  shape.head_size = shape.width / heads_;
  for (int64_t head = 0; head < heads_; ++head) shape.offsets.push_back(head * shape.head_size);
  return absl::OkStatus();
}

absl::StatusOr<RotaryShape> RotaryEmbedding::Resolve(const OpContext& context) const {
  const Tensor& x = context.input(0);
  const bool fits = x.rank() == 3 || (x.rank() == 4 && !packed_);
  if (!IsFloatingPoint(x.type()) || !fits) {
    return absl::InvalidArgumentError(absl::StrCat("expected X to be floats of rank 3",
                                                   packed_ ? "" : " or 4", ", but it is ",
                                                   TypeAndShape(x)));
  }
  RotaryShape shape;
  ATTNRUN_RETURN_IF_ERROR(ResolveHeads(x, shape));
  const int64_t rotated = rotary_size_ == 0 ? shape.head_size : rotary_size_;
  if (rotated <= 0 || rotated > shape.head_size || rotated % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an even rotary size of at most the head's ", shape.head_size,
                     ", but it is ", rotated));
  }
  shape.pairs = rotated / 2;
  ATTNRUN_RETURN_IF_ERROR(ResolveCaches(context, shape));
  return shape;
}

int64_t RotaryEmbedding::CacheOffset(const OpContext& context, const RotaryShape& shape,
                                     int64_t row) const {
  const int64_t offset =
      shape.BatchOf(row) * shape.strides[0] + shape.PositionOf(row) * shape.strides[1];
  if (!context.has_input(3)) return offset;
  return context.input(3).data<int64_t>()[offset] * shape.pairs;
}

}  // namespace attnrun::ops
