// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/hash_map.h"
#include "core/quote.h"
#include "core/status.h"

namespace attnrun {
namespace {

// Removes one entry, not all: consumers_ has one entry per slot.
void EraseOne(std::vector<Node*>& nodes, const Node* node) {
  const auto it = std::find(nodes.begin(), nodes.end(), node);
  if (it != nodes.end()) nodes.erase(it);
}

// Finds a cycle from a node that never became ready. Every such node reads another one, so walking
// from reader to producer must come back to a node already visited.
std::string DescribeCycle(const Node* node, absl::FunctionRef<bool(const Node*)> is_stuck) {
  const auto stuck_producer = [&](const Node* reader) -> const Node* {
    for (const auto* slots : {&reader->inputs(), &reader->implicit_inputs()}) {
      for (const Value* value : *slots) {
        if (value == nullptr || value->producer() == nullptr) continue;
        if (is_stuck(value->producer())) return value->producer();
      }
    }
    return nullptr;
  };
  std::vector<const Node*> path;
  HashMap<const Node*, size_t> visited;
  while (visited.try_emplace(node, path.size()).second) {
    path.push_back(node);
    node = stuck_producer(node);
  }
  path.erase(path.begin(), path.begin() + visited[node]);
  constexpr size_t kShown = 6;
  std::string text = "the graph has a cycle: ";
  for (size_t i = 0; i < std::min(path.size(), kShown); ++i) {
    absl::StrAppend(&text, path[i]->description(), " reads from ");
  }
  return absl::StrCat(text, path.size() > kShown ? "... reads from " : "", path[0]->description());
}

}  // namespace

std::string Node::qualified_op_type() const {
  return domain_.empty() ? op_type_ : absl::StrCat(domain_, ".", op_type_);
}

std::string Node::description() const {
  return absl::StrCat("node ", Quoted(name_), " (", Shortened(qualified_op_type()), ")");
}

const AttributeValue* Node::attribute(absl::string_view name) const {
  const auto it = attributes_.find(std::string(name));
  return it == attributes_.end() ? nullptr : &it->second;
}

std::vector<Node*> Graph::nodes() const {
  std::vector<Node*> nodes;
  nodes.reserve(nodes_.size());
  for (const auto& [number, node] : nodes_) nodes.push_back(node.get());
  return nodes;
}

std::vector<Value*> Graph::values() const {
  std::vector<Value*> values;
  values.reserve(values_.size());
  for (const auto& [name, value] : values_) values.push_back(value.get());
  // The order of the hash map differs from run to run.
  std::sort(values.begin(), values.end(),
            [](const Value* a, const Value* b) { return a->name() < b->name(); });
  return values;
}

Value* Graph::FindValue(absl::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : it->second.get();
}

absl::StatusOr<Value*> Graph::NewValue(std::string name) {
  if (values_.contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("the name ", Quoted(name), " is defined twice"));
  }
  auto value = std::make_unique<Value>();
  value->name_ = std::move(name);
  return Own(std::move(value));
}

Value* Graph::Own(std::unique_ptr<Value> value) {
  const size_t names = values_.size() + past_names_.size() + 1;
  if (past_names_.bucket_count() < names) past_names_.reserve(2 * names);
  return values_.try_emplace(value->name_, std::move(value)).first->second.get();
}

Node* Graph::Own(std::unique_ptr<Node> node) {
  node->number_ = next_number_;
  return nodes_.emplace(next_number_++, std::move(node)).first->second.get();
}

absl::StatusOr<Value*> Graph::AddInput(std::string name, Type type) {
  ATTNRUN_ASSIGN_OR_RETURN(Value * value, NewValue(std::move(name)));
  value->type_ = std::move(type);
  value->is_input_ = true;
  inputs_.push_back(value);
  return value;
}

absl::StatusOr<Value*> Graph::AddInitializer(std::string name, Tensor data) {
  ATTNRUN_ASSIGN_OR_RETURN(Value * value, NewValue(std::move(name)));
  value->type_ = TypeOf(data);
  value->constant_ = std::move(data);
  return value;
}

absl::StatusOr<Value*> Graph::AddCapture(std::string name, Value* outer) {
  ATTNRUN_ASSIGN_OR_RETURN(Value * value, NewValue(std::move(name)));
  value->type_ = outer->type_;
  value->outer_ = outer;
  captures_.push_back(value);
  return value;
}

