// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_integer_rows.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "ops/gemm/amx.h"
#include "ops/gemm/nbit_amx.h"
#include "ops/gemm/nbit_block_float_kernel.h"
#include "ops/gemm/nbit_int8_kernel.h"

namespace attnrun::ops {

IntegerRows::IntegerRows(NBitActivations activations, int64_t rows, const NBitFormat& format)
    : splits_(activations == NBitActivations::kBlockFloat),
      k_(format.rows),
      block_(format.block),
      blocks_(DivCeil(format.rows, format.block)) {
  const int64_t nibbles = splits_ ? kNibbleDigits : 1;
  const int64_t bytes = splits_ ? kByteDigits : 1;
  on_amx_ = blocks_ > 0 ? RowsOnAmx(rows, nibbles) : 0;
  // Tiles are whole.
  tiles_ = {{}, DivCeil(on_amx_, kAmxRows) * kAmxRows, nibbles, 1, (splits_ ? 2 : 1) * block_};
  vectors_ = {{}, rows - on_amx_, bytes, bytes, bytes * block_};
  const int64_t in_tiles = tiles_.rows * blocks_;
  const int64_t in_vectors = vectors_.rows * blocks_;
  tiles_.first = {scratch_[0].AtLeast<int8_t>((in_tiles * nibbles + in_vectors * bytes) * block_),
                  scratch_[1].AtLeast<float>(in_tiles + in_vectors),
                  scratch_[2].AtLeast<int32_t>(in_tiles + in_vectors * bytes), kAmxRows};
  vectors_.first = {tiles_.first.values + in_tiles * nibbles * block_,
                    tiles_.first.scales + in_tiles, tiles_.first.sums + in_tiles,
                    splits_ ? kBlockFloatRows : 1};
}

RoundedRow IntegerRows::At(const Region& region, int64_t row) const {
  const RoundedRow& first = region.first;
  const int64_t i = row % first.alternating;
  const int64_t before = (row - i) * blocks_;
  const int64_t together = std::min(first.alternating, region.rows - (row - i));
  return {first.values + before * region.digits * block_ + i * region.row_bytes,
          first.scales + before + i, first.sums + (before + i) * region.sums, together};
}

bool IntegerRows::Round(const float* x, int64_t row) const {
  const bool in_tiles = row < on_amx_;
  const RoundedRow to = in_tiles ? At(tiles_, row) : At(vectors_, row - on_amx_);
  if (splits_) {
    return SplitRow(in_tiles ? Digits::kNibbles : Digits::kBytes, x, k_, block_, to);
  }
  RoundRow(x, k_, block_, to);
  return true;
}

void IntegerRows::Multiply(const NBitPanel& panel, const uint8_t* end, float* c, int64_t ldc,
                           int64_t columns) const {
  RoundedProduct product = {tiles_.first, blocks_, on_amx_, panel, c, ldc, columns, end};
  if (product.rows > 0) (splits_ ? MultiplyBlockFloatOnAmx : MultiplyRoundedOnAmx)(product);
  product.a = vectors_.first;
  product.rows = vectors_.rows;
  product.c += on_amx_ * ldc;
  if (product.rows > 0) (splits_ ? MultiplyBlockFloat : MultiplyRounded)(product);
}

}  // namespace attnrun::ops
