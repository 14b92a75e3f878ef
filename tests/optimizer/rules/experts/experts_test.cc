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

constexpr int64_t kExperts = 3;
constexpr int64_t kHidden = 8;
constexpr int64_t kInner = 6;
// Sums of 8 and of 6 products, of at most two experts.
constexpr double kTolerance = 64 * kEpsilon;

// How a mixture of experts is written.
struct Spelling {
  // TorchScript: a OneHot, a Split of what NonZero finds, one index for all columns, and sums of
  // rows set in zeros. Else dynamo's: an Equal, GatherND, and ScatterND that adds.
  bool script = true;
  // TorchScript's loop over the experts that some token chose, not over all.
  bool chosen_only = false;
  // A OneHot that tells one number more than there are experts.
  int64_t classes = kExperts;
  // Weights of all experts in one constant, gate and factor in turns, limited, with biases.
  bool stacked = false;
  // The weights of the routes stand in a row of zeros, one for each expert.
  bool row_of_weights = false;
  // y[tokens] += rows: rows are gathered, added to and set again. Dynamo's list has the tokens
  // before their places.
  bool set_again = false;
  // The last expert has another activation.
  bool other_last = false;
  // The last expert reads other rows.
  bool other_rows = false;
  int64_t experts_added = kExperts;
  // The number of the last expert.
  int64_t last_number = kExperts - 1;
  // Each token chooses one expert, twice.
  bool twice = false;
  // Every expert works on all tokens, as mobius writes it.
  bool all_rows = false;
  // So do all experts at once, as Optimum writes them.
  bool at_once = false;
};

class Mixture {
 public:
  Mixture(GraphBuilder& b, const Spelling& spelling) : b_(b), s_(spelling) {}

  void Write() {
    x_ = b_.Input("x", DataType::kFloat, {"batch", "seq", kHidden});
    if (s_.script || !s_.all_rows) x_ = Shaped(b_, x_, {-1, kHidden});
    Value* router = b_.Op("MatMul", {x_, Random({kHidden, kExperts})});
    const auto top = b_.Ops("TopK", 2, {b_.Op("Softmax", {router}), Vector(b_, {2})});
    weights_ = top[0];
    numbers_ = top[1];
    if (s_.twice) {
      const auto best = b_.Ops("TopK", 2, {router, Vector(b_, {1})});
      numbers_ = b_.Op("Concat", {best[1], best[1]}, {{"axis", int64_t{-1}}});
    }
    if (s_.row_of_weights) {
      Value* zeros = b_.Op("ConstantOfShape", {b_.Op("Shape", {router})});
      row_ = b_.Op("ScatterElements", {zeros, numbers_, weights_}, {{"axis", int64_t{1}}});
    }
    if (!s_.all_rows) marks_ = Marks();
    Value* sum = b_.Op("ConstantOfShape", {b_.Op("Shape", {x_})});
    zeros_ = sum;
    if (s_.at_once) {
      b_.Output(AtOnce());
      return;
    }
    if (s_.chosen_only) FindChosen();
    for (int64_t i = 0; i < s_.experts_added; ++i) sum = Added(sum, i);
    b_.Output(sum);
  }

 private:
  Value* Random(const std::vector<int64_t>& shape) {
    return b_.Constant("w", RandomFloats(shape, generator_, 0.4F));
  }

  bool TokensFirst() const { return s_.set_again && !s_.script; }

  // For each expert, the places and tokens that it has: [E, k, T], or [E, T, k].
  Value* Marks() {
    Value* marks = nullptr;
    if (s_.script) {
      marks = b_.Op("OneHot", {numbers_, Scalar(b_, s_.classes), Vector(b_, {0, 1})});
    } else {
      Value* all =
          b_.Op("Equal", {b_.Op("Unsqueeze", {numbers_, Vector(b_, {-1})}), Vector(b_, {0, 1, 2})});
      marks = b_.Op("Cast", {all}, {{"to", static_cast<int64_t>(DataType::kInt64)}});
    }
    const int64_t tokens = TokensFirst() ? 0 : 1;
    return Transposed(b_, marks, {2, tokens, 1 - tokens});
  }

