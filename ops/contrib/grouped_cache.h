// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_GROUPED_CACHE_H_
#define ATTNRUN_OPS_CONTRIB_GROUPED_CACHE_H_

#include <cstdint>

#include "ops/composite/body.h"

namespace attnrun::ops::contrib {

// How com.microsoft GroupQueryAttention holds past keys or past values: as floats, or as integers q
// of 8 or 4 bits that stand for scale * q. Those of 8 bits are int8; a uint8 holds two of 4 bits
// (ops::NarrowForm::kPairs).
struct GroupedCache {
  bool quantized = false;
  // A scale for each channel of a head, rather than one for all.
  bool per_channel = false;
  int64_t bits = 8;
  int64_t kv_heads = 0;

  // The element type of the past, and the extent of its last axis.
  DataType TypeOf(DataType floats) const;
  int64_t RowOf(int64_t head_size) const;
  // Fails unless heads of this size can be held.
  void Check(Body& b, int64_t head_size) const;

  // Keys or values [B, S, M * H] as heads [B, M, S, row] in the type of the past.
  Value* Heads(Body& b, Value* x, Value* scale, int64_t head_size) const;
  // x [B, S, N * H], of N heads, times the scales of the M heads that they belong to.
  Value* TimesScale(Body& b, Value* x, Value* scale, int64_t heads, int64_t head_size) const;

 private:
  // One number, or [M * H].
  Value* Scales(Body& b, Value* scale, int64_t head_size) const;
  Value* Quantize(Body& b, Value* x, Value* scale, int64_t head_size) const;
};

}  // namespace attnrun::ops::contrib

#endif  // ATTNRUN_OPS_CONTRIB_GROUPED_CACHE_H_
