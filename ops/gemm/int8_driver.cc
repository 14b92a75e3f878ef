// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_driver.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/gemm/gemm_share.h"
#include "ops/gemm/int8_amx.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {
namespace {

// Bytes of A that are prepared at once and then multiplied by all panels of B.
constexpr int64_t kInt8BytesAtOnce = 4 << 20;
// Bytes of A that stay in the second-level cache while a panel is multiplied.
constexpr int64_t kBytesOfInt8Block = 192 << 10;
// The number of multiplications worth handing to a thread.
constexpr int64_t kInt8LeastPerRange = 1 << 20;
// Blocks of rows are multiples of this, so that tiles of five and of six rows are whole.
constexpr int64_t kRowUnit = 30;

// The number of rows of `bytes` bytes that fit within the limit, in whole tiles.
int64_t RowsWithin(int64_t limit, int64_t bytes) {
  return std::max<int64_t>(limit / std::max<int64_t>(bytes, 1) / kRowUnit, 1) * kRowUnit;
}

// Rows [first, first + count) of A in the kernel's layout, with their terms.
struct PreparedRows {
  int64_t first = 0;
  int64_t count = 0;
  // Bytes of a row.
  int64_t stride = 0;
  uint8_t* values = nullptr;
  // As Int8Product has them.
  int32_t* sums = nullptr;
  int32_t* negated_zero_points = nullptr;
  float* scales = nullptr;
};

// Rows [begin, end) of `PreparedRows` and one panel; the panel that the thread takes next, -1 for
// none.
struct Int8Block {
  int64_t begin;
  int64_t end;
  int64_t panel;
  int64_t next;
};

class Int8Multiplication {
 public:
  Int8Multiplication(const Int8Operands& operands, FillInt8Row fill, Int8PanelAt panel,
                     const Int8Epilogue& out)
      : operands_(operands), fill_(fill), panel_(panel), out_(out) {}

  void Run() const {
    const int64_t stride = 4 * operands_.steps;
    const int64_t at_once = std::min(RowsWithin(kInt8BytesAtOnce, stride), operands_.rows);
    Scratch value_scratch;
    Scratch term_scratch;
    PreparedRows rows;
    rows.stride = stride;
    rows.values = value_scratch.AtLeast<uint8_t>(at_once * stride);
    rows.sums = term_scratch.AtLeast<int32_t>(3 * at_once);
    rows.negated_zero_points = rows.sums + at_once;
    rows.scales = reinterpret_cast<float*>(rows.sums + 2 * at_once);
    for (rows.first = 0; rows.first < operands_.rows; rows.first += at_once) {
      rows.count = std::min(at_once, operands_.rows - rows.first);
      Fill(rows);
      MultiplyRows(rows);
    }
  }

 private:
  void Fill(const PreparedRows& rows) const {
    const auto fill = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Int8RowTerms terms = fill_(rows.first + i, rows.values + i * rows.stride);
        rows.sums[i] = terms.sum;
        rows.negated_zero_points[i] = terms.negated_zero_point;
        rows.scales[i] = terms.scale;
      }
    };
    ParallelFor(rows.count, std::max<int64_t>(kInt8LeastPerRange / 16 / (rows.stride + 1), 1),
                fill);
  }

  void MultiplyRows(const PreparedRows& rows) const {
    const int64_t most = RowsWithin(kBytesOfInt8Block, rows.stride);
    const int64_t blocks = DivCeil(rows.count, most);
    const int64_t block_rows = DivCeil(DivCeil(rows.count, blocks), kRowUnit) * kRowUnit;
    const int64_t width = Int8PanelWidth(operands_.layout);
    const int64_t panels = DivCeil(operands_.columns, width);
    const int64_t work = std::max<int64_t>(block_rows * operands_.depth * width, 1);
    const int64_t all = DivCeil(rows.count, block_rows) * panels;
    // Goes panel by panel within a block of rows. A thread's next range follows this one, mostly.
    ParallelFor(all, DivCeil(kInt8LeastPerRange, work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && !Interrupted(); ++i) {
        const int64_t row = i / panels * block_rows;
        const int64_t row_end = std::min(row + block_rows, rows.count);
        MultiplyBlock(rows, {row, row_end, i % panels, i + 1 < all ? (i + 1) % panels : -1});
      }
    });
  }

  void MultiplyBlock(const PreparedRows& a, const Int8Block& block) const {
    const Int8PanelView panel = panel_(block.panel);
    const int64_t column = block.panel * Int8PanelWidth(operands_.layout);
    const int64_t row = a.first + block.begin;
    Int8Product product{};
    product.layout = operands_.layout;
    product.a = a.values + block.begin * a.stride;
    product.lda = a.stride;
    product.b = panel.integers;
    product.steps = operands_.steps;
    product.corrections = panel.corrections;
    product.rows = block.end - block.begin;
    product.columns = std::min(Int8PanelWidth(operands_.layout), operands_.columns - column);
    if (panel.offsets != nullptr) {
      product.column_terms[0] = panel.offsets;
      product.row_terms[0] = a.sums + block.begin;
    }
    if (operands_.layout != Int8Layout::kInt16x2) {
      product.column_terms[1] = panel.sums;
      product.row_terms[1] = a.negated_zero_points + block.begin;
    }
    if (block.next >= 0) {
      product.next = panel_(block.next).integers;
      product.next_bytes =
          operands_.steps * RowsPerStep(operands_.layout) * Int8PanelWidth(operands_.layout);
    }
    product.ldc = out_.ldc;
    if (out_.sums != nullptr) {
      product.sums = out_.sums + row * out_.ldc + column;
      return MultiplyInt8(product);
    }
    product.c = out_.c + row * out_.ldc + column;
    product.row_scales = operands_.scales_rows ? a.scales + block.begin : nullptr;
    product.scales = out_.scales == nullptr ? panel.scales : out_.scales + column;
    product.bias = out_.epilogue.bias == nullptr ? nullptr : out_.epilogue.bias + column;
    product.activation = out_.epilogue.activation;
    product.residual = ResidualAt(out_.epilogue, row, column);
    MultiplyInt8(product);
  }

  const Int8Operands& operands_;
  const FillInt8Row fill_;
  const Int8PanelAt panel_;
  const Int8Epilogue& out_;
};

}  // namespace

void MultiplyInt8Matrices(const Int8Operands& operands, FillInt8Row fill, Int8PanelAt panel,
                          const Int8Epilogue& epilogue) {
  if (operands.rows == 0 || operands.columns == 0) return;
  if (operands.layout == Int8Layout::kAmx) {
    return MultiplyInt8OnAmx(operands, fill, panel, epilogue);
  }
  Int8Multiplication(operands, fill, panel, epilogue).Run();
}

}  // namespace attnrun::ops
