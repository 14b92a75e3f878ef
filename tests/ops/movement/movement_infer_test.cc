// SPDX-License-Identifier: Apache-2.0
// The facts that operators which move data infer about their outputs before a run.
#include <limits>
#include <random>

#include "ops/movement/slice.h"
#include "support/infer_tester.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
const ops::ValueFacts kUnknown = Facts(DataType::kFloat, std::nullopt);
const ops::ValueFacts kSomeNumber = Facts(DataType::kInt64, Dims{1});

TEST(MovementInferTest, TransposeAndSameShape) {
  const ops::ValueFacts heads = Floats({kBatch, kSeq, 12, 64});
  ExpectRows({
      {{"Transpose", {heads}, {{"perm", Ints{0, 2, 1, 3}}}}, "[batch,12,seq,64]"},
      {{"Transpose", {heads}}, "[64,12,seq,batch]"},
      {{"Transpose", {kUnknown}, {{"perm", Ints{1, 0}}}}, "[?,?]"},
      {{"Transpose", {kUnknown}}, "none"},
      {{"Transpose", {heads}, {{"perm", Ints{1, 0}}}}, "none"},
      {{"Transpose", {Numbers({kSeq, 2})}}, "[2]", "[seq,2]"},
      {{"Trilu", {heads}}, "[batch,seq,12,64]"},
      {{"ReverseSequence", {Floats({kSeq, kBatch}), kSomeNumber}}, "[seq,batch]"},
      {{"DepthToSpace", {Floats({kBatch, 16, kSeq, 5})}, {{"blocksize", int64_t{2}}}},
       "[batch,4,2*seq,10]"},
      {{"SpaceToDepth", {Floats({kBatch, 4, 2 * kSeq, 10})}, {{"blocksize", int64_t{2}}}},
       "[batch,16,seq,5]"},
  });
}

