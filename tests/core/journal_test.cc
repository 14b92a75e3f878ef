// SPDX-License-Identifier: Apache-2.0
#include "core/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;

std::vector<float> ElementsOf(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
}

// As an operator does.
void Overwrite(const Tensor& tensor, int64_t element, float value) {
  Journal* const journal = JournalOf(tensor);
  ASSERT_NE(journal, nullptr);
  journal->Save(element * 4, 4);
  const_cast<float*>(tensor.data<float>())[element] = value;
}

Tensor Zeros() { return *MakeJournaled(DataType::kFloat, {2, 2}, Allocator::Heap()); }

TEST(JournalTest, TakesBackFromTheLastToTheFirst) {
  const Tensor kept = Zeros();
  const Tensor lent = Lent(kept);
  EXPECT_EQ(lent.raw(), kept.raw());
  Overwrite(lent, 1, 5);
  Overwrite(lent, 2, 6);
  Commit(kept);
  Overwrite(lent, 2, 7);
  Overwrite(lent, 2, 8);
  Overwrite(lent, 0, 9);
  EXPECT_THAT(ElementsOf(kept), ElementsAre(9, 5, 8, 0));
  RollBack(kept);
  EXPECT_THAT(ElementsOf(kept), ElementsAre(0, 5, 6, 0));
  RollBack(kept);
  EXPECT_THAT(ElementsOf(kept), ElementsAre(0, 5, 6, 0));
}

TEST(JournalTest, ReadersOfTheOldElementsAreSpared) {
  const Tensor kept = Zeros();
  const Tensor lent = Lent(kept);
  EXPECT_NE(JournalOf(lent), nullptr);
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): a copy is what is tested.
  const Tensor copy = lent;
  EXPECT_EQ(JournalOf(lent), nullptr);
  EXPECT_TRUE(HasJournal(copy));
}

TEST(JournalTest, OtherTensorsHaveNone) {
  EXPECT_FALSE(HasJournal(Tensor()));
  EXPECT_FALSE(HasJournal(*Tensor::Of<float>({1}, {1})));
  const Tensor part = Zeros().View({2}, {2}, 0);
  EXPECT_FALSE(HasJournal(part));
  EXPECT_EQ(JournalOf(part), nullptr);
}

TEST(JournalTest, RemembersZerosUntilTheNextSave) {
  const Tensor kept = Zeros();
  const Tensor lent = Lent(kept);
  Journal* const journal = JournalOf(lent);
  EXPECT_EQ(journal->ZerosFrom({2, 2}), 0);
  journal->Save(0, 4);
  EXPECT_EQ(journal->ZerosFrom({2, 2}), std::nullopt);
  journal->SetZerosFrom({2, 2}, 1);
  EXPECT_EQ(journal->ZerosFrom({2, 2}), 1);
  EXPECT_EQ(journal->ZerosFrom({4}), std::nullopt);
  RollBack(kept);
  EXPECT_EQ(journal->ZerosFrom({2, 2}), std::nullopt);
}

}  // namespace
}  // namespace attnrun::testing
