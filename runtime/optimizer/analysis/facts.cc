// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/facts.h"

#include <cstring>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "graph/declared_extent.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/positions.h"

namespace attnrun::opt {
namespace {

// The facts about a graph input. A run checks its inputs against the declared type and shape.
ops::ValueFacts Declared(const Value& value) {
  ops::ValueFacts facts;
  facts.type = value.type().element;
  const auto& shape = value.type().shape;
  if (value.type().kind != ValueKind::kTensor || !shape.has_value()) return facts;
  facts.dims.emplace();
  for (const Dim& dim : *shape) {
    facts.dims->push_back(DeclaredExtent(value.name(), dim, facts.dims->size()));
  }
  return facts;
}

// The facts as they are stored: extents are dropped if there are more of them than in any model.
// The values of a chain of n Unsqueezes would otherwise have n squared extents in all.
std::unique_ptr<const ops::ValueFacts> Kept(ops::ValueFacts facts, const Equalities& equalities) {
  constexpr size_t kMaxRank = 64;
  if (facts.dims.has_value() && facts.dims->size() > kMaxRank) facts.dims.reset();
  for (auto* numbers : {&facts.dims, &facts.contents}) {
    if (equalities.empty() || !numbers->has_value()) continue;
    for (SymInt& number : **numbers) number = equalities.Reduced(number);
  }
  return std::make_unique<const ops::ValueFacts>(std::move(facts));
}

// The nodes on which outputs of the graph depend.
HashSet<const Node*> NeededNodes(const Graph& graph) {
  HashSet<const Node*> needed;
  std::vector<const Value*> stack(graph.outputs().begin(), graph.outputs().end());
  while (!stack.empty()) {
    const Node* node = stack.back() == nullptr ? nullptr : stack.back()->producer();
    stack.pop_back();
    if (node == nullptr || !needed.insert(node).second) continue;
    stack.insert(stack.end(), node->inputs().begin(), node->inputs().end());
    stack.insert(stack.end(), node->implicit_inputs().begin(), node->implicit_inputs().end());
  }
  return needed;
}

// By how much the places [first, first + size) in `indices` fall short of `extent`, the extent of
// the axis that they index. It is not negative, since a run refuses indices that the axis lacks.
// nullopt for indices that are not consecutive from a known number on.
std::optional<SymInt> PlacesLeft(const View& indices, const SymInt& extent) {
  const auto first = indices.offset().constant();
  std::vector<ViewFactor> steps;
  for (const ViewAxis& axis : indices.axes()) steps.insert(steps.end(), axis.begin(), axis.end());
  if (steps.size() != 1 || !steps[0].stride.is_constant(1)) return std::nullopt;
  // No indices at all are not refused, wherever they begin.
  if (!first.has_value() || *first < 0 || !(extent - *first).IsNeverNegative()) return std::nullopt;
  return extent - *first - steps[0].size;
}

}  // namespace

Facts::Facts(const Graph& graph)
    : graph_(graph), equalities_(graph.equalities()), asked_(NeededNodes(graph)) {
  FindExtents();
  // One equality may show another.
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds && FindEqualities(); ++round) {
    facts_.clear();
    extents_.clear();
    FindExtents();
  }
  asked_.clear();
}

Facts::Facts(const Graph& body, Facts& outer, std::vector<ops::ValueFacts> inputs)
    : graph_(body),
      outer_(&outer),
      inputs_(std::move(inputs)),
      extents_(outer.extents_),
      equalities_(outer.equalities_) {
  FindExtents();
}

// Collects numbers that are not negative in a run that succeeds, which operators require. A graph
// may compute a number of windows such as (samples - 8) / 4 + 1 again, for shapes and positions;
// only the Conv or pooling shows that samples - 8 is not negative.
void Facts::FindExtents() {
  const size_t inherited = extents_.size();
  collects_ = true;
  for (const Node* node : graph_.nodes()) {
    for (const Value* output : node->outputs()) {
      if (output != nullptr) Of(output);
    }
  }
  collects_ = false;
  // Facts that were computed on the way did not use the numbers yet.
  if (extents_.size() > inherited) facts_.clear();
}

void Facts::AddExtent(const SymInt& extent) {
  constexpr size_t kMost = 64;
  if (extent.IsNeverNegative() || extents_.size() == kMost) return;
  if (!absl::c_linear_search(extents_, extent)) extents_.push_back(extent);
}

