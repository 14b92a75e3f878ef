// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rewrite/patch.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/elements.h"
#include "core/hash_map.h"
#include "core/quote.h"
#include "core/status.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

// A name for a new node's output, "Linear_2:0" or "Linear_2:0_1".
std::string MadeUpName(absl::string_view node, int output) {
  return absl::StrCat(node, ":", output);
}
bool IsMadeUp(absl::string_view name) {
  const size_t colon = name.rfind(':');
  if (colon == absl::string_view::npos || colon + 1 == name.size()) return false;
  return absl::c_all_of(name.substr(colon + 1),
                        [](char c) { return absl::ascii_isdigit(c) || c == '_'; });
}

}  // namespace

absl::Status RuleContext::BeginRewrite() {
  if (rewrites_left == 0) return absl::CancelledError("no more rewrites are wanted");
  --rewrites_left;
  return absl::OkStatus();
}

void RuleContext::Remove(Node* node) {
  for (const Value* output : node->outputs()) {
    if (output != nullptr) facts.Forget(output);
  }
  graph.RemoveNode(node);
}

void RuleContext::Remove(Value* value) {
  facts.Forget(value);
  graph.RemoveValue(value);
}

void RuleContext::Miss(const Node& node, std::string reason) {
  report.push_back(
      {std::string(rule), false, std::string(body), {node.name()}, {}, std::move(reason)});
}

// After an exception the graph, which may be half rewritten, is of no more use.
Patch::~Patch() {
  if (!applied_ && std::uncaught_exceptions() == exceptions_) Discard();
}

void Patch::Supersede(absl::Span<Node* const> nodes) {
  for (Node* node : nodes) {
    if (!absl::c_linear_search(superseded_, node)) superseded_.push_back(node);
  }
}

Value* Patch::Op(const std::string& op_type, std::vector<Value*> inputs, AttributeMap attributes,
                 absl::string_view name) {
  return Ops(op_type, 1, std::move(inputs), std::move(attributes), name)[0];
}

std::vector<Value*> Patch::Ops(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                               AttributeMap attributes, absl::string_view name) {
  const size_t colon = op_type.find("::");
  const bool standard = colon == std::string::npos;
  NodeSpec spec;
  spec.op_type = standard ? op_type : op_type.substr(colon + 2);
  spec.domain = standard ? "" : op_type.substr(0, colon);
  spec.opset = standard ? kPatchOpset : 1;
  spec.name = name.empty() ? spec.op_type : std::string(name);
  spec.inputs = std::move(inputs);
  spec.attributes = std::move(attributes);
  return Add(std::move(spec), outputs);
}

std::vector<Value*> Patch::Again(const Node& node, std::vector<Value*> inputs,
                                 AttributeMap attributes) {
  NodeSpec spec;
  spec.op_type = node.op_type();
  spec.domain = node.domain();
  spec.opset = node.opset();
  spec.name = node.name();
  spec.inputs = std::move(inputs);
  spec.attributes = std::move(attributes);
  return Add(std::move(spec), node.outputs().size());
}

std::vector<Value*> Patch::Add(NodeSpec spec, size_t outputs) {
  std::vector<Value*> results(outputs, nullptr);
  if (!status_.ok()) return results;
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i) {
    names.push_back(context_.graph.UniqueName(MadeUpName(spec.name, static_cast<int>(i))));
  }
  absl::StatusOr<Node*> node = context_.graph.AddNode(std::move(spec), names);
  if (!node.ok()) {
    Fail(node.status());
    return results;
  }
  added_.push_back(*node);
  return (*node)->outputs();
}

Value* Patch::Constant(absl::string_view name, absl::StatusOr<Tensor> data) {
  if (!data.ok()) Fail(data.status());
  if (!status_.ok()) return nullptr;
  absl::StatusOr<Value*> value =
      context_.graph.AddInitializer(context_.graph.UniqueName(name), *std::move(data));
  if (!value.ok()) {
    Fail(value.status());
    return nullptr;
  }
  constants_.push_back(*value);
  return *value;
}

Value* Patch::Ints(absl::Span<const int64_t> values) {
  // Every layer needs the same few lists, so equal lists share one initializer.
  const std::string name = absl::StrCat("ints:", absl::StrJoin(values, ","));
  Value* known = context_.graph.FindValue(name);
  const auto elements = IntsOf(known);
  const bool same = elements.has_value() && absl::c_equal(*elements, values) &&
                    known->constant()->rank() == 1 && known->constant()->type() == DataType::kInt64;
  if (same) return known;
  return Constant(name, FromInts(DataType::kInt64, {static_cast<int64_t>(values.size())}, values));
}

Value* Patch::Number(absl::string_view name, DataType type, double number) {
  return Constant(name, FromDoubles(type, {}, {number}));
}

