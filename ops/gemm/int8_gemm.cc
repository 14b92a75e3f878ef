// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_gemm.h"

#include <algorithm>

#include "ops/gemm/int8_driver.h"

namespace attnrun::ops {
namespace {

// Writes a row of A with `steps` steps: int16 less their zero point, or uint8 with the zero point
// still in them.
Int8RowTerms FillRow(const Int8Rows& a, int64_t row, Int8Layout layout, int64_t steps,
                     uint8_t* to) {
  const bool is_signed = a.values->type() == DataType::kInt8;
  const auto* const bytes = a.values->data<char>() + a.begin + row * a.columns;
  const int32_t zero = a.zero_point(row);
  if (layout == Int8Layout::kInt16x2) {
    auto* const numbers = reinterpret_cast<int16_t*>(to);
    const int32_t sum = SubtractZeroPoint(bytes, is_signed, zero, a.columns, numbers);
    std::fill(numbers + a.columns, numbers + 2 * steps, int16_t{0});
    return {sum, 0};
  }
  const int32_t uint8_zero = zero + (is_signed ? 128 : 0);
  const auto sum = static_cast<uint32_t>(ShiftToUint8(bytes, is_signed, a.columns, to));
  std::fill(to + a.columns, to + 4 * steps, uint8_t{0});
  return {static_cast<int32_t>(sum - static_cast<uint32_t>(uint8_zero * a.columns)), -uint8_zero};
}

}  // namespace

void Int8Gemm(const Int8Rows& a, const Int8Panels& b, const Int8Epilogue& epilogue) {
  Int8Operands operands;
  operands.layout = b.layout();
  operands.rows = a.rows;
  operands.depth = b.rows();
  operands.columns = b.columns();
  operands.steps = b.steps();
  Int8Epilogue out = epilogue;
  if (out.ldc == 0) out.ldc = b.columns();
  MultiplyInt8Matrices(
      operands,
      [&](int64_t row, uint8_t* to) { return FillRow(a, row, b.layout(), b.steps(), to); },
      [&](int64_t index) { return b.view(index); }, out);
}

absl::string_view Int8GemmName(const Int8Panels* b) {
  if (b == nullptr) return "integer gemm";
  if (b->layout() == Int8Layout::kAmx) return "integer gemm packed, AMX";
  return b->layout() == Int8Layout::kVnni ? "integer gemm packed, VNNI" : "integer gemm packed";
}

}  // namespace attnrun::ops
