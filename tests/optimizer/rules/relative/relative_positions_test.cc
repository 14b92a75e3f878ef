// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Attention of 3 to 5 keys and heads of size 4.
constexpr double kTolerance = 64 * kEpsilon;

// The positions of `seq` queries and keys, where the queries may follow a past, and the values that
// are computed from their distances.
struct Positions {
  GraphBuilder& b;
  Value* tokens = b.Input("x", DataType::kFloat, {"batch", 2, "seq", 4});

  Value* Int(int64_t number) { return b.Constant<int64_t>("n", {}, {number}); }
  Value* Count() {
    Value* shape = b.Op("Shape", {tokens}, {{"start", int64_t{2}}, {"end", int64_t{3}}});
    return b.Op("Squeeze", {shape});
  }
  Value* Range(int64_t start) {
    return b.Op("Range", {Int(start), b.Op("Add", {Count(), Int(start)}), Int(1)});
  }
  Value* Column(Value* list) {
    return b.Op("Unsqueeze", {list, b.Constant<int64_t>("axis", {1}, {1})});
  }
  Value* Distances(int64_t past = 0) { return b.Op("Sub", {Range(0), Column(Range(past))}); }

  // Rows of a table [7, 2] for the distances, clipped to 3 on either side, as a bias [2, S, T].
  Value* Bias(Value* distances) {
    Value* bucket = b.Op("Add", {b.Op("Clip", {distances, Int(-3), Int(3)}), Int(3)});
    Value* table =
        b.Constant<float>("table", {7, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
    return b.Op("Transpose", {b.Op("Gather", {table, bucket})},
                {{"perm", std::vector<int64_t>{2, 0, 1}}});
  }
  Value* Attend(Value* bias) {
    Value* keys = b.Op("Transpose", {tokens}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    Value* scores = b.Op("Add", {b.Op("MatMul", {tokens, keys}), bias});
    return b.Op("MatMul", {b.Op("Softmax", {scores}), tokens});
  }
};

void ExpectOncePerDistance(const OptimizerTester::Build& build, int expected = 1) {
  OptimizerTester test(build);
  EXPECT_EQ(test.Count("attnrun.RelativePositions"), expected);
  EXPECT_EQ(test.Count("attnrun.RelativeToAbsolute"), expected);
  EXPECT_EQ(test.Count("Sub"), 1 - expected);
  for (const int64_t seq : {0, 1, 5}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
}

TEST(RelativePositionsFusionTest, ATableIsReadOncePerDistance) {
  ExpectOncePerDistance([](GraphBuilder& b) {
    Positions p{b};
    b.Output(p.Attend(p.Bias(p.Distances())));
  });
}

TEST(RelativePositionsFusionTest, QueriesMayFollowAPast) {
  ExpectOncePerDistance([](GraphBuilder& b) {
    Positions p{b};
    Value* distances = b.Op("Sub", {p.Column(p.Range(2)), p.Range(0)});
    b.Output(p.Attend(p.Bias(distances)));
  });
}

TEST(RelativePositionsFusionTest, TwoLayersMayShareOneBias) {
  ExpectOncePerDistance([](GraphBuilder& b) {
    Positions p{b};
    Value* bias = p.Bias(p.Distances());
    Value* first = p.Attend(bias);
    b.Output(b.Op("Add", {first, p.Attend(b.Op("Mul", {bias, b.Constant<float>("f", {}, {1})}))}));
  });
}

TEST(RelativePositionsFusionTest, TheBiasMayBeComputed) {
  ExpectOncePerDistance([](GraphBuilder& b) {
    Positions p{b};
    Value* far = b.Op("Cast", {b.Op("Abs", {p.Distances()})}, {{"to", int64_t{1}}});
    Value* slopes = b.Constant<float>("slopes", {2, 1, 1}, {-0.5, -0.25});
    Value* wide = b.Op("Greater", {far, b.Constant<float>("two", {}, {2})});
    Value* bias = b.Op("Where", {wide, b.Constant<float>("low", {}, {-3}), far});
    b.Output(p.Attend(b.Op("Mul", {bias, slopes})));
  });
}

TEST(RelativePositionsFusionTest, ValuesThatDependOnMoreThanDistancesStay) {
  // The bias has a factor per key.
  ExpectOncePerDistance(
      [](GraphBuilder& b) {
        Positions p{b};
        Value* bias = p.Bias(p.Distances());
        Value* keys = b.Op("Cast", {p.Range(0)}, {{"to", int64_t{1}}});
        b.Output(p.Attend(b.Op("Mul", {bias, keys})));
      },
      0);
  // The positions of keys are multiples of two.
  ExpectOncePerDistance(
      [](GraphBuilder& b) {
        Positions p{b};
        Value* keys = b.Op("Mul", {p.Range(0), p.Int(2)});
        b.Output(p.Attend(p.Bias(b.Op("Sub", {keys, p.Column(p.Range(0))}))));
      },
      0);
  // Another node reads the pairs.
  ExpectOncePerDistance(
      [](GraphBuilder& b) {
        Positions p{b};
        Value* bias = p.Bias(p.Distances());
        b.Output(p.Attend(bias)).Output(b.Op("ReduceSum", {bias}));
      },
      0);
}

}  // namespace
}  // namespace attnrun::testing
