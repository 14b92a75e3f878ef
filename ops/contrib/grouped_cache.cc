// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/grouped_cache.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace attnrun::ops::contrib {
namespace {

// Integers of 4 bits are held with this added.
constexpr double kHalfOfPairs = 8;

}  // namespace

DataType GroupedCache::TypeOf(DataType floats) const {
  if (!quantized) return floats;
  return bits == 4 ? DataType::kUint8 : DataType::kInt8;
}

int64_t GroupedCache::RowOf(int64_t head_size) const {
  return quantized && bits == 4 ? head_size / 2 : head_size;
}

void GroupedCache::Check(Body& b, int64_t head_size) const {
  if (!quantized) return;
  if (bits != 4 && bits != 8) {
    b.Fail(absl::StrCat("expected kv_cache_bit_width to be 4 or 8, but found ", bits));
  } else if (bits == 4 && head_size % 2 != 0) {
    b.Fail(absl::StrCat("expected heads of an even size in 4 bits, but it is ", head_size));
  }
}

Value* GroupedCache::Scales(Body& b, Value* scale, int64_t head_size) const {
  if (!per_channel) return b.Op("Reshape", {scale, b.Ints({})});
  Value* all = b.Op("Expand", {scale, b.Ints({1, kv_heads, 1, head_size})});
  return b.Op("Reshape", {all, b.Ints({kv_heads * head_size})});
}

Value* GroupedCache::Quantize(Body& b, Value* x, Value* scale, int64_t head_size) const {
  const DataType type = TypeOf(DataType::kFloat);
  Value* scales = Scales(b, scale, head_size);
  Value* zero = b.Number(type, bits == 4 ? kHalfOfPairs : 0);
  if (per_channel) zero = b.Op("Expand", {zero, b.Ints({kv_heads * head_size})});
  Value* q = b.Op("QuantizeLinear", {b.Cast(x, DataType::kFloat), scales, zero},
                  {{"axis", int64_t{per_channel ? 2 : 0}}});
  if (bits == 8) return q;
  // Two integers from 0 to 15 become low + 16 * high.
  q = b.Op("Min", {b.Cast(q, DataType::kFloat), b.Number(DataType::kFloat, 15)});
  q = b.Op("Reshape", {q, b.Ints({0, 0, kv_heads * head_size / 2, 2})});
  const std::vector<Value*> pair =
      b.Ops("Split", 2, {q}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
  q = b.Op("Add", {pair[0], b.Op("Mul", {pair[1], b.Number(DataType::kFloat, 16)})});
  return b.Cast(q, type);
}

Value* GroupedCache::Heads(Body& b, Value* x, Value* scale, int64_t head_size) const {
  if (quantized) x = Quantize(b, x, scale, head_size);
  Value* split = b.Op("Reshape", {x, b.Ints({0, 0, kv_heads, RowOf(head_size)})});
  return b.Op("Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

Value* GroupedCache::TimesScale(Body& b, Value* x, Value* scale, int64_t heads,
                                int64_t head_size) const {
  if (!quantized) return x;
  x = b.Cast(x, DataType::kFloat);
  Value* scales = Scales(b, scale, head_size);
  if (!per_channel) return b.Op("Mul", {x, scales});
  scales = b.Op("Reshape", {scales, b.Ints({kv_heads, 1, head_size})});
  x = b.Op("Reshape", {x, b.Ints({0, 0, kv_heads, heads / kv_heads, head_size})});
  return b.Op("Reshape", {b.Op("Mul", {x, scales}), b.Ints({0, 0, heads * head_size})});
}

}  // namespace attnrun::ops::contrib
