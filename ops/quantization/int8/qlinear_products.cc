// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/int8/qlinear_products.h"

#include "absl/strings/str_cat.h"
#include "ops/composite/step_node.h"
#include "ops/quantization/int8/integer_product.h"
#include "ops/tensors/bytes.h"
#include "ops/tensors/channels_last.h"

namespace attnrun::ops {
namespace {

namespace matmul {
enum Input { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kYScale, kYZeroPoint };
}  // namespace matmul

namespace conv {
enum Input { kX, kXScale, kXZeroPoint, kW, kWScale, kWZeroPoint, kYScale, kYZeroPoint, kBias };
}  // namespace conv

// Fails unless a zero point has the type of its operand.
void CheckZeroPoint(Body& b, int operand, int zero_point) {
  const DataType type = b.TypeOf(b.input(operand));
  const DataType other = b.TypeOf(b.input(zero_point));
  if (type == other || type == DataType::kUndefined || other == DataType::kUndefined) return;
  b.Fail(absl::StrCat("expected zero point ", zero_point, " of type ", Name(type), ", but it is ",
                      b.Describe(b.input(zero_point))));
}

// Numbers per row [M] as a column [M, 1], so that they broadcast to [.., M, N].
Value* PerRow(Body& b, Value* numbers) {
  return b.RankOf(numbers) == 1 && !b.IsNumber(numbers) ? b.Unsqueeze(numbers, {1}) : numbers;
}

// (x - zero_point) * scale.
Value* Numbers(Body& b, Value* x, Value* scale, Value* zero_point) {
  Value* zero = b.Cast(zero_point, DataType::kFloat);
  Value* centred = b.Op("Sub", {b.Cast(x, DataType::kFloat), zero});
  return b.Op("Mul", {centred, b.Cast(scale, DataType::kFloat)});
}

// True if the operands are matrices of bytes, those of b have scales per column at most, and the
// other scales are numbers.
bool IsProductOfIntegers(Body& b) {
  using enum matmul::Input;
  bool fits = true;
  for (const int i : {kA, kB}) {
    fits = fits && IsByte(b.TypeOf(b.input(i))) && b.RankOf(b.input(i)) >= 2;
  }
  for (const int i : {kAScale, kAZeroPoint, kYScale, kYZeroPoint}) {
    fits = fits && b.IsNumber(b.input(i));
  }
  for (const int i : {kBScale, kBZeroPoint}) fits = fits && b.RankOf(b.input(i)) <= 1;
  return fits;
}

// Integers are multiplied where they can be, else the numbers that they stand for.
void WriteMatMul(Body& b) {
  using enum matmul::Input;
  CheckZeroPoint(b, kA, kAZeroPoint);
  CheckZeroPoint(b, kB, kBZeroPoint);
  for (int i = kA; i <= kYZeroPoint; ++i) {
    if (b.RankOf(b.input(i)) < 0 || b.TypeOf(b.input(i)) == DataType::kUndefined) {
      b.Fail(absl::StrCat("the type or the rank of input ", i, " is not known"));
    }
  }
  if (b.failed()) return;
  Value* y_scale = b.Cast(b.input(kYScale), DataType::kFloat);
  if (IsProductOfIntegers(b)) {
    Value* y = IntegerProduct(b, {"a", b.input(kA), b.input(kAScale), b.input(kAZeroPoint)},
                              {"b", b.input(kB), b.input(kBScale), b.input(kBZeroPoint)});
    return b.Give(b.Op("QuantizeLinear", {y, y_scale, b.input(kYZeroPoint)}));
  }
  Value* a = Numbers(b, b.input(kA), PerRow(b, b.input(kAScale)), PerRow(b, b.input(kAZeroPoint)));
  Value* y = b.Op("MatMul", {a, Numbers(b, b.input(kB), b.input(kBScale), b.input(kBZeroPoint))});
  // Axis -2: one number per row of the last matrices.
  b.Give(b.Op("QuantizeLinear", {y, y_scale, b.input(kYZeroPoint)}, {{"axis", int64_t{-2}}}));
}

// One number, or one for each channel, [M], reshaped so that it broadcasts to [N, M, ..].
Value* PerChannel(Body& b, Value* value, int rank) {
  if (b.IsNumber(value)) return value;
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis + 1 < rank; ++axis) axes.push_back(axis);
  return b.Op("Unsqueeze", {value, b.Ints(axes)});
}

void CheckConv(Body& b) {
  using enum conv::Input;
  const int rank = b.RankOf(b.input(kX));
  if (rank < 0) b.Fail("the rank of x is not known");
  if (rank < 3) b.Fail(absl::StrCat("expected x [N,C,..], but it is ", b.Describe(b.input(kX))));
  CheckZeroPoint(b, kX, kXZeroPoint);
  CheckZeroPoint(b, kW, kWZeroPoint);
  for (const int i : {kXScale, kXZeroPoint, kWScale, kWZeroPoint}) {
    const bool fits = b.IsNumber(b.input(i)) || (i >= kWScale && b.RankOf(b.input(i)) == 1);
    if (fits) continue;
    b.Fail(absl::StrCat("expected a number", i < kW ? "" : ", or one per output channel,",
                        " as input ", i, ", but it is ", b.Describe(b.input(i))));
  }
}

// A ConvInteger of the integers less their zero points, scaled to floats, plus bias, quantized.
void WriteConv(Body& b, const AttributeMap& attributes, bool channels_last) {
  using enum conv::Input;
  CheckConv(b);
  if (b.failed()) return;
  Value* x = b.input(kX);
  const int rank = b.RankOf(x);
  if (channels_last) x = b.Op("Transpose", {x}, {{"perm", ChannelsFirst(rank)}});
  Value* sums =
      b.Op("ConvInteger",
           {x, b.input(kW), AsScalar(b, b.input(kXZeroPoint)), AsScalar(b, b.input(kWZeroPoint))},
           attributes);
  if (b.input(kBias) != nullptr) {
    sums = b.Op("Add", {sums, PerChannel(b, b.input(kBias), rank)});
  }
  Value* scale = b.Op("Mul", {b.input(kXScale), b.input(kWScale)});
  Value* y = b.Op("Mul", {b.Cast(sums, DataType::kFloat), PerChannel(b, scale, rank)});
  if (channels_last) y = b.Op("Transpose", {y}, {{"perm", ChannelsLast(rank)}});
  b.Give(b.Op("QuantizeLinear", {y, b.input(kYScale), b.input(kYZeroPoint)}));
}

}  // namespace

std::unique_ptr<Composite> MakeQLinearMatMul(AttributeReader& /*attributes*/) {
  return std::make_unique<Composite>(WriteMatMul);
}

std::unique_ptr<Composite> MakeQLinearConv(AttributeReader& attributes) {
  const AttributeMap conv =
      PassedOn(attributes, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  const bool contrib = !attributes.node().domain().empty();
  const bool channels_last = contrib && attributes.Int("channels_last", 0) != 0;
  return std::make_unique<Composite>([=](Body& b) { WriteConv(b, conv, channels_last); });
}

}  // namespace attnrun::ops
