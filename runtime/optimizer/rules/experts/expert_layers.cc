// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/experts/expert_layers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/elements.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
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

// How the constants of experts are read.
struct ExpertStack {
  // They have a first axis for so many experts; 0: they are those of one expert.
  int64_t experts = 0;
  // True if those of each row are gathered by the number of its expert.
  bool is_gathered = false;
  // These numbers, once a gather by them is found.
  Value* numbers = nullptr;
};

// The constant of all experts, of this rank, of which a value has a part for each row; nothing if
// it is something else.
ConstantPart GatheredConstant(Value* value, size_t rank, ExpertStack& stack, Facts& facts) {
  const Node* gather = ProducerOf(InOrder(value), "Gather");
  if (gather == nullptr || AttributeOr<int64_t>(*gather, "axis", 0) != 0) return {};
  Value* numbers = InOrder(gather->input(1));
  if (stack.numbers != nullptr && stack.numbers != numbers) return {};
  ConstantPart constant = ConstantOf(gather->input(0), rank, facts);
  if (!constant.defined()) return {};
  if (stack.experts != 0 && constant.shape()[0] != stack.experts) return {};
  // Nodes that change shapes may stand behind the gather, but leave each part as it is.
  for (int axis = 1; axis < static_cast<int>(rank); ++axis) {
    if (facts.Extent(value, -axis) != constant.shape()[rank - axis]) return {};
  }
  stack.experts = constant.shape()[0];
  stack.numbers = numbers;
  return constant;
}

// The bias [N] of a layer with this weight, or [E, 1, N] of all experts, or [E, N] if it is
// gathered; nothing if it is something else.
ConstantPart BiasOf(Value* value, const ExpertLayerMatch& layer, ExpertStack& stack, Facts& facts) {
  const int64_t stacked = stack.experts;
  const int first = stacked > 0 ? 1 : 0;
  const int64_t columns = layer.weight.shape()[first + (layer.transposed ? 0 : 1)];
  if (stack.is_gathered) {
    ConstantPart bias = GatheredConstant(value, 2, stack, facts);
    return bias.defined() && bias.shape()[1] == columns ? bias : ConstantPart();
  }
  ConstantPart bias = ConstantOf(value, stacked > 0 ? 3 : 1, facts);
  if (!bias.defined()) return {};
  if (stacked == 0) return bias.shape()[0] == columns ? bias : ConstantPart();
  if (bias.shape() != Shape{stacked, 1, columns}) return {};
  const Tensor& tensor = bias.part.defined() ? bias.part : *bias.whole->constant();
  const Shape shape = {stacked, columns};
  return {bias.whole, tensor.View(shape, DenseStrides(shape), 0)};
}

// True if the node multiplies each vector by the matrix of its own: none is broadcast.
bool MultipliesOneByOne(const Node& product, Facts& facts) {
  const std::vector<SymInt>* a = facts.DimsOf(product.input(0));
  const std::vector<SymInt>* b = facts.DimsOf(product.input(1));
  return a != nullptr && b != nullptr && a->size() > 2 && a->size() == b->size() &&
         std::equal(a->begin(), a->end() - 2, b->begin());
}

// Vectors [..., K, 1] before nodes that only changed the shape of rows [..., K], or as they are.
Value* AsRows(Value* vectors, int64_t size, Facts& facts) {
  Value* rows = vectors;
  while (KeepsOrder(rows) && facts.Extent(rows, -1) != size) rows = rows->producer()->input(0);
  return facts.Extent(rows, -1) == size ? rows : vectors;
}

// A product of each row with a matrix that is gathered for it: x [R, 1, K] times W [R, K, N], or W
// [R, N, K] times x [R, K, 1].
std::optional<ExpertLayerMatch> MatchGathered(Value* value, ExpertStack& stack, Facts& facts) {
  const Node* product = ProducerOf(InOrder(value), "MatMul");
  if (product == nullptr || !MultipliesOneByOne(*product, facts)) return std::nullopt;
  for (const bool transposed : {false, true}) {
    Value* vectors = product->input(transposed ? 1 : 0);
    const int rank = facts.RankOf(vectors);
    if (facts.Extent(vectors, transposed ? rank - 1 : rank - 2) != 1) continue;
    const ConstantPart weight =
        GatheredConstant(product->input(transposed ? 0 : 1), 3, stack, facts);
    if (!weight.defined()) continue;
    return ExpertLayerMatch{
        AsRows(vectors, weight.shape()[transposed ? 2 : 1], facts), weight, transposed, {}};
  }
  return std::nullopt;
}

std::optional<ExpertLayerMatch> MatchLayer(Value* value, ExpertStack& stack, Facts& facts) {
  const int64_t stacked = stack.experts;
  value = SameRows(value, facts);
  if (stack.is_gathered && ProducerOf(value, "Add") == nullptr) {
    return MatchGathered(value, stack, facts);
  }
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
  for (const auto& [product, bias] : ReadingsOf(ProducerOf(value, "Add"))) {
    auto layer = MatchLayer(product, stack, facts);
    if (!layer.has_value() || layer->bias.defined()) continue;
    layer->bias = BiasOf(bias, *layer, stack, facts);
    if (layer->bias.defined()) return layer;
  }
  return std::nullopt;
}

