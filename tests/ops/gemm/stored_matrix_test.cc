// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/stored_matrix.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/elements.h"
#include "ops/gemm/packed_matrix.h"
#include "ops/tensors/float_rows.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kRows = 75;
constexpr int64_t kColumns = 140;

class StoredMatrixTest : public ::testing::TestWithParam<DataType> {
 protected:
  StoredMatrixTest() {
    std::mt19937 generator(Seed());
    const Tensor floats = RandomFloats({kRows, kColumns}, generator);
    stored_ = FromDoubles(GetParam(), floats.shape(), ToDoubles(floats).value()).value();
    floats_ = ops::AsFloat(stored_, Allocator::Heap()).value();
  }

  // A block of the matrix that is stored.
  static std::vector<float> Block(const ops::StoredMatrix& matrix, int64_t row, int64_t rows,
                                  int64_t column, int64_t columns) {
    std::vector<float> block(rows * (columns + 3), -1);
    ops::CopyBlock(matrix, row, rows, column, columns, block.data(), columns + 3);
    return block;
  }

  Tensor stored_;
  Tensor floats_;
};

TEST_P(StoredMatrixTest, BlocksAreThoseOfTheFloats) {
  const ops::StoredMatrix stored(stored_);
  const ops::StoredMatrix floats(floats_);
  EXPECT_EQ(Block(stored, 0, kRows, 0, kColumns), Block(floats, 0, kRows, 0, kColumns));
  EXPECT_EQ(Block(stored, 5, 34, 7, 66), Block(floats, 5, 34, 7, 66));
  EXPECT_EQ(Block(stored.Transposed(), 0, kColumns, 0, kRows),
            Block(floats.Transposed(), 0, kColumns, 0, kRows));
  EXPECT_EQ(Block(stored.Transposed(), 3, 100, 8, 67), Block(floats.Transposed(), 3, 100, 8, 67));
  const auto second = [](const Tensor& tensor) {
    return ops::StoredMatrix(tensor.View({kRows / 2, kColumns / 2}, {2 * kColumns, 2}, kColumns));
  };
  EXPECT_EQ(Block(second(stored_), 1, 30, 2, 60), Block(second(floats_), 1, 30, 2, 60));
}

// Rows in runs, as those of a kernel's taps: a view of the matrix's columns as [runs, rows].
TEST_P(StoredMatrixTest, BlocksOfRunsAreThoseOfTheirRows) {
  constexpr int64_t kRuns = 4;
  constexpr int64_t kRunRows = kColumns / kRuns;
  const auto in_runs = [](const Tensor& tensor) {
    ops::StoredMatrix matrix = ops::StoredMatrix(tensor).Transposed();
    matrix.row_stride = kRuns;
    matrix.run_rows = kRunRows;
    matrix.run_stride = 1;
    return matrix;
  };
  std::vector<float> turned;
  for (int64_t i = 0; i < kColumns; ++i) {
    const int64_t from = i % kRunRows * kRuns + i / kRunRows;
    for (int64_t j = 0; j < kRows; ++j)
      turned.push_back(floats_.data<float>()[j * kColumns + from]);
  }
  const ops::MatrixView rows = {turned.data(), kColumns, kRows, kRows};
  const ops::StoredMatrix stored = in_runs(stored_);
  EXPECT_EQ(stored.bytes().data(), stored_.raw());
  EXPECT_EQ(stored.bytes().size(), stored_.byte_size());
  EXPECT_EQ(Block(stored, 0, kColumns, 0, kRows), Block(rows, 0, kColumns, 0, kRows));
  EXPECT_EQ(Block(stored, 3, 100, 8, 67), Block(rows, 3, 100, 8, 67));
  EXPECT_EQ(Block(stored, kRunRows + 1, 5, 2, 30), Block(rows, kRunRows + 1, 5, 2, 30));
}

TEST_P(StoredMatrixTest, PacksToTheBytesOfTheFloats) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8}) {
    ops::KernelContext context;
    context.precision = precision;
    const auto stored = ops::PackedMatrix::Pack(ops::StoredMatrix(stored_), context, GetParam());
    const auto floats = ops::PackedMatrix::Pack(ops::StoredMatrix(floats_), context, GetParam());
    EXPECT_EQ(*stored, *floats) << "they share their bytes, which are equal";
  }
}

INSTANTIATE_TEST_SUITE_P(All, StoredMatrixTest,
                         ::testing::Values(DataType::kFloat, DataType::kFloat16,
                                           DataType::kBfloat16));

}  // namespace
}  // namespace attnrun::testing
