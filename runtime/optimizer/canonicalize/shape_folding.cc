#include "optimizer/canonicalize/shape_folding.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/conv/infer.h"
#include "optimizer/depends_on.h"
#include "optimizer/node_queries.h"
#include "optimizer/patch.h"
#include "optimizer/reshape.h"

namespace attnrun {
namespace {

// A node whose outputs are some integers, or conditions, that are the same in every run.
absl::StatusOr<int> FoldKnown(PassContext& context, Node* node) {
  Value* value = node->output(0);
  if (value == nullptr || node->outputs().size() != 1) return 0;
  if (context.graph.IsOutput(value)) return 0;
  const ValueFacts& facts = context.facts.Of(value);
  const bool whole = IsInteger(facts.type) || facts.type == DataType::kBool;
  if (!whole || !facts.dims.has_value()) return 0;
  const auto ints = KnownInts(value, context.facts);
  if (!ints.has_value()) return 0;
  Shape shape;
  if (!facts.dims->empty()) shape.push_back(static_cast<int64_t>(ints->size()));
  Patch patch(context);
  patch.Supersede({node});
  patch.Replace(value, patch.Constant(value->name(), FromInts(facts.type, shape, *ints)));
  return patch.Apply();
}

// Whether a number is part of it that nothing is known of, so that no two values share it.
bool HasUnknown(const SymInt& extent) {
  const std::string text = extent.ToString();
  return std::adjacent_find(text.begin(), text.end(), [](char a, char b) {
           return a == '?' && absl::ascii_isdigit(b);
         }) != text.end();
}

// Where extents are read off, by their symbol: the graph inputs, what a body captures, and what
// windows and slices make of those.
class ExtentSources {
 public:
  ExtentSources(PassContext& context, absl::Span<Node* const> order) {
    std::vector<Value*> values = context.graph.inputs();
    const std::vector<Value*>& captures = context.graph.captures();
    values.insert(values.end(), captures.begin(), captures.end());
    for (Value* value : values) Add(value, context.facts);
    for (const Node* node : order) {
      if (HasWindows(*node) || IsOp(node, "Slice")) Add(node->output(0), context.facts);
    }
  }

  // Whether `node` may compute the extent anew: if it is a number, or a sum of multiples of extents
  // that are read off elsewhere, and of numbers. Nothing is read off what depends on the node.
  bool Has(const SymInt& extent, const Node& node) const {
    if (extent.constant().has_value()) return true;
    return absl::c_all_of(extent.Terms(), [&](const SymInt& term) {
      if (term.constant().has_value()) return true;
      const auto found = sources_.find(Single(term).ToString());
      return found != sources_.end() && !DependsOn(*found->second.value, node);
    });
  }

  // Whether the node's output is what Read writes, or such values next to each other.
  bool IsReadBy(const Node& node) const {
    if (node.op_type() == "Shape" || node.op_type() == "Add" || node.op_type() == "Mul") {
      return IsRead(node.output(0));
    }
    if (node.op_type() != "Concat" && node.op_type() != "Squeeze") return false;
    return std::all_of(node.inputs().begin(), node.inputs().end(),
                       [&](const Value* input) { return IsRead(input); });
  }

