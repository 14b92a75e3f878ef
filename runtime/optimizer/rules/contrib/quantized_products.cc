// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/quantized_products.h"

#include <vector>

#include "ops/quantization/qlinear_products.h"
#include "ops/tensors/channels_last.h"
#include "optimizer/rules/contrib/expansion.h"

namespace attnrun::opt {
namespace {

// A zero point of one element, as rank 0: MatMulInteger would read a row of one as a column's.
Value* ZeroPoint(Expansion& e, Value* value) {
  const std::vector<SymInt>* dims = value == nullptr ? nullptr : e.Dims(value, 1);
  if (dims == nullptr || !(*dims)[0].is_constant(1)) return value;
  return e.Op("Reshape", {value, e.Ints({})});
}

// True if the value is absent or one number, of rank 0 or 1.
bool IsNumber(Expansion& e, Value* value) {
  if (value == nullptr || e.Dims(value, 0) != nullptr) return true;
  const std::vector<SymInt>* dims = e.Dims(value, 1);
  return dims != nullptr && (*dims)[0].is_constant(1);
}

// True if the value is one number or a row of one for each column.
bool IsPerColumn(Expansion& e, Value* value) {
  return IsNumber(e, value) || e.Dims(value, 1) != nullptr;
}

Value* InFloat(Expansion& e, Value* value) { return e.Cast(value, DataType::kFloat); }

// One number, or one for each channel, [M], reshaped so that it broadcasts to [N, M, ..].
Value* PerChannel(Expansion& e, Value* value, int rank) {
  if (IsNumber(e, value)) return value;
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis + 1 < rank; ++axis) axes.push_back(axis);
  return e.Op("Unsqueeze", {value, e.Ints(axes)});
}

bool ExpandProduct(Expansion& e, const IntegerOperand& a, const IntegerOperand& b, Value* bias) {
  Value* y = IntegerProduct(e, a, b);
  if (y == nullptr) return false;
  if (bias != nullptr) y = e.Op("Add", {y, InFloat(e, bias)});
  return e.Give(e.Cast(y, e.TypeOf(b.scale)));
}

}  // namespace

Value* IntegerProduct(Expansion& e, const IntegerOperand& a, const IntegerOperand& b) {
  // A product of rows would have fewer axes than the scales.
  if (e.facts().RankOf(a.value) < 2 || e.facts().RankOf(b.value) < 2) {
    e.Decline("the rank of an operand is not known, or below 2");
    return nullptr;
  }
  if (e.TypeOf(b.scale) == DataType::kUndefined) {
    e.Decline("the type of b_scale is not known");
    return nullptr;
  }
  std::vector<Value*> inputs = {a.value, b.value};
  if (a.zero_point != nullptr || b.zero_point != nullptr) {
    inputs.push_back(ZeroPoint(e, a.zero_point));
  }
  if (b.zero_point != nullptr) inputs.push_back(ZeroPoint(e, b.zero_point));
  // The sums may exceed the range of float16, so they are scaled in float.
  Value* sums = InFloat(e, e.Op("MatMulInteger", inputs));
  return e.Op("Mul", {sums, e.Op("Mul", {InFloat(e, a.scale), InFloat(e, b.scale)})});
}

bool ExpandMatMulIntegerToFloat(Expansion& e) {
  return ExpandProduct(e, {e.input(0), e.input(2), e.input(4)},
                       {e.input(1), e.input(3), e.input(5)}, e.input(6));
}

bool ExpandDynamicQuantizeMatMul(Expansion& e) {
  const std::vector<Value*> a = e.Ops("DynamicQuantizeLinear", 3, {e.input(0)});
  return ExpandProduct(e, {a[0], a[1], a[2]}, {e.input(1), e.input(2), e.input(3)}, e.input(4));
}

