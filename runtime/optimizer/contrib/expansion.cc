#include "optimizer/contrib/expansion.h"

#include "core/elements.h"

namespace attnrun {

const std::vector<SymInt>* Expansion::Dims(const Value* value, size_t rank) const {
  const std::vector<SymInt>* dims = value == nullptr ? nullptr : facts().DimsOf(value);
  return dims != nullptr && dims->size() == rank ? dims : nullptr;
}

Value* Expansion::Number(DataType type, double value, std::vector<int64_t> dims) {
  const bool whole = IsInteger(type);
  return patch_.Constant("number", whole ? FromInts(type, dims, {static_cast<int64_t>(value)})
                                         : FromDoubles(type, dims, {value}));
}

}  // namespace attnrun
