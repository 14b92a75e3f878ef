// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "attnrun/tensor.h"

namespace attnrun {
namespace {

using ::testing::HasSubstr;

Tensor Numbers(const std::vector<float>& elements) {
  return *Tensor::Of<float>({static_cast<int64_t>(elements.size())}, elements);
}

std::vector<float> Firsts(const Tensor& sequence) {
  std::vector<float> firsts;
  for (const Tensor& tensor : sequence.tensors()) firsts.push_back(tensor.data<float>()[0]);
  return firsts;
}

TEST(SequenceTest, HoldsTensorsOfDifferentShapesAndSharesTheirBytes) {
  const Tensor a = Numbers({1});
  const Tensor b = Numbers({2, 3});
  const auto sequence = Tensor::Sequence(DataType::kFloat, {a, b});
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  EXPECT_TRUE(sequence->is_sequence());
  EXPECT_EQ(sequence->element_type(), DataType::kFloat);
  EXPECT_EQ(TypeAndShape(*sequence), "sequence(float)[2]");
  EXPECT_EQ(sequence->tensors()[1].raw(), b.raw());
  EXPECT_EQ(TypeAndShape(sequence->tensors()[1]), "float[2]");
  EXPECT_FALSE(sequence->is_mutable());
}

TEST(SequenceTest, MakesItsTensorsDense) {
  const Tensor rows = *Tensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const auto sequence = Tensor::Sequence(DataType::kFloat, {rows.View({2}, {2}, 1)});
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  EXPECT_TRUE(sequence->tensors()[0].is_dense());
  EXPECT_EQ(sequence->tensors()[0].data<float>()[1], 4);
}

TEST(SequenceTest, AnEmptyOneHasAType) {
  const Tensor empty = *Tensor::Sequence(DataType::kInt64, {});
  EXPECT_EQ(TypeAndShape(empty), "sequence(int64)[0]");
  EXPECT_TRUE(empty.tensors().empty());
  EXPECT_TRUE(empty.defined());
}

TEST(SequenceTest, RefusesOtherTypes) {
  const auto mixed = Tensor::Sequence(DataType::kInt64, {Numbers({1})});
  EXPECT_THAT(mixed.status().message(),
              HasSubstr("a sequence of int64 tensors cannot hold float[1]"));
  const Tensor empty = *Tensor::Sequence(DataType::kInt64, {});
  EXPECT_FALSE(empty.Appended(Numbers({1})).ok());
  EXPECT_FALSE(empty.Appended(empty).ok());
  EXPECT_FALSE(Tensor::Sequence(DataType::kSequence, {empty}).ok());
  EXPECT_FALSE(Tensor::Sequence(DataType::kUndefined, {}).ok());
  EXPECT_FALSE(Tensor::Allocate(DataType::kSequence, {2}).ok());
}

TEST(SequenceTest, AppendingLeavesTheOldOneAsItIs) {
  const Tensor none = *Tensor::Sequence(DataType::kFloat, {});
  const Tensor one = *none.Appended(Numbers({1}));
  const Tensor two = *one.Appended(Numbers({2}));
  const Tensor other = *one.Appended(Numbers({3}));
  EXPECT_EQ(Firsts(none), std::vector<float>());
  EXPECT_EQ(Firsts(one), std::vector<float>({1}));
  EXPECT_EQ(Firsts(two), std::vector<float>({1, 2}));
  EXPECT_EQ(Firsts(other), std::vector<float>({1, 3}));
}

TEST(SequenceTest, AppendingSharesTheTensorObjects) {
  Tensor sequence = *Tensor::Sequence(DataType::kFloat, {});
  const Tensor element = Numbers({1});
  int moved = 0;
  for (int i = 0; i < 1000; ++i) {
    Tensor longer = *sequence.Appended(element);
    if (longer.raw() != sequence.raw()) ++moved;
    sequence = std::move(longer);
  }
  EXPECT_EQ(sequence.num_elements(), 1000);
  // The room doubles: 4, 8, ..., 1024.
  EXPECT_LE(moved, 9);
}

TEST(SequenceTest, ThreadsMayAppendToOneSequence) {
  Tensor shared = *Tensor::Sequence(DataType::kFloat, {});
  for (int i = 0; i < 5; ++i) shared = *shared.Appended(Numbers({0}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&shared, &wrong, t] {
      for (int i = 0; i < 200; ++i) {
        const auto own = shared.Appended(Numbers({static_cast<float>(t)}));
        if (!own.ok() || Firsts(*own).back() != static_cast<float>(t)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(shared.num_elements(), 5);
}

// Refuses whatever goes beyond 4 kB.
class SmallAllocator final : public Allocator {
 public:
  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    if (bytes > 4096) return absl::ResourceExhaustedError("too large");
    return Heap().Allocate(bytes);
  }
};

TEST(SequenceTest, ItsLengthIsBoundedByTheAllocator) {
  SmallAllocator allocator;
  const Tensor element = Numbers({1});
  Tensor sequence = *Tensor::Sequence(DataType::kFloat, {}, allocator);
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    absl::StatusOr<Tensor> longer = sequence.Appended(element, allocator);
    status = longer.status();
    if (status.ok()) sequence = *std::move(longer);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Firsts(sequence).back(), 1);
}

}  // namespace
}  // namespace attnrun
