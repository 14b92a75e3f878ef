// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention_bf16.h"

#include <algorithm>
#include <cstring>

#include "core/div_ceil.h"
#include "ops/attention/attention_block.h"
#include "ops/tensors/cpu.h"

namespace attnrun::ops {
namespace {

constexpr int64_t kPair = 2 * kAmxRows;
// A tile of keys has this many panels for the scores, and this many steps for the values.
constexpr int64_t kParts = kKeyTile / kAmxPanelWidth;
static_assert(kAmxBf16Step == kAmxPanelWidth);

int64_t StepsOf(int64_t depth) { return DivCeil(depth, kAmxBf16Step); }
int64_t PanelsOf(int64_t columns) { return DivCeil(columns, kAmxPanelWidth); }
int64_t QueryBytes(int64_t rows, int64_t steps) {
  return DivCeil(rows, kAmxRows) * steps * kAmxTileBytes;
}

}  // namespace

bool AttendsInBf16(Precision precision) {
  return (precision == Precision::kBfloat16 || precision == Precision::kInt8) && ThisCpu().amx_bf16;
}

int64_t Bf16Products::PaddedRows(int64_t rows) { return DivCeil(rows, kPair) * kPair + kPair; }

int64_t Bf16Products::ScratchBytes(const AttentionProblem& problem, int64_t rows) {
  const int64_t steps = StepsOf(problem.head_size);
  return QueryBytes(rows, steps) + kParts * steps * kAmxPanelBytes +
         PanelsOf(problem.value_size) * kParts * kAmxPanelBytes + 2 * kParts * kAmxTileBytes;
}

Bf16Products::Bf16Products(const AttentionProblem& problem, int64_t rows, void* scratch)
    : rows_(rows),
      head_size_(problem.head_size),
      value_size_(problem.value_size),
      steps_(StepsOf(problem.head_size)),
      queries_(static_cast<uint8_t*>(scratch)),
      keys_(queries_ + QueryBytes(rows, steps_)),
      values_(keys_ + kParts * steps_ * kAmxPanelBytes),
      weights_(values_ + PanelsOf(value_size_) * kParts * kAmxPanelBytes) {}

void Bf16Products::PackQueries(const FloatRows& queries) {
  for (int64_t row = 0; row < rows_; row += kAmxRows) {
    PackBf16Block(queries.data + row * queries.stride, queries.stride,
                  std::min(kAmxRows, rows_ - row), head_size_,
                  queries_ + row / kAmxRows * steps_ * kAmxTileBytes);
  }
}

void Bf16Products::PackKeys(const FloatRows& keys, int64_t count) {
  for (int64_t key = 0; key < count; key += kAmxPanelWidth) {
    uint8_t* const panel = keys_ + key / kAmxPanelWidth * steps_ * kAmxPanelBytes;
    for (int64_t step = 0; step < steps_; ++step) {
      PackBf16TransposedStep(keys.data + key * keys.stride, keys.stride,
                             std::min(kAmxPanelWidth, count - key), step * kAmxBf16Step, head_size_,
                             panel + step * kAmxPanelBytes);
    }
  }
}

void Bf16Products::PackValues(const FloatRows& values, int64_t count) {
  for (int64_t column = 0; column < value_size_; column += kAmxPanelWidth) {
    uint8_t* const panel = values_ + column / kAmxPanelWidth * kParts * kAmxPanelBytes;
    for (int64_t key = 0; key < count; key += kAmxBf16Step) {
      PackBf16Step(values.data + key * values.stride + column, values.stride,
                   std::min(kAmxBf16Step, count - key),
                   std::min(kAmxPanelWidth, value_size_ - column),
                   panel + key / kAmxBf16Step * kAmxPanelBytes);
    }
  }
}

void Bf16Products::Scores(IndexRange rows, int64_t columns, float* scores) const {
  AmxProduct product = {};
  product.a_stride = steps_ * kAmxTileBytes;
  product.steps = steps_;
  product.ldc = kKeyTile;
  const int64_t first = GroupOf(rows.begin);
  for (int64_t row = first; row < rows.end; row += kPair) {
    product.a = queries_ + row / kAmxRows * product.a_stride;
    product.blocks = rows.end - row > kAmxRows ? 2 : 1;
    for (int64_t key = 0; key < columns; key += kAmxPanelWidth) {
      product.b = keys_ + key / kAmxPanelWidth * steps_ * kAmxPanelBytes;
      product.sums = scores + (row - first) * kKeyTile + key;
      MultiplyTiles(AmxType::kBf16, product);
    }
  }
}

void Bf16Products::AddValues(IndexRange rows, int64_t columns, const float* weights, float* sums,
                             int64_t stride) const {
  AmxProduct product = {};
  product.a = weights_;
  product.a_stride = kParts * kAmxTileBytes;
  product.steps = StepsOf(columns);
  product.ldc = stride;
  product.accumulate = true;
  const int64_t first = GroupOf(rows.begin);
  for (int64_t row = first; row < rows.end; row += kPair) {
    product.blocks = rows.end - row > kAmxRows ? 2 : 1;
    for (int64_t group = 0; group < product.blocks; ++group) {
      uint8_t* const block = weights_ + group * product.a_stride;
      const int64_t begin = row + group * kAmxRows;
      const int64_t skipped = std::max<int64_t>(rows.begin - begin, 0);
      const int64_t count = std::min(kAmxRows, rows.end - begin) - skipped;
      if (count < kAmxRows) std::memset(block, 0, product.a_stride);
      PackBf16Block(weights + (begin - first + skipped) * kKeyTile, kKeyTile, count, columns,
                    block + skipped * kAmxStepBytes);
    }
    for (int64_t column = 0; column < value_size_; column += kAmxPanelWidth) {
      product.b = values_ + column / kAmxPanelWidth * kParts * kAmxPanelBytes;
      product.sums = sums + row * stride + column;
      MultiplyTiles(AmxType::kBf16, product);
    }
  }
}

}  // namespace attnrun::ops
