// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/any_type.h"

namespace attnrun::testing {
namespace {

TEST(CumulativeTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (int64_t axis = -3; axis < 3; ++axis) {
    for (const int64_t exclusive : {0, 1}) {
      for (const int64_t reverse : {0, 1}) {
        for (const DataType type : {DataType::kInt64, DataType::kInt32}) {
          OpTester op("CumSum", 14);
          op.Attribute("exclusive", exclusive).Attribute("reverse", reverse);
          op.Input(RandomInts(type, {3, 50, 4}, generator, -1000, 1000)).Input(ScalarInt(axis));
          ExpectKernelSame(op);
        }
        OpTester floats("CumSum", 14);
        floats.Attribute("exclusive", exclusive).Attribute("reverse", reverse);
        floats.Input(RandomFloats({3, 50, 4}, generator)).Input(ScalarInt(axis));
        // Kernel and reference both sum in double and round once.
        ExpectClose(floats.Kernel().value()[0], floats.Reference().value()[0], 0);
      }
    }
  }
}

TEST(CumulativeTest, ProductsAndOverflow) {
  OpTester product("CumProd", 26);
  product.Attribute("exclusive", int64_t{1}).Attribute("reverse", int64_t{1});
  product.Input(Ints({1, 2, 3})).Input(ScalarInt(0));
  ExpectSame(product.Reference().value()[0], Ints({6, 3, 1}));
  OpTester wraps("CumSum", 14);
  wraps.Input(Ints({INT64_MAX, 1})).Input(ScalarInt(0));
  ExpectSame(wraps.Reference().value()[0], Ints({INT64_MAX, INT64_MIN}));
  ExpectKernelSame(wraps);
  OpTester empty("CumSum", 14);
  ExpectKernelSame(empty.Input(Make<float>({2, 0}, {})).Input(ScalarInt(1)));
  OpTester outside("CumSum", 14);
  ExpectError(outside.Input(Ints({1})).Input(ScalarInt(1)), "axis 1 is outside [-1,0] for rank 1");
}

}  // namespace
}  // namespace attnrun::testing
