// SPDX-License-Identifier: Apache-2.0
#include "graph/dump.h"

#include <utility>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/elements.h"

namespace attnrun {
namespace {

std::string Reference(const Value* value) {
  return value == nullptr ? "_" : absl::StrCat("%", value->name());
}

std::string Declaration(const Value* value) {
  if (value == nullptr) return "_";
  return absl::StrCat("%", value->name(), ": ", ToString(value->type()));
}

std::string JoinValues(const std::vector<Value*>& values, std::string (*format)(const Value*)) {
  return absl::StrJoin(
      values, ", ", [format](std::string* out, const Value* value) { out->append(format(value)); });
}

// The elements of a short integer tensor, such as a shape: " [2,-1]".
std::string ShortElements(const Tensor& tensor) {
  constexpr int64_t kLongest = 8;
  if (!IsInteger(tensor.type()) || tensor.num_elements() > kLongest || !tensor.is_dense())
    return "";
  return absl::StrCat(" [", absl::StrJoin(ToInts(tensor).value(), ","), "]");
}

// All attributes except graphs: " {axis=0, mode='a'}".
std::string Attributes(const Node& node) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : node.attributes()) {
    if (std::holds_alternative<std::shared_ptr<Graph>>(value)) continue;
    const auto* tensor = std::get_if<Tensor>(&value);
    parts.push_back(
        absl::StrCat(name, "=", ToString(value), tensor == nullptr ? "" : ShortElements(*tensor)));
  }
  return parts.empty() ? "" : absl::StrCat(" {", absl::StrJoin(parts, ", "), "}");
}

void AppendGraph(const Graph& graph, absl::string_view keyword, const std::string& indent,
                 std::string& out);

void AppendNode(const Node& node, const std::string& indent, std::string& out) {
  absl::StrAppend(&out, indent, JoinValues(node.outputs(), Declaration), " = ",
                  node.qualified_op_type(), "(", JoinValues(node.inputs(), Reference), ")",
                  Attributes(node), "  # ", node.name(), "\n");
  for (const auto& [name, value] : node.attributes()) {
    if (const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&value)) {
      AppendGraph(**subgraph, absl::StrCat(name, " ="), absl::StrCat(indent, "  "), out);
    }
  }
}

void AppendGraph(const Graph& graph, absl::string_view keyword, const std::string& indent,
                 std::string& out) {
  absl::StrAppend(&out, indent, keyword, " ", graph.name(), "(",
                  JoinValues(graph.inputs(), Declaration), ") -> (",
                  JoinValues(graph.outputs(), Declaration), ") {\n");
  const std::string inner = absl::StrCat(indent, "  ");
  for (const Value* value : graph.captures()) {
    absl::StrAppend(&out, inner, Declaration(value), " = outer ", Reference(value->outer()), "\n");
  }
  for (const Value* value : graph.values()) {
    if (value->constant() == nullptr) continue;
    absl::StrAppend(&out, inner, Declaration(value), " = ",
                    value->is_input() ? "default" : "initializer",
                    ShortElements(*value->constant()), "\n");
  }
  for (const Node* node : graph.nodes()) AppendNode(*node, inner, out);
  absl::StrAppend(&out, indent, "}\n");
}

// A quoted Graphviz string.
std::string Quote(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

// Writes the boxes and edges of one graph. Ids have a prefix, since a drawing may hold several
// graphs.
class DotWriter {
 public:
  DotWriter(absl::string_view prefix, std::string& out) : prefix_(prefix), out_(out) {}

  void Write(const Graph& graph) {
    for (const Value* input : graph.inputs()) Ellipse(Source(input), input->name());
    for (const Node* node : graph.nodes()) {
      absl::StrAppend(&out_, "  ", Id("node", node->name()),
                      " [label=", Quote(node->qualified_op_type()),
                      ", tooltip=", Quote(node->name()), "];\n");
      WriteEdges(*node);
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const Value* output = graph.outputs()[i];
      const std::string sink = Id("output", absl::StrCat(i));
      Ellipse(sink, output->name());
      if (output->is_constant()) continue;
      absl::StrAppend(&out_, "  ", Source(output), " -> ", sink, ";\n");
    }
  }

 private:
  std::string Id(absl::string_view kind, absl::string_view name) const {
    return Quote(absl::StrCat(prefix_, kind, " ", name));
  }
  std::string Source(const Value* value) const {
    if (value->producer() != nullptr) return Id("node", value->producer()->name());
    return Id("input", value->name());
  }
  void Ellipse(const std::string& id, const std::string& label) {
    absl::StrAppend(&out_, "  ", id, " [label=", Quote(label), ", shape=ellipse];\n");
  }
  void WriteEdges(const Node& node) {
    for (const auto* slots : {&node.inputs(), &node.implicit_inputs()}) {
      for (const Value* value : *slots) {
        if (value == nullptr || value->is_constant()) continue;
        absl::StrAppend(&out_, "  ", Source(value), " -> ", Id("node", node.name()),
                        " [label=", Quote(ToString(value->type())), "];\n");
      }
    }
  }

  const std::string prefix_;
  std::string& out_;
};

}  // namespace

std::string DumpText(const Graph& graph) {
  std::string out;
  AppendGraph(graph, "graph", "", out);
  return out;
}

std::string DumpDot(const Graph& graph) {
  std::string out = "digraph {\n  node [shape=box];\n";
  DotWriter("", out).Write(graph);
  return absl::StrCat(out, "}\n");
}

std::string DumpDot(const Graph& before, const Graph& after) {
  std::string out = "digraph {\n  node [shape=box];\n";
  for (const auto& [name, graph] : {std::pair("before", &before), std::pair("after", &after)}) {
    absl::StrAppend(&out, "  subgraph cluster_", name, " {\n  label=", name, ";\n");
    DotWriter(absl::StrCat(name, " "), out).Write(*graph);
    absl::StrAppend(&out, "  }\n");
  }
  return absl::StrCat(out, "}\n");
}

}  // namespace attnrun
