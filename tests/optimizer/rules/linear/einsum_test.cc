// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/any_type.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Sums of 32 products whose order may change.
constexpr double kTolerance = 32 * kEpsilon;

using Dims = std::initializer_list<DimSpec>;

Value* Weight(GraphBuilder& b, const std::vector<int64_t>& shape, int seed = 7) {
  std::mt19937 generator(seed);
  return b.Constant("w", RandomFloats(shape, generator));
}

Value* Einsum(GraphBuilder& b, const std::string& equation, std::vector<Value*> operands) {
  return b.Op("Einsum", std::move(operands), {{"equation", equation}});
}

OptimizerTester WithWeight(const std::string& equation, Dims x, const std::vector<int64_t>& weight,
                           bool weight_first = false) {
  return OptimizerTester([&](GraphBuilder& b) {
    std::vector<Value*> operands = {b.Input("x", DataType::kFloat, x), Weight(b, weight)};
    if (weight_first) std::swap(operands[0], operands[1]);
    b.Output(Einsum(b, equation, operands));
  });
}

OptimizerTester Computed(const std::string& equation, Dims x, Dims y) {
  return OptimizerTester([&](GraphBuilder& b) {
    b.Output(Einsum(b, equation,
                    {b.Input("x", DataType::kFloat, x), b.Input("y", DataType::kFloat, y)}));
  });
}

void ExpectOps(const OptimizerTester& test, const std::string& ops) {
  EXPECT_EQ(test.Ops(), ops);
  test.ExpectSameResults(kTolerance);
}

TEST(EinsumTest, ProjectsToHeads) {
  const Dims x = {"batch", "sequence", 8};
  const std::string ops = "Reshape attnrun.Linear";
  ExpectOps(WithWeight("bsd,dnh->bsnh", x, {8, 2, 4}), ops);
  ExpectOps(WithWeight("bsd,nhd->bsnh", x, {2, 4, 8}), ops);
  ExpectOps(WithWeight("bsd,ndh->bsnh", x, {2, 8, 4}), ops);
  ExpectOps(WithWeight("dnh,bsd->bsnh", x, {8, 2, 4}, true), ops);
  ExpectOps(WithWeight("b s d, d n h -> b s n h", x, {8, 2, 4}), ops);
  ExpectOps(WithWeight("...d,dnh->...nh", x, {8, 2, 4}), ops);
  ExpectOps(WithWeight("bsd,dnh->bnsh", x, {8, 2, 4}), "Reshape Transpose attnrun.Linear");
}

TEST(EinsumTest, ProjectsFromHeads) {
  const Dims x = {"batch", "sequence", 2, 4};
  ExpectOps(WithWeight("bsnh,nhd->bsd", x, {2, 4, 8}), "Reshape attnrun.Linear");
  ExpectOps(WithWeight("bsnh,dnh->bsd", x, {8, 2, 4}), "Reshape attnrun.Linear");
  ExpectOps(WithWeight("bsnh,hnd->bsd", x, {4, 2, 8}), "Reshape attnrun.Linear");
  ExpectOps(WithWeight("bnsh,nhd->bsd", {"batch", 2, "sequence", 4}, {2, 4, 8}),
            "Reshape Transpose attnrun.Linear");
}

TEST(EinsumTest, AMatrixIsNotCopied) {
  for (const char* equation : {"bsd,dv->bsv", "bsd,vd->bsv"}) {
    const OptimizerTester test = WithWeight(equation, {"batch", "sequence", 8}, {8, 8});
    ExpectOps(test, "attnrun.Linear");
    EXPECT_NE(test.graph().FindValue("w"), nullptr);
  }
}

OptimizerTester WithBias(const std::string& equation, const std::vector<int64_t>& bias) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "sequence", 8});
    b.Output(b.Op("Add", {Weight(b, bias), Einsum(b, equation, {x, Weight(b, {8, 2, 4})})}));
  });
}

TEST(EinsumTest, FusesABiasPerColumn) {
  ExpectOps(WithBias("bsd,dnh->bsnh", {2, 4}), "Reshape attnrun.Linear");
  ExpectOps(WithBias("bsd,dnh->bsnh", {1, 1, 2, 4}), "Reshape attnrun.Linear");
  ExpectOps(WithBias("bsd,dnh->bnsh", {2, 1, 4}), "Reshape Transpose attnrun.Linear");
}

