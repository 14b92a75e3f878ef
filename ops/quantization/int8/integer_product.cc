// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/int8/integer_product.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ops/tensors/bytes.h"

namespace attnrun::ops {
namespace {

// Fails unless the operand is 8-bit and has a scale and a zero point of the right types, which are
// one number, or a row of `columns` numbers.
void Check(Body& b, const IntegerOperand& x, const SymInt& columns) {
  const auto may_be = [&](const Value* value, bool fits) {
    return value == nullptr || b.TypeOf(value) == DataType::kUndefined || fits;
  };
  const DataType type = b.TypeOf(x.value);
  const DataType scale = b.TypeOf(x.scale);
  const bool typed =
      may_be(x.value, IsByte(type)) && may_be(x.scale, IsFloatingPoint(scale)) &&
      (type == DataType::kUndefined || may_be(x.zero_point, b.TypeOf(x.zero_point) == type));
  if (!typed) {
    b.Fail(absl::StrCat("expected ", x.name,
                        " and its zero point to be int8 or uint8 and its scale a float, but ",
                        x.name, " is ", b.Describe(x.value), ", its scale ", b.Describe(x.scale),
                        " and its zero point ", b.Describe(x.zero_point)));
  }
  const auto check_row = [&](Value* row, absl::string_view role) {
    if (row == nullptr || b.RankOf(row) < 0 || b.IsNumber(row)) return;
    const auto extent = b.Extent(row, 0);
    const auto known = columns.constant();
    const bool differs = extent.has_value() && known.has_value() && *extent != *known;
    if (b.RankOf(row) == 1 && !differs) return;
    b.Fail(absl::StrCat("expected ", absl::AsciiStrToLower(x.name), role,
                        " to be a number or a row of ",
                        columns.HasUnknown() ? "as many as columns" : columns.ToString(),
                        ", but it is ", b.Describe(row)));
  };
  check_row(x.scale, "_scale");
  check_row(x.zero_point, "_zero_point");
}

Value* InFloat(Body& b, Value* value) { return b.Cast(value, DataType::kFloat); }

}  // namespace

Value* AsScalar(Body& b, Value* zero_point) {
  if (zero_point == nullptr || b.RankOf(zero_point) != 1 || !b.IsNumber(zero_point)) {
    return zero_point;
  }
  return b.Op("Reshape", {zero_point, b.Ints({})});
}

Value* IntegerProduct(Body& b, const IntegerOperand& a, const IntegerOperand& other) {
  Check(b, a, 1);
  Check(b, other, b.Dim(other.value, -1));
  // A product of rows would have fewer axes than the scales.
  if (b.RankOf(a.value) < 2 || b.RankOf(other.value) < 2) {
    b.Fail("the rank of an operand is not known, or below 2");
  }
  if (b.TypeOf(other.scale) == DataType::kUndefined) {
    b.Fail(absl::StrCat("the type of ", absl::AsciiStrToLower(other.name), "_scale is not known"));
  }
  std::vector<Value*> inputs = {a.value, other.value, AsScalar(b, a.zero_point),
                                AsScalar(b, other.zero_point)};
  // The sums may exceed the range of float16, so they are scaled in float.
  Value* sums = InFloat(b, b.Op("MatMulInteger", inputs));
  return b.Op("Mul", {sums, b.Op("Mul", {InFloat(b, a.scale), InFloat(b, other.scale)})});
}

}  // namespace attnrun::ops
