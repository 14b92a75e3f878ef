// SPDX-License-Identifier: Apache-2.0
#include "attnrun/session.h"
#include "ops/interface/registry.h"
#include "optimizer/optimizer.h"

namespace attnrun {

std::vector<SupportedOp> SupportedOperators() {
  std::vector<SupportedOp> operators;
  for (const ops::OpDef* def : ops::OpRegistry::Get().All()) {
    operators.push_back({def->domain, def->name, def->since});
  }
  return operators;
}

std::vector<std::string> OptimizerPasses() { return opt::PassNames(); }

}  // namespace attnrun
