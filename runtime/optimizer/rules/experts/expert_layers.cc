// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/experts/expert_layers.h"

#include <string>
#include <utility>

#include "core/elements.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rules/linear/linear_parts.h"

namespace attnrun::opt {
namespace {

// A constant of floats of this rank, beside leading axes of extent 1, or the part of one that a
// Gather takes at a fixed place of its first axis. Nothing if the value is something else.
ConstantPart ConstantOf(Value* value, size_t rank, Facts& facts) {
  const std::vector<SymInt>* dims = value == nullptr ? nullptr : facts.DimsOf(value);
  if (dims == nullptr || dims->size() < rank) return {};
  Shape shape;
  for (const SymInt& dim : *dims) {
    const auto extent = dim.constant();
    if (!extent.has_value()) return {};
    shape.push_back(*extent);
  }
  while (shape.size() > rank && shape.front() == 1) shape.erase(shape.begin());
  value = InOrder(value);
  const Node* gather = ProducerOf(value, "Gather");
  Value* whole = gather == nullptr ? value : gather->input(0);
  if (!whole->is_constant() || shape.size() != rank) return {};
  const Tensor& tensor = *whole->constant();
  if (!IsFloatingPoint(tensor.type()) || !tensor.is_dense()) return {};
  if (gather == nullptr) {
    if (tensor.shape() == shape) return {whole};
    return {whole, tensor.View(shape, DenseStrides(shape), 0)};
  }
  const auto place = ScalarOf(gather->input(1));
  if (!place.has_value() || AttributeOr<int64_t>(*gather, "axis", 0) != 0 || tensor.rank() < 2 ||
      *place < 0 || *place >= static_cast<double>(tensor.dim(0))) {
    return {};
  }
  const int64_t size = tensor.num_elements() / tensor.dim(0);
  return {whole, tensor.View(shape, DenseStrides(shape), static_cast<int64_t>(*place) * size)};
}

std::optional<ExpertLayerMatch> MatchLinear(const Node& node, Facts& facts) {
  const LinearParts parts = LinearParts::Of(node);
  if (parts.format != ops::LinearFormat::kFloat || parts.weights.size() != 1 ||
      parts.residual != nullptr || !parts.ending.empty()) {
    return std::nullopt;
  }
  ExpertLayerMatch layer = {parts.x, ConstantOf(parts.weights[0].values, 2, facts),
                            parts.weights[0].transposed, ConstantOf(parts.bias, 1, facts)};
  if (!layer.weight.defined() || (parts.bias != nullptr && !layer.bias.defined())) {
    return std::nullopt;
  }
  return layer;
}

// The bias [N] or, for `stacked` experts, [E, 1, N], of a layer with this weight; nothing if it is
// something else.
ConstantPart BiasOf(Value* value, const ExpertLayerMatch& layer, int64_t stacked, Facts& facts) {
  const int64_t columns = layer.weight.shape()[layer.transposed ? 0 : stacked > 0 ? 2 : 1];
  ConstantPart bias = ConstantOf(value, stacked > 0 ? 3 : 1, facts);
  if (!bias.defined()) return {};
  if (stacked == 0) return bias.shape()[0] == columns ? bias : ConstantPart();
  if (bias.shape() != Shape{stacked, 1, columns}) return {};
  const Tensor& tensor = bias.part.defined() ? bias.part : *bias.whole->constant();
  const Shape shape = {stacked, columns};
  return {bias.whole, tensor.View(shape, DenseStrides(shape), 0)};
}

std::optional<ExpertLayerMatch> MatchLayer(Value* value, int64_t stacked, Facts& facts) {
  value = SameRows(value, facts);
  const Node* node = value->producer();
  if (node == nullptr) return std::nullopt;
  if (IsLinear(*node) && stacked == 0) return MatchLinear(*node, facts);
  if (IsOp(node, "MatMul")) {
    const ExpertLayerMatch product = {node->input(0),
                                      ConstantOf(node->input(1), stacked > 0 ? 3 : 2, facts), false,
                                      ConstantOf(nullptr, 1, facts)};
    const bool fits =
        product.weight.defined() && (stacked == 0 || product.weight.shape()[0] == stacked);
    return fits ? std::optional(product) : std::nullopt;
  }
  for (const int side : {0, 1}) {
    if (!IsOp(node, "Add")) break;
    auto layer = MatchLayer(node->input(side), stacked, facts);
    if (!layer.has_value() || layer->bias.defined()) continue;
    layer->bias = BiasOf(node->input(1 - side), *layer, stacked, facts);
    if (layer->bias.defined()) return layer;
  }
  return std::nullopt;
}

// Elements `first`, first + step, ... of the last axis of `whole`.
struct Columns {
  Value* whole = nullptr;
  int64_t first = 0;
  int64_t step = 1;
};

Columns ColumnsOf(Value* value, Facts& facts) {
  const Node* node = value->producer();
  const int rank = facts.RankOf(value);
  const auto is_last = [&](int64_t axis) { return axis == rank - 1 || axis == -1; };
  if (IsOp(node, "Split") && is_last(AttributeOr<int64_t>(*node, "axis", 0))) {
    Columns columns = {node->input(0)};
    for (int i = 0; i < value->producer_index(); ++i) {
      columns.first += facts.Extent(node->output(i), -1).value_or(-(int64_t{1} << 48));
    }
    return columns;
  }
  if (!IsOp(node, "Slice")) return {value};
  // The only one of the integers; -1 if there is not one.
  const auto only = [&](int i, int64_t otherwise) -> int64_t {
    return node->input(i) == nullptr ? otherwise : KnownInt(node->input(i), facts).value_or(-1);
  };
  const int64_t start = only(1, -1);
  const int64_t axis = node->input(3) == nullptr ? -2 : only(3, -2);
  const int64_t step = only(4, 1);
  if (start < 0 || step < 1 || !is_last(axis)) return {value};
  return {node->input(0), start, step};
}

// Clip(x, least, most), or x itself.
struct Bounds {
  Value* x = nullptr;
  std::optional<double> least;
  std::optional<double> most;
};

Bounds BoundsOf(Value* value) {
  const Node* clip = ProducerOf(value, "Clip");
  const auto bounds = clip == nullptr ? std::nullopt : ClipBoundsOf(*clip);
  if (!bounds.has_value()) return {value, {}, {}};
  return {clip->input(0), bounds->least, bounds->most};
}

// Matches what stands between the layers.
class Gate {
 public:
  Gate(ExpertMatch& match, int64_t stacked, Facts& facts)
      : match_(match), stacked_(stacked), facts_(facts) {}

