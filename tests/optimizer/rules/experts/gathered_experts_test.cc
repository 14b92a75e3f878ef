// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int64_t kExperts = 4;
constexpr int64_t kHidden = 8;
constexpr int64_t kInner = 6;
// Sums of 8 and of 6 products, of two experts.
constexpr double kTolerance = 64 * kEpsilon;

// How experts are written that gather their weights for each row.
struct Spelling {
  // Weights [E, N, K] before the rows, by GatherND; else rows before weights [E, K, N], by Gather.
  bool weights_first = true;
  bool biases = false;
  // Gate and factor are two layers, not halves of one.
  bool three_layers = false;
  // Gate and factor are limited, as GPT-OSS does; Min stands for a Clip with one bound.
  bool limited = false;
  // A token chooses the best and the worst expert: places of ArgMax.
  bool best_and_worst = false;
  // The numbers are a remainder, not places of a TopK.
  bool hashed = false;
  // The rows are all tokens twice, not each token twice.
  bool tiled = false;
  // The second layer has the expert of another route.
  bool crossed = false;
  // One number more than there are experts stands for none: it is replaced by 0 with a weight of 0,
  // where it is `skipped`.
  bool skips = false;
  int64_t skipped = kExperts;
  // All are halves, which are widened before they are added up.
  bool halves = false;
};

class Mixture {
 public:
  Mixture(GraphBuilder& b, const Spelling& spelling) : b_(b), s_(spelling) {}

  void Write() {
    Value* x = Shaped(b_, Typed(b_.Input("x", DataType::kFloat, {"batch", "seq", kHidden})),
                      {-1, kHidden});
    Value* router = b_.Op("MatMul", {x, Random({kHidden, kExperts + (s_.skips ? 1 : 0)})});
    auto top = b_.Ops("TopK", 2, {b_.Op("Softmax", {router}), Vector(b_, {2})});
    if (s_.skips) {
      Value* skipped = b_.Op("Equal", {top[1], Scalar(b_, s_.skipped)});
      top = {b_.Op("Where", {skipped, Typed(Number(b_, 0)), top[0]}),
             b_.Op("Where", {skipped, Scalar(b_, 0), top[1]})};
    }
    numbers_ = Shaped(b_, top[1], {-1});
    if (s_.best_and_worst) numbers_ = Shaped(b_, BestAndWorst(router), {-1});
    if (s_.hashed) numbers_ = b_.Op("Mod", {numbers_, Scalar(b_, kExperts)});
    Value* rows = s_.tiled ? b_.Op("Tile", {x, Vector(b_, {2, 1})}) : Repeated(x);
    Value* inner = Gated(rows);
    if (s_.crossed)
      numbers_ = Shaped(b_, Transposed(b_, Shaped(b_, numbers_, {-1, 2}), {1, 0}), {-1});
    Value* weights = b_.Op("Unsqueeze", {Shaped(b_, top[0], {-1}), Vector(b_, {-1})});
    Value* results = b_.Op("Mul", {Layer(inner, kInner, kHidden), weights});
    results = Shaped(b_, results, {-1, 2, kHidden});
    if (s_.halves) results = Cast(results, DataType::kFloat);
    b_.Output(b_.Op("ReduceSum", {results, Vector(b_, {1})}, {{"keepdims", int64_t{0}}}));
  }

 private:
  Value* BestAndWorst(Value* router) {
    Value* turned = b_.Op("Neg", {router});
    Value* a = b_.Op("ArgMax", {router}, {{"axis", int64_t{-1}}});
    Value* b = b_.Op("ArgMax", {turned}, {{"axis", int64_t{-1}}});
    return b_.Op("Concat", {a, b}, {{"axis", int64_t{-1}}});
  }

  Value* Random(const std::vector<int64_t>& shape) {
    return Typed(b_.Constant("w", RandomFloats(shape, generator_, 0.4F)));
  }

