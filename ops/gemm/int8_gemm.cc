// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_gemm.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/gemm/gemm_share.h"
#include "ops/gemm/int8_amx.h"
#include "ops/gemm/int8_kernel.h"

namespace attnrun::ops {
namespace {

// Bytes of A that are prepared at once and then multiplied by all panels of B.
constexpr int64_t kBytesAtOnce = 4 << 20;
// Bytes of A that stay in the second-level cache while a panel is multiplied.
constexpr int64_t kBytesOfBlock = 192 << 10;
// The number of multiplications worth handing to a thread.
constexpr int64_t kLeastPerRange = 1 << 20;
// Blocks of rows are multiples of this, so that tiles of five and of six rows are whole.
constexpr int64_t kRowUnit = 30;

// The number of rows of `bytes` bytes that fit within the limit, in whole tiles.
int64_t RowsWithin(int64_t limit, int64_t bytes) {
  return std::max<int64_t>(limit / std::max<int64_t>(bytes, 1) / kRowUnit, 1) * kRowUnit;
}

// Rows of A in the kernel's layout, with the terms that correct the sums: int16 less their zero
// points, or uint8 with the zero points still in them.
class PreparedRows {
 public:
  static absl::StatusOr<PreparedRows> Allocate(int64_t rows, const Int8Panels& b,
                                               Allocator& allocator) {
    PreparedRows result;
    result.layout_ = b.layout();
    result.stride_ = 4 * b.steps();
    ATTNRUN_ASSIGN_OR_RETURN(result.values_,
                             Tensor::Allocate(DataType::kUint8, {rows, result.stride_}, allocator));
    ATTNRUN_ASSIGN_OR_RETURN(result.terms_,
                             Tensor::Allocate(DataType::kInt32, {2, rows}, allocator));
    return result;
  }

  // Prepares rows [begin, begin + count) of `a`.
  void Fill(const Int8Rows& a, int64_t begin, int64_t count) {
    ParallelFor(count, std::max<int64_t>(kLeastPerRange / 16 / (stride_ + 1), 1),
                [&](int64_t first, int64_t last) {
                  for (int64_t i = first; i < last; ++i) FillRow(a, begin + i, i);
                });
  }

  const uint8_t* row(int64_t i) const { return values_.data<uint8_t>() + i * stride_; }
  // For each row, the sum of its numbers less their zero points.
  const int32_t* sums() const { return terms_.data<int32_t>(); }
  // For each row, minus the zero point of its uint8 numbers.
  const int32_t* negated_zero_points() const { return terms_.data<int32_t>() + terms_.dim(1); }
  int64_t stride() const { return stride_; }

 private:
  void FillRow(const Int8Rows& a, int64_t from, int64_t to) {
    const bool is_signed = a.values->type() == DataType::kInt8;
    const auto* const bytes = a.values->data<char>() + a.begin + from * a.columns;
    uint8_t* const row = values_.mutable_data<uint8_t>() + to * stride_;
    auto* const terms = terms_.mutable_data<int32_t>();
    const int32_t zero = a.zero_point(from);
    if (layout_ == Int8Layout::kInt16x2) {
      auto* const numbers = reinterpret_cast<int16_t*>(row);
      terms[to] = SubtractZeroPoint(bytes, is_signed, zero, a.columns, numbers);
      std::fill(numbers + a.columns, numbers + stride_ / 2, int16_t{0});
      return;
    }
    const int32_t uint8_zero = zero + (is_signed ? 128 : 0);
    const auto sum = static_cast<uint32_t>(ShiftToUint8(bytes, is_signed, a.columns, row));
    terms[to] = static_cast<int32_t>(sum - static_cast<uint32_t>(uint8_zero * a.columns));
    terms[terms_.dim(1) + to] = -uint8_zero;
    std::fill(row + a.columns, row + stride_, uint8_t{0});
  }

