// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include "core/elements.h"
#include "core/parallel.h"
#include "core/status.h"
#include "hwy/highway.h"
#include "ops/elementwise/rows.h"
#include "ops/quantization/qdq/granularity.h"
#include "ops/quantization/qdq/quantize.h"
#include "ops/quantization/qdq/quantize_integers.h"
#include "ops/tensors/bytes.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(d, x, scale, zero) on vectors of floats; the last one may be partial.
template <class F>
HWY_INLINE void MapQuantized(const RowOperand* operands, void* out, size_t n, F f) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto* x = static_cast<const float*>(operands[0].data);
  const auto* scale = static_cast<const float*>(operands[1].data);
  const auto* zero = static_cast<const float*>(operands[2].data);
  auto* y = static_cast<float*>(out);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = HWY_MIN(lanes, n - i);
    const auto load = [&](const float* from, size_t mask) HWY_ATTR {
      return left == lanes ? hn::LoadU(d, from + (i & mask))
                           : hn::LoadN(d, from + (i & mask), left);
    };
    const auto result = f(d, load(x, operands[0].mask), load(scale, operands[1].mask),
                          load(zero, operands[2].mask));
    if (left == lanes) {
      hn::StoreU(result, d, y + i);
    } else {
      hn::StoreN(result, d, y + i, left);
    }
  }
}

// p.alpha and p.beta are the range of the integer type.
void QuantizeRow(const RowOperand* operands, void* out, size_t n, const RowParameters& p) {
  MapQuantized(operands, out, n, [&](auto d, auto x, auto scale, auto zero) HWY_ATTR {
    const auto low = hn::Set(d, p.alpha);
    const auto high = hn::Set(d, p.beta);
    const auto y = hn::Add(hn::Round(hn::Div(x, scale)), zero);
    // NaN compares false.
    return hn::IfThenElse(hn::Gt(y, low), hn::Min(y, high), low);
  });
}

void DequantizeRow(const RowOperand* operands, void* out, size_t n, const RowParameters& /*p*/) {
  MapQuantized(operands, out, n, [](auto /*d*/, auto x, auto scale, auto zero) HWY_ATTR {
    return hn::Mul(hn::Sub(x, zero), scale);
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace attnrun::ops {
namespace {

// x, scale and zero point with shapes that broadcast to [outer, blocks, block, inner].
struct Operands {
  Tensor x;
  Tensor scale;
  Tensor zero;
};

bool Divides(const Granularity& granularity) {
  return granularity.block > 0 && granularity.axis % granularity.block == 0;
}

absl::StatusOr<Operands> Arrange(const Tensor& x, const Tensor& scale, const Tensor& zero,
                                 const Granularity& g) {
  const int64_t blocks = g.axis / g.block;
  const int64_t shape[] = {g.outer_stride != 0 ? g.outer : 1, g.block_stride != 0 ? blocks : 1, 1,
                           g.inner_stride != 0 ? g.inner : 1};
  Operands result;
  ATTNRUN_ASSIGN_OR_RETURN(result.x, x.Reshaped({g.outer, blocks, g.block, g.inner}));
  ATTNRUN_ASSIGN_OR_RETURN(result.scale, scale.Reshaped(shape));
  if (zero.num_elements() == 1) {
    ATTNRUN_ASSIGN_OR_RETURN(result.zero, zero.Reshaped({}));
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(result.zero, zero.Reshaped(shape));
  }
  return result;
}

// Unpacks elements narrower than a byte to int8 or uint8; returns other tensors as they are.
absl::StatusOr<Tensor> Unpacked(const Tensor& x, Allocator& allocator) {
  const int bits = BitWidth(x.type());
  if (bits >= 8) return x;
  const bool is_signed = IsSignedInteger(x.type());
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor wide,
      Tensor::Allocate(is_signed ? DataType::kInt8 : DataType::kUint8, x.shape(), allocator));
  const auto* packed = x.data<uint8_t>();
  auto* out = wide.mutable_data<uint8_t>();
  const int per_byte = 8 / bits;
  const int up = 8 - bits;
  ParallelFor(x.num_elements(), 65536, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      // Shifts the element's bits to the top of a byte, then down again with or without its sign.
      const auto top = static_cast<uint8_t>(packed[i / per_byte]
                                            << (up - bits * static_cast<int>(i % per_byte)));
      out[i] = is_signed ? static_cast<uint8_t>(static_cast<int8_t>(top) >> up)
                         : static_cast<uint8_t>(top >> up);
    }
  });
  return wide;
}

absl::StatusOr<Tensor> ZeroPointOrZero(const OpContext& context) {
  if (context.has_input(2)) return Unpacked(context.input(2), context.allocator());
  ATTNRUN_ASSIGN_OR_RETURN(Tensor zero,
                           Tensor::Allocate(DataType::kFloat, {}, context.allocator()));
  *zero.mutable_data<float>() = 0;
  return zero;
}

absl::StatusOr<Granularity> Resolve(const OpContext& context, int64_t axis, int64_t block_size) {
  return ResolveGranularity(context.input(0), context.input(1),
                            context.has_input(2) ? &context.input(2) : nullptr, axis, block_size);
}

absl::Status RunQuantized(const OpContext& context, const Granularity& granularity,
                          RowProgram program, const Tensor& x, Tensor& out) {
  if (x.num_elements() == 0) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor zero, ZeroPointOrZero(context));
  ATTNRUN_ASSIGN_OR_RETURN(const Operands operands,
                           Arrange(x, context.input(1), zero, granularity));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor arranged, out.Reshaped(operands.x.shape()));
  program.inputs = {DataType::kFloat, DataType::kFloat, DataType::kFloat};
  program.output = DataType::kFloat;
  RunRows(program, {&operands.x, &operands.scale, &operands.zero}, arranged);
  return absl::OkStatus();
}

