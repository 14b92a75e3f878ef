#include "optimizer/contrib/expansion.h"

namespace attnrun {
namespace {

// A zero point of one element, as a number: MatMulInteger reads a row of one as a column's.
Value* ZeroPoint(Expansion& e, Value* value) {
  const std::vector<SymInt>* dims = value == nullptr ? nullptr : e.Dims(value, 1);
  if (dims == nullptr || !(*dims)[0].is_constant(1)) return value;
  return e.Op("Reshape", {value, e.Ints({})});
}

struct Quantized {
  Value* value;
  Value* scale;
  Value* zero_point;
};

// Int32 sums, scaled as floats, as exporters write it for ONNX's own operators.
bool ExpandProduct(Expansion& e, const Quantized& a, const Quantized& b, Value* bias) {
  // A product of rows would have fewer axes than what scales it.
  if (e.facts().RankOf(e.input(0)) < 2 || e.facts().RankOf(e.input(1)) < 2) {
    return e.Decline("the rank of an operand is not known, or below 2");
  }
  const DataType type = e.TypeOf(b.scale);
  if (type == DataType::kUndefined) return e.Decline("the type of b_scale is not known");
  std::vector<Value*> inputs = {a.value, b.value};
  if (a.zero_point != nullptr || b.zero_point != nullptr) {
    inputs.push_back(ZeroPoint(e, a.zero_point));
  }
  if (b.zero_point != nullptr) inputs.push_back(ZeroPoint(e, b.zero_point));
  // Sums are beyond what halves hold.
  const auto in_float = [&](Value* value) {
    return type == DataType::kFloat ? value : e.Cast(value, DataType::kFloat);
  };
  Value* sums = e.Cast(e.Op("MatMulInteger", inputs), DataType::kFloat);
  Value* scale = e.Op("Mul", {in_float(a.scale), in_float(b.scale)});
  Value* y = e.Op("Mul", {sums, scale});
  if (bias != nullptr) y = e.Op("Add", {y, in_float(bias)});
  return e.Give(type == DataType::kFloat ? y : e.Cast(y, type));
}

}  // namespace

bool ExpandMatMulIntegerToFloat(Expansion& e) {
  return ExpandProduct(e, {e.input(0), e.input(2), e.input(4)},
                       {e.input(1), e.input(3), e.input(5)}, e.input(6));
}

bool ExpandDynamicQuantizeMatMul(Expansion& e) {
  const std::vector<Value*> a = e.Ops("DynamicQuantizeLinear", 3, {e.input(0)});
  return ExpandProduct(e, {a[0], a[1], a[2]}, {e.input(1), e.input(2), e.input(3)}, e.input(4));
}

}  // namespace attnrun
