// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/generate.h"

#include <algorithm>
#include <random>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

// The value of element i.
using Formula = absl::FunctionRef<double(int64_t i)>;

template <typename T>
void Fill(Tensor& tensor, Formula formula) {
  T* out = tensor.mutable_data<T>();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) out[i] = static_cast<T>(formula(i));
}

// Fills the usual input types in place; rare types go through a vector.
absl::StatusOr<Tensor> FromFormula(DataType type, const Shape& shape, Formula formula) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type, shape));
  switch (type) {
    case DataType::kFloat:
      Fill<float>(tensor, formula);
      return tensor;
    case DataType::kInt64:
      Fill<int64_t>(tensor, formula);
      return tensor;
    case DataType::kInt32:
      Fill<int32_t>(tensor, formula);
      return tensor;
    case DataType::kUint8:
      Fill<uint8_t>(tensor, formula);
      return tensor;
    case DataType::kBool:
      Fill<bool>(tensor, formula);
      return tensor;
    case DataType::kComplex64:
      Fill<std::complex<float>>(tensor, formula);
      return tensor;
    case DataType::kComplex128:
      Fill<std::complex<double>>(tensor, formula);
      return tensor;
    case DataType::kString:
      return tensor;
    default:
      break;
  }
  std::vector<double> values(tensor.num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = formula(static_cast<int64_t>(i));
  return FromDoubles(type, shape, values);
}

// Gives each input its own random stream, which depends on its name and the seed only.
std::mt19937_64 GeneratorFor(const std::string& name, uint64_t seed) {
  std::vector<uint32_t> entropy = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  entropy.insert(entropy.end(), name.begin(), name.end());
  std::seed_seq sequence(entropy.begin(), entropy.end());
  return std::mt19937_64(sequence);
}

absl::StatusOr<Tensor> Constant(DataType type, const Shape& shape, double value) {
  return FromFormula(type, shape, [value](int64_t) { return value; });
}

absl::StatusOr<Tensor> Positions(DataType type, const Shape& shape, int64_t past) {
  const int64_t length = shape.empty() ? 1 : shape.back();
  return FromFormula(type, shape,
                     [=](int64_t i) { return static_cast<double>(past + i % length); });
}

absl::StatusOr<Tensor> Uniform(DataType type, const Shape& shape, int64_t low, int64_t high,
                               std::mt19937_64& generator) {
  std::uniform_int_distribution<int64_t> draw(low, high);
  return FromFormula(type, shape, [&](int64_t) { return draw(generator); });
}

absl::StatusOr<Tensor> Normal(DataType type, const Shape& shape, std::mt19937_64& generator) {
  std::normal_distribution<double> draw;
  return FromFormula(type, shape, [&](int64_t) { return draw(generator); });
}

absl::StatusOr<Tensor> Plausible(const ValueInfo& info, const FittedInput& fitted, int64_t past,
                                 std::mt19937_64& generator) {
  const std::string name = absl::AsciiStrToLower(info.name);
  const Shape& shape = fitted.shape;
  const auto mentions = [&name](absl::string_view word) { return absl::StrContains(name, word); };
  const bool holds_masks = info.type == DataType::kBool || IsInteger(info.type);
  if (fitted.masks_where_true && holds_masks) return Constant(info.type, shape, 0);
  if (info.type == DataType::kBool) {
    return Constant(info.type, shape, mentions("use_cache") && past == 0 ? 0 : 1);
  }
  if (mentions("mask")) return Constant(info.type, shape, 1);
  if (!IsInteger(info.type)) return Normal(info.type, shape, generator);
  if (mentions("token_type") || mentions("segment")) return Constant(info.type, shape, 0);
  if (mentions("position")) return Positions(info.type, shape, past);
  if (info.type == DataType::kUint8 && shape.size() >= 3) {
    return Uniform(info.type, shape, 0, 255, generator);
  }
  // int4 and the 2-bit types cannot hold 9.
  int64_t high = BitWidth(info.type) < 8 ? 1 : 9;
  if (fitted.index_limit >= 0) high = std::min(high, std::max<int64_t>(fitted.index_limit - 1, 0));
  return Uniform(info.type, shape, std::min<int64_t>(high, 1), high, generator);
}

// Two tensors of one shape.
absl::StatusOr<Tensor> PlausibleSequence(const ValueInfo& info, const FittedInput& fitted,
                                         int64_t past, std::mt19937_64& generator) {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor first, Plausible(info, fitted, past, generator));
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor second, Plausible(info, fitted, past, generator));
  return Tensor::Sequence(first.type(), {first, second});
}

}  // namespace

absl::StatusOr<Tensor> Generate(const ValueInfo& info, const FittedInput& fitted, int64_t past,
                                uint64_t seed) {
  std::mt19937_64 generator = GeneratorFor(info.name, seed);
  absl::StatusOr<Tensor> tensor = HoldsSequence(info.kind)
                                      ? PlausibleSequence(info, fitted, past, generator)
                                      : Plausible(info, fitted, past, generator);
  if (tensor.ok()) return tensor;
  return Annotate(tensor.status(), absl::StrCat("input '", Printable(info.name), "'"));
}

}  // namespace attnrun::cli