RowProgram QuantizeProgram(DataType type) {
  const NumberRange range = RangeOf(type);
  RowProgram program{.function = HWY_NAMESPACE::QuantizeRow};
  program.parameters.alpha = static_cast<float>(range.low);
  program.parameters.beta = static_cast<float>(range.high);
  return program;
}

// The scale and zero point of all elements, if their scale is a single float; else nullopt.
std::optional<IntegerScale> OneScale(const OpContext& context, DataType integers, DataType floats) {
  const Tensor& scale = context.input(1);
  const bool plain = IsShortInteger(integers) && floats == DataType::kFloat &&
                     scale.type() == DataType::kFloat && scale.num_elements() == 1;
  const bool has_zero = context.has_input(2);
  if (!plain || (has_zero && context.input(2).type() != integers)) return std::nullopt;
  double zero = 0;
  if (has_zero) zero = ToDoubles(context.input(2)).value_or(std::vector<double>{0})[0];
  return IntegerScale{*scale.data<float>(), static_cast<float>(zero), integers};
}

int64_t Width(DataType type) { return BitWidth(type) / 8; }

// Calls f(begin, end) for pieces of the elements of x.
template <class F>
absl::Status InPieces(const Tensor& x, F f) {
  constexpr int64_t kGrain = 32768;
  ParallelFor(x.num_elements(), kGrain, f);
  return absl::OkStatus();
}

class QuantizeKernel final : public Kernel {
 public:
  QuantizeKernel(int64_t axis, int64_t block_size, int64_t output_type, int64_t precision)
      : axis_(axis), block_size_(block_size), output_type_(output_type), precision_(precision) {}

  absl::string_view name() const override { return "highway"; }

  // Accepts divisions in float, to 8 bits, or to 16 bits with a single scale.
  bool Accepts(const OpContext& context) const override {
    const bool floats = kDequantizedTypes.Contains(context.input(0).type()) &&
                        context.input(1).type() == DataType::kFloat;
    const bool in_float = precision_ == 0 || precision_ == static_cast<int64_t>(DataType::kFloat);
    const absl::StatusOr<DataType> type = QuantizedType(context, output_type_);
    if (!floats || !in_float || !type.ok()) return false;
    const absl::StatusOr<Granularity> granularity = Resolve(context, axis_, block_size_);
    if (!granularity.ok() || !Divides(*granularity)) return false;
    return IsByte(*type) || OneScale(context, *type, context.input(0).type()).has_value();
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const DataType type, QuantizedType(context, output_type_));
    ATTNRUN_ASSIGN_OR_RETURN(const Granularity granularity, Resolve(context, axis_, block_size_));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, type, x.shape()));
    if (const auto by = OneScale(context, type, x.type())) {
      return InPieces(x, [&](int64_t begin, int64_t end) {
        QuantizeIntegers(x.data<float>() + begin, end - begin, *by,
                         y->mutable_data<char>() + begin * Width(type));
      });
    }
    return RunQuantized(context, granularity, QuantizeProgram(type), x, *y);
  }

 private:
  const int64_t axis_;
  const int64_t block_size_;
  const int64_t output_type_;
  const int64_t precision_;
};

class DequantizeKernel final : public Kernel {
 public:
  DequantizeKernel(int64_t axis, int64_t block_size, int64_t output_type)
      : axis_(axis), block_size_(block_size), output_type_(output_type) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    constexpr TypeSet kIntegers8 = {DataType::kInt8, DataType::kUint8, DataType::kInt32,
                                    DataType::kInt4, DataType::kUint4, DataType::kInt2,
                                    DataType::kUint2};
    const Tensor& x = context.input(0);
    const bool known = kIntegers8.Contains(x.type()) ||
                       OneScale(context, x.type(), context.input(1).type()).has_value();
    const bool types = known && kDequantizedTypes.Contains(context.input(1).type()) &&
                       (!context.has_input(2) || context.input(2).type() == x.type());
    const absl::StatusOr<Granularity> granularity = Resolve(context, axis_, block_size_);
    return types && granularity.ok() && Divides(*granularity) &&
           TypeAttribute("", output_type_, DataType::kFloat, kDequantizedTypes).ok();
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(
        const DataType type,
        TypeAttribute("output_dtype", output_type_, context.input(1).type(), kDequantizedTypes));
    ATTNRUN_ASSIGN_OR_RETURN(const Granularity granularity, Resolve(context, axis_, block_size_));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, Unpacked(context.input(0), context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, type, x.shape()));
    if (const auto by = OneScale(context, x.type(), type)) {
      return InPieces(x, [&](int64_t begin, int64_t end) {
        DequantizeIntegers(x.data<char>() + begin * Width(x.type()), end - begin, *by,
                           y->mutable_data<float>() + begin);
      });
    }
    const RowProgram program{.function = HWY_NAMESPACE::DequantizeRow};
    return RunQuantized(context, granularity, program, x, *y);
  }

 private:
  const int64_t axis_;
  const int64_t block_size_;
  const int64_t output_type_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> QuantizeLinear::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<QuantizeKernel>(axis_, block_size_, output_type_, precision_);
}

absl::StatusOr<std::unique_ptr<Kernel>> DequantizeLinear::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<DequantizeKernel>(axis_, block_size_, output_type_);
}

}  // namespace attnrun::ops
