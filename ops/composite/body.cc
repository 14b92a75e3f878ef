// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/body.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/elements.h"

namespace attnrun::ops {
namespace {

// "[2,_,4]", where _ is any extent.
std::string ListOf(const std::vector<SymInt>& dims) {
  const auto format = [](std::string* out, const SymInt& dim) {
    absl::StrAppend(out, dim.HasUnknown() ? "_" : dim.ToString());
  };
  return absl::StrCat("[", absl::StrJoin(dims, ",", format), "]");
}

// True if the extents cannot be the expected ones.
bool Contradict(const std::vector<SymInt>& dims, const std::vector<SymInt>& expected) {
  if (dims.size() != expected.size()) return true;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto a = dims[i].constant();
    const auto b = expected[i].constant();
    if (a.has_value() && b.has_value() && a != b) return true;
  }
  return false;
}

}  // namespace

Value* Body::Cast(Value* value, DataType type) {
  if (TypeOf(value) == type) return value;
  return Op("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
}

Value* Body::Unsqueeze(Value* value, std::initializer_list<int64_t> axes) {
  return Op("Unsqueeze", {value, Ints(axes)});
}

Value* Body::ExtentOf(Value* value, int64_t axis) {
  return Op("Squeeze", {Op("Shape", {value}, {{"start", axis}, {"end", axis + 1}})});
}

Value* Body::Range(Value* count) {
  return Op("Range", {Number(DataType::kInt64, 0), count, Number(DataType::kInt64, 1)});
}

Value* Body::Ints(absl::Span<const int64_t> values) {
  return Constant(FromInts(DataType::kInt64, {static_cast<int64_t>(values.size())}, values));
}

Value* Body::Number(DataType type, double value, absl::Span<const int64_t> dims) {
  return Constant(IsInteger(type) ? FromInts(type, dims, {static_cast<int64_t>(value)})
                                  : FromDoubles(type, dims, {value}));
}

int Body::RankOf(const Value* value) {
  const auto& dims = Of(value).dims;
  return dims.has_value() ? static_cast<int>(dims->size()) : -1;
}

SymInt Body::Dim(const Value* value, int axis) {
  const auto& dims = Of(value).dims;
  const int rank = dims.has_value() ? static_cast<int>(dims->size()) : 0;
  if (axis < 0) axis += rank;
  return axis < 0 || axis >= rank ? SymInt::Unknown() : (*dims)[axis];
}

bool Body::IsNumber(const Value* value) {
  return RankOf(value) == 0 || (RankOf(value) == 1 && Dim(value, 0).is_constant(1));
}

std::string Body::Describe(const Value* value) {
  if (value == nullptr) return "left out";
  const ValueFacts& facts = Of(value);
  const bool typed = facts.type != DataType::kUndefined;
  return absl::StrCat(typed ? Name(facts.type) : "of an unknown type",
                      facts.dims.has_value() ? ListOf(*facts.dims) : " of an unknown rank");
}

void Body::Fail(std::string message) {
  if (!failed()) error_ = std::move(message);
}

void Body::Expect(absl::string_view name, const Value* value, DataType type,
                  const std::vector<SymInt>& dims) {
  if (value == nullptr) return;
  const ValueFacts& facts = Of(value);
  const bool any = type == DataType::kUndefined || facts.type == DataType::kUndefined;
  if ((any || type == facts.type) && (!facts.dims.has_value() || !Contradict(*facts.dims, dims))) {
    return;
  }
  Fail(absl::StrCat("expected ", name, " ", type == DataType::kUndefined ? "" : Name(type),
                    ListOf(dims), ", but it is ", Describe(value)));
}

void Body::ExpectFloats(std::initializer_list<const Value*> values) {
  DataType common = DataType::kUndefined;
  bool fits = true;
  for (const Value* value : values) {
    const DataType type = TypeOf(value);
    if (type == DataType::kUndefined) continue;
    if (common == DataType::kUndefined) common = type;
    fits = fits && IsFloatingPoint(type) && type == common;
  }
  if (fits) return;
  const auto format = [this](std::string* out, const Value* value) {
    absl::StrAppend(out, Describe(value));
  };
  Fail(absl::StrCat("expected operands to be floats of one type, but they are ",
                    absl::StrJoin(values, ", ", format)));
}

void Body::ExpectInput(int i, absl::string_view name) {
  if (input(i) == nullptr) Fail(absl::StrCat("required input ", i, ", ", name, ", is left out"));
}

}  // namespace attnrun::ops
