// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_GRAPH_PARTS_H_
#define ATTNRUN_TESTS_SUPPORT_GRAPH_PARTS_H_

#include <cstdint>
#include <vector>

#include "support/graph_builder.h"
#include "support/op_tester.h"

// Small pieces of graphs that many tests of the optimizer need.
namespace attnrun::testing {

// A float constant of rank 0.
inline Value* Number(GraphBuilder& b, float number) { return b.Constant<float>("c", {}, {number}); }

// An int64 constant of rank 0.
inline Value* Scalar(GraphBuilder& b, int64_t number) {
  return b.Constant<int64_t>("n", {}, {number});
}

// An int64 constant of rank 1.
inline Value* Vector(GraphBuilder& b, const std::vector<int64_t>& numbers) {
  return b.Constant("n", Make<int64_t>({static_cast<int64_t>(numbers.size())}, numbers));
}

inline Value* Shaped(GraphBuilder& b, Value* x, const std::vector<int64_t>& shape) {
  return b.Op("Reshape", {x, Vector(b, shape)});
}

inline Value* Sliced(GraphBuilder& b, Value* x, int64_t start, int64_t end, int64_t axis) {
  return b.Op("Slice", {x, Vector(b, {start}), Vector(b, {end}), Vector(b, {axis})});
}

inline Value* Transposed(GraphBuilder& b, Value* x, const std::vector<int64_t>& order) {
  return b.Op("Transpose", {x}, {{"perm", order}});
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_GRAPH_PARTS_H_
