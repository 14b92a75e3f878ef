// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/tensors/float_rows.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// out[i] = in[i] for IEEE binary16.
void HalfToFloat(const uint16_t* HWY_RESTRICT in, size_t n, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const auto* half = reinterpret_cast<const hwy::float16_t*>(in);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, half + i)), d, out + i);
  if (i < n) hn::StoreN(hn::PromoteTo(d, hn::LoadN(dh, half + i, n - i)), d, out + i, n - i);
}

void FloatToHalf(const float* HWY_RESTRICT in, size_t n, uint16_t* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  auto* half = reinterpret_cast<hwy::float16_t*>(out);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, in + i)), dh, half + i);
  if (i < n) hn::StoreN(hn::DemoteTo(dh, hn::LoadN(d, in + i, n - i)), dh, half + i, n - i);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(HalfToFloat);
HWY_EXPORT(FloatToHalf);

void BfloatToFloat(const uint16_t* in, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i]) << 16);
}

// Adding just under half a unit, or half a unit for odd results, rounds to nearest even. NaN would
// carry into the exponent: it keeps its upper bits and becomes quiet.
void FloatToBfloat(const float* in, int64_t n, uint16_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<uint32_t>(in[i]);
    const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    const uint32_t quiet_nan = (bits >> 16) | 0x40;
    out[i] = static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet_nan : rounded);
  }
}

}  // namespace

bool IsFloatOrHalf(DataType type) {
  return type == DataType::kFloat || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

void ReadFloats(const Tensor& in, int64_t begin, int64_t n, float* out) {
  if (in.type() == DataType::kFloat) {
    std::memcpy(out, in.data<float>() + begin, n * sizeof(float));
  } else if (in.type() == DataType::kFloat16) {
    HWY_DYNAMIC_DISPATCH(HalfToFloat)(in.data<uint16_t>() + begin, n, out);
  } else {
    BfloatToFloat(in.data<uint16_t>() + begin, n, out);
  }
}

void WriteFloats(const float* in, int64_t n, Tensor& out, int64_t begin) {
  if (out.type() == DataType::kFloat) {
    std::memcpy(out.mutable_data<float>() + begin, in, n * sizeof(float));
  } else if (out.type() == DataType::kFloat16) {
    HWY_DYNAMIC_DISPATCH(FloatToHalf)(in, n, out.mutable_data<uint16_t>() + begin);
  } else {
    FloatToBfloat(in, n, out.mutable_data<uint16_t>() + begin);
  }
}

absl::StatusOr<Tensor> AsFloat(const Tensor& in, Allocator& allocator) {
  if (in.type() == DataType::kFloat) return in;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DataType::kFloat, in.shape(), allocator));
  ReadFloats(in, 0, in.num_elements(), out.mutable_data<float>());
  return out;
}

absl::Status ParallelForWithScratch(int64_t count, int64_t grain, int64_t scratch_floats,
                                    Allocator& allocator,
                                    absl::FunctionRef<void(int64_t, int64_t, float*)> body) {
  if (count <= 0) return absl::OkStatus();
  const int64_t ranges = NumRanges(count, grain);
  const int64_t workers = std::min<int64_t>(ranges, NumThreads());
  // The scratch of each worker starts at a cache line.
  const int64_t stride = (scratch_floats + 15) / 16 * 16;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor scratch,
                           Tensor::Allocate(DataType::kFloat, {workers, stride}, allocator));
  auto* floats = scratch.mutable_data<float>();
  std::atomic<int64_t> next = 0;
  ParallelFor(workers, 1, [&](int64_t worker, int64_t) {
    for (int64_t i = next++; i < ranges; i = next++) {
      body(count * i / ranges, count * (i + 1) / ranges, floats + worker * stride);
    }
  });
  return absl::OkStatus();
}

absl::Status ForEachFloatRow(const Tensor& x, int64_t length, Tensor& y, Allocator& allocator,
                             absl::FunctionRef<void(int64_t, const float*, float*)> body) {
  if (x.num_elements() == 0) return absl::OkStatus();
  constexpr int64_t kElementsPerPiece = 16384;
  const int64_t rows = x.num_elements() / length;
  const int64_t grain = kElementsPerPiece / length + 1;
  const bool in_place = x.type() == DataType::kFloat;
  const bool out_place = y.type() == DataType::kFloat;
  auto piece = [&](int64_t begin, int64_t end, float* scratch) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row * length;
      const float* in = in_place ? x.data<float>() + first : scratch;
      float* out = out_place ? y.mutable_data<float>() + first : scratch;
      if (!in_place) ReadFloats(x, first, length, scratch);
      body(row, in, out);
      if (!out_place) WriteFloats(scratch, length, y, first);
    }
  };
  return ParallelForWithScratch(rows, grain, in_place && out_place ? 0 : length, allocator, piece);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
