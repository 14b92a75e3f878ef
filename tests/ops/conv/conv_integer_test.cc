// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "core/parallel.h"
#include "support/conv_window.h"
#include "support/op_tester.h"

// Compares the kernel of ConvInteger with the reference; integers need no tolerance.
namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  Ints x;
  Ints w;
  int64_t group = 1;
  Ints strides = {};
  Ints pads = {};
  Ints dilations = {};
};

OpTester Tester(const Case& c, DataType type, bool constant, bool per_feature,
                std::mt19937& generator) {
  const int64_t low = type == DataType::kInt8 ? -128 : 0;
  OpTester op("ConvInteger", 10);
  SetWindow(c, op);
  op.Input(RandomInts(type, c.x, generator, low, low + 255));
  const Tensor w = RandomInts(type, c.w, generator, low, low + 255);
  const Tensor zero =
      RandomInts(type, Ints(per_feature ? 1 : 0, c.w[0]), generator, low, low + 255);
  constant ? op.Constant(w) : op.Input(w);
  op.Input(RandomInts(type, {}, generator, low, low + 255));
  constant ? op.Constant(zero) : op.Input(zero);
  return op;
}

TEST(ConvIntegerKernelTest, AgreesWithTheReference) {
  const Case cases[] = {{{2, 3, 11}, {5, 3, 4}},
                        {{1, 4, 600}, {18, 2, 3}, 2, {1}, {1, 1}},
                        {{1, 3, 8, 9}, {20, 3, 4, 4}, 1, {4, 4}},
                        {{2, 6, 7, 5}, {6, 1, 3, 2}, 6, {2, 1}, {1, 0, 2, 1}, {1, 2}},
                        {{1, 1, 4}, {1, 1, 4}},
                        {{2, 40, 9, 30}, {40, 1, 3, 3}, 40, {1, 1}, {1, 1, 1, 1}},
                        {{1, 12, 17}, {18, 2, 5}, 6, {2}, {2, 2}, {3}},
                        {{1, 2, 20, 20}, {2, 1, 17, 17}, 2},
                        {{0, 2, 4}, {3, 2, 2}}};
  std::mt19937 generator(Seed());
  for (const Case& c : cases) {
    for (const DataType type : {DataType::kInt8, DataType::kUint8}) {
      for (const bool constant : {false, true}) {
        const OpTester op = Tester(c, type, constant, c.group % 2 == 0, generator);
        const Tensor expected = op.Reference().value()[0];
        for (const int threads : {1, 3}) {
          SetNumThreads(threads);
          ExpectClose(op.Kernel().value()[0], expected, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
