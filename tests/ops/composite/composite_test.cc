// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/composite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ops::Body;
using ops::Composite;
using ops::ValueFacts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

absl::StatusOr<std::vector<Tensor>> RunOp(const Composite& op, const std::vector<Tensor>& inputs,
                                          int outputs = 1) {
  std::vector<Tensor> results(outputs);
  ops::OpContext context(inputs, absl::MakeSpan(results), Allocator::Heap());
  absl::Status status = op.Reference(context);
  if (!status.ok()) return status;
  return results;
}

ValueFacts Infer(const Composite& op, const ValueFacts& x) {
  const std::vector<const ValueFacts*> facts = {&x};
  const std::vector<const Tensor*> constants = {nullptr};
  std::vector<ValueFacts> outputs(1);
  ops::InferContext context(facts, constants, absl::MakeSpan(outputs));
  op.Infer(context);
  return outputs[0];
}

// x, its last axis in two halves, the second one only if it is wanted.
const Composite& Halves() {
  static const auto* const op = new Composite([](Body& b) {
    if (b.RankOf(b.input(0)) < 0) return b.Fail("the rank of x is not known");
    b.Expect("x", b.input(0), DataType::kFloat, {SymInt::Unknown(), 4});
    const auto halves = b.Ops("Split", 2, {b.input(0), b.Ints({2, 2})}, {{"axis", int64_t{-1}}});
    b.Give(halves[0]);
    if (b.wants(1)) b.Give(halves[1], 1);
  });
  return *op;
}

TEST(CompositeTest, RunsItsBody) {
  const auto halves = RunOp(Halves(), {Make<float>({1, 4}, {1, 2, 3, 4})}, 2);
  ASSERT_TRUE(halves.ok()) << halves.status();
  ExpectClose((*halves)[0], Make<float>({1, 2}, {1, 2}), 0);
  ExpectClose((*halves)[1], Make<float>({1, 2}, {3, 4}), 0);
}

TEST(CompositeTest, InfersThroughConstantsOfItsBody) {
  const SymInt batch = SymInt::Symbol("batch");
  const ValueFacts y = Infer(Halves(), {DataType::kFloat, std::vector<SymInt>{batch, 4}, {}});
  EXPECT_EQ(y.type, DataType::kFloat);
  EXPECT_EQ(y.dims, (std::vector<SymInt>{batch, 2}));
}

TEST(CompositeTest, TellsNothingIfTheBodyFails) {
  EXPECT_FALSE(Infer(Halves(), {DataType::kFloat, std::nullopt, {}}).dims.has_value());
  EXPECT_FALSE(Infer(Halves(), {DataType::kFloat, std::vector<SymInt>{1, 6}, {}}).dims.has_value());
}

TEST(CompositeTest, RequiresWhatItsNodesRequire) {
  const SymInt n = SymInt::Symbol("n");
  const SymInt m = SymInt::Symbol("m");
  const Composite op([](Body& b) {
    b.Give(b.Op("MatMul", {b.input(0), b.input(0)}));
    b.Op("Gather", {b.Ints({5, 6, 7}), b.input(0)});
  });
  const ValueFacts x = {DataType::kInt64, std::vector<SymInt>{n, m}, {}};
  const std::vector<const ValueFacts*> facts = {&x};
  const std::vector<const Tensor*> constants = {nullptr};
  std::vector<ValueFacts> outputs(1);
  ops::InferContext context(facts, constants, absl::MakeSpan(outputs));
  op.Infer(context);
  EXPECT_THAT(context.equal(), ElementsAre(Pair(m, n)));
  ASSERT_EQ(context.indices().size(), 1);
  EXPECT_EQ(context.indices()[0].input, 0);
  EXPECT_TRUE(context.indices()[0].extent.is_constant(3));
}

TEST(CompositeTest, SaysWhatWasExpectedAndFound) {
  EXPECT_THAT(RunOp(Halves(), {Make<float>({1, 2}, {1, 2})}).status().message(),
              HasSubstr("expected x float[_,4], but it is float[1,2]"));
}

TEST(CompositeTest, NamesTheOperatorOfTheStepThatFails) {
  const Composite sum(
      [](Body& b) { b.Give(b.Op("Neg", {b.Op("Add", {b.input(0), b.Ints({1, 2, 3})})})); });
  EXPECT_THAT(RunOp(sum, {Make<int64_t>({2}, {1, 2})}).status().message(),
              HasSubstr("Add: shapes [2] and [3]"));
}

TEST(CompositeTest, RoundsHalvesOnceAtTheEnd) {
  // 2048 + 1 is no float16, so a sum that is rounded between would lose both ones.
  const Composite sum([](Body& b) {
    Value* one = b.Number(b.TypeOf(b.input(0)), 1);
    b.Give(b.Op("Add", {b.Op("Add", {b.input(0), one}), one}));
  });
  const Tensor x = Converted(Make<float>({1}, {2048}), DataType::kFloat16);
  const auto y = RunOp(sum, {x});
  ASSERT_TRUE(y.ok()) << y.status();
  ExpectClose((*y)[0], Converted(Make<float>({1}, {2050}), DataType::kFloat16), 0);
}

TEST(CompositeTest, RefusesHalvesBesideFloats) {
  const Composite sum([](Body& b) {
    b.ExpectFloats({b.input(0), b.input(1)});
    b.Give(b.Op("Add", {b.input(0), b.input(1)}));
  });
  const Tensor x = Make<float>({1}, {2});
  EXPECT_THAT(RunOp(sum, {Converted(x, DataType::kFloat16), x}).status().message(),
              HasSubstr("of one type, but they are float16[1], float[1]"));
}

TEST(CompositeTest, LeavesOutTrailingInputs) {
  const Composite gemm([](Body& b) { b.Give(b.Op("Gemm", {b.input(0), b.input(0), b.input(1)})); });
  const auto y = RunOp(gemm, {Make<float>({1, 1}, {3})});
  ASSERT_TRUE(y.ok()) << y.status();
  ExpectClose((*y)[0], Make<float>({1, 1}, {9}), 0);
}

}  // namespace
}  // namespace attnrun::testing
