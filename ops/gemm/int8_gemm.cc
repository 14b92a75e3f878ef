// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_gemm.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/gemm/int8_kernel.h"

namespace attnrun::ops {
namespace {

// Rows of A that are made ready at once, and all panels of B pass by: bytes.
constexpr int64_t kBytesAtOnce = 4 << 20;
// Of these, what stays in the second-level cache while a panel passes by.
constexpr int64_t kBytesOfBlock = 192 << 10;
// Multiplications worth handing to a thread.
constexpr int64_t kLeastPerRange = 1 << 20;
// What blocks of rows are cut to, so that tiles are whole, of five rows or of six.
constexpr int64_t kRowUnit = 30;

// So many rows of `bytes` each as fit, in whole tiles.
int64_t RowsWithin(int64_t limit, int64_t bytes) {
  return std::max<int64_t>(limit / std::max<int64_t>(bytes, 1) / kRowUnit, 1) * kRowUnit;
}

// Rows of A as the kernel wants them, with what makes up for what they are not: in twos less their
// zero points, in fours as uint8.
class ReadyRows {
 public:
  static absl::StatusOr<ReadyRows> Allocate(int64_t rows, const PackedIntegers& b,
                                            Allocator& allocator) {
    ReadyRows result;
    result.layout_ = b.layout();
    result.stride_ = 4 * b.steps();
    ATTNRUN_ASSIGN_OR_RETURN(result.values_,
                             Tensor::Allocate(DataType::kUint8, {rows, result.stride_}, allocator));
    ATTNRUN_ASSIGN_OR_RETURN(result.terms_,
                             Tensor::Allocate(DataType::kInt32, {2, rows}, allocator));
    return result;
  }

  // Rows [begin, begin + count) of `a`.
  void Fill(const IntegerRows& a, int64_t begin, int64_t count) {
    ParallelFor(count, std::max<int64_t>(kLeastPerRange / 16 / (stride_ + 1), 1),
                [&](int64_t first, int64_t last) {
                  for (int64_t i = first; i < last; ++i) FillRow(a, begin + i, i);
                });
  }

  const uint8_t* row(int64_t i) const { return values_.data<uint8_t>() + i * stride_; }
  // By row, the sum of its numbers less their zero points.
  const int32_t* sums() const { return terms_.data<int32_t>(); }
  // By row, less what its numbers are too large.
  const int32_t* shortfalls() const { return terms_.data<int32_t>() + terms_.dim(1); }
  int64_t stride() const { return stride_; }

 private:
  void FillRow(const IntegerRows& a, int64_t from, int64_t to) {
    const bool is_signed = a.values->type() == DataType::kInt8;
    const auto* const bytes = a.values->data<char>() + a.begin + from * a.columns;
    uint8_t* const row = values_.mutable_data<uint8_t>() + to * stride_;
    auto* const terms = terms_.mutable_data<int32_t>();
    const int32_t zero = ZeroPoint(a, from);
    if (layout_ == IntegerLayout::kTwos) {
      auto* const numbers = reinterpret_cast<int16_t*>(row);
      terms[to] = CentreIntegers(bytes, is_signed, zero, a.columns, numbers);
      std::fill(numbers + a.columns, numbers + stride_ / 2, int16_t{0});
      return;
    }
    const int32_t lifted = zero + (is_signed ? 128 : 0);
    const auto sum = static_cast<uint32_t>(LiftIntegers(bytes, is_signed, a.columns, row));
    terms[to] = static_cast<int32_t>(sum - static_cast<uint32_t>(lifted * a.columns));
    terms[terms_.dim(1) + to] = -lifted;
    std::fill(row + a.columns, row + stride_, uint8_t{0});
  }

  static int32_t ZeroPoint(const IntegerRows& a, int64_t row) {
    if (a.zero_points.empty()) return 0;
    return a.zero_points[a.zero_points.size() == 1 ? 0 : row];
  }

  IntegerLayout layout_ = IntegerLayout::kTwos;
  int64_t stride_ = 0;
  Tensor values_;
  Tensor terms_;
};

// Rows [begin, end) of C by the columns of one panel.
struct Block {
  int64_t begin;
  int64_t end;
  int64_t panel;
};

// `first`: the row of C that row 0 of `a` belongs to.
void MultiplyBlock(const ReadyRows& a, int64_t first, const PackedIntegers& b,
                   const IntegerEpilogue& out, const Block& block) {
  const int64_t column = block.panel * IntegerPanelWidth();
  const int64_t at = (first + block.begin) * b.columns() + column;
  IntegerProduct product{};
  product.a = a.row(block.begin);
  product.lda = a.stride();
  product.b = b.panel(block.panel);
  product.layout = b.layout();
  product.steps = b.steps();
  product.excess = b.excess(block.panel);
  product.rows = block.end - block.begin;
  product.columns = std::min(IntegerPanelWidth(), b.columns() - column);
  product.ldc = b.columns();
  if (b.offsets() != nullptr) {
    product.column_terms[0] = b.offsets() + column;
    product.row_terms[0] = a.sums() + block.begin;
  }
  if (b.layout() == IntegerLayout::kFours) {
    product.column_terms[1] = b.sums() + column;
    product.row_terms[1] = a.shortfalls() + block.begin;
  }
  if (out.sums != nullptr) {
    product.sums = out.sums + at;
  } else {
    product.c = out.c + at;
    product.scales = out.scales + column;
    product.bias = out.epilogue.bias == nullptr ? nullptr : out.epilogue.bias + column;
    product.activation = out.epilogue.activation;
    const MatrixView& residual = out.epilogue.residual;
    if (residual.data != nullptr) {
      product.residual = {residual.at(first + block.begin, column), residual.row_stride,
                          residual.column_stride, out.epilogue.residual_scale};
    }
  }
  MultiplyIntegers(product);
}

// Rows [first, first + rows) of C.
void MultiplyRows(const ReadyRows& a, int64_t first, int64_t rows, const PackedIntegers& b,
                  const IntegerEpilogue& out) {
  const int64_t most = RowsWithin(kBytesOfBlock, a.stride());
  const int64_t blocks = DivCeil(rows, most);
  const int64_t block_rows = DivCeil(DivCeil(rows, blocks), kRowUnit) * kRowUnit;
  const int64_t panels = b.num_panels();
  const int64_t work = std::max<int64_t>(block_rows * b.rows() * IntegerPanelWidth(), 1);
  // Panel by panel within a block of rows.
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

absl::Status IntegerGemm(const IntegerRows& a, const PackedIntegers& b,
                         const IntegerEpilogue& epilogue, Allocator& allocator) {
  const int64_t at_once = std::min(RowsWithin(kBytesAtOnce, 4 * b.steps()), a.rows);
  ATTNRUN_ASSIGN_OR_RETURN(ReadyRows rows, ReadyRows::Allocate(at_once, b, allocator));
  for (int64_t first = 0; first < a.rows; first += at_once) {
    const int64_t count = std::min(at_once, a.rows - first);
    rows.Fill(a, first, count);
    MultiplyRows(rows, first, count, b, epilogue);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
