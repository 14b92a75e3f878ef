// SPDX-License-Identifier: Apache-2.0
#include "attnrun/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace attnrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Elements 0, 1, 2, ... in row-major order.
Tensor Counting(const Shape& shape) {
  Tensor tensor = Tensor::Allocate(DataType::kFloat, shape).value();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>(i);
  }
  return tensor;
}

std::vector<float> Floats(const Tensor& dense) {
  return {dense.data<float>(), dense.data<float>() + dense.num_elements()};
}

class CountingAllocator final : public Allocator {
 public:
  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    sizes.push_back(bytes);
    return Allocator::Heap().Allocate(bytes);
  }
  std::vector<size_t> sizes;
};

TEST(TensorTest, DefaultIsNoTensor) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_EQ(tensor.byte_size(), 0);
  EXPECT_FALSE(tensor.is_exclusive());
}

TEST(TensorTest, AllocateReservesTheBytesOfTypeAndShape) {
  CountingAllocator allocator;
  const std::vector<std::pair<DataType, size_t>> bytes_of_nine = {
      {DataType::kDouble, 72}, {DataType::kFloat16, 18}, {DataType::kBool, 9},
      {DataType::kInt4, 5},    {DataType::kUint2, 3},    {DataType::kComplex128, 144}};
  for (const auto& [type, bytes] : bytes_of_nine) {
    const Tensor tensor = Tensor::Allocate(type, {3, 3}, allocator).value();
    EXPECT_EQ(tensor.byte_size(), bytes) << Name(type);
    EXPECT_EQ(allocator.sizes.back(), bytes) << Name(type);
    EXPECT_TRUE(tensor.is_mutable() && tensor.is_dense());
  }
}

TEST(TensorTest, MemoryIsAlignedAndHasAnAddressEvenIfEmpty) {
  for (const int64_t count : {0, 1, 17, 4096}) {
    const Tensor tensor = Tensor::Allocate(DataType::kUint8, {count}).value();
    ASSERT_NE(tensor.raw(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw()) % 64, 0);
  }
}

