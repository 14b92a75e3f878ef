// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_block_float_rows.h"

#include <algorithm>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/nbit_block_float_rows.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/nbit_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The largest integer whose highest digit fits 8 bits.
constexpr float kLargestInteger = 0x7F7F7F;

// The greatest power of two by which a block with this maximum may be multiplied.
inline float FactorFor(float largest) {
  constexpr uint32_t kExponentOfOne = 127;
  constexpr uint32_t kMantissaBits = 23;
  const uint32_t exponent = std::bit_cast<uint32_t>(largest) >> kMantissaBits;
  // 2^22 divided by the power of two below the maximum.
  const uint32_t inverse = 2 * kExponentOfOne + 22 - exponent;
  const auto factor = std::bit_cast<float>(inverse << kMantissaBits);
  return largest * factor > kLargestInteger ? factor / 2 : factor;
}

// The lowest 8 bits, as numbers with a sign; those above become `values`.
HWY_ATTR HWY_INLINE IntVector TakeByte(IntVector& values) {
  const IntVector digit = hn::ShiftRight<24>(hn::ShiftLeft<24>(values));
  values = hn::ShiftRight<8>(hn::Sub(values, digit));
  return digit;
}

// Where the digits of a block go, `block` bytes from digit to digit. The lower two nibbles are
// `half` bytes behind the upper two.
struct BlockDigits {
  int8_t* values;
  int64_t block;
  int64_t half;
  int32_t* sums;
};

HWY_ATTR HWY_INLINE void SplitBytes(const float* x, int64_t count, float factor,
                                    const BlockDigits& to) {
  const Ints d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  IntVector sums[kByteDigits];
  for (IntVector& sum : sums) sum = hn::Zero(d);
  for (int64_t i = 0; i < to.block; i += lanes) {
    IntVector values = RoundUpTo(x + i, count - i, factor);
    for (int64_t digit = kByteDigits - 1; digit >= 0; --digit) {
      const IntVector byte = TakeByte(values);
      sums[digit] = hn::Add(sums[digit], byte);
      StoreEvenFirst(byte, to.values + digit * to.block + i);
    }
  }
  for (int64_t digit = 0; digit < kByteDigits; ++digit) {
    to.sums[digit] = hn::ReduceSum(d, sums[digit]);
  }
}

// Stores 12 bits as 16 * d[0] + d[1].
HWY_ATTR HWY_INLINE void StoreNibbles(IntVector values, int64_t block, int8_t* to) {
  StoreEvenFirst(hn::ShiftRight<4>(values), to);
  StoreEvenFirst(hn::And(values, hn::Set(Ints(), 15)), to + block);
}

HWY_ATTR HWY_INLINE void SplitNibbles(const float* x, int64_t count, float factor,
                                      const BlockDigits& to) {
  const Ints d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  IntVector sum = hn::Zero(d);
  for (int64_t i = 0; i < to.block; i += lanes) {
    const IntVector values = RoundUpTo(x + i, count - i, factor);
    sum = hn::Add(sum, values);
    const IntVector upper = hn::ShiftRight<12>(hn::Add(values, hn::Set(d, 1 << 11)));
    StoreNibbles(upper, to.block, to.values + i);
    StoreNibbles(hn::Sub(values, hn::ShiftLeft<12>(upper)), to.block, to.values + to.half + i);
  }
  *to.sums = hn::ReduceSum(d, sum);
}

template <Digits kDigits>
HWY_ATTR bool SplitRowAs(const float* x, int64_t k, int64_t block, const RoundedRow& to) {
  constexpr float kLeast = 0x1p-60F;
  constexpr float kMost = 0x1p60F;
  constexpr bool kBytes = kDigits == Digits::kBytes;
  constexpr int64_t kSums = kBytes ? kByteDigits : 1;
  constexpr int64_t kBlocks = kBytes ? kByteDigits : kNibbleDigits;
  BlockDigits at = {to.values, block, 2 * to.alternating * block, to.sums};
  float* scale = to.scales;
  bool fits = true;
  for (int64_t begin = 0; begin < k; begin += block) {
    const int64_t count = std::min(block, k - begin);
    const float largest = Largest(x + begin, count);
    const bool plain = largest >= kLeast && largest <= kMost;
    fits &= plain || largest == 0;
    const float factor = plain ? FactorFor(largest) : 0;
    // Zeros where the numbers do not fit: not their products by 0, which would be NaN.
    const int64_t taken = plain ? count : 0;
    if constexpr (kBytes) {
      SplitBytes(x + begin, taken, factor, at);
    } else {
      SplitNibbles(x + begin, taken, factor, at);
    }
    *scale = plain ? 1 / factor : 0;
    at.values += to.alternating * kBlocks * block;
    at.sums += to.alternating * kSums;
    scale += to.alternating;
  }
  return fits;
}

bool SplitRow(Digits digits, const float* x, int64_t k, int64_t block, const RoundedRow& to) {
  return digits == Digits::kBytes ? SplitRowAs<Digits::kBytes>(x, k, block, to)
                                  : SplitRowAs<Digits::kNibbles>(x, k, block, to);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(SplitRow);

bool SplitRow(Digits digits, const float* x, int64_t k, int64_t block, const RoundedRow& to) {
  return HWY_DYNAMIC_DISPATCH(SplitRow)(digits, x, k, block, to);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
