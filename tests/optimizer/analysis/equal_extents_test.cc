// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "optimizer/analysis/facts.h"
#include "support/graph_builder.h"
#include "support/graph_parts.h"

// Extents that every run that succeeds has equal.
namespace attnrun::testing {
namespace {

using Build = std::function<void(GraphBuilder&)>;

std::string Known(const Build& build) {
  GraphBuilder b;
  build(b);
  const std::unique_ptr<Graph> graph = b.Build().value();
  const opt::Facts facts(*graph);
  std::string text;
  for (const auto& [a, c, node] : facts.equalities().list()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", a.ToString(), " = ", c.ToString());
  }
  return text;
}

Value* Floats(GraphBuilder& b, const char* name, std::initializer_list<DimSpec> shape) {
  return b.Input(name, DataType::kFloat, shape);
}

Value* Extent(GraphBuilder& b, Value* x, int64_t axis) {
  return b.Op("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

TEST(EqualExtentsTest, OfOperandsThatMustAgree) {
  const auto node = [](const char* op, const std::vector<std::vector<DimSpec>>& shapes,
                       const AttributeMap& attributes) {
    return [=](GraphBuilder& b) {
      std::vector<Value*> inputs;
      for (const auto& shape : shapes) {
        const DimSpec& rows = shape[0];
        const DimSpec& columns = shape[1];
        inputs.push_back(Floats(b, inputs.empty() ? "x" : "y", {rows, columns}));
      }
      b.Output(b.Op(op, inputs, attributes));
    };
  };
  const AttributeMap none;
  EXPECT_EQ(Known(node("MatMul", {{"m", "k"}, {"l", "n"}}, none)), "l = k");
  EXPECT_EQ(Known(node("MatMul", {{"m", "k"}, {8, "n"}}, none)), "k = 8");
  EXPECT_EQ(Known(node("Gemm", {{"k", "m"}, {"n", "l"}},
                       {{"transA", int64_t{1}}, {"transB", int64_t{1}}})),
            "l = k");
  EXPECT_EQ(Known(node("Concat", {{"a", "k"}, {"b", "l"}}, {{"axis", int64_t{0}}})), "l = k");
  // One of two extents that are broadcast may be 1.
  EXPECT_EQ(Known(node("Add", {{"a", "k"}, {"b", 8}}, none)), "");
}

TEST(EqualExtentsTest, OfBroadcastOperandsThatAreNot1) {
  EXPECT_EQ(Known([](GraphBuilder& b) {
              Value* image = Floats(b, "image", {1, 3, "height", "width"});
              Value* weight = Floats(b, "weight", {4, 3, 8, 8});
              Value* x = b.Op("Conv", {image, weight}, {{"strides", std::vector<int64_t>{8, 8}}});
              x = b.Op("Reshape", {x, Vector(b, {1, 4, -1})});
              Value* first = Floats(b, "first", {1, 4, 1});
              x = b.Op("Concat", {first, x}, {{"axis", int64_t{2}}});
              b.Output(b.Op("Add", {x, Floats(b, "positions", {1, 4, 17})}));
            }),
            "div(height,8)*div(width,8) = 16");
  // Multiples of 4 are 0 or more than 1.
  EXPECT_EQ(Known([](GraphBuilder& b) {
              const auto rows = [&](const char* name, const char* batch) {
                return b.Op("Reshape", {Floats(b, name, {batch, 4, 8}), Vector(b, {-1, 8})});
              };
              b.Output(b.Op("Add", {rows("x", "batch"), rows("y", "other")}));
            }),
            "other = batch");
}

TEST(EqualExtentsTest, OfAReshape) {
  const auto reshape = [](int64_t allow_zero, bool infers) {
    return [=](GraphBuilder& b) {
      Value* x = Floats(b, "x", {"keys", "memory", 32});
      Value* batch = Extent(b, Floats(b, "q", {"batch", 32}), 0);
      Value* heads = b.Op("Mul", {batch, Vector(b, {4})});
      Value* last = Vector(b, {infers ? -1 : 8});
      Value* shape = b.Op("Concat", {Extent(b, x, 0), heads, last}, {{"axis", int64_t{0}}});
      b.Output(b.Op("Reshape", {x, shape}, {{"allowzero", allow_zero}}));
    };
  };
  EXPECT_EQ(Known(reshape(1, false)), "memory = batch");
  EXPECT_EQ(Known(reshape(1, true)), "batch*div(8*memory,batch) = 8*memory");
  // Where the batch is 0, the target copies an extent; but then both sides have no elements.
  EXPECT_EQ(Known(reshape(0, false)), "memory = batch");
}

TEST(EqualExtentsTest, OfAQuotientThatLeavesNoRemainder) {
  EXPECT_EQ(Known([](GraphBuilder& b) {
              Value* x = Floats(b, "x", {"batch", "samples"});
              b.Output(b.Op("Reshape", {x, Vector(b, {0, -1, 16})}));
            }),
            "16*div(samples,16) = samples");
}

// The first product makes the batch of both one, so the second is known to be square.
TEST(EqualExtentsTest, FollowFromEachOther) {
  EXPECT_EQ(Known([](GraphBuilder& b) {
              Value* x = Floats(b, "x", {"a", "k"});
              Value* y = Floats(b, "y", {"l", "a"});
              Value* square = b.Op("MatMul", {x, y});
              Value* shape =
                  b.Op("Concat", {Extent(b, y, 0), Extent(b, square, 0)}, {{"axis", int64_t{0}}});
              Value* back = b.Op("Reshape", {x, shape}, {{"allowzero", int64_t{1}}});
              b.Output(square).Output(b.Op("MatMul", {back, y}));
            }),
            "l = k, k = a");
}

TEST(EqualExtentsTest, OnlyNodesThatARunNeedsTell) {
  EXPECT_EQ(Known([](GraphBuilder& b) {
              Value* x = Floats(b, "x", {"m", "k"});
              b.Op("MatMul", {x, Floats(b, "y", {"l", "n"})});
              b.Output(b.Op("Relu", {x}));
            }),
            "");
}

TEST(EqualExtentsTest, BodiesTellNothing) {
  EXPECT_EQ(Known([](GraphBuilder& b) {
              Value* x = Floats(b, "x", {"m", "k"});
              Value* y = Floats(b, "y", {"l", "k"});
              const auto body = [&](bool multiplies) {
                GraphBuilder inner;
                Value* a = inner.Capture(x);
                inner.Output(multiplies ? inner.Op("MatMul", {a, inner.Capture(y)})
                                        : inner.Op("Relu", {a}));
                return std::shared_ptr<Graph>(inner.Build().value());
              };
              Value* condition = b.Input("condition", DataType::kBool, {});
              b.Output(b.Op("If", {condition},
                            {{"then_branch", body(true)}, {"else_branch", body(false)}}));
            }),
            "");
}

TEST(EqualExtentsTest, ExtentsHaveOneName) {
  GraphBuilder b;
  Value* x = Floats(b, "x", {"batch", "seq", 8});
  Value* y = Floats(b, "y", {"memory", "seq", 8});
  Value* joined = b.Op("Concat", {x, y}, {{"axis", int64_t{1}}});
  Value* other = b.Op("Relu", {y});
  b.Output(joined).Output(other);
  const std::unique_ptr<Graph> graph = b.Build().value();
  opt::Facts facts(*graph);
  EXPECT_EQ(facts.DimsOf(other)->at(0), SymInt::Symbol("batch"));
}

}  // namespace
}  // namespace attnrun::testing
