// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/recurrent_matrix.h"

#include <cstring>

#include "ops/gemm/int8_gemm.h"
#include "ops/gemm/scratch.h"
#include "ops/quantization/qdq/quantize_integers.h"

namespace attnrun::ops {
namespace {

void MultiplyRounded(const MatrixView& a, const RecurrentMatrix& b, float* c, int64_t ldc,
                     const Epilogue& epilogue) {
  Scratch memory;
  auto* const rounded = memory.AtLeast<uint8_t>(a.rows * a.columns);
  const IntegerScale by = QuantizeToOwnRange(a.data, a.rows * a.columns, rounded);
  Scratch more_memory;
  auto* const scales = more_memory.AtLeast<float>(std::ssize(b.scales));
  for (size_t j = 0; j < b.scales.size(); ++j) scales[j] = by.scale * b.scales[j];
  const auto copy = [&](int64_t row, uint8_t* to) {
    std::memcpy(to, rounded + row * a.columns, a.columns);
  };
  Int8Gemm(Int8RowSource{.type = DataType::kUint8,
                         .rows = a.rows,
                         .columns = a.columns,
                         .zero_point = static_cast<int32_t>(by.zero_point),
                         .write = copy},
           *b.integers, {.c = c, .ldc = ldc, .scales = scales, .epilogue = epilogue});
}

}  // namespace

void Multiply(const MatrixView& a, const RecurrentMatrix& b, float* c, int64_t ldc,
              const Epilogue& epilogue) {
  if (b.integers != nullptr) {
    MultiplyRounded(a, b, c, ldc, epilogue);
  } else {
    Gemm(a, *b.floats, c, ldc, epilogue);
  }
}

}  // namespace attnrun::ops
