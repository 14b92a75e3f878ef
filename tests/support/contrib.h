// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_CONTRIB_H_
#define ATTNRUN_TESTS_SUPPORT_CONTRIB_H_

#include <gtest/gtest.h>

#include "support/op_tester.h"

// For tests of ONNX Runtime's own operators, which have no kernels.
namespace attnrun::testing {

inline constexpr char kMicrosoft[] = "com.microsoft";

// One of the operator's outputs.
inline Tensor Reference(const OpTester& op, int output = 0) {
  const auto results = op.Reference();
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? (*results)[output] : Tensor();
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_CONTRIB_H_