  Int8Layout layout_ = Int8Layout::kInt16x2;
  int64_t stride_ = 0;
  Tensor values_;
  Tensor terms_;
};

// Rows [begin, end) of C in one panel.
struct Block {
  int64_t begin;
  int64_t end;
  int64_t panel;
};

// `first`: the row of C that row 0 of `a` belongs to.
void MultiplyBlock(const PreparedRows& a, int64_t first, const Int8Panels& b,
                   const Int8Epilogue& out, const Block& block) {
  const int64_t column = block.panel * Int8PanelWidth(b.layout());
  const int64_t at = (first + block.begin) * b.columns() + column;
  Int8Product product{};
  product.a = a.row(block.begin);
  product.lda = a.stride();
  product.b = b.panel(block.panel);
  product.layout = b.layout();
  product.steps = b.steps();
  product.corrections = b.corrections(block.panel);
  product.rows = block.end - block.begin;
  product.columns = std::min(Int8PanelWidth(b.layout()), b.columns() - column);
  product.ldc = b.columns();
  if (b.offsets() != nullptr) {
    product.column_terms[0] = b.offsets() + column;
    product.row_terms[0] = a.sums() + block.begin;
  }
  if (b.layout() != Int8Layout::kInt16x2) {
    product.column_terms[1] = b.sums() + column;
    product.row_terms[1] = a.negated_zero_points() + block.begin;
  }
  if (out.sums != nullptr) {
    product.sums = out.sums + at;
  } else {
    product.c = out.c + at;
    product.scales = out.scales + column;
    product.bias = out.epilogue.bias == nullptr ? nullptr : out.epilogue.bias + column;
    product.activation = out.epilogue.activation;
    product.residual = ResidualAt(out.epilogue, first + block.begin, column);
  }
  MultiplyInt8(product);
}

// Computes rows [first, first + rows) of C.
void MultiplyRows(const PreparedRows& a, int64_t first, int64_t rows, const Int8Panels& b,
                  const Int8Epilogue& out) {
  const int64_t most = RowsWithin(kBytesOfBlock, a.stride());
  const int64_t blocks = DivCeil(rows, most);
  const int64_t block_rows = DivCeil(DivCeil(rows, blocks), kRowUnit) * kRowUnit;
  const int64_t panels = b.num_panels();
  const int64_t work = std::max<int64_t>(block_rows * b.rows() * Int8PanelWidth(b.layout()), 1);
  // Goes panel by panel within a block of rows.
  ParallelFor(DivCeil(rows, block_rows) * panels, DivCeil(kLeastPerRange, work),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end && !Interrupted(); ++i) {
                  const int64_t row = i / panels * block_rows;
                  const Block block = {row, std::min(row + block_rows, rows), i % panels};
                  MultiplyBlock(a, first, b, out, block);
                }
              });
}

}  // namespace

absl::Status Int8Gemm(const Int8Rows& a, const Int8Panels& b, const Int8Epilogue& epilogue,
                      Allocator& allocator) {
  if (b.layout() == Int8Layout::kAmx) return Int8GemmOnAmx(a, b, epilogue, allocator);
  const int64_t at_once = std::min(RowsWithin(kBytesAtOnce, 4 * b.steps()), a.rows);
  ATTNRUN_ASSIGN_OR_RETURN(PreparedRows rows, PreparedRows::Allocate(at_once, b, allocator));
  for (int64_t first = 0; first < a.rows; first += at_once) {
    const int64_t count = std::min(at_once, a.rows - first);
    rows.Fill(a, first, count);
    MultiplyRows(rows, first, count, b, epilogue);
  }
  return absl::OkStatus();
}

absl::string_view Int8GemmName(const Int8Panels* b) {
  if (b == nullptr) return "integer gemm";
  if (b->layout() == Int8Layout::kAmx) return "integer gemm packed, AMX";
  return b->layout() == Int8Layout::kVnni ? "integer gemm packed, VNNI" : "integer gemm packed";
}

}  // namespace attnrun::ops
