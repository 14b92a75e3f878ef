// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_AMX_FLOAT32_H_
#define ATTNRUN_OPS_GEMM_AMX_FLOAT32_H_

#include <cstdint>

#include "ops/gemm/amx.h"

// Products of floats on AMX, as products of bf16. A float x of 24 bits is the sum of three bf16,
// x[0] + x[1] + x[2], each of which takes 8 bits of what is left of x: rounded for A, cut off for
// B. Two such sums have nine products, of which the three smallest are below 2^-22 |x y| and are
// left out:
//
//   x y  is about  x[0] y[2] + x[0] y[1] + x[1] y[1] + x[1] y[0] + x[2] y[0] + x[0] y[0]
//
// This is the bf16x3 of Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence
// Datatype For Higher-Precision Computations" (2019).
//
// Tiles take numbers below 2^-126 for 0, and pieces are smaller than their number. So the largest
// number of a row of A, and of a column of B, must be 0 or between 2^-60 and 2^60.
namespace attnrun::ops {

inline constexpr int64_t kFloatPieces = 3;
// A step of a packed panel of B: floats [16, 2, 2, 16], which are pairs of rows, halves of the
// columns, rows of a pair, and columns.
inline constexpr int64_t kAmxFloatStep = kAmxBf16Step * kAmxPanelWidth;
inline constexpr int64_t kAmxFloatStepBytes = kAmxFloatStep * static_cast<int64_t>(sizeof(float));
// The same, split.
inline constexpr int64_t kAmxSplitStepBytes = kFloatPieces * kAmxPanelBytes;

// True if numbers of which this is the largest magnitude can be split. False for NaN.
constexpr bool CanSplit(float largest) {
  return largest == 0 || (largest >= 0x1p-60F && largest <= 0x1p60F);
}

// Splits `rows` rows, at most 16, of `count` floats, `row_stride` apart, and packs them as a block
// of A, [steps, 3, 16, 64 bytes]. Fills up to whole steps with zeros, and leaves missing rows as
// they are. Returns a bit for each row that cannot be split.
uint32_t PackSplitBlock(const float* from, int64_t row_stride, int64_t rows, int64_t count,
                        uint8_t* block);

// Packs 32 rows and kAmxPanelWidth columns, kAmxPanelWidth apart, as a step of a panel.
void PackFloatStep(const float* from, float* to);

// True if all columns of a packed panel can be split.
bool CanSplitPanel(const float* panel, int64_t steps);

// Where a step has the number in this row of 32 and this column.
constexpr int64_t IndexInFloatStep(int64_t row, int64_t column) {
  constexpr int64_t kHalf = kAmxPanelWidth / 2;
  return (row / 2 * 2 + column / kHalf) * kAmxPanelWidth + row % 2 * kHalf + column % kHalf;
}

// Adjacent steps of a packed panel of B.
struct FloatSteps {
  const float* from = nullptr;
  int64_t steps = 0;
};

// Split steps of B, in the first-level cache: those that are multiplied, at most kMostSteps, and
// behind them the next ones, which are split beside the product.
class SplitRing {
 public:
  static constexpr int64_t kMostSteps = 4;
  static constexpr int64_t kBytes = (kMostSteps + 1) * kAmxSplitStepBytes;

  // `slots`: kBytes, aligned to 64.
  explicit SplitRing(uint8_t* slots) : slots_(slots) {}

  // Splits the first steps.
  void Begin(const FloatSteps& steps);
  // As MultiplyTiles, for split blocks of A and the steps of B that are in the ring; the sums begin
  // with 0. Splits `ahead` for after the next Advance, beside the last product of these steps.
  void Multiply(const AmxProduct& product, const FloatSteps& ahead);
  // Goes on to what was split ahead, behind `steps` steps.
  void Advance(int64_t steps) { first_ += steps; }

  // A step: [3, 16, kAmxPanelWidth, 2] bf16.
  uint8_t* Step(int64_t step) const {
    return slots_ + (first_ + step) % (kMostSteps + 1) * kAmxSplitStepBytes;
  }

  uint8_t* end() const { return slots_ + kBytes; }

 private:
  uint8_t* const slots_;
  int64_t first_ = 0;
};

// Adds `count` numbers, a multiple of 16, to the sums.
void AddSums(const float* part, int64_t count, float* sums);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_AMX_FLOAT32_H_
