// SPDX-License-Identifier: Apache-2.0
#include "support/mask_graph.h"

#include <gtest/gtest.h>

#include <variant>

namespace attnrun::testing {

OptimizerTester WithMask(const Mask& mask) {
  return OptimizerTester([&](GraphBuilder& b) {
    MaskBuilder builder{b};
    builder.Attend(nullptr, mask(builder), {{"mask_value", kLeast}});
  });
}

int64_t Attribute(const OptimizerTester& test, const std::string& name) {
  for (const Node* node : test.graph().nodes()) {
    if (node->op_type() != "Attention") continue;
    const AttributeValue* value = node->attribute(name);
    return value == nullptr ? -1 : std::get<int64_t>(*value);
  }
  return -2;
}

void ExpectSameAtManySizes(OptimizerTester& test) {
  for (const int64_t keys : {1, 3, 12}) {
    for (const int64_t queries : {1, 3, 5}) {
      SCOPED_TRACE(keys * 100 + queries);
      test.Dim("keys", keys).Dim("seq", queries).ExpectSameResults(kMaskTolerance);
    }
  }
}

}  // namespace attnrun::testing