TEST(EinsumTest, OtherAddendsStay) {
  ExpectOps(WithBias("bsd,dnh->bsnh", {4}), "Add Reshape attnrun.Linear");
  ExpectOps(WithBias("bsd,dnh->bsnh", {2, 1}), "Add Reshape attnrun.Linear");
  ExpectOps(WithBias("bsd,dnh->bsnh", {1, 3, 2, 4}), "Add Reshape attnrun.Linear");
}

TEST(EinsumTest, ScoresAndValuesBecomeProducts) {
  const Dims q = {"batch", "queries", 2, 4};
  const Dims k = {"batch", "keys", 2, 4};
  ExpectOps(Computed("bsnh,btnh->bnst", q, k), "MatMul Transpose*2");
  // The rows of the result come from the second operand.
  ExpectOps(Computed("btnh,bsnh->bnst", k, q), "MatMul Transpose*2");
  ExpectOps(Computed("bnst,btnh->bsnh", {"batch", 2, "queries", "keys"}, k), "MatMul Transpose*2");
  ExpectOps(Computed("bhid,bhjd->bhij", {"batch", 2, "i", 4}, {"batch", 2, "j", 4}),
            "MatMul Transpose");
  ExpectOps(Computed("bij,bjd->bid", {"batch", "i", "j"}, {"batch", "j", 4}), "MatMul");
}

TEST(EinsumTest, WithoutASumIsAProductOfElements) {
  const Dims rows = {"batch", "blocks", 5};
  OptimizerTester mask = Computed("blq,blk->blqk", rows, {"batch", "blocks", "keys"});
  EXPECT_EQ(mask.Ops(), "Mul Unsqueeze*2");
  mask.ExpectSameResults(0);
  // Extents of 1 are broadcast.
  mask.Dim("blocks", 1).Dim("keys", 1).ExpectSameResults(0);
  OptimizerTester scaled = Computed("bls,bl->bls", rows, {"batch", "other"});
  EXPECT_EQ(scaled.Ops(), "Mul Unsqueeze");
  scaled.Dim("blocks", 1).Dim("other", 3).ExpectSameResults(0);
  OptimizerTester turned = Computed("ji,k->kij", {"j", 4}, {"k"});
  EXPECT_EQ(turned.Ops(), "Mul Transpose Unsqueeze");
  turned.ExpectSameResults(0);
  EXPECT_EQ(Computed("...i,...i->...i", rows, rows).Ops(), "Mul");
  EXPECT_EQ(WithWeight("bsd,d->bsd", {"batch", "sequence", 8}, {8}).Ops(), "Mul");
}

TEST(EinsumTest, SeveralLabelsBecomeOneAxis) {
  // Queries of two heads that share a key.
  ExpectOps(Computed("bsgh,bth->bsgt", {"batch", "s", 2, 4}, {"batch", 5, 4}),
            "MatMul Reshape*2 Transpose");
  // Extents that are not numbers are read from the operands.
  ExpectOps(Computed("bsgh,bth->bsgt", {"batch", "s", 2, 4}, {"batch", "t", 4}),
            "Concat MatMul Reshape*2 Shape*3 Transpose");
  ExpectOps(Computed("bsnh,btnh->bst", {"batch", "s", 2, 4}, {"batch", "t", 2, 4}),
            "MatMul Reshape*2 Transpose");
  ExpectOps(Computed("bd,btd->bt", {"batch", 4}, {"batch", "t", 4}), "MatMul Reshape*2 Transpose");
}

TEST(EinsumTest, AnAttentionOfEinsumsIsFused) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "sequence", 8});
    const auto heads = [&](int seed) {
      return Einsum(b, "bsd,dnh->bsnh", {x, Weight(b, {8, 2, 4}, seed)});
    };
    Value* q = heads(1);
    Value* k = heads(2);
    Value* v = heads(3);
    Value* scores = Einsum(b, "bsnh,btnh->bnst", {q, k});
    Value* y =
        Einsum(b, "bnst,btnh->bsnh", {b.Op("Softmax", {scores}, {{"axis", int64_t{-1}}}), v});
    b.Output(Einsum(b, "bsnh,nhd->bsd", {y, Weight(b, {2, 4, 8})}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention attnrun.Linear*2");
  test.Scale("x", 0.125F).ExpectSameResults(256 * kEpsilon);
}

TEST(EinsumTest, OfOneOperandIsASumAndATranspose) {
  const auto ops = [](const std::string& equation) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", 3, 3});
      b.Output(b.Op("Einsum", {x}, {{"equation", equation}}));
    });
    test.ExpectSameResults(8 * kEpsilon);
    return test.Ops();
  };
  EXPECT_EQ(ops("bij->bi"), "ReduceSum");
  EXPECT_EQ(ops("bij->ji"), "ReduceSum Transpose");
  EXPECT_EQ(ops("bij->"), "ReduceSum");
  EXPECT_EQ(ops("...ij->...ji"), "Transpose");
  // A diagonal.
  EXPECT_EQ(ops("bii->bi"), "Einsum");
}

