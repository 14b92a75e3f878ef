// SPDX-License-Identifier: Apache-2.0
#include "execution/product_precisions.h"

#include <string>

namespace attnrun::exec {
namespace {

void Add(const Plan& plan, std::vector<ProductPrecision>& products) {
  for (const Step& step : plan.steps()) {
    const Precision precision =
        step.kernel == nullptr ? Precision::kFloat32 : step.kernel->precision();
    if (precision != Precision::kFloat32 || !step.finer_reason.empty()) {
      products.push_back(
          {step.node->name(), step.node->qualified_op_type(), precision, step.finer_reason});
    }
    // In the order of the attributes: that of the map differs from run to run.
    for (const auto& [name, attribute] : step.node->attributes()) {
      const auto body = step.subgraphs.find(name);
      if (body != step.subgraphs.end()) Add(*body->second, products);
    }
  }
}

}  // namespace

std::vector<ProductPrecision> ProductPrecisionsOf(const Plan& plan, Precision asked) {
  std::vector<ProductPrecision> products;
  if (asked != Precision::kFloat32) Add(plan, products);
  return products;
}

}  // namespace attnrun::exec