  Value* Cast(Value* x, DataType type) {
    return b_.Op("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
  }
  Value* Typed(Value* x) { return s_.halves ? Cast(x, DataType::kFloat16) : x; }

  Value* Repeated(Value* x) {
    Value* wide = b_.Op("Unsqueeze", {x, Vector(b_, {1})});
    return Shaped(b_, b_.Op("Expand", {wide, Vector(b_, {1, 2, 1})}), {-1, kHidden});
  }

  Value* Gathered(Value* constant) {
    if (!s_.weights_first) return b_.Op("Gather", {constant, numbers_});
    return b_.Op("GatherND", {constant, b_.Op("Unsqueeze", {numbers_, Vector(b_, {-1})})});
  }

  Value* Layer(Value* rows, int64_t from, int64_t to) {
    const int64_t axis = s_.weights_first ? 2 : 1;
    Value* vectors = b_.Op("Unsqueeze", {rows, Vector(b_, {axis})});
    Value* product = s_.weights_first
                         ? b_.Op("MatMul", {Gathered(Random({kExperts, to, from})), vectors})
                         : b_.Op("MatMul", {vectors, Gathered(Random({kExperts, from, to}))});
    Value* result = b_.Op("Squeeze", {product, Vector(b_, {axis})});
    return s_.biases ? b_.Op("Add", {result, Gathered(Random({kExperts, to}))}) : result;
  }

  Value* Gated(Value* rows) {
    Value* gate = nullptr;
    Value* factor = nullptr;
    if (s_.three_layers) {
      gate = Layer(rows, kHidden, kInner);
      factor = Layer(rows, kHidden, kInner);
    } else {
      const auto halves = b_.Ops("Split", 2, {Layer(rows, kHidden, 2 * kInner)},
                                 {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}});
      gate = halves[0];
      factor = halves[1];
    }
    if (s_.limited) {
      gate = b_.Op("Min", {gate, Number(b_, 0.5F)});
      factor = b_.Op("Clip", {factor, Number(b_, -0.5F), Number(b_, 0.5F)});
    }
    return b_.Op("Mul", {b_.Op("Mul", {gate, b_.Op("Sigmoid", {gate})}), factor});
  }

  GraphBuilder& b_;
  const Spelling s_;
  std::mt19937 generator_{7};
  Value* numbers_ = nullptr;
};

OptimizerTester Mixed(const Spelling& spelling) {
  return OptimizerTester([=](GraphBuilder& b) { Mixture(b, spelling).Write(); });
}

TEST(GatheredExpertsTest, BecomeOneOperator) {
  for (const Spelling& spelling :
       {Spelling{}, Spelling{.weights_first = false}, Spelling{.biases = true},
        Spelling{.weights_first = false, .biases = true}, Spelling{.three_layers = true},
        Spelling{.limited = true}, Spelling{.best_and_worst = true}, Spelling{.skips = true},
        Spelling{.weights_first = false, .biases = true, .three_layers = true}}) {
    SCOPED_TRACE(::testing::Message() << spelling.weights_first << spelling.biases);
    OptimizerTester test = Mixed(spelling);
    EXPECT_EQ(test.Count("attnrun.Experts"), 1) << test.Ops();
    EXPECT_EQ(test.Count("MatMul") + test.Count("Gather") + test.Count("GatherND"), 0)
        << test.Ops();
    test.Dim("batch", 2).Dim("seq", 12).ExpectSameResults(kTolerance);
    test.Dim("batch", 1).Dim("seq", 1).ExpectSameResults(kTolerance);
    test.Dim("seq", 0).ExpectSameResults(kTolerance);
  }
}

TEST(GatheredExpertsTest, HalvesAreWidenedForTheSum) {
  OptimizerTester test = Mixed({.halves = true});
  EXPECT_EQ(test.Count("attnrun.Experts"), 1) << test.Ops();
  EXPECT_EQ(test.Count("MatMul") + test.Count("GatherND"), 0) << test.Ops();
  // Each result of a layer is rounded to 11 bits.
  test.Dim("batch", 2).Dim("seq", 12).ExpectSameResults(0x1p-8);
}

// The number that has no weights must be the one that is replaced.
TEST(GatheredExpertsTest, NumbersBeyondTheWeightsStay) {
  OptimizerTester test = Mixed({.skips = true, .skipped = kExperts - 1});
  EXPECT_EQ(test.Count("attnrun.Experts"), 0) << test.Ops();
  EXPECT_THAT(test.Misses("experts"), Contains(HasSubstr("may be beyond those that it adds")));
}

TEST(GatheredExpertsTest, OthersStay) {
  const auto expect = [](const Spelling& spelling, const char* why) {
    OptimizerTester test = Mixed(spelling);
    EXPECT_EQ(test.Count("attnrun.Experts"), 0) << test.Ops();
    if (*why != '\0') {
      EXPECT_THAT(test.Misses("experts"), Contains(HasSubstr(why)));
    }
    test.Dim("batch", 1).Dim("seq", 5).ExpectSameResults(kTolerance);
  };
  expect({.hashed = true}, "may be beyond those that it adds");
  expect({.tiled = true}, "the experts read other rows than those of all tokens");
  expect({.crossed = true}, "");
}

}  // namespace
}  // namespace attnrun::testing
