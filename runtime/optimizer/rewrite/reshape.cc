// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rewrite/reshape.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// One extent as an int64 tensor of one element, read off an axis that has it or, if `shares`, a
// multiple of it, as an axis that holds the windows of several samples does.
Value* ExtentOperand(Patch& patch, const SymInt& extent, absl::Span<Value* const> like,
                     bool shares = false) {
  if (const auto number = extent.constant()) return patch.Ints({*number});
  for (Value* value : like) {
    const std::vector<SymInt>* dims = patch.facts().DimsOf(value);
    for (int64_t i = 0; dims != nullptr && i < std::ssize(*dims); ++i) {
      const auto share = SymInt::DivideExactly((*dims)[i], extent);
      const int64_t count = share.value_or(0).constant().value_or(0);
      if (count < 1 || (count > 1 && !shares)) continue;
      Value* whole = patch.Op("Shape", {value}, {{"start", i}, {"end", i + 1}});
      return count == 1 ? whole : patch.Op("Div", {whole, patch.Ints({count})});
    }
  }
  return nullptr;
}

// An extent that is the product of axes and a number, as an int64 tensor of one element.
Value* ProductOperand(Patch& patch, const SymInt& extent, absl::Span<Value* const> like) {
  SymInt left = extent;
  Value* product = nullptr;
  const auto multiply = [&](Value* factor) {
    product = product == nullptr ? factor : patch.Op("Mul", {product, factor});
  };
  for (Value* value : like) {
    const std::vector<SymInt>* dims = patch.facts().DimsOf(value);
    for (int64_t i = 0; dims != nullptr && i < std::ssize(*dims); ++i) {
      const auto quotient = SymInt::DivideExactly(left, (*dims)[i]);
      if ((*dims)[i].constant().has_value() || !quotient.has_value()) continue;
      multiply(patch.Op("Shape", {value}, {{"start", i}, {"end", i + 1}}));
      left = *quotient;
    }
  }
  const auto number = left.constant();
  if (product == nullptr || !number.has_value()) return nullptr;
  if (*number != 1) multiply(patch.Ints({*number}));
  return product;
}

// True if an entry of a target that is the extent to[i] means this extent beside a -1, where 0
// would copy an axis.
bool MeansItself(absl::Span<const SymInt> from, absl::Span<const SymInt> to, size_t i) {
  return (to[i] - 1).IsNeverNegative() || (i < from.size() && from[i] == to[i]);
}

}  // namespace

Value* Flat(Patch& patch, Value* value) {
  if (value == nullptr || !value->is_constant() || value->constant()->rank() == 1) return value;
  const Tensor& tensor = *value->constant();
  return patch.Constant(value->name(), tensor.Reshaped({tensor.num_elements()}));
}

std::optional<std::vector<int64_t>> ReshapeTarget(absl::Span<const SymInt> from,
                                                  absl::Span<const SymInt> to) {
  std::vector<int64_t> target;
  bool has_rest = false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (const auto extent = to[i].constant()) {
      // In the shape of a Reshape, 0 would mean to copy the extent.
      if (*extent <= 0) return std::nullopt;
      target.push_back(*extent);
    } else if (i < from.size() && from[i] == to[i]) {
      target.push_back(0);
    } else if (!has_rest) {
      has_rest = true;
      target.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  return target;
}

Value* ShapeOperand(Patch& patch, absl::Span<const SymInt> extents, absl::Span<Value* const> like) {
  if (extents.empty()) return patch.Ints({});
  std::vector<Value*> parts;
  for (const SymInt& extent : extents) {
    Value* part = ExtentOperand(patch, extent, like);
    if (part == nullptr) part = ExtentOperand(patch, extent, like, /*shares=*/true);
    if (part == nullptr) return nullptr;
    parts.push_back(part);
  }
  return patch.Op("Concat", parts, {{"axis", int64_t{0}}});
}

Value* ReshapeTo(Patch& patch, Value* value, absl::Span<const SymInt> to,
                 absl::Span<Value* const> like) {
  const std::vector<SymInt>* from = patch.facts().DimsOf(value);
  if (from == nullptr) return nullptr;
  if (absl::c_equal(*from, to)) return value;
  if (const auto target = ReshapeTarget(*from, to)) {
    return patch.Op("Reshape", {value, patch.Ints(*target)});
  }
  // A reader of `value` itself could keep it from becoming part of another node.
  std::vector<Value*> others(like.begin(), like.end());
  std::erase(others, value);
  std::vector<Value*> parts;
  std::optional<size_t> rest;
  for (size_t i = 0; i < to.size(); ++i) {
    Value* part = ExtentOperand(patch, to[i], like);
    if (part == nullptr) part = ProductOperand(patch, to[i], others);
    if (part == nullptr && rest.has_value()) return nullptr;
    if (part == nullptr) rest = i;
    parts.push_back(part == nullptr ? patch.Ints({-1}) : part);
  }
  for (size_t i = 0; rest.has_value() && i < to.size(); ++i) {
    if (i != *rest && !MeansItself(*from, to, i)) return nullptr;
  }
  Value* shape = patch.Op("Concat", parts, {{"axis", int64_t{0}}});
  // Extents that are read off may be 0 in a run and then count as 0; ONNX forbids that next to a
  // -1.
  return patch.Op("Reshape", {value, shape}, {{"allowzero", int64_t{!rest.has_value()}}});
}

Value* WithoutRepeats(Patch& patch, Value* value, absl::Span<const int> axes) {
  const std::vector<Traced> chain = Trace(value, patch.facts());
  for (size_t i = chain.size(); i-- > 1;) {
    std::vector<ViewAxis> kept = chain[i].view.axes();
    std::vector<SymInt> dims = chain[i].view.Dims();
    for (const int from_end : axes) {
      const int axis = chain[i].view.rank() + from_end;
      if (axis < 0 || kept[axis].size() != 1 || !kept[axis][0].stride.is_constant(0)) continue;
      kept[axis].clear();
      dims[axis] = SymInt(1);
    }
    const auto narrow = View::Dense(*patch.facts().DimsOf(chain[i].base)).Reshaped(dims);
    const bool repeats = kept != chain[i].view.axes();
    if (!repeats || !narrow.has_value() || narrow->axes() != kept) continue;
    if (!(narrow->offset() == chain[i].view.offset())) continue;
    Value* source = ReshapeTo(patch, chain[i].base, dims, {value});
    if (source != nullptr) return source;
  }
  return value;
}

}  // namespace attnrun::opt
