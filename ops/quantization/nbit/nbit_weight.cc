// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/nbit/nbit_weight.h"

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/quantization/nbit/codes.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {

absl::Status ExpectedShape(absl::string_view what, const Shape& shape, const Tensor& found) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, ToString(shape), ", but it is ", TypeAndShape(found)));
}

absl::Status NBitWeight::CheckNumbers() const {
  if (!IsCodeWidth(bits)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected bits to be 2, 4 or 8, but found ", bits));
  }
  if (!IsBlockSize(block_size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected block_size to be a power of two from 16 to 65536, but found ", block_size));
  }
  // No larger weight fits in memory, and sizes would not fit 64 bits.
  constexpr int64_t kLargest = int64_t{1} << 31;
  if (k >= 1 && n >= 1 && k <= kLargest && n <= kLargest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected K and N from 1 to 2^31, but found ", k, " and ", n));
}

absl::Status NBitWeight::CheckZeroPoints() const {
  if (!zero_points.defined()) return absl::OkStatus();
  const bool packed = zero_points.type() == DataType::kUint8;
  const Shape shape = {n, packed ? DivCeil(blocks() * bits, 8) : blocks()};
  const bool fits =
      zero_points.shape() == shape || zero_points.shape() == Shape{shape[0] * shape[1]};
  if (fits && (packed || IsFloatOrHalf(zero_points.type()))) return absl::OkStatus();
  return ExpectedShape(
      packed ? "zero_points to be uint8" : "zero_points to be packed uint8 or floats", shape,
      zero_points);
}

absl::Status NBitWeight::Check() const {
  ATTNRUN_RETURN_IF_ERROR(CheckNumbers());
  const Shape packed = {n, blocks(), block_size * bits / 8};
  if (codes.type() != DataType::kUint8 || codes.shape() != packed) {
    return ExpectedShape("B to be uint8", packed, codes);
  }
  const Shape shape = {n, blocks()};
  const bool fits = scales.shape() == shape || scales.shape() == Shape{n * blocks()};
  if (!fits || !IsFloatOrHalf(scales.type())) {
    return ExpectedShape("scales to be floats ", shape, scales);
  }
  return CheckZeroPoints();
}

absl::StatusOr<std::vector<double>> NBitWeight::ZeroPoints() const {
  if (!zero_points.defined()) return std::vector<double>();
  if (zero_points.type() != DataType::kUint8) return ToDoubles(zero_points);
  const int64_t row_bytes = DivCeil(blocks() * bits, 8);
  std::vector<double> points(n * blocks());
  for (int64_t i = 0; i < n * blocks(); ++i) {
    const uint8_t* row = zero_points.data<uint8_t>() + i / blocks() * row_bytes;
    points[i] = CodeAt(row, i % blocks(), static_cast<int>(bits));
  }
  return points;
}

absl::StatusOr<std::vector<double>> NBitWeight::Columns() const {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> factors, ToDoubles(scales));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> points, ZeroPoints());
  const double middle = 1 << (bits - 1);
  const int64_t padded = blocks() * block_size;
  std::vector<double> columns(n * k);
  for (int64_t i = 0; i < n * k; ++i) {
    const int64_t column = i / k;
    const int64_t row = i % k;
    const int64_t block = column * blocks() + row / block_size;
    const int code = CodeAt(codes.data<uint8_t>(), column * padded + row, static_cast<int>(bits));
    columns[i] = (code - (points.empty() ? middle : points[block])) * factors[block];
  }
  return columns;
}

namespace {

PackedRecipe RecipeOf(absl::Span<const NBitWeight> weights) {
  PackedRecipe recipe;
  recipe.numbers = {static_cast<int64_t>(PackedKind::kNBit), weights[0].bits, weights[0].block_size,
                    weights[0].k};
  for (const NBitWeight& weight : weights) {
    AppendTensor(weight.codes, recipe);
    AppendTensor(weight.scales, recipe);
    AppendTensor(weight.zero_points, recipe);
  }
  return recipe;
}

absl::StatusOr<std::shared_ptr<const NBitPanels>> PackPanels(absl::Span<const NBitWeight> weights) {
  std::vector<NBitColumns> parts;
  // The memory that the parts view.
  std::vector<Tensor> tensors;
  std::vector<std::vector<float>> floats;
  floats.reserve(weights.size());
  for (const NBitWeight& weight : weights) {
    NBitWeight dense = weight;
    for (Tensor* tensor : {&dense.codes, &dense.scales, &dense.zero_points}) {
      if (tensor->defined()) {
        ATTNRUN_ASSIGN_OR_RETURN(*tensor, tensor->Dense(Allocator::Heap()));
      }
    }
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor scales, ToFloat(dense.scales, Allocator::Heap()));
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> points, dense.ZeroPoints());
    floats.emplace_back(points.begin(), points.end());
    tensors.push_back(dense.codes);
    tensors.push_back(scales);
    parts.push_back({.bits = static_cast<int>(weight.bits),
                     .block = weight.block_size,
                     .rows = weight.k,
                     .columns = weight.n,
                     .codes = dense.codes.data<uint8_t>(),
                     .scales = scales.data<float>(),
                     .zero_points = points.empty() ? nullptr : floats.back().data()});
  }
  return NBitPanels::Pack(parts);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const NBitPanels>> PackSideBySide(
    absl::Span<const NBitWeight> weights, PackedStore* store) {
  NBitColumns whole = {.bits = static_cast<int>(weights[0].bits),
                       .block = weights[0].block_size,
                       .rows = weights[0].k};
  for (const NBitWeight& weight : weights) whole.columns += weight.n;
  return FindOrPack<NBitPanels>(
      store, RecipeOf(weights),
      [&](const PackedBytes& bytes) { return NBitPanels::Read(whole, bytes); },
      [&] { return PackPanels(weights); });
}

}  // namespace attnrun::ops
