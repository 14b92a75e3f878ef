// SPDX-License-Identifier: Apache-2.0
// The facts that elementwise operators infer about their outputs before a run.
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

TEST(ElementwiseInferTest, ShapesBroadcast) {
  const ops::ValueFacts a = Floats({2, kSeq, 1});
  const ops::ValueFacts b = Floats({kSeq, 8});
  const std::vector<SymInt> both = {2, kSeq, 8};
  EXPECT_EQ(Infer("Add", {a, b}).dims, both);
  EXPECT_EQ(Infer("Add", {a, b}).type, DataType::kFloat);
  EXPECT_EQ(Infer("Less", {a, b}).type, DataType::kBool);
  EXPECT_EQ(Infer("Where", {Facts(DataType::kBool, Dims{1}), a, b}).dims, both);
  EXPECT_EQ(Infer("Where", {Facts(DataType::kBool, Dims{1}), a, b}).type, DataType::kFloat);
  EXPECT_EQ(Infer("Exp", {a}).dims, a.dims);
  EXPECT_EQ(Infer("Add", {a, ops::ValueFacts()}).dims, std::nullopt);
}

TEST(ElementwiseInferTest, ShapeArithmeticIsFollowed) {
  using Contents = std::optional<std::vector<SymInt>>;
  const ops::ValueFacts shape = Numbers({4 * kSeq, 12});
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
  // A longer operand has no known contents, so the result has none.
  EXPECT_EQ(Infer("Add", {shape, Facts(DataType::kInt64, Dims{2})}).contents, std::nullopt);
}

// The padding that fills an extent up to whole blocks, and the number of these blocks.
TEST(ElementwiseInferTest, RemaindersOfNegatedExtents) {
  using Contents = std::optional<std::vector<SymInt>>;
  const SymInt blocks = SymInt::FloorQuotient(kSeq + 3, 4);
  const ops::ValueFacts missing = Infer("Mod", {Numbers({SymInt(0) - kSeq}), Numbers({4})});
  EXPECT_EQ(missing.contents, Contents({4 * blocks - kSeq}));
  const ops::ValueFacts padded = Infer("Add", {missing, Numbers({kSeq})});
  EXPECT_EQ(Infer("Div", {padded, Numbers({4})}).contents, Contents({blocks}));
  // The remainder and the whole blocks make the extent again.
  const ops::ValueFacts rest = Infer("Mod", {Numbers({kSeq}), Numbers({4})});
  EXPECT_EQ(rest.contents, Contents({kSeq - 4 * SymInt::Quotient(kSeq, 4)}));
  const ops::ValueFacts whole = Infer("Sub", {Numbers({kSeq}), rest});
  EXPECT_EQ(Infer("Div", {whole, Numbers({4})}).contents, Contents({SymInt::Quotient(kSeq, 4)}));
  const SymInt difference = kSeq - kPast;
  EXPECT_EQ(Infer("Mod", {Numbers({difference}), Numbers({4})}).contents,
            Contents({difference - 4 * SymInt::FloorQuotient(difference, 4)}));
  EXPECT_EQ(Infer("Mod", {Numbers({kSeq}), Numbers({kPast})}).contents,
            Contents({SymInt::Opaque("mod", kSeq, kPast)}));
}