  void FindChosen() {
    Value* count = b_.Op("ReduceSum", {marks_, Vector(b_, {-1, -2})}, {{"keepdims", int64_t{0}}});
    Value* hits = b_.Op("NonZero", {b_.Op("Greater", {count, Scalar(b_, 0)})});
    chosen_ = b_.Ops("Split", kExperts, {Transposed(b_, hits, {1, 0}), Vector(b_, {1, 1, 1})},
                     {{"axis", int64_t{0}}});
  }

  Value* MarksOf(int64_t expert) {
    if (!s_.chosen_only) return b_.Op("Gather", {marks_, Scalar(b_, expert)});
    Value* number = b_.Op("Squeeze", {chosen_[expert], Vector(b_, {0})});
    return b_.Op("Squeeze", {b_.Op("Gather", {marks_, number}), Vector(b_, {0})});
  }

  Value* Added(Value* sum, int64_t expert) {
    if (s_.all_rows) {
      Value* weighted = b_.Op("Mul", {Expert(x_, expert), WeightOfAll(expert)});
      return expert == 0 ? weighted : b_.Op("Add", {sum, weighted});
    }
    Value* places = Transposed(b_, b_.Op("NonZero", {MarksOf(expert)}), {1, 0});
    const auto columns = b_.Ops("Split", 2, {places, Vector(b_, {1, 1})}, {{"axis", int64_t{1}}});
    pairs_ = places;
    place_ = columns[TokensFirst() ? 1 : 0];
    token_ = columns[TokensFirst() ? 0 : 1];
    Value* weighted = b_.Op("Mul", {Expert(Rows(expert), expert), WeightsOf(expert)});
    if (s_.set_again) {
      Value* own =
          s_.script ? b_.Op("Gather", {sum, Flat(token_)}) : b_.Op("GatherND", {sum, token_});
      Value* total = b_.Op("Add", {own, weighted});
      if (s_.script) total = Shaped(b_, total, {-1, kHidden});
      return b_.Op("ScatterND", {sum, token_, total});
    }
    if (!s_.script) {
      return b_.Op("ScatterND", {sum, token_, weighted}, {{"reduction", std::string("add")}});
    }
    Value* indices = b_.Op("Expand", {token_, b_.Op("Shape", {weighted})});
    Value* rows = b_.Op("ScatterElements", {zeros_, indices, weighted}, {{"axis", int64_t{0}}});
    return b_.Op("Add", {sum, rows});
  }

  // The weight of the expert for each token [T, 1].
  Value* WeightOfAll(int64_t expert) {
    const int64_t number = expert + 1 == kExperts ? s_.last_number : expert;
    Value* mark = b_.Op("Equal", {numbers_, Scalar(b_, number)});
    Value* weights = nullptr;
    if (s_.script) {
      Value* number = b_.Op("Cast", {mark}, {{"to", static_cast<int64_t>(DataType::kFloat)}});
      weights = b_.Op("Mul", {weights_, number});
    } else {
      weights = b_.Op("Where", {mark, weights_, Number(b_, 0)});
    }
    return b_.Op("ReduceSum", {weights, Vector(b_, {-1})});
  }

  Value* Flat(Value* column) { return b_.Op("Squeeze", {column, Vector(b_, {1})}); }

  Value* Rows(int64_t expert) {
    const bool other = s_.other_rows && expert + 1 == kExperts;
    Value* x = other ? b_.Op("Neg", {x_}) : x_;
    return s_.script ? b_.Op("Gather", {x, Flat(token_)}) : b_.Op("GatherND", {x, token_});
  }

  // The weights of the expert's tokens [n, 1].
  Value* WeightsOf(int64_t expert) {
    if (s_.row_of_weights) {
      Value* column = b_.Op("Gather", {row_, Vector(b_, {expert})}, {{"axis", int64_t{1}}});
      return b_.Op("Gather", {column, Flat(token_)});
    }
    if (!s_.script) {
      Value* pairs =
          TokensFirst() ? pairs_ : b_.Op("Concat", {token_, place_}, {{"axis", int64_t{-1}}});
      return b_.Op("GatherND", {b_.Op("Unsqueeze", {weights_, Vector(b_, {2})}), pairs});
    }
    Value* place = b_.Op("Add", {Flat(place_), b_.Op("Mul", {Flat(token_), Scalar(b_, 2)})});
    return b_.Op("Gather", {Shaped(b_, weights_, {-1, 1}), place});
  }