void Graph::SetDefault(Value* input, Tensor data) { input->constant_ = std::move(data); }

absl::Status Graph::CheckFree(absl::Span<const std::string> names) const {
  HashSet<absl::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty() || (!values_.contains(name) && seen.insert(name).second)) continue;
    return absl::AlreadyExistsError(absl::StrCat("the name ", Quoted(name), " is defined twice"));
  }
  return absl::OkStatus();
}

std::string Graph::NewNodeName(const std::string& wanted, const std::string& op_type) {
  if (!wanted.empty() && node_names_.insert(wanted).second) return wanted;
  const std::string& base = wanted.empty() ? op_type : wanted;
  int64_t& next = next_node_name_[base];
  while (true) {
    std::string name = absl::StrCat(base, "_", next++);
    if (node_names_.insert(name).second) return name;
  }
}

absl::StatusOr<Node*> Graph::AddNode(NodeSpec spec, absl::Span<const std::string> outputs) {
  ATTNRUN_RETURN_IF_ERROR(CheckFree(outputs));
  auto node = std::make_unique<Node>();
  node->name_ = NewNodeName(spec.name, spec.op_type);
  node->op_type_ = std::move(spec.op_type);
  node->domain_ = std::move(spec.domain);
  node->opset_ = spec.opset;
  for (const std::string& output : outputs) {
    Value* value = nullptr;
    if (!output.empty()) {
      ATTNRUN_ASSIGN_OR_RETURN(value, NewValue(output));
      value->producer_ = node.get();
      value->producer_index_ = static_cast<int>(node->outputs_.size());
    }
    node->outputs_.push_back(value);
  }
  node->inputs_ = std::move(spec.inputs);
  for (Value* value : node->inputs_) {
    if (value != nullptr) value->consumers_.push_back(node.get());
  }
  node->attributes_ = std::move(spec.attributes);
  ListImplicitInputs(node.get());
  return Own(std::move(node));
}

void Graph::AttachSubgraph(Node* node, const std::string& attribute,
                           std::shared_ptr<Graph> subgraph) {
  for (const Value* capture : subgraph->captures_) {
    node->implicit_inputs_.push_back(capture->outer_);
    capture->outer_->consumers_.push_back(node);
  }
  node->attributes_[attribute] = std::move(subgraph);
}

std::string Graph::UniqueName(absl::string_view hint) {
  const auto is_free = [this](const std::string& name) {
    return !values_.contains(name) && !past_names_.contains(name);
  };
  std::string name(hint);
  if (is_free(name)) return name;
  int64_t& suffix = next_suffix_[name];
  do {
    name = absl::StrCat(hint, "_", ++suffix);
  } while (!is_free(name));
  return name;
}

void Graph::Rename(Value* value, std::string name) {
  auto entry = values_.extract(value->name_);
  entry.key() = name;
  value->name_ = std::move(name);
  values_.insert(std::move(entry));
}

void Graph::SetInput(Node* node, size_t index, Value* value) {
  if (Value* old = node->inputs_[index]; old != nullptr) EraseOne(old->consumers_, node);
  node->inputs_[index] = value;
  if (value != nullptr) value->consumers_.push_back(node);
}

void Graph::ClearInputs(Node* node) {
  // A node may read a value thousands of times in a row.
  Value* before = nullptr;
  for (Value*& value : node->inputs_) {
    if (value != nullptr && value != before) {
      std::erase(value->consumers_, node);
      for (const Value* implicit : node->implicit_inputs_) {
        if (implicit == value) value->consumers_.push_back(node);
      }
    }
    before = std::exchange(value, nullptr);
  }
}

