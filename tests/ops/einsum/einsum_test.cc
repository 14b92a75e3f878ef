// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

OpTester Tester(const std::string& equation) {
  OpTester op("Einsum", 12);
  op.Attribute("equation", equation);
  return op;
}

struct Case {
  std::string equation;
  Ints a;
  Ints b;
};

class EinsumTest : public ::testing::TestWithParam<Case> {};

TEST_P(EinsumTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const Tensor a = RandomFloats(GetParam().a, generator);
  const Tensor b = RandomFloats(GetParam().b, generator);
  for (const DataType type : {DataType::kFloat, DataType::kFloat16}) {
    for (const bool constant : {false, true}) {
      OpTester op = Tester(GetParam().equation);
      op.Input(Converted(a, type));
      constant ? op.Constant(Converted(b, type)) : op.Input(Converted(b, type));
      // No sum has more terms than the smaller operand has elements.
      const auto terms = static_cast<double>(std::min(a.num_elements(), b.num_elements()));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                  Epsilon(type) + kEpsilon * terms);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Equations, EinsumTest,
    ::testing::Values(
        Case{"ij,jk->ik", {5, 7}, {7, 6}}, Case{"ij,kj->ki", {5, 7}, {6, 7}},
        Case{"ij,jk", {5, 7}, {7, 6}}, Case{"i,i->", {7}, {7}}, Case{"i,j->ij", {3}, {4}},
        Case{"i,j->ji", {3}, {4}}, Case{"bij,bjk->bik", {3, 5, 7}, {3, 7, 6}},
        Case{"bij,bj->bi", {3, 5, 7}, {3, 7}},
        // Attention without transposing the heads, and projections with three-dimensional weights.
        Case{"bqhd,bkhd->bhqk", {2, 5, 3, 8}, {2, 6, 3, 8}},
        Case{"bhqk,bkhd->bqhd", {2, 3, 5, 6}, {2, 6, 3, 8}},
        Case{"bsd,dhe->bshe", {2, 5, 7}, {7, 3, 4}}, Case{"bshe,hed->bsd", {2, 5, 3, 4}, {3, 4, 7}},
        Case{"bhsd,hde->bse", {2, 3, 5, 4}, {3, 4, 7}}, Case{"bsd,dhe->bhse", {2, 5, 7}, {7, 3, 4}},
        Case{"...ij,...jk->...ik", {2, 3, 4, 5}, {3, 5, 6}}, Case{"...ij,jk", {2, 3, 4, 5}, {5, 6}},
        Case{"...a,...a->...", {2, 3, 4}, {1, 3, 4}}, Case{"abc,cb->ba", {2, 3, 4}, {4, 3}},
        Case{"ii,ij->j", {4, 4}, {4, 3}}, Case{"ij,jk->ik", {0, 7}, {7, 6}},
        Case{"ij,jk->ik", {5, 0}, {0, 6}}, Case{"ij,jk->ik", {5, 1}, {7, 6}}));

TEST(EinsumReferenceTest, AcceptsOneOrThreeOperandsAndRepeatedLabels) {
  const Tensor square = Make<int32_t>({2, 2}, {1, 2, 3, 4});
  const auto one = [&](const std::string& equation) {
    return Tester(equation).Input(square).Reference().value()[0];
  };
  ExpectClose(one("ij->ji"), Make<int32_t>({2, 2}, {1, 3, 2, 4}), 0);
  ExpectClose(one("ii->i"), Make<int32_t>({2}, {1, 4}), 0);
  ExpectClose(one("ii"), Make<int32_t>({}, {5}), 0);
  ExpectClose(one("ba"), Make<int32_t>({2, 2}, {1, 3, 2, 4}), 0);
  ExpectClose(one("...j -> ..."), Make<int32_t>({2}, {3, 7}), 0);
  ExpectClose(one("i...->"), Make<int32_t>({}, {10}), 0);
  // Upper case sorts before lower case.
  ExpectClose(one("aB"), Make<int32_t>({2, 2}, {1, 3, 2, 4}), 0);
  OpTester three = Tester("i,ij,j->");
  three.Input(Make<int32_t>({2}, {1, 10})).Input(square).Input(Make<int32_t>({2}, {1, 100}));
  ExpectClose(three.Reference().value()[0], Make<int32_t>({}, {4231}), 0);
  OpTester scalar = Tester("->");
  scalar.Input(Make<float>({}, {3}));
  ExpectClose(scalar.Reference().value()[0], Make<float>({}, {3}), 0);
}

TEST(EinsumReferenceTest, ErrorsSayWhatIsWrong) {
  const auto message = [](const std::string& equation) {
    OpTester op = Tester(equation);
    op.Input(Make<float>({2, 1}, {1, 2})).Input(Make<float>({3}, {1, 2, 3}));
    EXPECT_FALSE(op.Kernel().ok());
    return std::string(op.Reference().status().message());
  };
  EXPECT_EQ(message("ij->i"), "equation 'ij->i': 1 terms for 2 operands");
  EXPECT_EQ(message("ij,i->i"), "equation 'ij,i->i': 'i' is both 2 and 3");
  EXPECT_EQ(message("ij,ik->i"),
            "equation 'ij,ik->i': term 'ik' does not name the axes of operand 1, [3]");
  EXPECT_EQ(message("ij,k->ii"), "equation 'ij,k->ii': the output repeats a label");
  EXPECT_EQ(message("ij,k->z"), "equation 'ij,k->z': the output has a label that no operand has");
  EXPECT_EQ(message("i1,k->i"), "equation 'i1,k->i': expected a letter or '...', but found '1'");
  EXPECT_EQ(message("i..,k->i"),
            "equation 'i..,k->i': term 'i..' does not name the axes of "
            "operand 0, [2,1]");
  EXPECT_EQ(message("......,k->k"), "equation '......,k->k': a term has two ellipses");
  EXPECT_EQ(message("ij,k->i->k"), "equation 'ij,k->i->k': more than one '->'");
  EXPECT_FALSE(message("").empty());
}

}  // namespace
}  // namespace attnrun::testing
