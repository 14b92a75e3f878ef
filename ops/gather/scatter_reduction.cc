// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/scatter_reduction.h"

#include <cmath>
#include <complex>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/tensors/element_copy.h"

namespace attnrun::ops {
namespace {

double Combine(ScatterReduction reduction, double a, double b) {
  switch (reduction) {
    case ScatterReduction::kAdd:
      return a + b;
    case ScatterReduction::kMul:
      return a * b;
    case ScatterReduction::kMax:
      return std::isnan(a) || a > b ? a : b;
    case ScatterReduction::kMin:
      return std::isnan(a) || a < b ? a : b;
    default:
      return b;
  }
}

// Sums and products are taken modulo 2^64; the output type keeps its low bits.
int64_t Combine(ScatterReduction reduction, int64_t a, int64_t b, bool is_unsigned) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  const bool less = is_unsigned ? x < y : a < b;
  switch (reduction) {
    case ScatterReduction::kAdd:
      return static_cast<int64_t>(x + y);
    case ScatterReduction::kMul:
      return static_cast<int64_t>(x * y);
    case ScatterReduction::kMax:
      return less ? b : a;
    case ScatterReduction::kMin:
      return less ? a : b;
    default:
      return b;
  }
}

absl::Status SetMoved(OpContext& context, const Tensor& data, const Tensor& updates,
                      const std::vector<Update>& list) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, data.type(), data.shape()));
  for (int64_t i = 0; i < data.num_elements(); ++i) CopyElement(data, i, *y, i);
  for (const Update& item : list) CopyElement(updates, item.update, *y, item.target);
  return absl::OkStatus();
}

// Reads data and updates, combines them and writes the result, all in the wide type that `read` and
// `write` convert to and from.
template <typename Read, typename Write, typename CombineTwo>
absl::Status SetCombined(OpContext& context, const Tensor& data, const Tensor& updates,
                         const std::vector<Update>& list, Read read, Write write,
                         CombineTwo combine) {
  ATTNRUN_ASSIGN_OR_RETURN(auto values, read(data));
  ATTNRUN_ASSIGN_OR_RETURN(const auto changes, read(updates));
  for (const Update& item : list) {
    values[item.target] = combine(values[item.target], changes[item.update]);
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, write(data.type(), data.shape(), values, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

bool IsComplex(DataType type) {
  return type == DataType::kComplex64 || type == DataType::kComplex128;
}

}  // namespace

ScatterReduction ReadScatterReduction(AttributeReader& attributes) {
  if (attributes.version() < 16) return ScatterReduction::kNone;
  // The standard has max and min from version 18 on, but PyTorch writes them before.
  const std::string name =
      attributes.OneOf("reduction", "none", {"none", "add", "mul", "max", "min"});
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMul;
  if (name == "max") return ScatterReduction::kMax;
  return name == "min" ? ScatterReduction::kMin : ScatterReduction::kNone;
}

absl::Status ApplyUpdates(OpContext& context, ScatterReduction reduction, const Tensor& data,
                          const Tensor& updates, const std::vector<Update>& list) {
  const DataType type = data.type();
  const bool orders = reduction == ScatterReduction::kMax || reduction == ScatterReduction::kMin;
  if (reduction == ScatterReduction::kNone) return SetMoved(context, data, updates, list);
  if (type == DataType::kString || (IsComplex(type) && orders)) {
    return absl::InvalidArgumentError(
        absl::StrCat("this reduction is not defined for ", TypeAndShape(data)));
  }
  if (IsComplex(type)) {
    using Complex = std::complex<double>;
    const auto combine = [&](Complex a, Complex b) {
      return reduction == ScatterReduction::kAdd ? a + b : a * b;
    };
    return SetCombined(context, data, updates, list, ToComplex, FromComplex, combine);
  }
  if (IsFloatingPoint(type)) {
    const auto combine = [&](double a, double b) { return Combine(reduction, a, b); };
    return SetCombined(context, data, updates, list, ToDoubles, FromDoubles, combine);
  }
  const bool is_unsigned = type == DataType::kUint64;
  const auto combine = [&](int64_t a, int64_t b) { return Combine(reduction, a, b, is_unsigned); };
  return SetCombined(context, data, updates, list, ToInts, FromInts, combine);
}

}  // namespace attnrun::ops
