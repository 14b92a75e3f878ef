#include "ops/infer_context.h"

#include <algorithm>

#include "core/elements.h"

namespace attnrun {
namespace {

SymInt BroadcastDim(const SymInt& a, const SymInt& b) {
  if (a == b || b.is_constant(1)) return a;
  if (a.is_constant(1)) return b;
  // A number other than 1 decides: the other side is either the same or 1.
  if (a.constant().has_value()) return a;
  if (b.constant().has_value()) return b;
  return SymInt::Opaque("broadcast", a, b);
}

}  // namespace

std::optional<std::vector<SymInt>> BroadcastDims(const std::optional<std::vector<SymInt>>& a,
                                                 const std::optional<std::vector<SymInt>>& b) {
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  const size_t rank = std::max(a->size(), b->size());
  std::vector<SymInt> dims(rank);
  for (size_t i = 0; i < rank; ++i) {
    const SymInt one(1);
    const SymInt& dim_a = i < rank - a->size() ? one : (*a)[i - (rank - a->size())];
    const SymInt& dim_b = i < rank - b->size() ? one : (*b)[i - (rank - b->size())];
    dims[i] = BroadcastDim(dim_a, dim_b);
  }
  return dims;
}

ValueFacts FactsOf(const Tensor& tensor) {
  ValueFacts facts;
  facts.type = tensor.type();
  facts.dims.emplace(tensor.shape().begin(), tensor.shape().end());
  if (IsInteger(tensor.type()) && tensor.rank() <= 1 &&
      tensor.num_elements() <= static_cast<int64_t>(kMaxContents)) {
    const auto elements = ToInts(tensor);
    if (elements.ok()) facts.contents.emplace(elements->begin(), elements->end());
  }
  return facts;
}

}  // namespace attnrun
