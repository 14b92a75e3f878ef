// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/broadcasting.h"

#include "ops/interface/registry.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// The extents without those in front that are 1.
absl::Span<const SymInt> WithoutLeadingOnes(absl::Span<const SymInt> dims) {
  while (!dims.empty() && dims.front().is_constant(1)) dims.remove_prefix(1);
  return dims;
}

// The input of a node that only adds or removes leading axes of extent 1; null for other nodes.
Value* BeforeLeadingOnes(const Value* value, Facts& facts) {
  const Node* node = value->producer();
  if (node == nullptr || !ops::TraitsOf(*node).keeps_order) return nullptr;
  const std::vector<SymInt>* from = facts.DimsOf(node->input(0));
  const std::vector<SymInt>* to = facts.DimsOf(value);
  const bool same =
      from != nullptr && to != nullptr && WithoutLeadingOnes(*from) == WithoutLeadingOnes(*to);
  return same ? node->input(0) : nullptr;
}

}  // namespace

Value* BroadcastSource(Value* value, Facts& facts,
                       absl::FunctionRef<bool(const std::vector<SymInt>&)> fits) {
  const std::vector<SymInt>* dims = facts.DimsOf(value);
  if (dims == nullptr) return value;
  const std::vector<SymInt> target = *dims;
  const std::vector<Traced> chain = Trace(value, facts);
  for (size_t i = chain.size(); i-- > 1;) {
    const std::vector<SymInt> from = *facts.DimsOf(chain[i].base);
    const auto expanded = View::Dense(from).Expanded(target);
    if (expanded.has_value() && *expanded == chain[i].view && fits(from)) return chain[i].base;
  }
  Value* before = BeforeLeadingOnes(value, facts);
  if (before != nullptr && fits(*facts.DimsOf(before))) return before;
  return value;
}

bool BroadcastsTo(const std::vector<SymInt>& dims, const std::vector<SymInt>& target) {
  if (dims.size() > target.size()) return false;
  const size_t missing = target.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    const SymInt& wanted = target[missing + i];
    if (dims[i].is_constant(1) || dims[i] == wanted) continue;
    // A Slice to 1 leaves one position, or none where the target has none.
    if (dims[i] != SymInt::Opaque("min", wanted, 1)) return false;
  }
  return true;
}

}  // namespace attnrun::opt
