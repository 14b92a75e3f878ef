#include "optimizer/broadcasting.h"

#include "optimizer/trace.h"

namespace attnrun {

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
  return value;
}

bool BroadcastsTo(const std::vector<SymInt>& dims, const std::vector<SymInt>& target) {
  if (dims.size() > target.size()) return false;
  const size_t missing = target.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].is_constant(1) && dims[i] != target[missing + i]) return false;
  }
  return true;
}

}  // namespace attnrun
