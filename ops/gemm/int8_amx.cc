// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_amx.h"

#include <algorithm>
#include <cstring>

#include "core/status.h"
#include "ops/gemm/amx_gemm.h"
#include "ops/gemm/finish_sums.h"
#include "ops/gemm/int8_kernel.h"
#include "ops/gemm/scratch.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {
namespace {

// The terms that correct the sums of each row, as in Int8Product.
struct RowTerms {
  // The sum of the row's numbers less their zero point.
  int32_t* sums;
  // Minus the zero point of its uint8 numbers.
  int32_t* negated_zero_points;
};

// Writes a row of A as uint8, 64 bytes of each step, to row `row` of a block of tiles.
void FillRow(const uint8_t* from, int64_t count, int64_t steps, int64_t row, uint8_t* block) {
  uint8_t* to = block + row * kAmxStepBytes;
  for (int64_t step = 0; step < steps; ++step, to += kAmxTileBytes) {
    const int64_t left = std::clamp<int64_t>(count - step * kAmxStepBytes, 0, kAmxStepBytes);
    std::memcpy(to, from + step * kAmxStepBytes, left);
    std::memset(to + left, 0, kAmxStepBytes - left);
  }
}

void FillRows(const Int8Rows& a, IndexRange rows, const RowTerms& terms, int64_t steps,
              uint8_t* block) {
  Scratch scratch;
  auto* const bytes = scratch.AtLeast<uint8_t>(a.columns);
  const bool is_signed = a.values->type() == DataType::kInt8;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const auto* const from = a.values->data<char>() + a.begin + row * a.columns;
    const int32_t zero = a.zero_point(row) + (is_signed ? 128 : 0);
    const auto sum = static_cast<uint32_t>(ShiftToUint8(from, is_signed, a.columns, bytes));
    terms.sums[row] = static_cast<int32_t>(sum - static_cast<uint32_t>(zero * a.columns));
    terms.negated_zero_points[row] = -zero;
    FillRow(bytes, a.columns, steps, row - rows.begin, block);
  }
}

SumsBlock BlockOf(const AmxSums& sums, const RowTerms& terms, const Int8Panels& b,
                  const Int8Epilogue& out) {
  SumsBlock block = BlockOf(sums, out.epilogue);
  block.integers = true;
  if (b.offsets() != nullptr) {
    block.column_terms[0] = b.offsets() + sums.column;
    block.row_terms[0] = terms.sums + sums.row;
  }
  block.column_terms[1] = b.sums() + sums.column;
  block.row_terms[1] = terms.negated_zero_points + sums.row;
  block.ldc = b.columns();
  const int64_t at = sums.row * b.columns() + sums.column;
  if (out.sums != nullptr) {
    block.integer_c = out.sums + at;
    return block;
  }
  block.c = out.c + at;
  block.scales = out.scales + sums.column;
  return block;
}

}  // namespace

absl::Status Int8GemmOnAmx(const Int8Rows& a, const Int8Panels& b, const Int8Epilogue& epilogue,
                           Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor terms,
                           Tensor::Allocate(DataType::kInt32, {2, a.rows}, allocator));
  auto* const numbers = terms.mutable_data<int32_t>();
  const RowTerms rows = {numbers, numbers + a.rows};
  const int64_t steps = b.steps() / StepUnit(b.layout());
  const AmxMatrix matrix = {AmxType::kUint8Int8, reinterpret_cast<const uint8_t*>(b.panel(0)),
                            steps, b.columns()};
  void* const out = epilogue.sums != nullptr ? static_cast<void*>(epilogue.sums) : epilogue.c;
  AmxGemm(
      a.rows, matrix, {out, b.columns(), sizeof(float), epilogue.epilogue.residual},
      [&](int64_t row, int64_t count, uint8_t* block) {
        FillRows(a, {row, row + count}, rows, steps, block);
      },
      [&](const AmxSums& sums) { FinishSums(BlockOf(sums, rows, b, epilogue)); });
  return absl::OkStatus();
}

}  // namespace attnrun::ops