TEST(ElementwiseInferTest, ComparisonsOfExtents) {
  const ops::ValueFacts shape = Numbers({kBatch, 0, kSeq, -1});
  const ops::ValueFacts yes_no = {DataType::kBool, Dims{2}, std::vector<SymInt>{1, 0}};
  const AttributeMap to_int = {{"to", static_cast<int64_t>(DataType::kInt64)}};
  const AttributeMap to_int32 = {{"to", static_cast<int64_t>(DataType::kInt32)}};
  const AttributeMap to_bool = {{"to", static_cast<int64_t>(DataType::kBool)}};
  ExpectRows({
      // Extents are never negative.
      {{"Equal", {shape, Numbers({-1})}}, "[4]", "[0,0,0,1]"},
      {{"Equal", {shape, Numbers({0})}}, "[4]", "[?,1,?,0]"},
      {{"Equal", {Numbers({kSeq}), Numbers({kSeq})}}, "[1]", "[1]"},
      {{"Less", {shape, Numbers({kSeq + 1})}}, "[4]", "[?,1,1,1]"},
      {{"LessOrEqual", {Numbers({kSeq}), Numbers({kPast + kSeq})}}, "[1]", "[1]"},
      {{"Greater", {shape, Numbers({-1})}}, "[4]", "[1,1,1,0]"},
      {{"GreaterOrEqual", {Numbers({kSeq}), Numbers({kSeq + 1})}}, "[1]", "[0]"},
      // A difference of extents may be negative, and so may an unknown number.
      {{"Equal", {Numbers({kSeq - kPast, SymInt::Unknown()}), Numbers({-1})}}, "[2]", "[?,?]"},
      {{"Not", {yes_no}}, "[2]", "[0,1]"},
      {{"And", {yes_no, yes_no}}, "[2]", "[1,0]"},
      {{"Or", {yes_no, yes_no}}, "[2]", "[1,0]"},
      {{"Xor", {yes_no, yes_no}}, "[2]", "[0,0]"},
      {{"Cast", {yes_no}, to_int}, "[2]", "[1,0]"},
      {{"Cast", {shape}, to_bool}, "[4]", "[?,0,?,1]"},
      // Numbers wrap; extents are assumed to fit.
      {{"Cast", {Numbers({kSeq, (int64_t{1} << 32) + 5})}, to_int32}, "[2]", "[seq,5]"},
      {{"Neg", {shape}}, "[4]", "[-1*batch,0,-1*seq,1]"},
      {{"Abs", {shape}}, "[4]", "[batch,0,seq,?]"},
  });
}

TEST(ElementwiseInferTest, MinAndMaxOfExtents) {
  const ops::ValueFacts a = Numbers({kSeq, kSeq, 3, kSeq + kPast});
  const ops::ValueFacts b = Numbers({kSeq + 1, -2, 5, kPast});
  EXPECT_EQ(Infer("Min", {a, b}).contents, Known({kSeq, -2, 3, kPast}));
  EXPECT_EQ(Infer("Min", {b, a}).contents, Known({kSeq, -2, 3, kPast}));
  EXPECT_EQ(Infer("Max", {a, b}).contents, Known({kSeq + 1, kSeq, 5, kSeq + kPast}));
  EXPECT_EQ(Infer("Max", {b, a}).contents, Known({kSeq + 1, kSeq, 5, kSeq + kPast}));
  EXPECT_EQ(Infer("Max", {Number(0), Number(kSeq), Number(kSeq + kPast)}).contents,
            Known({kSeq + kPast}));
  // Either may be less, but the result is the same number wherever it occurs.
  EXPECT_EQ(Infer("Min", {Number(kSeq), Number(kPast)}).contents,
            Known({SymInt::Opaque("min", kSeq, kPast)}));
  EXPECT_EQ(Infer("Max", {Number(kSeq - 1), Number(0)}).contents,
            Known({SymInt::Opaque("max", kSeq - 1, 0)}));
  EXPECT_EQ(Infer("Max", {Floats({}), Floats({})}).contents, std::nullopt);
}

// TorchScript's spelling of Expand, where -1 keeps the extent.
TEST(ElementwiseInferTest, TheShapeOfAnExpandIsFollowed) {
  const ops::ValueFacts shape = Numbers({kBatch, 1, kSeq, -1});
  const ops::ValueFacts is_kept = Infer("Equal", {shape, Numbers({-1, -1, -1, -1})});
  EXPECT_EQ(Text(Infer("Where", {is_kept, Numbers({1, 1, 1, 1}), shape}).contents),
            "[batch,1,seq,1]");
}

}  // namespace
}  // namespace attnrun::testing
