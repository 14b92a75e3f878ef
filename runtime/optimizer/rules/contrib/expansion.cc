// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/contrib/expansion.h"

#include "core/elements.h"

namespace attnrun::opt {

const std::vector<SymInt>* Expansion::Dims(const Value* value, size_t rank) const {
  const std::vector<SymInt>* dims = value == nullptr ? nullptr : facts().DimsOf(value);
  return dims != nullptr && dims->size() == rank ? dims : nullptr;
}

Value* Expansion::Number(DataType type, double value, std::vector<int64_t> dims) {
  const bool whole = IsInteger(type);
  return patch_.Constant("number", whole ? FromInts(type, dims, {static_cast<int64_t>(value)})
                                         : FromDoubles(type, dims, {value}));
}

Value* Expansion::ExtentOf(Value* value, int64_t axis) {
  Value* shape = Op("Shape", {value}, {{"start", axis}, {"end", axis + 1}});
  return Op("Squeeze", {shape});
}

Value* Expansion::Range(Value* count) {
  return Op("Range", {Number(DataType::kInt64, 0), count, Number(DataType::kInt64, 1)});
}

Value* Expansion::Cast(Value* value, DataType type) {
  if (TypeOf(value) == type) return value;
  return Op("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
}

}  // namespace attnrun::opt