TEST(TensorTest, AllocateRefusesImpossibleTypesAndShapes) {
  EXPECT_FALSE(Tensor::Allocate(DataType::kUndefined, {1}).ok());
  EXPECT_FALSE(Tensor::Allocate(static_cast<DataType>(27), {1}).ok());
  EXPECT_FALSE(Tensor::Allocate(static_cast<DataType>(-1), {1}).ok());
  EXPECT_EQ(Tensor::Allocate(DataType::kFloat, {-1}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TensorTest, BytesBeyond64BitsAreInvalid) {
  // The element count fits 64 bits, the byte count does not.
  const absl::Status status = Tensor::Allocate(DataType::kDouble, {kMax / 4}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("64-bit"));
  EXPECT_EQ(Tensor::Borrow(DataType::kDouble, {int64_t{1} << 61}, nullptr, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TensorTest, MoreThanTheMachineHasIsResourceExhausted) {
  EXPECT_EQ(Tensor::Allocate(DataType::kUint8, {kMax}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::Allocate(DataType::kUint2, {kMax}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(TensorTest, StringsBeginEmpty) {
  Tensor tensor = Tensor::Allocate(DataType::kString, {2}).value();
  EXPECT_EQ(tensor.data<std::string>()[1], "");
  // The string is longer than std::string's inline buffer, so the address sanitizer would see a
  // leak.
  tensor.mutable_data<std::string>()[1] = std::string(100, 'x');
  const Tensor swapped = tensor.View({2}, {-1}, 1).Dense().value();
  EXPECT_EQ(swapped.data<std::string>()[0], std::string(100, 'x'));
  EXPECT_EQ(swapped.data<std::string>()[1], "");
}

TEST(TensorTest, OfNeedsOneValuePerElement) {
  EXPECT_THAT(Floats(Tensor::Of<float>({2, 1}, {5, 6}).value()), ElementsAre(5, 6));
  EXPECT_EQ(Tensor::Of<float>({2, 2}, {5, 6}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Of<int64_t>({0}, {}).value().type(), DataType::kInt64);
}

TEST(TensorTest, BorrowViewsTheCallersBytes) {
  const std::array<float, 4> bytes = {1, 2, 3, 4};
  const Tensor tensor = Tensor::Borrow(DataType::kFloat, {2, 2}, bytes.data(), 16).value();
  EXPECT_EQ(tensor.raw(), bytes.data());
  EXPECT_FALSE(tensor.is_mutable());
  EXPECT_FALSE(tensor.is_exclusive());
}

TEST(TensorTest, BorrowedMutableBytesAreNeverExclusive) {
  std::array<float, 4> bytes = {};
  Tensor tensor = Tensor::BorrowMutable(DataType::kFloat, {4}, bytes.data(), 16).value();
  tensor.mutable_data<float>()[3] = 7;
  EXPECT_EQ(bytes[3], 7);
  EXPECT_FALSE(tensor.is_exclusive());
}

TEST(TensorTest, BorrowNeedsTheExactNumberOfBytes) {
  const std::array<float, 4> bytes = {};
  for (const size_t size : {0, 15, 17}) {
    const absl::Status status =
        Tensor::Borrow(DataType::kFloat, {2, 2}, bytes.data(), size).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_THAT(std::string(status.message()), HasSubstr("float[2,2] needs 16 bytes"));
  }
  EXPECT_FALSE(Tensor::Borrow(DataType::kString, {}, bytes.data(), 32).ok());
}

TEST(TensorTest, BorrowHoldsTheOwnerOfTheBytes) {
  auto bytes = std::make_shared<std::array<uint8_t, 4>>();
  const std::weak_ptr<void> watched = bytes;
  {
    Tensor copy;
    {
      const auto tensor = Tensor::Borrow(DataType::kUint8, {4}, bytes->data(), 4, bytes).value();
      copy = tensor.View({2}, {2}, 0);
    }
    bytes.reset();
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST(TensorTest, ExclusiveUntilShared) {
  Tensor tensor = Counting({4});
  EXPECT_TRUE(tensor.is_exclusive());
  {
    const Tensor view = tensor.View({2}, {1}, 0);
    EXPECT_FALSE(tensor.is_exclusive());
    EXPECT_FALSE(view.is_exclusive());
  }
  EXPECT_TRUE(tensor.is_exclusive());
}

TEST(TensorTest, ReshapedSharesTheBytes) {
  const Tensor tensor = Counting({2, 3});
  const Tensor reshaped = tensor.Reshaped({3, 1, 2}).value();
  EXPECT_EQ(reshaped.raw(), tensor.raw());
  EXPECT_EQ(reshaped.shape(), Shape({3, 1, 2}));
  EXPECT_EQ(tensor.shape(), Shape({2, 3}));
}

TEST(TensorTest, ReshapedRefusesOtherCountsAndStrides) {
  const Tensor tensor = Counting({2, 3});
  const std::vector<Shape> wrong = {{5}, {}, {-2, -3}, {6, 0}, {kMax, 2}};
  for (const Shape& shape : wrong) {
    EXPECT_EQ(tensor.Reshaped(shape).status().code(), absl::StatusCode::kInvalidArgument)
        << ToString(shape);
  }
  EXPECT_FALSE(tensor.View({3, 2}, {1, 3}, 0).Reshaped({6}).ok());
}

TEST(TensorTest, AViewIsDenseWhateverTheStridesOfSingleElements) {
  const Tensor tensor = Counting({2, 3});
  EXPECT_TRUE(tensor.View({1, 3}, {17, 1}, 3).is_dense());
  EXPECT_TRUE(tensor.View({2, 1, 3}, {3, 0, 1}, 0).is_dense());
  EXPECT_FALSE(tensor.View({2, 1}, {3, 1}, 0).is_dense());
  EXPECT_FALSE(tensor.View({1, 3}, {3, 0}, 0).is_dense());
}

TEST(TensorTest, DenseGathersAStridedView) {
  const Tensor tensor = Counting({2, 3});
  const Tensor transposed = tensor.View({3, 2}, {1, 3}, 0);
  EXPECT_FALSE(transposed.is_dense());
  EXPECT_THAT(Floats(transposed.Dense().value()), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(Floats(tensor.View({2, 2}, {0, 1}, 4).Dense().value()), ElementsAre(4, 5, 4, 5));
  EXPECT_THAT(Floats(tensor.View({2, 2}, {-3, -1}, 5).Dense().value()), ElementsAre(5, 4, 2, 1));
}

TEST(TensorTest, DenseDoesNotCopyADenseTensor) {
  const Tensor tensor = Counting({2, 3});
  const Tensor row = tensor.View({3}, {1}, 3);
  EXPECT_TRUE(row.is_dense());
  CountingAllocator allocator;
  const Tensor dense = row.Dense(allocator).value();
  EXPECT_EQ(dense.raw(), tensor.data<float>() + 3);
  EXPECT_TRUE(allocator.sizes.empty());
}

TEST(TensorTest, ViewsOfViewsKeepTheOffset) {
  const Tensor column = Counting({2, 3}).View({2}, {3}, 1);
  EXPECT_THAT(Floats(column.View({1}, {1}, 3).Dense().value()), ElementsAre(4));
  EXPECT_THAT(Floats(column.Dense().value()), ElementsAre(1, 4));
}

TEST(TensorTest, EmptyViewsAreEmpty) {
  const Tensor empty = Counting({2, 3}).View({0, 2}, {1, 3}, 0);
  EXPECT_EQ(empty.num_elements(), 0);
  EXPECT_EQ(empty.Dense().value().shape(), Shape({0, 2}));
}

}  // namespace
}  // namespace attnrun
