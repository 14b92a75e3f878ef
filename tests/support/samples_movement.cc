// SPDX-License-Identifier: Apache-2.0
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

std::vector<SampleNode> ShapeSamples() {
  return {
      {"Shape", {F({2, 0, 5})}},
      {"Shape", {F({2, 3, 5})}, {{"start", int64_t{-2}}, {"end", int64_t{-1}}}},
      {"Shape", {F({2, 3, 5})}, {{"start", int64_t{2}}, {"end", int64_t{1}}}},
      {"Size", {F({2, 3, 5})}},
      {"Reshape", {F({2, 3, 8}), I({0, -1, 2, 4})}},
      {"Reshape", {F({2, 3, 8}), I({-1})}},
      {"Reshape", {F({2, 3, 8}), I({4, -1, 2})}},
      {"Reshape", {F({0, 8}), I({4, 0})}, Int("allowzero", 1)},
      {"Reshape", {F({1}), I({})}},
      {"Reshape", {I({5, 6}), I({2})}},
      {"Reshape", {I0(5), I({-1})}},
      {"Reshape", {F({2, 3, 4, 5}), I({6, 4, 5})}},
      {"Reshape", {F({6, 4, 5}), I({2, 3, 4, 5})}},
      {"Reshape", {F({2, 1, 3, 4}), I({2, 3, 1, 4})}},
      {"Flatten", {F({2, 3, 5})}},
      {"Flatten", {F({2, 3, 5})}, Int("axis", -1)},
      {"Flatten", {F({2, 3, 5})}, Int("axis", 3)},
      {"Flatten", {F({})}, Int("axis", 0)},
      {"Squeeze", {F({1, 3, 1}), I({-1})}},
      {"Squeeze", {F({1, 3, 1})}},
      {"Squeeze", {I({5}), I({0})}},
      {"Squeeze", {F({1, 3, 1})}, List("axes", {0, 2}), 1, 11},
      {"Unsqueeze", {F({2, 3}), I({0, -1})}},
      {"Unsqueeze", {I0(5), I({0})}},
      {"Unsqueeze", {F({2, 3})}, List("axes", {1}), 1, 11},
  };
}

std::vector<SampleNode> MovementSamples() {
  return {
      {"Transpose", {F({2, 3, 5})}},
      {"Transpose", {F({2, 3, 5})}, List("perm", {1, 2, 0})},
      {"Transpose", {I({4, 5})}},
      {"Concat", {F({2, 3}), F({2, 5})}, Int("axis", -1)},
      {"Concat", {I({4, 5}), I({}), I({-1})}, Int("axis", 0)},
      {"Split", {F({2, 6})}, {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}}, 3},
      {"Split", {F({7})}, Int("num_outputs", 2), 2},
      {"Split", {F({6})}, {}, 2, 13},
      {"Split", {F({6}), I({2, 4})}, {}, 2},
      {"Split", {I({4, 5, 6}), I({1, 2})}, {}, 2},
      {"Split", {F({2, 6})}, {{"axis", int64_t{1}}, {"split", Ints{1, 5}}}, 2, 11},
      {"Slice", {F({4, 9}), I({1}), I({7}), I({1}), I({2})}},
      {"Slice", {F({4, 9}), I({0}), I({4}), I({1})}},
      {"Slice", {F({4, 9}), I({4}), I({9}), I({-1})}},
      {"Slice", {F({4, 9}), I({9}), I({4}), I({1})}},
      {"Slice", {F({4, 9}), I({0, 1}), I({4, 100})}},
      {"Slice", {F({4, 9}), I({-1}), I({-100}), I({0}), I({-1})}},
      {"Slice", {F({4, 9}), I({-1}), I({-100}), I({1}), I({-1})}},
      {"Slice", {F({4, 9}), I({-3}), I({INT64_MAX}), I({1})}},
      {"Slice", {F({4, 9}), I({INT64_MAX}), I({INT64_MIN}), I({1}), I({-1})}},
      {"Slice", {F({0, 9}), I({0}), I({5}), I({0})}},
      {"Slice", {I({4, 5, 6, 7}), I({1}), I({-1})}},
      {"Slice", {I({4, 5, 6, 7}), I({3}), I({-9}), I({0}), I({-2})}},
      {"Slice", {I({4, 5}), I({}), I({})}},
      {"Slice", {F({4, 9})}, {{"starts", Ints{1}}, {"ends", Ints{-1}}, {"axes", Ints{1}}}, 1, 9},
      {"Expand", {F({3, 1}), I({2, 1, 6})}},
      {"Expand", {F({3, 1}), I({3, 6})}},
      {"Expand", {I({5}), I({3})}},
      {"Expand", {I0(5), I({})}},
      {"Expand", {F({1, 3}), I({0, 1})}},
      {"Tile", {F({2, 3}), I({2, 0})}},
      {"Tile", {F({2, 3}), I({2, 1})}},
      {"Tile", {I({5, 6}), I({3})}},
      {"Pad", {F({2, 3}), I({0, 1, 2, 0})}},
      {"Pad", {F({2, 3}), I({-1, 2}), None(), I({-1})}},
      {"Pad", {F({2, 3})}, List("pads", {0, 1, 2, 0}), 1, 9},
      {"Trilu", {F({2, 3, 3}), I0(1)}},
      {"ReverseSequence", {F({3, 2}), I({3, 1})}},
      {"ReverseSequence",
       {F({2, 3, 4}), I({3, 1})},
       {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}}},
      {"DepthToSpace", {F({2, 8, 2, 3})}, Int("blocksize", 2)},
      {"SpaceToDepth", {F({2, 2, 4, 6})}, Int("blocksize", 2)},
  };
}

}  // namespace attnrun::testing
