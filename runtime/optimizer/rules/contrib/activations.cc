// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/contrib/expansion.h"

namespace attnrun::opt {
namespace {

// Input 0 plus the bias, if there is one.
Value* Biased(Expansion& e) {
  return e.input(1) == nullptr ? e.input(0) : e.Op("Add", {e.input(0), e.input(1)});
}

}  // namespace

bool ExpandGelu(Expansion& e) { return e.Give(e.Op("Gelu", {Biased(e)})); }

bool ExpandFastGelu(Expansion& e) {
  return e.Give(e.Op("Gelu", {Biased(e)}, {{"approximate", std::string("tanh")}}));
}

bool ExpandQuickGelu(Expansion& e) {
  return e.Give(e.Op("Swish", {e.input(0)}, {{"alpha", e.Attribute("alpha", 1.702F)}}));
}

bool ExpandBiasSplitGelu(Expansion& e) {
  const std::vector<Value*> halves =
      e.Ops("Split", 2, {Biased(e)}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
  return e.Give(e.Op("Mul", {halves[0], e.Op("Gelu", {halves[1]})}));
}

}  // namespace attnrun::opt
