#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Scores are sums of 4 products, of numbers up to 5, whose errors the exponential magnifies.
constexpr double kTolerance = 256 * kEpsilon;

Value* Swapped(GraphBuilder& b, Value* value) {
  return b.Op("Transpose", {value}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
}

Value* Softmax(GraphBuilder& b, Value* scores) {
  Value* scale = b.Constant<float>("scale", {}, {0.5F});
  return b.Op("Softmax", {b.Op("Mul", {scores, scale})}, {{"axis", int64_t{-1}}});
}

Value* Heads(GraphBuilder& b, const std::string& name) {
  return b.Input(name, DataType::kFloat, {"batch", 2, name, 4});
}

TEST(TransposedProductsTest, KeysTimesQueries) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* scores = b.Op("MatMul", {Heads(b, "k"), Swapped(b, Heads(b, "q"))});
    b.Output(b.Op("MatMul", {Softmax(b, Swapped(b, scores)), Heads(b, "v")}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul"), 0);
  test.Dim("k", 5).Dim("v", 5).ExpectSameResults(kTolerance);
}

TEST(TransposedProductsTest, ValuesTimesProbabilities) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* v = b.Input("v", DataType::kFloat, {"batch", 2, 4, "k"});
    Value* scores = b.Op("MatMul", {Heads(b, "q"), Swapped(b, Heads(b, "k"))});
    b.Output(b.Op("MatMul", {v, Swapped(b, Softmax(b, scores))}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul"), 0);
  test.Dim("k", 5).ExpectSameResults(kTolerance);
}

TEST(TransposedProductsTest, ProductsOfNoAttentionStay) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* product = b.Op("MatMul", {Heads(b, "k"), Swapped(b, Heads(b, "q"))});
    b.Output(b.Op("Relu", {Swapped(b, product)}));
  });
  EXPECT_EQ(test.Applied("transposed_products"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(TransposedProductsTest, AProductThatOthersReadStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* scores = b.Op("MatMul", {Heads(b, "k"), Swapped(b, Heads(b, "q"))});
    b.Output(scores);
    b.Output(b.Op("MatMul", {Softmax(b, Swapped(b, scores)), Heads(b, "v")}));
  });
  EXPECT_EQ(test.Applied("transposed_products"), 0);
  test.Dim("k", 5).Dim("v", 5).ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
