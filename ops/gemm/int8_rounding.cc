// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/int8_rounding.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;
constexpr auto kLanes = static_cast<int64_t>(hn::Lanes(Floats()));

// A scale that can be divided by; 0 for smaller ones.
float Usable(float scale) { return scale < std::numeric_limits<float>::min() ? 0.0F : scale; }
float InverseOf(float scale) { return scale > 0 ? 1 / scale : 0.0F; }

void ScalesOfColumns(const float* matrix, int64_t rows, int64_t width, float* scales) {
  const Floats d;
  for (int64_t at = 0; at < width; at += kLanes) {
    FloatVector largest = hn::Zero(d);
    for (int64_t row = 0; row < rows; ++row) {
      largest = hn::Max(largest, hn::Abs(hn::LoadU(d, matrix + row * width + at)));
    }
    hn::StoreU(largest, d, scales + at);
  }
  for (int64_t j = 0; j < width; ++j) scales[j] = Usable(scales[j] / 127);
}

void RoundColumns(const float* matrix, int64_t rows, int64_t width, const float* scales,
                  int8_t* rounded) {
  const Floats d;
  const hn::Rebind<int8_t, Floats> bytes;
  for (int64_t at = 0; at < width; at += kLanes) {
    HWY_ALIGN float inverse[hn::MaxLanes(Floats())];
    for (int64_t j = 0; j < kLanes; ++j) inverse[j] = InverseOf(scales[at + j]);
    const auto factor = hn::Load(d, inverse);
    for (int64_t row = 0; row < rows; ++row) {
      const auto scaled = hn::Mul(hn::LoadU(d, matrix + row * width + at), factor);
      const auto limited = hn::Min(hn::Max(scaled, hn::Set(d, -127.0F)), hn::Set(d, 127.0F));
      hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(limited)), bytes, rounded + row * width + at);
    }
  }
}

// Calls part(offset, count) for whole vectors of a row, then for the rest of it.
template <typename Part>
HWY_INLINE void ForVectors(int64_t count, Part part) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) part(i, kLanes);
  if (i < count) part(i, count - i);
}

HWY_INLINE FloatVector LoadPart(const float* from, int64_t count) {
  const Floats d;
  return count == kLanes ? hn::LoadU(d, from) : hn::LoadN(d, from, static_cast<size_t>(count));
}

// The scale and the zero point of a row.
RowRounding RoundingOf(const float* row, int64_t count) {
  const Floats d;
  FloatVector least = hn::Zero(d);
  FloatVector most = hn::Zero(d);
  // 0 * x is NaN where x is not finite.
  FloatVector finite = hn::Zero(d);
  ForVectors(count, [&](int64_t at, int64_t lanes) HWY_ATTR {
    const FloatVector x = LoadPart(row + at, lanes);
    least = hn::Min(least, x);
    most = hn::Max(most, x);
    finite = hn::MulAdd(x, hn::Zero(d), finite);
  });
  if (std::isnan(hn::ReduceSum(d, finite))) return {std::numeric_limits<float>::quiet_NaN(), 0};
  const float min = hn::ReduceMin(d, least);
  const float scale = Usable(hn::ReduceMax(d, most) / 255 - min / 255);
  return {scale, static_cast<int32_t>(std::nearbyint(-min * InverseOf(scale)))};
}

RowRounding RoundRowToUint8(const float* row, int64_t count, uint8_t* rounded) {
  const RowRounding result = RoundingOf(row, count);
  if (!(result.scale > 0)) {
    std::memset(rounded, 0, static_cast<size_t>(count));
    return result;
  }
  const Floats d;
  const hn::RebindToSigned<Floats> integers;
  const hn::Rebind<uint8_t, Floats> bytes;
  const auto factor = hn::Set(d, InverseOf(result.scale));
  const auto zero = hn::Set(integers, result.zero_point);
  ForVectors(count, [&](int64_t at, int64_t lanes) HWY_ATTR {
    const auto scaled = hn::NearestInt(hn::Mul(LoadPart(row + at, lanes), factor));
    const auto q = hn::DemoteTo(bytes, hn::Add(scaled, zero));
    if (lanes == kLanes) {
      hn::StoreU(q, bytes, rounded + at);
    } else {
      hn::StoreN(q, bytes, rounded + at, static_cast<size_t>(lanes));
    }
  });
  return result;
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(ScalesOfColumns);
HWY_EXPORT(RoundColumns);
HWY_EXPORT(RoundRowToUint8);

void ScalesOfColumns(const float* matrix, int64_t rows, int64_t width, float* scales) {
  HWY_DYNAMIC_DISPATCH(ScalesOfColumns)(matrix, rows, width, scales);
}
void RoundColumns(const float* matrix, int64_t rows, int64_t width, const float* scales,
                  int8_t* rounded) {
  HWY_DYNAMIC_DISPATCH(RoundColumns)(matrix, rows, width, scales, rounded);
}
RowRounding RoundRowToUint8(const float* row, int64_t count, uint8_t* rounded) {
  return HWY_DYNAMIC_DISPATCH(RoundRowToUint8)(row, count, rounded);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
