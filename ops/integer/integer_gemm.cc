#include "ops/integer/integer_gemm.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/integer/integer_kernel.h"

namespace attnrun {
namespace {

// Rows of A as int16 that are made at once, and all panels of B pass by: bytes.
constexpr int64_t kBytesAtOnce = 4 << 20;
// Of these, what stays in the second-level cache while a panel passes by.
constexpr int64_t kBytesOfBlock = 192 << 10;
// Multiplications worth handing to a thread.
constexpr int64_t kLeastPerRange = 1 << 20;
// What blocks of rows are cut to, so that tiles are whole.
constexpr int64_t kRowUnit = 6;

// So many rows of `bytes` each as fit, in whole tiles.
int64_t RowsWithin(int64_t limit, int64_t bytes) {
  return std::max<int64_t>(limit / std::max<int64_t>(bytes, 1) / kRowUnit, 1) * kRowUnit;
}

// Rows of A less their zero points.
class CentredRows {
 public:
  static absl::StatusOr<CentredRows> Allocate(int64_t rows, int64_t pairs, Allocator& allocator) {
    CentredRows result;
    result.stride_ = 2 * pairs;
    ATTNRUN_ASSIGN_OR_RETURN(result.values_,
                             Tensor::Allocate(DataType::kInt16, {rows, result.stride_}, allocator));
    ATTNRUN_ASSIGN_OR_RETURN(result.sums_, Tensor::Allocate(DataType::kInt32, {rows}, allocator));
    return result;
  }

  // Rows [begin, begin + count) of `a`.
  void Fill(const IntegerRows& a, int64_t begin, int64_t count) {
    const bool is_signed = a.values->type() == DataType::kInt8;
    const auto* const bytes = a.values->data<char>() + a.begin;
    ParallelFor(count, std::max<int64_t>(kLeastPerRange / 16 / (stride_ + 1), 1),
                [&](int64_t first, int64_t last) {
                  for (int64_t i = first; i < last; ++i) {
                    int16_t* const row = values_.mutable_data<int16_t>() + i * stride_;
                    if (stride_ > a.columns) row[a.columns] = 0;
                    sums_.mutable_data<int32_t>()[i] =
                        CentreIntegers(bytes + (begin + i) * a.columns, is_signed,
                                       ZeroPoint(a, begin + i), a.columns, row);
                  }
                });
  }

  const int16_t* row(int64_t i) const { return values_.data<int16_t>() + i * stride_; }
  const int32_t* sums() const { return sums_.data<int32_t>(); }
  int64_t stride() const { return stride_; }

 private:
  static int32_t ZeroPoint(const IntegerRows& a, int64_t row) {
    if (a.zero_points.empty()) return 0;
    return a.zero_points[a.zero_points.size() == 1 ? 0 : row];
  }

  int64_t stride_ = 0;
  Tensor values_;
  Tensor sums_;
};

// Rows [begin, end) of C by the columns of one panel.
struct Block {
  int64_t begin;
  int64_t end;
  int64_t panel;
};

// `first`: the row of C that row 0 of `a` belongs to.
void MultiplyBlock(const CentredRows& a, int64_t first, const PackedIntegers& b,
                   const IntegerEpilogue& out, const Block& block) {
  const int64_t column = block.panel * IntegerPanelWidth();
  const int64_t at = (first + block.begin) * b.columns() + column;
  IntegerProduct product{};
  product.a = a.row(block.begin);
  product.lda = a.stride();
  product.b = b.panel(block.panel);
  product.pairs = b.pairs();
  product.rows = block.end - block.begin;
  product.columns = std::min(IntegerPanelWidth(), b.columns() - column);
  product.ldc = b.columns();
  if (b.offsets() != nullptr) {
    product.offsets = b.offsets() + column;
    product.row_sums = a.sums() + block.begin;
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
void MultiplyRows(const CentredRows& a, int64_t first, int64_t rows, const PackedIntegers& b,
                  const IntegerEpilogue& out) {
  const int64_t most = RowsWithin(kBytesOfBlock, a.stride() * sizeof(int16_t));
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
  const int64_t bytes = 2 * b.pairs() * static_cast<int64_t>(sizeof(int16_t));
  const int64_t at_once = std::min(RowsWithin(kBytesAtOnce, bytes), a.rows);
  ATTNRUN_ASSIGN_OR_RETURN(CentredRows rows, CentredRows::Allocate(at_once, b.pairs(), allocator));
  for (int64_t first = 0; first < a.rows; first += at_once) {
    const int64_t count = std::min(at_once, a.rows - first);
    rows.Fill(a, first, count);
    MultiplyRows(rows, first, count, b, epilogue);
  }
  return absl::OkStatus();
}

}  // namespace attnrun