TEST(EinsumTest, OtherEinsumsStay) {
  ExpectOps(WithWeight("bdd,dn->bn", {"batch", 8, 8}, {8, 4}), "Einsum");
  ExpectOps(WithWeight("bsd,dn->bn", {"batch", "sequence", 8}, {8, 4}), "Einsum");
}

// The first two are multiplied first; what the others or the result need of them stays.
TEST(EinsumTest, ThreeOperandsAreTwoProducts) {
  OptimizerTester weights([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
    b.Output(Einsum(b, "bi,ij,jk->bk", {x, Weight(b, {8, 4}), Weight(b, {4, 2})}));
  });
  ExpectOps(weights, "attnrun.Linear*2");
  // Linear attention: sums over d, and scales rows.
  OptimizerTester computed([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, "n", 4});
    Value* kv = b.Input("kv", DataType::kFloat, {"batch", 2, 4, 3});
    Value* scale = b.Input("scale", DataType::kFloat, {"batch", 2, "n"});
    b.Output(Einsum(b, "bhnd,bhde,bhn->bhne", {q, kv, scale}));
  });
  EXPECT_EQ(computed.Count("MatMul"), 1);
  computed.Dim("n", 5).ExpectSameResults(kTolerance);
}

// The axes of "..." get letters, in operands that have all of them or fewer.
TEST(EinsumTest, ThreeOperandsMayHaveAnEllipsis) {
  OptimizerTester weights([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "n", 8});
    b.Output(Einsum(b, "...i,ij,jk->...k", {x, Weight(b, {8, 4}), Weight(b, {4, 2})}));
  });
  ExpectOps(weights, "attnrun.Linear*2");
  weights.Dim("n", 3).ExpectSameResults(kTolerance);
  OptimizerTester computed([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, "n", 4});
    Value* sums = b.Input("sums", DataType::kFloat, {"batch", 2, 4, 3});
    Value* scale = b.Input("scale", DataType::kFloat, {2, "n"});
    b.Output(Einsum(b, "...nA,...AB,...n->...nB", {q, sums, scale}));
  });
  EXPECT_EQ(computed.Count("MatMul"), 1);
  computed.Dim("n", 5).ExpectSameResults(kTolerance);
}

// Without "...", no letter has to be left.
TEST(EinsumTest, ThreeOperandsMayTakeAllLetters) {
  const std::string small = "abcdefghijklmnopqrstuvwxyz";
  const std::string large = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const OptimizerTester test([&](GraphBuilder& b) {
    Value* shape = b.Constant("shape", Ints(std::vector<int64_t>(small.size(), 1)));
    const auto given = [&](const std::string& name) {
      return b.Op("Reshape", {b.Input(name, DataType::kFloat, {1}), shape});
    };
    Value* z = b.Input("z", DataType::kFloat, {1});
    b.Output(Einsum(b, small + "," + large + ",a->A", {given("x"), given("y"), z}));
  });
  EXPECT_EQ(test.Ops(), "Einsum MatMul Reshape*2");
}

TEST(EinsumTest, LeavesExtentsThatMayBroadcast) {
  OptimizerTester test = Computed("bi,ij->bj", {"batch", "inner"}, {"other", 4});
  ExpectOps(test, "Einsum");
  EXPECT_THAT(test.Misses("einsum"), ElementsAre(HasSubstr("extent inner in one operand")));
  test.Dim("other", 1).ExpectSameResults(kTolerance);
}