Value* Patch::Cast(Value* value, DataType type) {
  if (value == nullptr || facts().TypeOf(value) == type) return value;
  return Op("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
}

Value* Patch::Times(Value* value, double factor) {
  if (value == nullptr || factor == 1) return value;
  return Op("Mul", {value, Number("factor", facts().TypeOf(value), factor)});
}

Value* Patch::Transpose(Value* value, const std::vector<int64_t>& permutation) {
  if (value == nullptr || absl::c_is_sorted(permutation)) return value;
  return Op("Transpose", {value}, {{"perm", permutation}});
}

Value* Patch::SwapLastTwo(Value* value) {
  const int rank = facts().RankOf(value);
  return rank < 2 ? nullptr : Transpose(value, SwapOfLastTwo(rank));
}

bool Patch::Replace(Value* old, Value* replacement) {
  if (replacement != nullptr) replacements_.emplace_back(old, replacement);
  return replacement != nullptr;
}

bool Patch::Substitute(absl::Span<Node* const> nodes, Value* old, Value* value) {
  Supersede(nodes);
  return Replace(old, value);
}

bool Patch::Substitute(Node* node, Value* value) {
  return Substitute({node}, node->output(0), value);
}

bool Patch::Substitute(Node* node, const std::string& op_type, std::vector<Value*> inputs,
                       AttributeMap attributes) {
  return Substitute(node, Op(op_type, std::move(inputs), std::move(attributes), node->name()));
}

bool Patch::Rewrite(Node* node, std::vector<Value*> inputs, AttributeMap attributes) {
  Supersede({node});
  const std::vector<Value*> results = Again(*node, std::move(inputs), std::move(attributes));
  for (size_t i = 0; i < results.size(); ++i) {
    if (node->output(i) != nullptr) Replace(node->output(i), results[i]);
  }
  return true;
}

void Patch::Fail(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

bool Patch::CanApply(const Node* anchor) {
  const auto miss = [&](std::string reason) {
    if (anchor != nullptr) context_.Miss(*anchor, std::move(reason));
    return false;
  };
  for (const Node* node : superseded_) {
    for (const Value* output : node->outputs()) {
      const auto is_output = [&](const auto& entry) { return entry.first == output; };
      if (output == nullptr || absl::c_any_of(replacements_, is_output)) continue;
      if (context_.graph.IsOutput(output)) {
        return miss(absl::StrCat(Quoted(output->name()), " is a graph output"));
      }
      for (const Node* consumer : output->consumers()) {
        if (absl::c_linear_search(superseded_, consumer)) continue;
        // A new node may read it, as where the bias of an attention is its own product of q and k.
        const bool is_operand = absl::c_linear_search(added_, consumer);
        return miss(absl::StrCat(
            Quoted(output->name()),
            is_operand ? ", which would go away, is an operand, too"
                       : absl::StrCat(" has another consumer, ", consumer->description())));
      }
    }
  }
  return true;
}

absl::StatusOr<int> Patch::Apply() {
  ATTNRUN_RETURN_IF_ERROR(status_);
  if (!CanApply()) {
    return absl::InternalError(absl::StrCat("a rewrite of pass '", context_.rule,
                                            "' would remove a value that is still read"));
  }
  ATTNRUN_RETURN_IF_ERROR(context_.BeginRewrite());
  attnrun::Rewrite rewrite = {
      std::string(context_.rule), true, std::string(context_.body), {}, {}, ""};
  for (const Node* node : superseded_) rewrite.nodes.push_back(node->name());
  for (const Node* node : added_) rewrite.into.push_back(node->name());
  // A replacement takes over the old value's name, so that the two can be compared between runs.
  // This holds for a value that an earlier rewrite made, too, unless it has a name from the model.
  std::vector<std::pair<Value*, std::string>> renamed;
  for (const auto& [old, replacement] : replacements_) {
    context_.graph.ReplaceUses(old, replacement);
    const bool added = absl::c_linear_search(added_, replacement->producer());
    const bool nameless = replacement->producer() != nullptr && IsMadeUp(replacement->name()) &&
                          !IsMadeUp(old->name());
    if (!added && !nameless) continue;
    renamed.emplace_back(replacement, old->name());
    replacement->set_type(old->type());
  }
  for (Node* node : superseded_) {
    // Detach the inputs first: superseded nodes are in the matcher's order, not in the graph's.
    context_.graph.ClearInputs(node);
  }
  for (Node* node : superseded_) context_.Remove(node);
  HashSet<const Value*> named;
  for (const auto& [value, name] : renamed) {
    Value* old = context_.graph.FindValue(name);
    // A value that replaces several takes the first name. Inputs and initializers keep theirs.
    if ((old != nullptr && old->producer() == nullptr) || !named.insert(value).second) continue;
    // The old value's node is dead from now on if it was not superseded.
    if (old != nullptr) context_.graph.Rename(old, context_.graph.UniqueName(name));
    context_.graph.Rename(value, name);
  }
  context_.report.push_back(std::move(rewrite));
  applied_ = true;
  return 1;
}

void Patch::Discard() {
  for (Node* node : added_) {
    context_.graph.ClearInputs(node);
  }
  for (Node* node : added_) context_.Remove(node);
  for (Value* value : constants_) context_.Remove(value);
}

absl::StatusOr<int> RewriteEachNode(RuleContext& context, const std::vector<Node*>& nodes,
                                    absl::FunctionRef<bool(Node*, Patch&)> propose) {
  HashSet<const Node*> removed;
  int rewrites = 0;
  for (Node* node : nodes) {
    if (removed.contains(node)) continue;
    Patch patch(context);
    if (!propose(node, patch) || !patch.CanApply(node)) continue;
    removed.insert(patch.superseded().begin(), patch.superseded().end());
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, patch.Apply());
    rewrites += applied;
  }
  return rewrites;
}

}  // namespace attnrun::opt