  bool Find(Value* inner) {
    inner = SameRows(inner, facts_);
    const Node* product = ProducerOf(inner, "Mul");
    if (product == nullptr) return FindActivation(inner) && TakeAlone();
    for (const int side : {0, 1}) {
      if (FindActivation(SameRows(product->input(side), facts_)) &&
          TakeFactor(SameRows(product->input(1 - side), facts_))) {
        return true;
      }
    }
    return false;
  }

 private:
  bool FindActivation(Value* value) {
    const Node* node = value->producer();
    swish_ = IsOp(node, "Swish");
    if (IsOp(node, "Relu")) {
      match_.attributes["activation_type"] = std::string("relu");
    } else if (IsOp(node, "Gelu") &&
               AttributeOr<std::string>(*node, "approximate", "none") == "tanh") {
      match_.attributes["activation_type"] = std::string("gelu");
    } else if (swish_) {
      alpha_ = AttributeOr(*node, "alpha", 1.0F);
      match_.attributes["activation_type"] = std::string("silu");
    } else {
      return false;
    }
    gate_ = SameRows(node->input(0), facts_);
    return true;
  }

  bool TakeAlone() {
    auto layer = MatchLayer(gate_, stacked_, facts_);
    if (!layer.has_value() || (swish_ && alpha_ != 1)) return false;
    match_.layers[0] = *std::move(layer);
    return true;
  }