  // The extent as an int64 tensor [1]. Precondition: Has.
  Value* Read(Patch& patch, const SymInt& extent) const {
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

 private:
  // The symbol and `more`, a number, are the extent of an axis.
  struct Source {
    Value* value = nullptr;
    int64_t axis = 0;
    int64_t more = 0;
  };

  void Add(Value* value, Facts& facts) {
    const std::vector<SymInt>* dims = value == nullptr ? nullptr : facts.DimsOf(value);
    if (dims == nullptr) return;
    for (size_t i = 0; i < dims->size(); ++i) {
      const SymInt& extent = (*dims)[i];
      const SymInt symbol = extent - extent.constant_term();
      const std::vector<SymInt> terms = symbol.Terms();
      if (terms.size() != 1 || terms[0].coefficient() != 1) continue;
      if (IsOp(value->producer(), "Slice") && HasUnknown(symbol)) continue;
      sources_.try_emplace(symbol.ToString(),
                           Source{value, static_cast<int64_t>(i), extent.constant_term()});
    }
  }

  // A term without its coefficient.
  static SymInt Single(const SymInt& term) {
    return SymInt::DivideExactly(term, term.coefficient()).value_or(term);
  }

  const Source& SourceOf(const SymInt& term) const { return sources_.at(Single(term).ToString()); }

  Value* ReadSource(Patch& patch, const SymInt& term) const {
    const Source& source = SourceOf(term);
    Value* extent =
        patch.Op("Shape", {source.value}, {{"start", source.axis}, {"end", source.axis + 1}});
    if (term.coefficient() == 1) return extent;
    return patch.Op("Mul", {extent, patch.Ints({term.coefficient()})});
  }

  bool IsRead(const Value* value, int terms = 8) const {
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
  // Whether a Shape reads one axis of the value that all read its extent off, or several axes, as
  // ReadSource writes it: to the bit, so that equal ones are merged.
  bool IsSource(const Node& shape) const {
    const int64_t start = AttributeOr<int64_t>(shape, "start", -1);
    const int64_t end = AttributeOr<int64_t>(shape, "end", -1);
    Value* input = shape.input(0);
    if (start < 0 || end <= start) return false;
    const bool comes_in = input->is_input() || input->outer() != nullptr;
    if (end > start + 1) return comes_in;
    return shape.opset() == kPatchOpset && absl::c_any_of(sources_, [&](const auto& source) {
             return source.second.value == input && source.second.axis == start;
           });
  }

  absl::flat_hash_map<std::string, Source> sources_;
};

// Extents that are those of graph inputs are read off these, whatever value the exporter asked: so
// all that need one share it, and no inner value is kept for its shape. Those that windows or
// slices make of them are read off the first value that has them, not computed again.
absl::StatusOr<int> ReadOffSources(PassContext& context, const ExtentSources& extents, Node* node) {
  constexpr size_t kMost = 8;
  Value* value = node->output(0);
  if (value == nullptr || node->outputs().size() != 1 || extents.IsReadBy(*node)) return 0;
  const ValueFacts& facts = context.facts.Of(value);
  if (facts.type != DataType::kInt64 || !facts.contents.has_value()) return 0;
  const std::vector<SymInt> contents = *facts.contents;
  const bool scalar = facts.dims.has_value() && facts.dims->empty();
  if (!facts.dims.has_value() || contents.empty() || contents.size() > kMost) return 0;
  for (const SymInt& element : contents) {
    if (!extents.Has(element, *node)) return 0;
  }
  Patch patch(context);
  patch.Supersede({node});
  std::vector<Value*> parts;
  parts.reserve(contents.size());
  for (const SymInt& element : contents) parts.push_back(extents.Read(patch, element));
  Value* result = parts.size() == 1 ? parts[0] : patch.Op("Concat", parts, {{"axis", int64_t{0}}});
  if (scalar) result = patch.Op("Squeeze", {result, patch.Ints({0})});
  patch.Replace(value, result);
  return patch.Apply();
}

// What has the extents of a node's output: all of it, or for a product all but the last axis.
Value* OperandOfSameExtents(const Node& node, Facts& facts) {
  const std::vector<SymInt>* of_output = facts.DimsOf(node.output(0));
  if (of_output == nullptr || of_output->empty()) return nullptr;
  std::vector<SymInt> dims = *of_output;
  const bool product = IsOp(&node, "MatMul");
  const bool elementwise = IsOp(&node, "Add") || IsOp(&node, "Sub") || IsOp(&node, "Mul") ||
                           IsOp(&node, "Div") || IsOp(&node, "Where") || IsOp(&node, "Softmax");
  if (!product && !elementwise) return nullptr;
  if (product) dims.pop_back();
  for (Value* operand : node.inputs()) {
    const std::vector<SymInt>* from = operand == nullptr ? nullptr : facts.DimsOf(operand);
    if (from == nullptr || from->size() != of_output->size() || operand->is_constant()) continue;
    if (std::equal(dims.begin(), dims.end(), from->begin())) return operand;
    if (product) break;
  }
  return nullptr;
}

// mask.expand_as(scores): the extents of scores are read off their operands, so that the scores
// need not be there for it.
absl::StatusOr<int> ReadOffOperands(PassContext& context, Node* node) {
  if (!IsOp(node, "Shape") || node->output(0) == nullptr || !node->attributes().empty()) return 0;
  const Node* scores = node->input(0)->producer();
  Value* operand = scores == nullptr ? nullptr : OperandOfSameExtents(*scores, context.facts);
  if (operand == nullptr) return 0;
  Patch patch(context);
  patch.Supersede({node});
  Value* extents = nullptr;
  if (IsOp(scores, "MatMul")) {
    const int64_t rank = context.facts.RankOf(operand);
    if (context.facts.RankOf(scores->input(1)) != rank) return 0;
    const auto part = [&](Value* value, int64_t start, int64_t end) {
      return patch.Op("Shape", {value}, {{"start", start}, {"end", end}});
    };
    extents =
        patch.Op("Concat", {part(operand, 0, rank - 1), part(scores->input(1), rank - 1, rank)},
                 {{"axis", int64_t{0}}});
  } else {
    extents = patch.Op("Shape", {operand});
  }
  patch.Replace(node->output(0), extents);
  return patch.Apply();
}

// Whether a Reshape's target means the same of tensors of extents `a` and of `b`: where it has 0,
// it copies an extent of them.
bool MeansTheSame(const std::vector<SymInt>& target, const std::vector<SymInt>& a,
                  const std::vector<SymInt>& b) {
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i].constant().value_or(0) != 0) continue;
    if (i >= a.size() || i >= b.size()) return false;
    // If the target is 0, so is a multiple of it.
    const bool both = SymInt::DivideExactly(a[i], target[i]).has_value() &&
                      SymInt::DivideExactly(b[i], target[i]).has_value();
    if (a[i] != b[i] && !both) return false;
  }
  return true;
}

// A Reshape of a Reshape that never fails: how the elements were arranged between both does not
// matter. `node` is a Reshape with a target.
absl::StatusOr<int> SkipReshape(PassContext& context, Node* node) {
  const Node* inner = node->input(0)->producer();
  const auto& target = context.facts.Of(node->input(1)).contents;
  if (!IsOp(inner, "Reshape")) return 0;
  const std::vector<SymInt>* from = context.facts.DimsOf(inner->input(0));
  const std::vector<SymInt>* to = context.facts.DimsOf(inner->output(0));
  if (from == nullptr || to == nullptr || Product(*from) != Product(*to)) return 0;
  const bool copies = AttributeOr<int64_t>(*node, "allowzero", 0) != 1;
  if (copies && (!target.has_value() || !MeansTheSame(*target, *from, *to))) return 0;
  Patch patch(context);
  patch.Supersede({node});
  patch.Replace(node->output(0), patch.Op("Reshape", {inner->input(0), node->input(1)},
                                          node->attributes(), node->name()));
  return patch.Apply();
}

// A Reshape of a Reshape of a slice, which only both together tell in full.
absl::StatusOr<int> FoldReshapes(PassContext& context, const ExtentSources& extents, Node* node) {
  const Node* inner = node->input(0)->producer();
  if (!IsOp(inner, "Reshape") || !IsOp(inner->input(0)->producer(), "Slice")) return 0;
  const std::vector<SymInt>* to = context.facts.DimsOf(node->output(0));
  if (to == nullptr || to->empty()) return 0;
  const std::vector<SymInt> dims = *to;
  if (!std::all_of(dims.begin(), dims.end(),
                   [&](const SymInt& dim) { return extents.Has(dim, *node); })) {
    return 0;
  }
  Patch patch(context);
  patch.Supersede({node});
  std::vector<Value*> parts;
  parts.reserve(dims.size());
  for (const SymInt& dim : dims) parts.push_back(extents.Read(patch, dim));
  Value* shape = patch.Op("Concat", parts, {{"axis", int64_t{0}}});
  patch.Replace(node->output(0), patch.Op("Reshape", {inner->input(0), shape},
                                          {{"allowzero", int64_t{1}}}, node->name()));
  return patch.Apply();
}

absl::StatusOr<int> FoldReshape(PassContext& context, const ExtentSources& extents, Node* node) {
  Value* shape = node->input(1);
  if (!IsOp(node, "Reshape") || shape == nullptr) return 0;
  if (shape->is_constant()) return FoldReshapes(context, extents, node);
  const std::vector<SymInt>* from = context.facts.DimsOf(node->input(0));
  const std::vector<SymInt>* to = context.facts.DimsOf(node->output(0));
  if (from == nullptr || to == nullptr) return 0;
  // A slice may be shorter than was asked for: the Reshape then has to refuse it.
  const bool sliced = IsOp(node->input(0)->producer(), "Slice");
  if (sliced && Product(*from) != Product(*to)) return 0;
  const auto target = ReshapeTarget(*from, *to);
  if (!target.has_value()) return SkipReshape(context, node);
  Patch patch(context);
  patch.Supersede({node});
  patch.Replace(node->output(0),
                patch.Op("Reshape", {node->input(0), patch.Ints(*target)}, {}, node->name()));
  return patch.Apply();
}

}  // namespace

absl::StatusOr<int> FoldShapes(PassContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  const ExtentSources extents(context, order);
  int folded = 0;
  for (Node* node : order) {
    ATTNRUN_ASSIGN_OR_RETURN(int applied, FoldKnown(context, node));
    if (applied == 0) {
      ATTNRUN_ASSIGN_OR_RETURN(applied, ReadOffSources(context, extents, node));
    }
    if (applied == 0) {
      ATTNRUN_ASSIGN_OR_RETURN(applied, ReadOffOperands(context, node));
    }
    if (applied == 0) {
      ATTNRUN_ASSIGN_OR_RETURN(applied, FoldReshape(context, extents, node));
    }
    folded += applied;
  }
  return folded;
}

}  // namespace attnrun