void Graph::ReplaceUses(Value* from, Value* to) {
  // All at once: a value may have hundreds of thousands of consumers.
  for (Node* node : std::exchange(from->consumers_, {})) {
    for (auto* const slots : {&node->inputs_, &node->implicit_inputs_}) {
      for (Value*& value : *slots) {
        if (value != from) continue;
        value = to;
        to->consumers_.push_back(node);
      }
    }
    for (const auto& [name, attribute] : node->attributes_) {
      const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (subgraph == nullptr) continue;
      for (Value* capture : (*subgraph)->captures_) {
        if (capture->outer_ == from) capture->outer_ = to;
      }
    }
  }
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::RemoveNode(Node* node) {
  for (Value* value : node->implicit_inputs_) EraseOne(value->consumers_, node);
  ClearInputs(node);
  for (const Value* value : node->outputs_) {
    if (value == nullptr) continue;
    auto entry = values_.extract(value->name_);
    entry.mapped().reset();
    past_names_.insert(std::move(entry));
  }
  node_names_.erase(node->name_);
  nodes_.erase(node->number_);
}

void Graph::AdoptConstants() {
  std::erase_if(captures_, [](Value* capture) {
    if (!capture->outer_->is_constant()) return false;
    capture->constant_ = capture->outer_->constant_;
    capture->outer_ = nullptr;
    return true;
  });
}

void Graph::DropUnreadCaptures() {
  std::erase_if(captures_, [this](Value* capture) {
    if (!capture->consumers_.empty() || IsOutput(capture)) return false;
    values_.erase(capture->name_);
    return true;
  });
}

void Graph::ListImplicitInputs(Node* node) {
  for (Value* value : node->implicit_inputs_) EraseOne(value->consumers_, node);
  node->implicit_inputs_.clear();
  for (const auto& [name, attribute] : node->attributes_) {
    const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&attribute);
    if (subgraph == nullptr) continue;
    for (const Value* capture : (*subgraph)->captures_) {
      node->implicit_inputs_.push_back(capture->outer_);
      capture->outer_->consumers_.push_back(node);
    }
  }
}

void Graph::TidyCaptures(Node* node) {
  for (const auto& [name, attribute] : node->attributes_) {
    const auto* held = std::get_if<std::shared_ptr<Graph>>(&attribute);
    if (held == nullptr) continue;
    Graph& subgraph = **held;
    // Constants spread from the outside in; unread captures disappear from the inside out.
    subgraph.AdoptConstants();
    for (const auto& [number, inner] : subgraph.nodes_) subgraph.TidyCaptures(inner.get());
    subgraph.DropUnreadCaptures();
  }
  ListImplicitInputs(node);
}

std::vector<Value*> Graph::Inline(Node* node, const std::string& attribute) {
  const auto held = node->attributes_.find(attribute);
  const std::shared_ptr<Graph> body = std::get<std::shared_ptr<Graph>>(held->second);
  node->attributes_.erase(attribute);
  ListImplicitInputs(node);
  for (Value* capture : body->captures_) body->ReplaceUses(capture, capture->outer_);
  for (Value* value : body->values()) {
    std::unique_ptr<Value> owned = std::move(body->values_[value->name_]);
    if (value->outer_ != nullptr) continue;
    value->name_ = UniqueName(value->name_);
    Own(std::move(owned));
  }
  for (auto& [number, moved] : body->nodes_) {
    moved->name_ = NewNodeName(moved->name_, moved->op_type_);
    Own(std::move(moved));
  }
  body->nodes_.clear();
  body->captures_.clear();
  return std::move(body->outputs_);
}

void Graph::RemoveValue(Value* value) {
  std::erase(captures_, value);
  values_.erase(value->name_);
}

bool Graph::IsOutput(const Value* value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

absl::StatusOr<std::vector<Node*>> Graph::TopologicalOrder() const {
  // By the numbers of nodes, as `missing`: how many inputs are not computed yet.
  std::vector<Node*> by_number(next_number_);
  std::vector<int64_t> missing(next_number_);
  // Among the ready nodes, takes the one added first, which keeps the order of a file.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (const auto& [number, node] : nodes_) {
    by_number[number] = node.get();
    for (const auto* slots : {&node->inputs_, &node->implicit_inputs_}) {
      for (const Value* value : *slots) {
        missing[number] += value != nullptr && value->producer_ != nullptr ? 1 : 0;
      }
    }
    if (missing[number] == 0) ready.push(number);
  }
  std::vector<Node*> order;
  order.reserve(nodes_.size());
  while (!ready.empty()) {
    Node* node = by_number[ready.top()];
    ready.pop();
    order.push_back(node);
    for (const Value* value : node->outputs_) {
      if (value == nullptr) continue;
      for (const Node* consumer : value->consumers_) {
        if (--missing[consumer->number_] == 0) ready.push(consumer->number_);
      }
    }
  }
  if (order.size() == nodes_.size()) return order;
  const auto is_stuck = [&](const Node* node) { return missing[node->number_] > 0; };
  const auto stuck = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const auto& entry) { return is_stuck(entry.second.get()); });
  return absl::InvalidArgumentError(DescribeCycle(stuck->second.get(), is_stuck));
}

}  // namespace attnrun