// Clip(x, least, most), Min(x, most), or x itself.
struct Bounds {
  Value* x = nullptr;
  std::optional<double> least;
  std::optional<double> most;
};

Bounds BoundsOf(Value* value) {
  for (const auto& [x, number] : ReadingsOf(ProducerOf(value, "Min"))) {
    if (const auto most = ScalarOf(number)) return {x, {}, most};
  }
  const Node* clip = ProducerOf(value, "Clip");
  const auto bounds = clip == nullptr ? std::nullopt : ClipBoundsOf(*clip);
  if (!bounds.has_value()) return {value, {}, {}};
  return {clip->input(0), bounds->least, bounds->most};
}

// Matches what stands between the layers.
class Gate {
 public:
  Gate(ExpertMatch& match, ExpertStack& stack, Facts& facts)
      : match_(match), stack_(stack), facts_(facts) {}

  bool Find(Value* inner) {
    inner = SameRows(inner, facts_);
    const Node* product = ProducerOf(inner, "Mul");
    if (product == nullptr) return FindActivation(inner) && TakeAlone();
    return absl::c_any_of(ReadingsOf(product), [&](const Operands& operands) {
      return FindActivation(SameRows(operands.first, facts_)) &&
             TakeFactor(SameRows(operands.second, facts_));
    });
  }

 private:
  bool FindActivation(Value* value) {
    static constexpr std::pair<absl::string_view, absl::string_view> kTypes[] = {
        {"Relu", "relu"}, {"Gelu", "gelu"}, {"Swish", "silu"}};
    const Node* node = value->producer();
    const auto* type = EntryOf(kTypes, node);
    if (type == nullptr) return false;
    swish_ = type->second == "silu";
    alpha_ = AttributeOr(*node, "alpha", 1.0F);
    const auto form = AttributeOr<std::string>(*node, "approximate", "none");
    if (type->second == "gelu" && form != "tanh") return false;
    match_.attributes["activation_type"] = std::string(type->second);
    gate_ = SameRows(node->input(0), facts_);
    return true;
  }

  bool TakeAlone() {
    auto layer = MatchLayer(gate_, stack_, facts_);
    if (!layer.has_value() || (swish_ && alpha_ != 1)) return false;
    match_.layers[0] = *std::move(layer);
    return true;
  }

  bool TakeFactor(Value* factor) {
    double beta = 0;
    for (const auto& [term, number] : ReadingsOf(ProducerOf(factor, "Add"))) {
      const auto added = ScalarOf(number);
      if (!added.has_value()) continue;
      beta = *added;
      factor = SameRows(term, facts_);
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
    const auto a = ColumnsOf(gate, facts_);
    const auto b = ColumnsOf(factor, facts_);
    if (a.has_value() && b.has_value() && a->base == b->base) {
      const bool halves = a->width == b->width && facts_.Extent(a->base, -1) == 2 * a->width;
      const bool in_turns = a->step == 2 && b->step == 2 && a->first == 0 && b->first == 1;
      const bool apart = a->step == 1 && b->step == 1 && a->first == 0 && b->first == a->width;
      if (!swish_ || !halves || !(in_turns || apart)) return false;
      match_.attributes["swiglu_fusion"] = int64_t{in_turns ? 1 : 2};
      gate = a->base;
    } else {
      auto third = MatchLayer(factor, stack_, facts_);
      if (!third.has_value()) return false;
      match_.layers[2] = *std::move(third);
    }
    auto first = MatchLayer(gate, stack_, facts_);
    if (!first.has_value()) return false;
    match_.layers[0] = *std::move(first);
    return true;
  }

  ExpertMatch& match_;
  ExpertStack& stack_;
  Facts& facts_;
  Value* gate_ = nullptr;
  bool swish_ = false;
  float alpha_ = 1;
};

std::optional<ExpertMatch> MatchIn(ExpertStack stack, Value* value, Facts& facts) {
  ExpertMatch match;
  auto last = MatchLayer(value, stack, facts);
  if (!last.has_value() || !Gate(match, stack, facts).Find(last->x)) return std::nullopt;
  match.layers[1] = *std::move(last);
  match.rows = SameRows(match.layers[0].x, facts);
  const Value* other = match.layers[2].x;
  if (other != nullptr && SameRows(match.layers[2].x, facts) != match.rows) return std::nullopt;
  const auto transposed = [&](int i) { return int64_t{match.layers[i].transposed ? 1 : 0}; };
  match.attributes["trans_w"] = std::vector<int64_t>{transposed(0), transposed(1), transposed(2)};
  match.numbers = stack.numbers;
  return match;
}

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
  return MatchIn({.experts = stacked}, value, facts);
}

std::optional<ExpertMatch> MatchGatheredExperts(Value* value, Facts& facts) {
  return MatchIn({.is_gathered = true}, value, facts);
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