TEST(MovementInferTest, Slice) {
  const auto slice = [](SymInt extent, SymInt start, SymInt end, SymInt step = 1) {
    return InferNode{"Slice",
                     {Floats({kBatch, std::move(extent)}), Numbers({std::move(start)}),
                      Numbers({std::move(end)}), Numbers({1}), Numbers({std::move(step)})}};
  };
  ExpectRows({
      {slice(10, 2, 5), "[batch,3]"},
      {slice(10, -3, kEnd), "[batch,3]"},
      {slice(10, 0, 100, 3), "[batch,4]"},
      {slice(10, 5, 2), "[batch,0]"},
      {slice(kSeq, 0, kEnd), "[batch,seq]"},
      {slice(kSeq, -1, -kEnd, -1), "[batch,seq]"},
      {slice(kPast + kSeq, kPast, kEnd), "[batch,seq]"},
      {slice(kPast + kSeq, 0, kPast), "[batch,past]"},
      {slice(kPast + kSeq, kPast, kPast + kSeq), "[batch,seq]"},
      {slice(2 * kSeq, kSeq, 2 * kSeq), "[batch,seq]"},
      {slice(kSeq + 4, 4, kEnd), "[batch,seq]"},
      {slice(kSeq + 4, 0, -4), "[batch,seq]"},
      // Counted from the end: exactly all elements, or more than there are.
      {slice(kSeq, SymInt(0) - kSeq, kEnd), "[batch,seq]"},
      {slice(kSeq, SymInt(-2) - kSeq, kEnd), "[batch,seq]"},
      {slice(kSeq, 0, SymInt(0) - kSeq), "[batch,0]"},
      {slice(SymInt::Opaque("min", 512, kSeq), SymInt(0) - kSeq, kEnd), "[batch,min(512,seq)]"},
      {slice(kSeq, INT64_MIN, kEnd), "[batch,seq]"},
      {slice(kSeq, 0, INT64_MIN), "[batch,0]"},
      // Beyond the end.
      {slice(kSeq, 0, kSeq + 1), "[batch,seq]"},
      // The end of any axis, as tf2onnx and older exporters write it.
      {slice(kSeq, 0, 1'000'000'000), "[batch,seq]"},
      {slice(kSeq, 1, 2'147'483'647), "[batch,drop(seq,1)]"},
      {slice(3'000'000'000, 0, 1'000'000'000), "[batch,1000000000]"},
      {slice(kSeq, 0, 999'999'999), "[batch,min(seq,999999999)]"},
      // The smaller of two extents is unknown, but it is the same number every time.
      {slice(512, 0, kSeq), "[batch,min(512,seq)]"},
      {slice(kSeq, 1, kEnd), "[batch,drop(seq,1)]"},
      {slice(kSeq, kPast, kEnd), "[batch,drop(seq,past)]"},
      {slice(kSeq, -1, kEnd), "[batch,min(seq,1)]"},
      {slice(kSeq, 1, 5), "[batch,slice(seq,step(range(1,5),1))]"},
      // Each second element, from the first or the second one on, as image patches are merged.
      {slice(kSeq, 0, kEnd, 2), "[batch,div(1+seq,2)]"},
      {slice(kSeq, 1, kEnd, 2), "[batch,div(seq,2)]"},
      {slice(2 * kSeq, 1, kEnd, 2), "[batch,seq]"},
      {slice(kSeq + 2, 2, kEnd, 2), "[batch,div(1+seq,2)]"},
      // A start that may lie far behind the end.
      {slice(kSeq, 2, kEnd, 2), "[batch,slice(seq,step(range(2,9223372036854775807),2))]"},
      {{"Slice", {Floats({kBatch, kSeq}), kSomeNumber, kSomeNumber, kSomeNumber}}, "[?,?]"},
      {{"Slice", {kUnknown, Numbers({0}), Numbers({1})}}, "none"},
      {{"Slice",
        {Floats({kBatch, kSeq})},
        {{"starts", Ints{0}}, {"ends", Ints{1}}, {"axes", Ints{0}}},
        1,
        9},
       "[min(batch,1),seq]"},
      {{"Slice", {Numbers({kBatch, kSeq, 768}), Numbers({-2}), Numbers({kEnd})}},
       "[2]",
       "[seq,768]"},
      {{"Slice",
        {Numbers({kBatch, kSeq, 768}), Numbers({2}), Numbers({-4}), Numbers({0}), Numbers({-1})}},
       "[3]",
       "[768,seq,batch]"},
  });
  // Unknown bounds do not affect the other axes.
  const ops::ValueFacts part =
      Infer("Slice", {Floats({kBatch, kSeq}), kSomeNumber, kSomeNumber, Numbers({0})});
  ASSERT_EQ(part.dims->size(), 2U);
  EXPECT_FALSE(part.dims->front().constant().has_value());
  EXPECT_EQ(part.dims->back(), kSeq);
}

// The extent of a slice of a symbolic axis, as Infer writes it, has the value of the run.
TEST(MovementInferTest, ExtentsOfSlicesHaveTheirValues) {
  std::mt19937 generator(Seed());
  std::uniform_int_distribution<int64_t> size(0, 12);
  std::uniform_int_distribution<int64_t> bound(-15, 15);
  std::uniform_int_distribution<int64_t> steps(-3, 3);
  for (int i = 0; i < 2000; ++i) {
    const int64_t extent = size(generator);
    const int64_t start = bound(generator);
    const int64_t end = i % 7 == 0 ? kEnd : i % 11 == 0 ? -kEnd : bound(generator);
    const int64_t step = steps(generator);
    if (step == 0) continue;
    const ops::ValueFacts facts = Infer(
        "Slice", {Floats({kSeq}), Numbers({start}), Numbers({end}), Numbers({0}), Numbers({step})});
    const SymInt sliced = (*facts.dims)[0];
    ASSERT_TRUE(sliced.IsComputable()) << sliced.ToString();
    EXPECT_EQ(sliced.ValueAt([&](const std::string&) { return extent; }),
              ops::SliceRange(extent, start, end, step).count)
        << sliced.ToString() << " of " << extent;
  }
}

TEST(MovementInferTest, Split) {
  const ops::ValueFacts packed = Floats({kBatch, kSeq, 2304});
  const AttributeMap last = {{"axis", int64_t{-1}}};
  const AttributeMap three = {{"axis", int64_t{-1}}, {"num_outputs", int64_t{3}}};
  ExpectRows({
      {{"Split", {packed}, three, 3}, "[batch,seq,768] [batch,seq,768] [batch,seq,768]"},
      {{"Split", {packed, Numbers({2048, 256})}, last, 2}, "[batch,seq,2048] [batch,seq,256]"},
      {{"Split", {Floats({2 * kSeq})}, {{"num_outputs", int64_t{2}}}, 2}, "[seq] [seq]"},
      {{"Split", {Floats({kSeq})}, {{"num_outputs", int64_t{2}}}, 2}, "[?] [?]"},
      {{"Split", {Floats({kSeq})}, {}, 2, 13}, "[div(seq,2)] [div(seq,2)]"},
      {{"Split", {Floats({7})}, {{"num_outputs", int64_t{2}}}, 2}, "[4] [3]"},
      {{"Split", {Floats({5, kSeq})}, {{"split", Ints{2, 3}}}, 2, 11}, "[2,seq] [3,seq]"},
      {{"Split", {packed, Facts(DataType::kInt64, Dims{2})}, last, 2},
       "[batch,seq,?] [batch,seq,?]"},
      {{"Split", {kUnknown}, three, 3}, "none none none"},
      // Runs of these fail.
      {{"Split", {packed}, three, 2}, "none none"},
      {{"Split", {packed, Numbers({768, 768, 768})}, three, 3}, "none none none"},
      {{"Split", {Numbers({kBatch, kSeq, 768}), Numbers({2, 1})}, {}, 2}, "[2] [1]", "[batch,seq]"},
  });
}

TEST(MovementInferTest, Concat) {
  const AttributeMap first = {{"axis", int64_t{0}}};
  const AttributeMap second = {{"axis", int64_t{-2}}};
  ExpectRows({
      {{"Concat", {Floats({kBatch, 12, kPast, 64}), Floats({kBatch, 12, kSeq, 64})}, second},
       "[batch,12,past+seq,64]"},
      // A number is more precise than a symbol, and any input may determine an axis.
      {{"Concat", {Floats({kBatch, kPast, 64}), Floats({2, 1, kSeq})}, second}, "[2,1+past,64]"},
      // Tokens beside their neighbors, shifted by a Slice and a Pad.
      {{"Concat",
        {Floats({kBatch, 1 + SymInt::Opaque("slice", kSeq, 1), 16}), Floats({kBatch, kSeq, 16})},
        {{"axis", int64_t{2}}}},
       "[batch,seq,32]"},
      // An axis that is rolled forward and back.
      {{"Concat",
        {Floats({SymInt::Opaque("min", kSeq, 2), 8}), Floats({SymInt::Opaque("drop", kSeq, 2), 8})},
        first},
       "[seq,8]"},
      {{"Concat",
        {Floats({SymInt::Opaque("drop", kSeq, 2), 8}), Floats({SymInt::Opaque("min", kSeq, 2), 8})},
        first},
       "[seq,8]"},
      {{"Concat",
        {Floats({SymInt::Opaque("min", kSeq, 2), 8}), Floats({SymInt::Opaque("drop", kSeq, 3), 8})},
        first},
       "[drop(seq,3)+min(seq,2),8]"},
      {{"Concat", {kUnknown, Floats({kBatch, kSeq, 64})}, second}, "[batch,?+seq,64]"},
      {{"Concat", {kUnknown, kUnknown}, second}, "none"},
      {{"Concat", {Numbers({kBatch}), Numbers({-1, 64})}, first}, "[3]", "[batch,-1,64]"},
      {{"Concat", {Numbers({kBatch}), kSomeNumber, Numbers({})}, first}, "[2]", "[batch,?]"},
      {{"Concat", {kSomeNumber, kSomeNumber}, first}, "[2]"},
  });
}

TEST(MovementInferTest, ExpandTilePad) {
  const ops::ValueFacts kv = Floats({kBatch, 2, 1, kSeq, 64});
  const AttributeMap old_pads = {{"pads", Ints{0, 1, 0, 2}}};
  ExpectRows({
      {{"Expand", {kv, Numbers({kBatch, 2, 6, kSeq, 64})}}, "[batch,2,6,seq,64]"},
      {{"Expand", {kv, Numbers({6, 1, 1})}}, "[batch,2,6,seq,64]"},
      // If a run refuses the inputs, nothing is known; otherwise a rewrite could remove the
      // refusal.
      {{"Expand", {Floats({2, 3}), Numbers({5, 3})}}, "none"},
      {{"Expand", {Floats({1, 3}), Numbers({-1, 3})}}, "none"},
      {{"Expand", {Floats({1, 1}), Numbers({kBatch, 1, kSeq, kSeq})}}, "[batch,1,seq,seq]"},
      {{"Expand", {Floats({2, 1}), Facts(DataType::kInt64, Dims{3})}}, "[?,2,?]"},
      {{"Expand", {kv, Facts(DataType::kInt64, std::nullopt)}}, "none"},
      {{"Expand", {Numbers({kSeq}), Numbers({2})}}, "[2]", "[seq,seq]"},
      {{"Expand", {Number(kSeq), Numbers({kBatch})}}, "[batch]"},
      {{"Tile", {Floats({kBatch, kSeq}), Numbers({3, 2})}}, "[3*batch,2*seq]"},
      {{"Tile", {Floats({1, kSeq}), Numbers({kBatch, 1})}}, "[batch,seq]"},
      {{"Tile", {Numbers({kSeq, 1}), Numbers({2})}}, "[4]", "[seq,1,seq,1]"},
      {{"Tile", {Floats({kBatch}), Numbers({3, 2})}}, "none"},
      {{"Pad", {Floats({kBatch, kSeq}), Numbers({0, 1, 0, 2})}}, "[batch,3+seq]"},
      {{"Pad", {Floats({kBatch, kSeq}), Numbers({-1, 0}), std::nullopt, Numbers({-1})}},
       "[batch,-1+seq]"},
      {{"Pad", {Floats({kBatch, kSeq})}, old_pads, 1, 9}, "[batch,3+seq]"},
      {{"Pad", {Floats({kBatch, kSeq}), Facts(DataType::kInt64, Dims{4})}}, "[?,?]"},
  });
}

}  // namespace
}  // namespace attnrun::testing