void Facts::AddRequired(const Node& node, const ops::InferContext& context) {
  absl::c_for_each(context.required(), [&](const SymInt& number) { AddExtent(number); });
  for (const auto& [input, extent] : context.indices()) {
    if (node.input(input)->is_constant()) continue;
    const auto indices = PositionsOf(node.input(input), *this);
    const auto left = indices.has_value() ? PlacesLeft(*indices, extent) : std::nullopt;
    if (left.has_value()) AddExtent(*left);
  }
}

void Facts::AddEqual(const Node& node, const ops::InferContext& context) {
  if (!asked_.contains(&node)) return;
  for (const auto& [a, b] : context.equal()) {
    found_ |= equalities_.Add(a, b, node.description());
  }
}

// Visits all nodes that a run needs. Returns true if equalities were found since the facts were
// last cleared, which some facts do not use yet.
bool Facts::FindEqualities() {
  for (const Value* output : graph_.outputs()) Of(output);
  return std::exchange(found_, false);
}

const ops::ValueFacts& Facts::Of(const Value* value) {
  static const auto* const kUnknown = new ops::ValueFacts();
  if (value == nullptr) return *kUnknown;
  const auto found = facts_.find(value);
  if (found != facts_.end()) return *found->second;
  // Visits producers first, without recursion: a chain may be as long as the graph.
  std::vector<const Value*> stack = {value};
  while (!stack.empty()) {
    const Value* top = stack.back();
    const size_t depth = stack.size();
    if (top->producer() != nullptr && !facts_.contains(top)) {
      for (const auto* slots : {&top->producer()->inputs(), &top->producer()->implicit_inputs()}) {
        for (const Value* input : *slots) {
          if (input != nullptr && !facts_.contains(input)) stack.push_back(input);
        }
      }
    }
    if (stack.size() > depth) continue;
    stack.pop_back();
    if (!facts_.contains(top)) Compute(top);
  }
  return *facts_.at(value);
}

void Facts::Compute(const Value* value) {
  if (value->producer() != nullptr) return ComputeNode(*value->producer());
  facts_[value] = Kept(OfOrigin(*value), equalities_);
}

// The facts about a value that no node computes.
ops::ValueFacts Facts::OfOrigin(const Value& value) {
  if (value.is_constant()) return ops::FactsOf(*value.constant());
  if (outer_ == nullptr) return value.is_input() ? Declared(value) : ops::ValueFacts();
  if (value.outer() != nullptr) return outer_->Of(value.outer());
  const auto place = absl::c_find(graph_.inputs(), &value) - graph_.inputs().begin();
  return place < std::ssize(inputs_) ? inputs_[place] : ops::ValueFacts();
}

void Facts::Infer(const Node& node, absl::Span<ops::ValueFacts> outputs,
                  absl::FunctionRef<void(const ops::InferContext& context)> use) {
  const absl::StatusOr<std::unique_ptr<ops::Op>> op = ops::OpRegistry::Get().Create(node);
  if (!op.ok()) return;
  std::vector<const ops::ValueFacts*> inputs;
  std::vector<const Tensor*> constants;
  for (const Value* input : node.inputs()) {
    inputs.push_back(input == nullptr ? nullptr : &Of(input));
    constants.push_back(input != nullptr && input->is_constant() ? input->constant() : nullptr);
  }
  ops::InferContext context(inputs, constants, outputs, extents_);
  (*op)->Infer(context);
  use(context);
}

void Facts::ComputeNode(const Node& node) {
  std::vector<ops::ValueFacts> outputs(node.outputs().size());
  Infer(node, absl::MakeSpan(outputs), [&](const ops::InferContext& context) {
    AddEqual(node, context);
    InferFromBodies(node, *this, outputs);
    if (collects_) AddRequired(node, context);
  });
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.output(i) == nullptr) continue;
    facts_[node.output(i)] = Kept(std::move(outputs[i]), equalities_);
  }
}

const std::vector<SymInt>* Facts::DimsOf(const Value* value) {
  const ops::ValueFacts& facts = Of(value);
  return facts.dims.has_value() ? &*facts.dims : nullptr;
}

int Facts::RankOf(const Value* value) {
  const std::vector<SymInt>* dims = DimsOf(value);
  return dims == nullptr ? -1 : static_cast<int>(dims->size());
}

