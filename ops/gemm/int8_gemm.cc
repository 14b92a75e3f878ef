// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_gemm.h"

#include <algorithm>

#include "ops/gemm/int8_driver.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {
namespace {

// A row of 8-bit integers.
struct Bytes {
  const void* data;
  bool is_signed;
  int32_t zero_point;
  int64_t count;
};

// Writes a row of A with `steps` steps: int16 less their zero point, or uint8 with the zero point
// still in them. `to` may be the row itself in the latter case.
Int8RowTerms FillRow(const Bytes& row, Int8Layout layout, int64_t steps, uint8_t* to) {
  if (layout == Int8Layout::kInt16x2) {
    auto* const numbers = reinterpret_cast<int16_t*>(to);
    const int32_t sum =
        SubtractZeroPoint(row.data, row.is_signed, row.zero_point, row.count, numbers);
    std::fill(numbers + row.count, numbers + 2 * steps, int16_t{0});
    return {sum, 0};
  }
  const int32_t zero = row.zero_point + (row.is_signed ? 128 : 0);
  const auto sum = static_cast<uint32_t>(ShiftToUint8(row.data, row.is_signed, row.count, to));
  std::fill(to + row.count, to + 4 * steps, uint8_t{0});
  return {static_cast<int32_t>(sum - static_cast<uint32_t>(zero * row.count)), -zero};
}

void Multiply(int64_t rows, FillInt8Row fill, const Int8Panels& b, const Int8Epilogue& epilogue) {
  Int8Operands operands;
  operands.layout = b.layout();
  operands.rows = rows;
  operands.depth = b.rows();
  operands.columns = b.columns();
  operands.steps = b.steps();
  Int8Epilogue out = epilogue;
  if (out.ldc == 0) out.ldc = b.columns();
  MultiplyInt8Matrices(operands, fill, [&](int64_t index) { return b.view(index); }, out);
}

}  // namespace

void Int8Gemm(const Int8Rows& a, const Int8Panels& b, const Int8Epilogue& epilogue) {
  const bool is_signed = a.values->type() == DataType::kInt8;
  const auto fill = [&](int64_t row, uint8_t* to) {
    const auto* const bytes = a.values->data<char>() + a.begin + row * a.columns;
    return FillRow({bytes, is_signed, a.zero_point(row), a.columns}, b.layout(), b.steps(), to);
  };
  Multiply(a.rows, fill, b, epilogue);
}

void Int8Gemm(const Int8RowSource& a, const Int8Panels& b, const Int8Epilogue& epilogue) {
  const bool is_signed = a.type == DataType::kInt8;
  const auto fill = [&](int64_t row, uint8_t* to) {
    Scratch scratch;
    uint8_t* const bytes =
        b.layout() == Int8Layout::kInt16x2 ? scratch.AtLeast<uint8_t>(a.columns) : to;
    a.write(row, bytes);
    return FillRow({bytes, is_signed, a.zero_point, a.columns}, b.layout(), b.steps(), to);
  };
  Multiply(a.rows, fill, b, epilogue);
}

absl::string_view Int8GemmName(const Int8Panels* b) {
  if (b == nullptr) return "integer gemm";
  if (b->layout() == Int8Layout::kAmx) return "integer gemm packed, AMX";
  return b->layout() == Int8Layout::kVnni ? "integer gemm packed, VNNI" : "integer gemm packed";
}

}  // namespace attnrun::ops
