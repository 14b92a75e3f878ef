// SPDX-License-Identifier: Apache-2.0

// Weights that are stored as integers and made floats by hand, as torchao and other tools write it,
// are those of a DequantizeLinear:
//
//   integers
//      |
//     Cast   zero
//        \   /           (if any)           integers  scale
//         Sub   scale              ->           \     /
//           \   /                           DequantizeLinear
//            Mul
//             |
//             y
//
// The scale is one number, one for each index of an axis, or one for each row along an axis; so is
// the zero, or it is one number.

#include <cmath>

#include "ops/tensors/bytes.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// Numbers as a DequantizeLinear takes them: one; one for each index of `axis`; or, with a block
// size, one for each row along `axis`.
struct Scales {
  Tensor numbers;
  int64_t axis = 0;
  int64_t block_size = 0;
};

// Spreads `scale` over integers of this shape; nullopt where no DequantizeLinear does.
std::optional<Scales> SpreadOver(const Shape& integers, const Tensor& scale) {
  if (scale.num_elements() == 1) return Scales{*scale.Reshaped({})};
  const auto rank = std::ssize(integers);
  if (scale.rank() > rank) return std::nullopt;
  Shape spread(rank - scale.rank(), 1);
  absl::c_copy(scale.shape(), std::back_inserter(spread));
  std::vector<int64_t> kept;
  std::vector<int64_t> shared;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (spread[axis] != integers[axis] && spread[axis] != 1) return std::nullopt;
    if (integers[axis] == 1) continue;
    (spread[axis] == 1 ? shared : kept).push_back(axis);
  }
  if (kept.size() == 1) return Scales{*scale.Reshaped({integers[kept[0]]}), kept[0]};
  if (shared.size() != 1) return std::nullopt;
  return Scales{*scale.Reshaped(spread), shared[0], integers[shared[0]]};
}

// Zero points of the type of the integers, one for each scale; nullopt where `zero` has others.
std::optional<Tensor> ZeroPoints(const Tensor& zero, const Scales& scales, const Tensor& integers) {
  const bool is_signed = integers.type() == DataType::kInt8;
  const bool one = zero.num_elements() == 1;
  const auto spread = SpreadOver(integers.shape(), zero);
  if (zero.type() != DataType::kFloat || !spread.has_value()) return std::nullopt;
  if (!one && (spread->axis != scales.axis || spread->block_size != scales.block_size)) {
    return std::nullopt;
  }
  const Shape& shape = scales.numbers.shape();
  if (!one && spread->numbers.shape() != shape) return std::nullopt;
  absl::StatusOr<Tensor> points = Tensor::Allocate(integers.type(), shape);
  if (!points.ok()) return std::nullopt;
  auto* const bytes = static_cast<uint8_t*>(points->mutable_raw());
  for (int64_t i = 0; i < points->num_elements(); ++i) {
    const float point = zero.data<float>()[one ? 0 : i];
    const bool fits = is_signed ? point >= -128 && point <= 127 : point >= 0 && point <= 255;
    if (!fits || point != std::floor(point)) return std::nullopt;
    bytes[i] = static_cast<uint8_t>(static_cast<int>(point));
  }
  return *std::move(points);
}

// The constant integers of which a Cast made these floats, which a Sub may have moved by `zero`.
const Node* IntegersBehind(const Value* floats, Value*& zero) {
  const Node* const sub = ProducerOf(floats, "Sub");
  if (sub != nullptr) zero = sub->input(1);
  const Node* const cast = ProducerOf(sub == nullptr ? floats : sub->input(0), "Cast");
  if (cast == nullptr || !cast->input(0)->is_constant()) return nullptr;
  return ops::IsByte(cast->input(0)->constant()->type()) ? cast : nullptr;
}

bool Dequantize(RuleContext& context, Node* node, Patch& patch) {
  for (const auto& [scaled, factor] : ScalingsOf(node)) {
    Value* zero = nullptr;
    const Node* const cast = IntegersBehind(scaled, zero);
    if (cast == nullptr || !factor->is_constant()) continue;
    if (zero != nullptr && !zero->is_constant()) continue;
    const Tensor& integers = *cast->input(0)->constant();
    const auto scales = SpreadOver(integers.shape(), *factor->constant());
    if (!scales.has_value() || context.facts.TypeOf(scaled) != scales->numbers.type()) continue;
    std::vector<Value*> inputs = {cast->input(0), nullptr};
    if (zero != nullptr) {
      const auto points = ZeroPoints(*zero->constant(), *scales, integers);
      if (!points.has_value()) continue;
      inputs.push_back(patch.Constant(zero->name(), *points));
    }
    inputs[1] = patch.Constant(factor->name(), scales->numbers);
    return patch.Substitute(node, "DequantizeLinear", inputs,
                            {{"axis", scales->axis}, {"block_size", scales->block_size}});
  }
  return false;
}

}  // namespace

extern const Rule kScaledIntegers = {
    .name = "scaled_integers",
    .summary =
        "Constant 8-bit integers that are cast to floats, moved and scaled by constants are "
        "those of a DequantizeLinear",
    .anchors = {"Mul"},
    .propose = Dequantize};

}  // namespace attnrun::opt