  Value* Expert(Value* rows, int64_t expert) {
    if (s_.stacked) return StackedExpert(rows, expert);
    Value* gate = b_.Op("MatMul", {rows, Random({kHidden, kInner})});
    const bool other = s_.other_last && expert + 1 == kExperts;
    Value* active = b_.Op(other ? "Tanh" : "Sigmoid", {gate});
    if (!other) active = b_.Op("Mul", {gate, active});
    Value* factor = b_.Op("MatMul", {rows, Random({kHidden, kInner})});
    return b_.Op("MatMul", {b_.Op("Mul", {active, factor}), Random({kInner, kHidden})});
  }

  Value* Every(Value* x, int64_t first) {
    return b_.Op("Slice",
                 {x, Vector(b_, {first}), Vector(b_, {1000}), Vector(b_, {-1}), Vector(b_, {2})});
  }

  Value* AtOnce() {
    Value* one = b_.Op("Unsqueeze", {x_, Vector(b_, {0})});
    Value* rows = s_.script ? b_.Op("Tile", {x_, Vector(b_, {kExperts, 1})})
                            : b_.Op("Expand", {one, Vector(b_, {kExperts, 1, 1})});
    Value* y = StackedExpert(Shaped(b_, rows, {kExperts, -1, kHidden}), -1);
    Value* weights = b_.Op("Unsqueeze", {Transposed(b_, row_, {1, 0}), Vector(b_, {2})});
    return b_.Op("ReduceSum", {b_.Op("Mul", {y, weights}), Vector(b_, {0})},
                 {{"keepdims", int64_t{0}}});
  }

  // One expert, or all at once if `expert` is -1.
  Value* StackedExpert(Value* rows, int64_t expert) {
    if (stack_.empty()) {
      stack_ = {Random({kExperts, kHidden, 2 * kInner}), Random({kExperts, 2 * kInner}),
                Random({kExperts, kInner, kHidden}), Random({kExperts, kHidden})};
    }
    const auto own = [&](int i) {
      if (expert >= 0) return b_.Op("Gather", {stack_[i], Scalar(b_, expert)});
      return i % 2 == 0 ? stack_[i] : b_.Op("Unsqueeze", {stack_[i], Vector(b_, {1})});
    };
    Value* both = b_.Op("Add", {b_.Op("MatMul", {rows, own(0)}), own(1)});
    Value* gate = b_.Op("Clip", {Every(both, 0), nullptr, Number(b_, 2)});
    Value* factor = b_.Op("Clip", {Every(both, 1), Number(b_, -2), Number(b_, 2)});
    Value* open = b_.Op("Sigmoid", {b_.Op("Mul", {gate, Number(b_, 1.5F)})});
    Value* inner =
        b_.Op("Mul", {b_.Op("Add", {factor, Number(b_, 1)}), b_.Op("Mul", {gate, open})});
    return b_.Op("Add", {b_.Op("MatMul", {inner, own(2)}), own(3)});
  }

  GraphBuilder& b_;
  const Spelling s_;
  std::mt19937 generator_{7};
  Value* x_ = nullptr;
  Value* weights_ = nullptr;
  Value* numbers_ = nullptr;
  Value* row_ = nullptr;
  Value* marks_ = nullptr;
  Value* zeros_ = nullptr;
  Value* pairs_ = nullptr;
  Value* place_ = nullptr;
  Value* token_ = nullptr;
  std::vector<Value*> chosen_;
  std::vector<Value*> stack_;
};

OptimizerTester Mixed(const Spelling& spelling) {
  return OptimizerTester([=](GraphBuilder& b) { Mixture(b, spelling).Write(); });
}