std::optional<int64_t> Facts::Extent(const Value* value, int axis) {
  const std::vector<SymInt>* dims = DimsOf(value);
  if (dims == nullptr) return std::nullopt;
  const int rank = static_cast<int>(dims->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return (*dims)[axis].constant();
}

bool Facts::IsNeverNegative(const SymInt& number) const {
  return ops::InferContext({}, {}, {}, extents_).IsNeverNegative(number);
}

std::optional<double> ScalarOf(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->constant()->num_elements() != 1) {
    return std::nullopt;
  }
  const auto elements = ToDoubles(*value->constant());
  return elements.ok() ? std::optional<double>((*elements)[0]) : std::nullopt;
}

namespace {

// The first element, if all elements have the same bytes.
std::optional<double> RepeatedElement(const Tensor& tensor) {
  const size_t count = tensor.num_elements();
  const size_t width = count == 0 ? 0 : tensor.byte_size() / count;
  if (width == 0 || !tensor.is_dense() || tensor.type() == DataType::kString) return std::nullopt;
  const auto* bytes = static_cast<const char*>(tensor.raw());
  if (std::memcmp(bytes, bytes + width, (count - 1) * width) != 0) return std::nullopt;
  const auto element = ToDoubles(tensor.View({}, {}, 0));
  return element.ok() ? std::optional<double>((*element)[0]) : std::nullopt;
}

}  // namespace

absl::StatusOr<Tensor> FillingOf(const Node& constant_of_shape) {
  if (constant_of_shape.attribute("value") == nullptr)
    return FromDoubles(DataType::kFloat, {}, {0});
  return AttributeOr<Tensor>(constant_of_shape, "value", {}).Reshaped({});
}

std::optional<ClipBounds> ClipBoundsOf(const Node& clip) {
  std::optional<double> bounds[2];
  for (const size_t i : {1, 2}) {
    // Attributes before version 11, inputs since then.
    const AttributeValue* const given = clip.attribute(i == 1 ? "min" : "max");
    const auto* const number = given == nullptr ? nullptr : std::get_if<float>(given);
    if (number != nullptr) bounds[i - 1] = *number;
    if (clip.input(i) == nullptr) continue;
    bounds[i - 1] = ScalarOf(clip.input(i));
    if (!bounds[i - 1].has_value()) return std::nullopt;
  }
  return ClipBounds{bounds[0], bounds[1]};
}

std::optional<double> UniformOf(const Value* value) {
  constexpr int kMaxSteps = 12;
  const Node* node = nullptr;
  for (int step = 0; value != nullptr && step < kMaxSteps; ++step) {
    if (value->is_constant()) return RepeatedElement(*value->constant());
    node = value->producer();
    if (node == nullptr || !ops::TraitsOf(*node).moves_elements) break;
    value = node->input(0);
  }
  if (!IsOp(node, "ConstantOfShape")) return std::nullopt;
  const absl::StatusOr<Tensor> filling = FillingOf(*node);
  return filling.ok() ? RepeatedElement(*filling) : std::nullopt;
}

std::optional<std::vector<int64_t>> IntsOf(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->constant()->rank() > 1 ||
      !IsInteger(value->constant()->type())) {
    return std::nullopt;
  }
  const auto elements = ToInts(*value->constant());
  if (!elements.ok()) return std::nullopt;
  return std::vector<int64_t>(elements->begin(), elements->end());
}

std::optional<std::vector<int64_t>> KnownInts(const Value* value, Facts& facts) {
  if (value == nullptr) return std::nullopt;
  if (value->is_constant()) return IntsOf(value);
  const ops::ValueFacts& known = facts.Of(value);
  if (!known.contents.has_value()) return std::nullopt;
  std::vector<int64_t> ints;
  for (const SymInt& element : *known.contents) {
    const auto number = element.constant();
    if (!number.has_value()) return std::nullopt;
    ints.push_back(*number);
  }
  return ints;
}

std::optional<std::vector<int64_t>> KnownInts(const Node& node, absl::string_view attribute,
                                              size_t input, Facts& facts) {
  if (node.attribute(attribute) != nullptr) {
    return AttributeOr<std::vector<int64_t>>(node, attribute, {});
  }
  return KnownInts(node.input(input), facts);
}

std::optional<int64_t> KnownInt(const Value* value, Facts& facts) {
  const auto ints = KnownInts(value, facts);
  return ints.has_value() && ints->size() == 1 ? std::optional<int64_t>((*ints)[0]) : std::nullopt;
}

}  // namespace attnrun::opt
