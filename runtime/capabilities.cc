#include "attnrun/session.h"
#include "ops/registry.h"
#include "optimizer/optimizer.h"

namespace attnrun {

std::vector<SupportedOp> SupportedOperators() {
  std::vector<SupportedOp> operators;
  for (const OpDef* def : OpRegistry::Get().All()) {
    operators.push_back({def->domain, def->name, def->since});
  }
  return operators;
}

std::vector<std::string> OptimizerPasses() { return PassNames(); }

}  // namespace attnrun
