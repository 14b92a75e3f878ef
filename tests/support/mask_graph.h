// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_MASK_GRAPH_H_
#define ATTNRUN_TESTS_SUPPORT_MASK_GRAPH_H_

#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "core/elements.h"
#include "support/optimizer_tester.h"

// Attentions with masks that are computed from the positions of keys and queries.
namespace attnrun::testing {

inline constexpr float kLeast = std::numeric_limits<float>::lowest();
// Scores of 4 products, their exponentials and sums over at most 12 keys.
inline constexpr double kMaskTolerance = 96 * kEpsilon;

// Builds an attnrun.Attention of queries [batch, seq, 8] and keys [batch, keys, 8] with two heads,
// and the values its masks are computed from.
struct MaskBuilder {
  GraphBuilder& b;
  DataType type = DataType::kFloat;
  Value* q = b.Input("q", type, {"batch", "seq", 8});
  Value* k = b.Input("k", type, {"batch", "keys", 8});

  Value* Int(int64_t number) { return b.Constant<int64_t>("n", {}, {number}); }
  Value* Float(double number) { return b.Constant("c", FromDoubles(type, {}, {number}).value()); }
  Value* Shaped(Value* x, std::initializer_list<int64_t> shape) {
    const auto rank = static_cast<int64_t>(shape.size());
    return b.Op("Reshape", {x, b.Constant<int64_t>("shape", {rank}, shape)});
  }
  Value* Extent(Value* x, int64_t axis) {
    Value* extent = b.Op("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
    return b.Op("Squeeze", {extent, b.Constant<int64_t>("axes", {1}, {0})});
  }
  Value* Count(Value* extent) { return b.Op("Range", {Int(0), extent, Int(1)}); }
  // The positions of the keys [1, 1, 1, T] and of the queries [1, 1, S, 1].
  Value* Keys() { return Shaped(Count(Extent(k, 1)), {1, 1, 1, -1}); }
  Value* Queries() { return Shaped(Count(Extent(q, 1)), {1, 1, -1, 1}); }
  // A matrix [S, T] of ones.
  template <typename T>
  Value* Ones() {
    Value* shape = b.Op("Concat",
                        {b.Op("Shape", {q}, {{"start", int64_t{1}}, {"end", int64_t{2}}}),
                         b.Op("Shape", {k}, {{"start", int64_t{1}}, {"end", int64_t{2}}})},
                        {{"axis", int64_t{0}}});
    return b.Op("ConstantOfShape", {shape}, {{"value", *Tensor::Of<T>({1}, {T{1}})}});
  }
  Value* Padding() { return b.Input("padding", DataType::kBool, {"batch", 1, 1, "keys"}); }

  Value* AsBias(Value* mask, float closed) {
    return b.Op("Where", {mask, Float(0), Float(closed)});
  }
  void Attend(Value* bias, Value* mask = nullptr, AttributeMap attributes = {}) {
    for (const char* layout : {"q_layout", "k_layout", "v_layout"}) {
      attributes[layout] = std::string("b s (n:2 h:4)");
    }
    std::vector<Value*> inputs = {q, k, k};
    if (bias != nullptr || mask != nullptr) inputs.push_back(bias);
    if (mask != nullptr) inputs.push_back(mask);
    b.Output(b.Op("attnrun::Attention", inputs, attributes));
  }
};

using Mask = std::function<Value*(MaskBuilder&)>;

// An attention that replaces the scores by the lowest float wherever the mask is false.
OptimizerTester WithMask(const Mask& mask);

// The value of an attribute of the only attention; -1 if the attribute is missing.
int64_t Attribute(const OptimizerTester& test, const std::string& name);

void ExpectSameAtManySizes(OptimizerTester& test);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_MASK_GRAPH_H_
