// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/cleanup/extent_sources.h"

#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"

namespace attnrun::opt {
namespace {

// A term without its coefficient.
SymInt Single(const SymInt& term) {
  return SymInt::DivideExactly(term, term.coefficient()).value_or(term);
}

// True if the value's node is given this number as an element of an input, as Range is, or is a
// view of a value with that extent.
bool IsGiven(const SymInt& number, const Value& value, Facts& facts) {
  const Node* const node = value.producer();
  if (node == nullptr) return false;
  const bool is_view = ops::TraitsOf(*node).rearranges;
  return absl::c_any_of(node->inputs(), [&](const Value* input) {
    if (input == nullptr) return false;
    const auto& [type, dims, contents] = facts.Of(input);
    const auto has = [&](const auto& list) {
      return list.has_value() && absl::c_linear_search(*list, number);
    };
    return has(contents) || (is_view && has(dims));
  });
}

// An axis of a value.
struct ValueAxis {
  const Value* value;
  size_t axis;
};

// The axis of that extent of an operand of the node; nullopt if none has it.
std::optional<ValueAxis> OperandWith(const SymInt& extent, const Node& node, Facts& facts) {
  for (const Value* input : node.inputs()) {
    const std::vector<SymInt>* dims = input == nullptr ? nullptr : facts.DimsOf(input);
    if (dims == nullptr || input->is_constant()) continue;
    const auto found = absl::c_find(*dims, extent);
    if (found != dims->end()) return ValueAxis{input, static_cast<size_t>(found - dims->begin())};
  }
  return std::nullopt;
}

// The axis of the value that makes the extent, from which one of `at` comes. A sum that broadcasts
// makes one, and is rather read than the mean that a normalization takes of it.
ValueAxis Origin(ValueAxis at, const SymInt& extent, Facts& facts) {
  constexpr int kMaxSteps = 16;
  for (int step = 0; step < kMaxSteps && at.value->producer() != nullptr; ++step) {
    const auto operand = OperandWith(extent, *at.value->producer(), facts);
    if (!operand.has_value()) break;
    at = *operand;
  }
  return at;
}

// True for a product of two values, neither of them constant.
bool IsOfTwoValues(const Node& node) {
  return ops::TraitsOf(node).multiplies && node.inputs().size() >= 2 &&
         absl::c_none_of(node.inputs(), [](const Value* input) {
           return input != nullptr && input->is_constant();
         });
}

}  // namespace

ExtentSources::ExtentSources(RuleContext& context, absl::Span<Node* const> order)
    : graph_(context.graph) {
  std::vector<Value*> values = context.graph.inputs();
  const std::vector<Value*>& captures = context.graph.captures();
  values.insert(values.end(), captures.begin(), captures.end());
  for (Value* value : values) Add(value, context.facts);
  // A reader would keep scores, and probabilities, from becoming part of an attention. So they come
  // last, behind views and the products that probabilities end in, and none of these give an extent
  // that is a product of others, such as batch*heads.
  std::vector<Value*> views;
  std::vector<Value*> results;
  std::vector<Value*> last;
  for (const Node* node : order) {
    const ops::OpTraits traits = ops::TraitsOf(*node);
    // A Softmax is bounded.
    const bool goes_on = traits.elementwise || traits.rearranges || traits.bounded;
    const auto is_score = [&](const Value* x) { return x != nullptr && scores_.contains(x); };
    const bool of_two = IsOfTwoValues(*node);
    const bool reads_scores = absl::c_any_of(node->inputs(), is_score);
    const bool of_scores = of_two || (goes_on && reads_scores);
    if (of_scores) scores_.insert(node->outputs().begin(), node->outputs().end());
    if (traits.rearranges && !of_scores) views.push_back(node->output(0));
    if (traits.elementwise || traits.rearranges) continue;
    if (of_scores) {
      (of_two && reads_scores ? results : last).push_back(node->output(0));
    } else {
      Add(node->output(0), context.facts);
    }
  }
  for (const auto& values_of : {views, results, last}) {
    for (Value* value : values_of) Add(value, context.facts, /*products=*/false);
  }
}

bool ExtentSources::HaveAll(absl::Span<const SymInt> extents, const Node& node) const {
  return absl::c_all_of(extents, [&](const SymInt& extent) {
    const std::vector<SymInt> terms = extent.Terms();
    // There may be a number besides.
    if (std::ssize(terms) >= kMostTerms) return false;
    return absl::c_all_of(terms, [&](const SymInt& term) {
      if (term.constant().has_value()) return true;
      const auto found = sources_.find(Single(term).ToString());
      const Value* const value = found == sources_.end() ? nullptr : ValueOf(found->second);
      return value != nullptr && !DependsOn(*value, node);
    });
  });
}

bool ExtentSources::IsReadBy(const Node& node) const {
  const bool joins = IsOp(&node, "Concat") || IsOp(&node, "Squeeze");
  if (!joins) return IsRead(node.output(0));
  return absl::c_all_of(node.inputs(), [&](const Value* input) { return IsRead(input); });
}

Value* ExtentSources::ReadAll(Patch& patch, absl::Span<const SymInt> extents) const {
  std::vector<Value*> parts;
  for (const SymInt& extent : extents) parts.push_back(Read(patch, extent));
  return parts.size() == 1 ? parts[0] : patch.Op("Concat", parts, {{"axis", int64_t{0}}});
}

// One extent as an int64 tensor [1].
Value* ExtentSources::Read(Patch& patch, const SymInt& extent) const {
  if (const auto number = extent.constant()) return patch.Ints({*number});
  int64_t rest = extent.constant_term();
  for (const SymInt& term : extent.Terms()) {
    if (!term.constant().has_value()) rest -= term.coefficient() * SourceOf(term).more;
  }
  Value* sum = rest == 0 ? nullptr : patch.Ints({rest});
  for (const SymInt& term : extent.Terms()) {
    if (term.constant().has_value()) continue;
    Value* part = ReadSource(patch, term);
    sum = sum == nullptr ? part : patch.Op("Add", {sum, part});
  }
  return sum;
}

void ExtentSources::Add(Value* value, Facts& facts, bool products) {
  const std::vector<SymInt>* dims = value == nullptr ? nullptr : facts.DimsOf(value);
  if (dims == nullptr) return;
  for (size_t i = 0; i < dims->size(); ++i) {
    const SymInt& extent = (*dims)[i];
    const SymInt symbol = extent - extent.constant_term();
    const std::vector<SymInt> terms = symbol.Terms();
    if (terms.size() != 1 || terms[0].coefficient() != 1) continue;
    if (symbol.HasUnknown() || IsGiven(extent, *value, facts)) continue;
    const std::string name = symbol.ToString();
    if (sources_.contains(name) || (!products && IsProduct(symbol))) continue;
    ValueAxis source = Origin({value, i}, extent, facts);
    if (scores_.contains(source.value)) source = {value, i};
    sources_.emplace(name, Source{symbol, source.value->name(), static_cast<int64_t>(source.axis),
                                  extent.constant_term()});
  }
}

// True if the term is a product of extents that have sources.
bool ExtentSources::IsProduct(const SymInt& term) const {
  return absl::c_any_of(sources_, [&](const auto& source) {
    const auto rest = SymInt::DivideExactly(term, source.second.symbol);
    return rest.has_value() && sources_.contains(rest->ToString());
  });
}

Value* ExtentSources::ValueOf(const Source& source) const { return graph_.FindValue(source.value); }

const ExtentSources::Source& ExtentSources::SourceOf(const SymInt& term) const {
  return sources_.at(Single(term).ToString());
}

Value* ExtentSources::ReadSource(Patch& patch, const SymInt& term) const {
  const Source& source = SourceOf(term);
  Value* extent =
      patch.Op("Shape", {ValueOf(source)}, {{"start", source.axis}, {"end", source.axis + 1}});
  if (term.coefficient() == 1) return extent;
  return patch.Op("Mul", {extent, patch.Ints({term.coefficient()})});
}

bool ExtentSources::IsRead(const Value* value, int terms) const {
  if (value == nullptr) return false;
  if (value->is_constant()) return true;
  const Node* node = value->producer();
  if (node == nullptr || terms == 0) return false;
  if (node->op_type() == "Add") {
    return IsRead(node->input(0), terms - 1) && IsRead(node->input(1), 1);
  }
  if (node->op_type() == "Mul") {
    const Value* factor = node->input(1);
    return factor->is_constant() && factor->constant()->rank() == 1 && IsRead(node->input(0), 1);
  }
  return node->op_type() == "Shape" && IsSource(*node);
}

// True if a Shape reads one axis of the value from which all nodes read that extent, or several
// axes. Its attributes must be exactly those that ReadSource writes, so that equal nodes are
// merged.
bool ExtentSources::IsSource(const Node& shape) const {
  const int64_t start = AttributeOr<int64_t>(shape, "start", -1);
  const int64_t end = AttributeOr<int64_t>(shape, "end", -1);
  Value* input = shape.input(0);
  if (start < 0 || end <= start) return false;
  const bool comes_in = input->is_input() || input->outer() != nullptr;
  if (end > start + 1) return comes_in;
  return shape.opset() == kPatchOpset && absl::c_any_of(sources_, [&](const auto& source) {
           return source.second.value == input->name() && source.second.axis == start;
         });
}

}  // namespace attnrun::opt