bool ExpandQLinearMatMul(Expansion& e) {
  using Q = ops::QLinearMatMul;
  for (const int i : {Q::kAScale, Q::kAZeroPoint, Q::kYScale, Q::kYZeroPoint}) {
    if (!IsNumber(e, e.input(i))) return e.Decline("the rows of a or y have scales of their own");
  }
  for (const int i : {Q::kBScale, Q::kBZeroPoint}) {
    if (!IsPerColumn(e, e.input(i))) return e.Decline("the matrices of b have scales of their own");
  }
  Value* y = IntegerProduct(e, {e.input(Q::kA), e.input(Q::kAScale), e.input(Q::kAZeroPoint)},
                            {e.input(Q::kB), e.input(Q::kBScale), e.input(Q::kBZeroPoint)});
  if (y == nullptr) return false;
  return e.Give(
      e.Op("QuantizeLinear", {y, InFloat(e, e.input(Q::kYScale)), e.input(Q::kYZeroPoint)}));
}

// A ConvInteger of the integers less their zero points, scaled to floats, plus bias, quantized.
bool ExpandQLinearConv(Expansion& e) {
  using Q = ops::QLinearConv;
  const int rank = e.facts().RankOf(e.input(Q::kX));
  if (rank < 3) return e.Decline("the rank of x is not known");
  for (const int i : {Q::kXScale, Q::kXZeroPoint}) {
    if (!IsNumber(e, e.input(i))) return e.Decline("x has more scales than one");
  }
  if (!IsPerColumn(e, e.input(Q::kWScale)) || !IsPerColumn(e, e.input(Q::kWZeroPoint))) {
    return e.Decline("the shape of what belongs to w is not known");
  }
  const bool last = e.Attribute<int64_t>("channels_last", 0) != 0;
  Value* x = e.input(Q::kX);
  if (last) x = e.Op("Transpose", {x}, {{"perm", ops::ChannelsFirst(rank)}});
  Value* sums = e.Op("ConvInteger",
                     {x, e.input(Q::kW), ZeroPoint(e, e.input(Q::kXZeroPoint)),
                      ZeroPoint(e, e.input(Q::kWZeroPoint))},
                     Q::ConvAttributesOf(e.node()));
  if (e.input(Q::kBias) != nullptr) {
    sums = e.Op("Add", {sums, PerChannel(e, e.input(Q::kBias), rank)});
  }
  Value* scale = e.Op("Mul", {e.input(Q::kXScale), e.input(Q::kWScale)});
  Value* y = e.Op("Mul", {InFloat(e, sums), PerChannel(e, scale, rank)});
  if (last) y = e.Op("Transpose", {y}, {{"perm", ops::ChannelsLast(rank)}});
  return e.Give(e.Op("QuantizeLinear", {y, e.input(Q::kYScale), e.input(Q::kYZeroPoint)}));
}

bool ExpandQGemm(Expansion& e) {
  using enum ops::QGemm::Input;
  const auto matrix = [&](int i, const char* transposed) {
    Value* value = e.input(i);
    return e.Attribute<int64_t>(transposed, 0) == 0 ? value : e.Op("Transpose", {value});
  };
  // alpha * C is a bias in floats, added where the product is scaled.
  Value* alpha = e.Number(DataType::kFloat, e.Attribute("alpha", 1.0F));
  Value* a_scale = e.Op("Mul", {e.input(kAScale), alpha});
  Value* y = IntegerProduct(e, {matrix(kA, "transA"), a_scale, e.input(kAZeroPoint)},
                            {matrix(kB, "transB"), e.input(kBScale), e.input(kBZeroPoint)});
  if (y == nullptr) return false;
  if (e.input(kC) != nullptr) {
    Value* scale = e.Op("Mul", {a_scale, e.input(kBScale)});
    y = e.Op("Add", {y, e.Op("Mul", {InFloat(e, e.input(kC)), scale})});
  }
  if (e.input(kYScale) == nullptr) return e.Give(y);
  return e.Give(e.Op("QuantizeLinear", {y, e.input(kYScale), e.input(kYZeroPoint)}));
}

}  // namespace attnrun::opt
