// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_CONV_WINDOW_H_
#define ATTNRUN_TESTS_SUPPORT_CONV_WINDOW_H_

#include "support/op_tester.h"

namespace attnrun::testing {

// Gives a convolution the attributes group, strides, pads and dilations of a case of a test, as far
// as its lists are not empty.
template <typename Case>
void SetWindow(const Case& c, OpTester& op) {
  op.Attribute("group", c.group);
  if (!c.strides.empty()) op.Attribute("strides", c.strides);
  if (!c.pads.empty()) op.Attribute("pads", c.pads);
  if (!c.dilations.empty()) op.Attribute("dilations", c.dilations);
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_CONV_WINDOW_H_
