// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_amx.h"

#include <cstring>

#include "ops/gemm/amx_gemm.h"
#include "ops/gemm/finish_sums.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {
namespace {

// The terms of all rows of A, as in Int8Product.
struct RowTerms {
  int32_t* sums;
  int32_t* negated_zero_points;
  float* scales;
};

class Int8TileProduct {
 public:
  Int8TileProduct(const Int8Operands& operands, FillInt8Row fill, Int8PanelAt panel,
                  const Int8Epilogue& out, const RowTerms& terms)
      : operands_(operands), fill_(fill), panel_(panel), out_(out), terms_(terms) {}

  void Run() const {
    const int8_t* const panels = panel_(0).integers;
    const bool single = operands_.columns <= kAmxPanelWidth;
    AmxMatrix matrix;
    matrix.type = AmxType::kUint8Int8;
    matrix.panels = reinterpret_cast<const uint8_t*>(panels);
    matrix.steps = Steps();
    matrix.panel_bytes = single ? Steps() * kAmxPanelBytes : panel_(1).integers - panels;
    matrix.columns = operands_.columns;
    AmxGemm(
        operands_.rows, matrix,
        [this](int64_t row, int64_t count, uint8_t* block) { FillRows(row, count, block); },
        [this](const AmxSums& sums) { return BlockFor(sums); });
  }

 private:
  int64_t Steps() const { return operands_.steps / StepUnit(Int8Layout::kAmx); }

  // Writes rows as 64 bytes of each step.
  void FillRows(int64_t first, int64_t count, uint8_t* block) const {
    Scratch scratch;
    auto* const bytes = scratch.AtLeast<uint8_t>(4 * operands_.steps);
    for (int64_t row = first; row < first + count; ++row) {
      const Int8RowTerms terms = fill_(row, bytes);
      terms_.sums[row] = terms.sum;
      terms_.negated_zero_points[row] = terms.negated_zero_point;
      terms_.scales[row] = terms.scale;
      uint8_t* to = block + (row - first) * kAmxStepBytes;
      for (int64_t step = 0; step < Steps(); ++step, to += kAmxTileBytes) {
        std::memcpy(to, bytes + step * kAmxStepBytes, kAmxStepBytes);
      }
    }
  }

  SumsBlock BlockFor(const AmxSums& sums) const {
    const Int8PanelView panel = panel_(sums.column / kAmxPanelWidth);
    SumsBlock block = BlockOf(sums, out_.epilogue);
    block.integers = true;
    if (panel.offsets != nullptr) {
      block.column_terms[0] = panel.offsets;
      block.row_terms[0] = terms_.sums + sums.row;
    }
    block.column_terms[1] = panel.sums;
    block.row_terms[1] = terms_.negated_zero_points + sums.row;
    block.ldc = out_.ldc;
    const int64_t at = sums.row * out_.ldc + sums.column;
    if (out_.sums != nullptr) {
      block.integer_c = out_.sums + at;
      return block;
    }
    block.c = out_.c + at;
    block.row_scales = operands_.scales_rows ? terms_.scales + sums.row : nullptr;
    block.scales = out_.scales == nullptr ? panel.scales : out_.scales + sums.column;
    return block;
  }

  const Int8Operands& operands_;
  const FillInt8Row fill_;
  const Int8PanelAt panel_;
  const Int8Epilogue& out_;
  const RowTerms& terms_;
};

}  // namespace

void MultiplyInt8OnAmx(const Int8Operands& operands, FillInt8Row fill, Int8PanelAt panel,
                       const Int8Epilogue& epilogue) {
  Scratch scratch;
  auto* const numbers = scratch.AtLeast<int32_t>(3 * operands.rows);
  const RowTerms terms = {numbers, numbers + operands.rows,
                          reinterpret_cast<float*>(numbers + 2 * operands.rows)};
  Int8TileProduct(operands, fill, panel, epilogue, terms).Run();
}

}  // namespace attnrun::ops