// A batched product broadcasts samples as Einsum does.
TEST(EinsumTest, SamplesMayHaveDifferentNames) {
  OptimizerTester test = Computed("bcxd,bcyd->bcxy", {"batch", "c", "x", 4}, {"other", 3, "y", 4});
  ExpectOps(test, "MatMul Transpose");
  for (const int64_t batch : {1, 2}) {
    for (const int64_t other : {1, 2}) {
      test.Dim("batch", batch).Dim("other", other);
      for (const int64_t c : {1, 3}) test.Dim("c", c).ExpectSameResults(kTolerance);
    }
  }
}

TEST(EinsumTest, KeysMayHaveDifferentNames) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, "queries", 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, "keys", 4});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 2, "values", 4});
    Value* scores = Einsum(b, "bhid,bhjd->bhij", {q, k});
    b.Output(Einsum(b, "bhij,bhjd->bhid", {b.Op("Softmax", {scores}), v}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.Dim("keys", 5).Dim("values", 5).ExpectSameResults(256 * kEpsilon);
}

// Heads in groups that share a key; the groups are an axis after the queries.
TEST(EinsumTest, AnAttentionOfGroupedHeadsIsFused) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", "seq", 2, 3, 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, "seq", 4});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 2, "seq", 4});
    Value* scores = Einsum(b, "bqghd,bgkd->bghqk", {q, k});
    b.Output(Einsum(b, "bghqk,bgkd->bqghd", {b.Op("Softmax", {scores}), v}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul"), 0);
  test.ExpectSameResults(256 * kEpsilon);
  test.Dim("seq", 1).ExpectSameResults(256 * kEpsilon);
}

// A bias for each query's position in its window. Windows and rows are separate axes; the attention
// that reads the bias is written out or the standard's operator.
TEST(EinsumTest, ABiasOfAnAttentionIsFused) {
  for (const bool standard : {false, true}) {
    OptimizerTester test(
        [=](GraphBuilder& b) {
          Value* q = b.Input("q", DataType::kFloat, {"batch", 3, 5, 4});
          Value* k = b.Input("k", DataType::kFloat, {"batch", 3, 5, 4});
          Value* v = b.Input("v", DataType::kFloat, {"batch", 3, 5, 4});
          Value* bias = Einsum(b, "bnsh,sth->bnst", {q, Weight(b, {5, 5, 4})});
          if (standard) {
            b.Output(b.Op("Attention", {q, k, v, bias}, {{"scale", 0.5F}}));
            return;
          }
          Value* turned = b.Op("Transpose", {k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
          Value* half = b.Constant<float>("half", {}, {0.5F});
          Value* scores = b.Op("Mul", {b.Op("MatMul", {q, turned}), half});
          b.Output(b.Op("MatMul", {b.Op("Softmax", {b.Op("Add", {scores, bias})}), v}));
        },
        {}, /*opset=*/23);
    EXPECT_EQ(test.Count("MatMul"), 1);
    EXPECT_EQ(test.Ops(), "MatMul Reshape Transpose*3 attnrun.Attention");
    test.Scale("q", 0.25F).ExpectSameResults(256 * kEpsilon);
  }
}

// The same bias for an attention that was fused before the extents were known.
TEST(EinsumTest, ABiasOfAFusedAttentionIsFused) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 3, 5, 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 3, 5, 4});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 3, 5, 4});
    Value* bias = Einsum(b, "bnsh,sth->bnst", {q, Weight(b, {5, 5, 4})});
    const std::string layout = "b n s h";
    b.Output(
        b.Op("attnrun::Attention", {q, k, v, bias},
             {{"scale", 0.5F}, {"q_layout", layout}, {"k_layout", layout}, {"v_layout", layout}}));
  });
  EXPECT_EQ(test.Ops(), "MatMul Transpose*2 attnrun.Attention");
  test.Scale("q", 0.25F).ExpectSameResults(256 * kEpsilon);
}

TEST(EinsumTest, AcceptsNoColumns) {
  WithWeight("bsd,de->bse", {"batch", "sequence", 0}, {0, 6}).ExpectSameResults(0);
  Computed("bsd,de->bse", {"batch", "sequence", 0}, {0, 6}).ExpectSameResults(0);
}

TEST(EinsumTest, AcceptsNoRows) {
  OptimizerTester test = WithWeight("bsd,ed->bse", {"batch", "sequence", 8}, {12, 8});
  test.Dim("sequence", 0).ExpectSameResults(kTolerance);
  test.Dim("sequence", 2).Dim("batch", 0).ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
