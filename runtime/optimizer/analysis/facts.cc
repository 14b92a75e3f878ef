// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/facts.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "ops/conv/infer.h"
#include "ops/interface/cut_extents.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/body_facts.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/positions.h"

namespace attnrun::opt {
namespace {

std::vector<SymInt> DimsOfType(const std::vector<Dim>& shape) {
  std::vector<SymInt> dims;
  for (const Dim& dim : shape) {
    if (dim.value >= 0) {
      dims.emplace_back(dim.value);
    } else {
      dims.push_back(dim.symbol.empty() ? SymInt::Unknown() : SymInt::Symbol(dim.symbol));
    }
  }
  return dims;
}

// The facts about a graph input. A run checks its inputs against the declared type and shape.
ops::ValueFacts Declared(const Value& value) {
  ops::ValueFacts facts;
  facts.type = value.type().element;
  const auto& shape = value.type().shape;
  if (shape.has_value()) facts.dims = DimsOfType(*shape);
  return facts;
}

// The facts as they are stored: extents are dropped if there are more of them than in any model.
// The values of a chain of n Unsqueezes would otherwise have n squared extents in all.
std::unique_ptr<const ops::ValueFacts> Kept(ops::ValueFacts facts) {
  constexpr size_t kMaxRank = 64;
  if (facts.dims.has_value() && facts.dims->size() > kMaxRank) facts.dims.reset();
  return std::make_unique<const ops::ValueFacts>(std::move(facts));
}

// True if the node's integers are remainders of a floor division by a positive number.
bool IsRemainder(const Node& node) {
  return IsOp(&node, "Mod") && ScalarOf(node.input(1)).value_or(0) > 0 &&
         AttributeOr<int64_t>(node, "fmod", 0) == 0;
}

// The number of rows of a table that lie behind those looked up, where these are consecutive from a
// known number on. It is not negative, since a run refuses positions that the table lacks. nullopt
// for other lists of positions.
std::optional<SymInt> RowsLeft(const Node& gather, Facts& facts) {
  const Value* table = gather.input(0);
  if (!table->is_constant() || table->constant()->rank() == 0) return std::nullopt;
  if (AttributeOr<int64_t>(gather, "axis", 0) != 0) return std::nullopt;
  const auto positions = PositionsOf(gather.input(1), facts);
  if (!positions.has_value()) return std::nullopt;
  const auto first = positions->offset().constant();
  std::vector<ViewFactor> steps;
  for (const ViewAxis& axis : positions->axes()) {
    steps.insert(steps.end(), axis.begin(), axis.end());
  }
  if (steps.size() != 1 || !steps[0].stride.is_constant(1)) return std::nullopt;
  const int64_t rows = table->constant()->dim(0);
  // A lookup of no positions is not refused, wherever it begins.
  if (!first.has_value() || *first < 0 || *first > rows) return std::nullopt;
  return SymInt(rows - *first) - steps[0].size;
}

// The number of rows left over in each table that the node's operands are cut from.
std::vector<SymInt> RoomsOfTables(const Node& node, Facts& facts) {
  std::vector<SymInt> rooms;
  if (absl::c_linear_search(node.inputs(), nullptr)) return rooms;
  for (const Value* first : node.inputs()) {
    for (const Value* second : node.inputs()) {
      const std::vector<SymInt>* cut = facts.DimsOf(first);
      const std::vector<SymInt>* whole = facts.DimsOf(second);
      if (cut == nullptr || whole == nullptr) continue;
      absl::c_move(ops::RoomsOfCuts(*cut, *whole), std::back_inserter(rooms));
    }
  }
  return rooms;
}

// For each spatial axis of a Conv or pooling: the padded input less one window, which is not
// negative in a run that succeeds.
std::vector<SymInt> RoomsIn(const Node& node, Facts& facts) {
  const bool weighted = ops::HasWeightedWindows(node);
  if (node.input(0) == nullptr || (weighted && node.input(1) == nullptr)) return {};
  const auto& input = facts.Of(node.input(0)).dims;
  if (!input.has_value()) return {};
  return ops::RoomsForWindows(node, *input, weighted ? facts.Of(node.input(1)).dims : std::nullopt);
}

}  // namespace

Facts::Facts(const Graph& graph) : graph_(graph) { FindExtents(); }

Facts::Facts(const Graph& body, Facts& outer, std::vector<ops::ValueFacts> inputs)
    : graph_(body), outer_(&outer), inputs_(std::move(inputs)), extents_(outer.extents_) {
  FindExtents();
}

// Collects expressions that cannot be negative in a run that succeeds. A graph may compute a number
// of windows such as (samples - 8) / 4 + 1 again, for shapes and positions; only the Conv or
// pooling shows that samples - 8 is not negative. The expressions are: for Conv and pooling, the
// input less the window and the output less 1; for padding to whole blocks, the padding; for a
// table with one row for each position, its rows less the positions.
void Facts::FindExtents() {
  constexpr size_t kMost = 64;
  const size_t inherited = extents_.size();
  const auto add = [&](const SymInt& extent) {
    if (extent.IsNeverNegative() || extents_.size() == kMost) return;
    if (!absl::c_linear_search(extents_, extent)) extents_.push_back(extent);
  };
  for (const Node* node : graph_.nodes()) {
    const bool remains = IsRemainder(*node);
    if (!node->domain().empty() || (!remains && !ops::HasWindows(*node))) continue;
    const ops::ValueFacts& known = Of(node->output(0));
    const auto& numbers = remains ? known.contents : known.dims;
    if (numbers.has_value()) absl::c_for_each(*numbers, add);
    const std::vector<SymInt> rooms = remains ? std::vector<SymInt>() : RoomsIn(*node, *this);
    absl::c_for_each(rooms, add);
    if (!numbers.has_value() || numbers->size() != rooms.size() + 2) continue;
    std::for_each(numbers->begin() + 2, numbers->end(), [&](const SymInt& n) { add(n - 1); });
  }
  for (const Node* node : graph_.nodes()) {
    if (ops::TraitsOf(*node).broadcasts) absl::c_for_each(RoomsOfTables(*node, *this), add);
    if (!IsOp(node, "Gather")) continue;
    if (const auto left = RowsLeft(*node, *this)) add(*left);
  }
  // Facts that were computed on the way did not use the expressions yet.
  if (extents_.size() > inherited) facts_.clear();
}

const ops::ValueFacts& Facts::Of(const Value* value) {
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
  facts_[value] = Kept(OfOrigin(*value));
}

// The facts about a value that no node computes.
ops::ValueFacts Facts::OfOrigin(const Value& value) {
  if (value.is_constant()) return ops::FactsOf(*value.constant());
  if (outer_ == nullptr) return value.is_input() ? Declared(value) : ops::ValueFacts();
  if (value.outer() != nullptr) return outer_->Of(value.outer());
  const auto place = absl::c_find(graph_.inputs(), &value) - graph_.inputs().begin();
  return place < std::ssize(inputs_) ? inputs_[place] : ops::ValueFacts();
}

void Facts::ComputeNode(const Node& node) {
  std::vector<const ops::ValueFacts*> inputs;
  std::vector<const Tensor*> constants;
  for (const Value* input : node.inputs()) {
    inputs.push_back(input == nullptr ? nullptr : facts_.at(input).get());
    constants.push_back(input != nullptr && input->is_constant() ? input->constant() : nullptr);
  }
  std::vector<ops::ValueFacts> outputs(node.outputs().size());
  const absl::StatusOr<std::unique_ptr<ops::Op>> op = ops::OpRegistry::Get().Create(node);
  if (op.ok()) {
    ops::InferContext context(inputs, constants, absl::MakeSpan(outputs), extents_);
    (*op)->Infer(context);
    InferFromBodies(node, *this, outputs);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.output(i) == nullptr) continue;
    facts_[node.output(i)] = Kept(std::move(outputs[i]));
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

std::optional<double> UniformOf(const Value* value) {
  if (value != nullptr && value->is_constant()) return RepeatedElement(*value->constant());
  const Node* node = value == nullptr ? nullptr : value->producer();
  if (node == nullptr || !node->domain().empty()) return std::nullopt;
  if (node->op_type() == "Expand") return ScalarOf(node->input(0));
  if (node->op_type() != "ConstantOfShape") return std::nullopt;
  const AttributeValue* attribute = node->attribute("value");
  if (attribute == nullptr) return 0.0;
  const auto* tensor = std::get_if<Tensor>(attribute);
  if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
  const auto elements = ToDoubles(*tensor);
  return elements.ok() ? std::optional<double>((*elements)[0]) : std::nullopt;
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
