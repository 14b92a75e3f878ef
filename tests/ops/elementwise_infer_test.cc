// What elementwise operators tell of their outputs before a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elements.h"
#include "ops/registry.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

const SymInt kSeq = SymInt::Symbol("seq");

ValueFacts Facts(DataType type, std::vector<SymInt> dims) { return {type, dims, std::nullopt}; }

// A vector of integers, as shapes are computed on.
ValueFacts Numbers(std::vector<SymInt> contents) {
  return {DataType::kInt64, std::vector<SymInt>{static_cast<int64_t>(contents.size())}, contents};
}

ValueFacts Infer(const std::string& op_type, const std::vector<ValueFacts>& inputs,
                 AttributeMap attributes = {}) {
  Graph graph;
  NodeSpec spec;
  spec.op_type = op_type;
  spec.opset = 20;
  spec.attributes = std::move(attributes);
  std::vector<const ValueFacts*> facts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    spec.inputs.push_back(graph.AddInput(absl::StrCat("x", i), Type()).value());
    facts.push_back(&inputs[i]);
  }
  const Node* node = graph.AddNode(std::move(spec), {"y"}).value();
  const std::unique_ptr<Op> op = OpRegistry::Get().Create(*node).value();
  const std::vector<const Tensor*> constants(inputs.size(), nullptr);
  ValueFacts output;
  InferContext context(facts, constants, absl::MakeSpan(&output, 1));
  op->Infer(context);
  return output;
}

TEST(ElementwiseInferTest, ShapesBroadcast) {
  const ValueFacts a = Facts(DataType::kFloat, {2, kSeq, 1});
  const ValueFacts b = Facts(DataType::kFloat, {kSeq, 8});
  const std::vector<SymInt> both = {2, kSeq, 8};
  EXPECT_EQ(Infer("Add", {a, b}).dims, both);
  EXPECT_EQ(Infer("Add", {a, b}).type, DataType::kFloat);
  EXPECT_EQ(Infer("Less", {a, b}).type, DataType::kBool);
  EXPECT_EQ(Infer("Where", {Facts(DataType::kBool, {1}), a, b}).dims, both);
  EXPECT_EQ(Infer("Where", {Facts(DataType::kBool, {1}), a, b}).type, DataType::kFloat);
  EXPECT_EQ(Infer("Exp", {a}).dims, a.dims);
  EXPECT_EQ(Infer("Add", {a, ValueFacts()}).dims, std::nullopt);
}

TEST(ElementwiseInferTest, ShapeArithmeticIsFollowed) {
  using Contents = std::optional<std::vector<SymInt>>;
  const ValueFacts shape = Numbers({4 * kSeq, 12});
  EXPECT_EQ(Infer("Mul", {shape, Numbers({2})}).contents, Contents({8 * kSeq, 24}));
  EXPECT_EQ(Infer("Sub", {shape, Numbers({kSeq, 13})}).contents, Contents({3 * kSeq, -1}));
  EXPECT_EQ(Infer("Div", {shape, Numbers({4})}).contents, Contents({kSeq, 3}));
  EXPECT_EQ(Infer("Div", {Numbers({-7}), Numbers({2})}).contents, Contents({-3}));
  EXPECT_EQ(Infer("Div", {Numbers({kSeq}), Numbers({2})}).contents,
            Infer("Div", {Numbers({kSeq}), Numbers({2})}).contents);
  EXPECT_NE(Infer("Div", {Numbers({1}), Numbers({0})}).contents,
            Infer("Div", {Numbers({1}), Numbers({0})}).contents);
  EXPECT_EQ(Infer("Max", {Numbers({kSeq}), Numbers({kSeq})}).contents, Contents({kSeq}));
  EXPECT_EQ(Infer("Identity", {shape}).contents, shape.contents);
  const AttributeMap to_int32 = {{"to", static_cast<int64_t>(DataType::kInt32)}};
  EXPECT_EQ(Infer("Cast", {shape}, to_int32).contents, shape.contents);
  EXPECT_EQ(Infer("Cast", {shape}, to_int32).type, DataType::kInt32);
  // Longer operands have no contents, so none come out.
  EXPECT_EQ(Infer("Add", {shape, Facts(DataType::kInt64, {2})}).contents, std::nullopt);
}

}  // namespace
}  // namespace attnrun::testing