TEST(ExpertsTest, BecomeOneOperator) {
  for (const Spelling& spelling :
       {Spelling{}, Spelling{.chosen_only = true}, Spelling{.script = false},
        Spelling{
            .chosen_only = true, .classes = kExperts + 1, .stacked = true, .row_of_weights = true},
        Spelling{.stacked = true}, Spelling{.row_of_weights = true}, Spelling{.all_rows = true},
        Spelling{.set_again = true}, Spelling{.script = false, .set_again = true},
        Spelling{.script = false, .stacked = true, .all_rows = true},
        Spelling{.row_of_weights = true, .at_once = true},
        Spelling{.script = false, .row_of_weights = true, .at_once = true},
        Spelling{.script = false, .stacked = true, .row_of_weights = true}}) {
    SCOPED_TRACE(::testing::Message() << spelling.script << spelling.chosen_only << spelling.stacked
                                      << spelling.row_of_weights);
    OptimizerTester test = Mixed(spelling);
    EXPECT_EQ(test.Count("attnrun.Experts"), 1) << test.Ops();
    EXPECT_EQ(test.Count("NonZero") + test.Count("ScatterElements") + test.Count("ScatterND"), 0)
        << test.Ops();
    // As many tokens that each expert has some, so that TorchScript's loop has all its steps.
    test.Dim("batch", 2).Dim("seq", 12).ExpectSameResults(kTolerance);
    if (spelling.chosen_only) continue;
    test.Dim("batch", 1).Dim("seq", 1).ExpectSameResults(kTolerance);
    test.Dim("seq", 0).ExpectSameResults(kTolerance);
  }
}

TEST(ExpertsTest, MayBeChosenTwice) {
  for (const bool all_rows : {false, true}) {
    OptimizerTester test = Mixed({.script = false, .twice = true, .all_rows = all_rows});
    EXPECT_EQ(test.Count("attnrun.Experts"), 1) << test.Ops();
    test.Dim("batch", 2).Dim("seq", 12).ExpectSameResults(kTolerance);
  }
  // A row that is set twice has been set once.
  for (const bool set_again : {false, true}) {
    OptimizerTester test = Mixed({.set_again = set_again, .twice = true});
    EXPECT_EQ(test.Count("attnrun.Experts"), 0);
    test.Dim("batch", 2).Dim("seq", 12).ExpectSameResults(kTolerance);
  }
}

TEST(ExpertsTest, AllAtOnceNeedTheNumbersOfOneTopK) {
  const OptimizerTester test = Mixed({.row_of_weights = true, .twice = true, .at_once = true});
  EXPECT_EQ(test.Count("attnrun.Experts"), 0);
  EXPECT_THAT(test.Misses("experts"), Contains(HasSubstr("may choose an expert twice")));
}

TEST(ExpertsTest, FewerStepsThanExpertsStay) {
  // Four may be chosen, and the loop has three steps: which ones they are is not known.
  const OptimizerTester test = OptimizerTester([](GraphBuilder& b) {
    Value* chosen = b.Op("NonZero", {b.Input("chosen", DataType::kBool, {4})});
    for (Value* piece : b.Ops("Split", 3, {Transposed(b, chosen, {1, 0}), Vector(b, {1, 1, 1})})) {
      b.Output(piece);
    }
  });
  EXPECT_EQ(test.Count("NonZero"), 1);
}

TEST(ExpertsTest, OthersStayAndSayWhy) {
  const auto expect = [](const Spelling& spelling, const char* why) {
    const OptimizerTester test = Mixed(spelling);
    EXPECT_EQ(test.Count("attnrun.Experts"), 0) << test.Ops();
    EXPECT_THAT(test.Misses("experts"), Contains(HasSubstr(why)));
  };
  expect({.other_last = true}, "the layers of expert 2 are of another form");
  expect({.other_rows = true}, "differs from the others");
  expect({.experts_added = kExperts - 1}, "may be beyond those that it adds");
  expect({.experts_added = kExperts - 1, .all_rows = true}, "may be beyond those that it adds");
  expect({.last_number = kExperts, .all_rows = true}, "its experts are not numbered from 0 on");
  expect({.other_last = true, .all_rows = true}, "the layers of expert 2 are of another form");
}

}  // namespace
}  // namespace attnrun::testing
