// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"
#include "ops/quantization/int8/integer_product.h"

namespace attnrun::ops::contrib {
namespace {

// Gives the product plus the bias [N], in the type of the scales.
void GiveProduct(Body& b, const IntegerOperand& x, const IntegerOperand& w, Value* bias) {
  const DataType type = b.TypeOf(w.scale);
  for (const DataType other : {b.TypeOf(x.scale), bias == nullptr ? type : b.TypeOf(bias)}) {
    if (other == type || other == DataType::kUndefined || type == DataType::kUndefined) continue;
    b.Fail(absl::StrCat("expected a_scale, b_scale and bias of one type, but they are ",
                        b.Describe(x.scale), ", ", b.Describe(w.scale), " and ", b.Describe(bias)));
  }
  if (bias != nullptr && !b.IsNumber(bias)) {
    b.Expect("bias", bias, DataType::kUndefined, {b.Dim(w.value, -1)});
  }
  Value* y = IntegerProduct(b, x, w);
  if (bias != nullptr) y = b.Op("Add", {y, b.Cast(bias, DataType::kFloat)});
  b.Give(b.Cast(y, type));
}

}  // namespace

// MatMulIntegerToFloat-1 (A, B, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?): Y = (A -
// a_zero_point)·(B - b_zero_point) * a_scale * b_scale + bias as numpy.matmul, in the type of the
// scales, float or float16. A and B are int8 or uint8. A's scale and zero point are scalars, B's
// are scalars or one per column; the bias has one number per column.
Composite::Writer MatMulIntegerToFloat(AttributeReader& /*attributes*/) {
  return [](Body& b) {
    GiveProduct(b, {"A", b.input(0), b.input(2), b.input(4)},
                {"B", b.input(1), b.input(3), b.input(5)}, b.input(6));
  };
}

// DynamicQuantizeMatMul-1 (A, B, b_scale, b_zero_point?, bias?): MatMulIntegerToFloat of a float A
// that is first quantized as by DynamicQuantizeLinear.
Composite::Writer DynamicQuantizeMatMul(AttributeReader& /*attributes*/) {
  return [](Body& b) {
    const std::vector<Value*> a = b.Ops("DynamicQuantizeLinear", 3, {b.input(0)});
    GiveProduct(b, {"A", a[0], a[1], a[2]}, {"B", b.input(1), b.input(2), b.input(3)}, b.input(4));
  };
}

// MatMulBnb4-1 (A [..., K], B, absmax): Y = A·W^T, or A·W with transB = 0, where W is made of the
// codes B and their factors as by attnrun.DequantizeBnb4. Attribute training_mode changes nothing.
Composite::Writer MatMulBnb4(AttributeReader& attributes) {
  const auto depth = attributes.Required<int64_t>("K");
  const auto columns = attributes.Required<int64_t>("N");
  const bool transposed = attributes.Int("transB", 1) != 0;
  const AttributeMap weight = {{"K", transposed ? depth : columns},
                               {"N", transposed ? columns : depth},
                               {"block_size", attributes.Required<int64_t>("block_size")},
                               {"quant_type", attributes.Required<int64_t>("quant_type")}};
  attributes.Ignore("training_mode");
  return [=](Body& b) {
    b.ExpectFloats({b.input(0), b.input(2)});
    Value* w = b.Op("attnrun::DequantizeBnb4", {b.input(1), b.input(2)}, weight);
    b.Give(b.Op("MatMul", {b.input(0), transposed ? b.Op("Transpose", {w}) : w}));
  };
}

// QGemm-1 (A, a_scale, a_zero_point, B, b_scale, b_zero_point, C?, y_scale?, y_zero_point?): Y =
// alpha * a_scale * b_scale * ((A' - a_zero_point)·(B' - b_zero_point) + C), as float, or quantized
// by y_scale and y_zero_point if these are given. A' [M, K] is A, or with transA its transpose; B'
// [K, N] likewise; C is int32 and broadcasts to [M, N]. B's scale and zero point are scalars or one
// per column of B'.
Composite::Writer QGemm(AttributeReader& attributes) {
  enum Input { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kC, kYScale, kYZeroPoint };
  const float alpha = attributes.Float("alpha", 1);
  const bool transpose_a = attributes.Int("transA", 0) != 0;
  const bool transpose_b = attributes.Int("transB", 0) != 0;
  return [=](Body& b) {
    const auto matrix = [&](int i, bool transpose) {
      const SymInt any = SymInt::Unknown();
      b.Expect(i == kA ? "A" : "B", b.input(i), DataType::kUndefined, {any, any});
      return transpose ? b.Op("Transpose", {b.input(i)}) : b.input(i);
    };
    // alpha * C is a bias in floats, added where the product is scaled.
    Value* a_scale = b.Op("Mul", {b.input(kAScale), b.Number(DataType::kFloat, alpha)});
    Value* y =
        IntegerProduct(b, {"A", matrix(kA, transpose_a), a_scale, b.input(kAZeroPoint)},
                       {"B", matrix(kB, transpose_b), b.input(kBScale), b.input(kBZeroPoint)});
    if (b.input(kC) != nullptr) {
      Value* scale = b.Op("Mul", {a_scale, b.input(kBScale)});
      y = b.Op("Add", {y, b.Op("Mul", {b.Cast(b.input(kC), DataType::kFloat), scale})});
    }
    if (b.input(kYScale) != nullptr) {
      y = b.Op("QuantizeLinear", {y, b.input(kYScale), b.input(kYZeroPoint)});
    }
    b.Give(y);
  };
}

}  // namespace attnrun::ops::contrib