  bool TakeFactor(Value* factor) {
    double beta = 0;
    for (const int side : {0, 1}) {
      const Node* sum = ProducerOf(factor, "Add");
      const auto added = sum == nullptr ? std::nullopt : ScalarOf(sum->input(1 - side));
      if (!added.has_value()) continue;
      beta = *added;
      factor = SameRows(sum->input(side), facts_);
    }
    const Bounds linear = BoundsOf(factor);
    const Bounds gate = BoundsOf(gate_);
    const bool limited = linear.most.has_value();
    if (gate.least.has_value() || gate.most != linear.most || linear.least.has_value() != limited ||
        (limited && *linear.least != -*linear.most)) {
      return false;
    }
    if (!swish_ && (limited || beta != 0)) return false;
    if (swish_) {
      match_.attributes["activation_type"] = std::string("swiglu");
      match_.attributes["activation_alpha"] = alpha_;
      match_.attributes["activation_beta"] = static_cast<float>(beta);
      if (limited) match_.attributes["swiglu_limit"] = static_cast<float>(*linear.most);
    }
    return TakeBoth(SameRows(gate.x, facts_), SameRows(linear.x, facts_));
  }

  // Gate and factor are two products, or columns of one.
  bool TakeBoth(Value* gate, Value* factor) {
    const Columns a = ColumnsOf(gate, facts_);
    const Columns b = ColumnsOf(factor, facts_);
    const auto size = facts_.Extent(gate, -1);
    auto first = MatchLayer(a.whole, stacked_, facts_);
    if (!first.has_value()) return false;
    if (a.whole != b.whole) {
      auto third = MatchLayer(factor, stacked_, facts_);
      if (a.whole != gate || !third.has_value()) return false;
      match_.layers[2] = *std::move(third);
    } else {
      const bool halves = size.has_value() && facts_.Extent(factor, -1) == size &&
                          facts_.Extent(a.whole, -1) == 2 * *size;
      const bool in_turns = a.step == 2 && b.step == 2 && a.first == 0 && b.first == 1;
      const bool apart = a.step == 1 && b.step == 1 && a.first == 0 && b.first == size;
      if (!swish_ || !halves || !(in_turns || apart)) return false;
      match_.attributes["swiglu_fusion"] = int64_t{in_turns ? 1 : 2};
    }
    match_.layers[0] = *std::move(first);
    return true;
  }

  ExpertMatch& match_;
  const int64_t stacked_;
  Facts& facts_;
  Value* gate_ = nullptr;
  bool swish_ = false;
  float alpha_ = 1;
};

}  // namespace

bool KeepsOrder(const Value* value) {
  return value->producer() != nullptr && ops::TraitsOf(*value->producer()).keeps_order;
}

Value* InOrder(Value* value) {
  while (KeepsOrder(value)) value = value->producer()->input(0);
  return value;
}

Value* SameRows(Value* value, Facts& facts) {
  while (KeepsOrder(value)) {
    Value* before = value->producer()->input(0);
    const auto size = facts.Extent(value, -1);
    if (facts.RankOf(before) < 1 || !size.has_value() || facts.Extent(before, -1) != size) break;
    value = before;
  }
  return value;
}

std::optional<ExpertMatch> MatchExpert(Value* value, Facts& facts, int64_t stacked) {
  ExpertMatch match;
  auto last = MatchLayer(value, stacked, facts);
  if (!last.has_value() || !Gate(match, stacked, facts).Find(last->x)) return std::nullopt;
  match.layers[1] = *std::move(last);
  match.rows = SameRows(match.layers[0].x, facts);
  const Value* other = match.layers[2].x;
  if (other != nullptr && SameRows(match.layers[2].x, facts) != match.rows) return std::nullopt;
  const auto transposed = [&](int i) { return int64_t{match.layers[i].transposed ? 1 : 0}; };
  match.attributes["trans_w"] = std::vector<int64_t>{transposed(0), transposed(1), transposed(2)};
  return match;
}

void AppendLayers(Patch& patch, const ExpertMatch& match, std::optional<int64_t> number,
                  std::vector<Value*>& inputs) {
  const auto append = [&](const ConstantPart& constant) {
    if (!constant.defined() || (!number.has_value() && !constant.part.defined())) {
      inputs.push_back(constant.whole);
      return;
    }
    Tensor part = constant.part.defined() ? constant.part : *constant.whole->constant();
    if (number.has_value()) {
      const Shape shape(part.shape().begin() + 1, part.shape().end());
      part = part.View(shape, DenseStrides(shape), *number * (part.num_elements() / part.dim(0)));
    }
    inputs.push_back(patch.Constant(constant.whole->name(), std::move(part)));
  };
  for (const ExpertLayerMatch& layer : match.layers) {
    append(layer.weight);
    append(layer.bias);
  }
}

}  // namespace attnrun::opt
