// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/depends_on.h"

#include <vector>

#include "absl/container/flat_hash_set.h"

namespace attnrun::opt {

bool DependsOn(const Value& value, const Node& node) {
  absl::flat_hash_set<const Value*> seen;
  std::vector<const Value*> open = {&value};
  while (!open.empty()) {
    const Node* producer = open.back()->producer();
    open.pop_back();
    if (producer == &node) return true;
    if (producer == nullptr) continue;
    for (const auto* slots : {&producer->inputs(), &producer->implicit_inputs()}) {
      for (const Value* input : *slots) {
        if (input != nullptr && seen.insert(input).second) open.push_back(input);
      }
    }
  }
  return false;
}

}  // namespace attnrun::opt
