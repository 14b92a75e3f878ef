// SPDX-License-Identifier: Apache-2.0
// Models with malicious structure: nesting, names and lists without bound.
#include "hostile/hostile_model.h"

namespace attnrun::testing {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;

constexpr size_t kLong = 1 << 20;

class HostileStructureTest : public ::testing::TestWithParam<HostileModel> {};

TEST_P(HostileStructureTest, IsRefused) { ExpectRefused(GetParam()); }

// Nests `depth` graphs, each in an attribute of a node of operator `op` in the graph around it.
void MakeNest(GraphProto& graph, const std::string& op, const std::string& attribute, int depth) {
  GraphProto* inner = &graph;
  for (int i = 0; i < depth; ++i) {
    inner = AddSubgraph(AddNode(inner, op, {"x"}, {"y"}, absl::StrCat("n", i)), attribute);
    inner->add_output()->set_name("y");
  }
  AddNode(inner, "Relu", {"x"}, {"y"}, "innermost");
}

// y = F0(x). The body of F0 calls F1 `calls` times in a row, and so on; the last function calls
// `last`.
void MakeFunctions(ModelProto& model, GraphProto& graph, int count, int calls,
                   const std::string& last) {
  AddNode(&graph, "F0", {"x"}, {"y"}, "bad");
  for (int i = 0; i < count; ++i) {
    onnx::FunctionProto* function = model.add_functions();
    function->set_name(absl::StrCat("F", i));
    function->add_input("v0");
    function->add_output(absl::StrCat("v", calls));
    for (int call = 0; call < calls; ++call) {
      onnx::NodeProto* node = function->add_node();
      node->set_op_type(i + 1 < count ? absl::StrCat("F", i + 1) : last);
      node->add_input(absl::StrCat("v", call));
      node->add_output(absl::StrCat("v", call + 1));
    }
  }
}

const HostileModel kStructures[] = {
    {"NestedIfs",
     [](ModelProto&, GraphProto& g) { MakeNest(g, "If", "then_branch", 1000); },
     {"nested more than 100 deep"}},
    {"NestedLoops",
     [](ModelProto&, GraphProto& g) { MakeNest(g, "Loop", "body", 1000); },
     {"nested more than 100 deep"}},
    {"NestedScans",
     [](ModelProto&, GraphProto& g) { MakeNest(g, "Scan", "body", 1000); },
     {"nested more than 100 deep"}},
    {"FunctionsWithoutEnd",
     [](ModelProto& m, GraphProto& g) { MakeFunctions(m, g, 3, 1, "F1"); },
     {"node 'bad' (F0)",
      "a function calls itself: function 'F1' -> function 'F2' -> function 'F1'"}},
    {"FunctionsTooDeep",
     [](ModelProto& m, GraphProto& g) { MakeFunctions(m, g, 10'000, 1, "Relu"); },
     {"node 'bad' (F0)", "nested more than 100 deep"}},
    {"FunctionsThatDouble",
     [](ModelProto& m, GraphProto& g) { MakeFunctions(m, g, 60, 2, "Relu"); },
     {"node 'bad' (F0)", "expand to more than 100000 nodes"},
     absl::StatusCode::kResourceExhausted},
    // Found by fuzzing: the ranks contradict each other, so that nothing is known of the image.
    {"ConvOfNothingKnown",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("w", {1, 1, 1, 1}, {1});
       AddIntAttribute(AddNode(&g, "Concat", {"x", "w"}, {"joined"}, "bad"), "axis", 1);
       AddNode(&g, "Conv", {"joined", "w"}, {"y"});
     },
     {"node 'bad' (Concat)"}},

    {"LongNodeName",
     [](ModelProto&, GraphProto& g) {
       AddIntAttribute(Bad(g, "Softmax"), "axis", 9);
       g.mutable_node(0)->set_name(std::string(kLong, 'n'));
     },
     {"node 'nnn", "nnn... (1048576 bytes)' (Softmax): axis 9"}},
    {"LongOperator",
     [](ModelProto&, GraphProto& g) { Bad(g, std::string(kLong, 'O')); },
     {"operator OOO", "OOO... (1048576 bytes)", "'bad'"},
     absl::StatusCode::kUnimplemented},
    {"LongValueName",
     [](ModelProto&, GraphProto& g) { Bad(g, "Relu")->set_input(0, std::string(kLong, 'v')); },
     {"node 'bad' (Relu)", "vvv... (1048576 bytes)'"}},
    {"LongDomain",
     [](ModelProto&, GraphProto& g) { Bad(g, "Relu")->set_domain(std::string(kLong, 'd')); },
     {"node 'bad'", "ddd... (1048576 bytes)'"}},
    {"LongEquation",
     [](ModelProto&, GraphProto& g) {
       AddAttribute(Bad(g, "Einsum"), "equation", AttributeProto::STRING)
           ->set_s(std::string(kLong, 'i'));
     },
     {"node 'bad' (Einsum)", "iii... (1048576 bytes)'"}},
    {"ManyPads",
     [](ModelProto&, GraphProto& g) {
       AddInts(BadOf(g, {1, 1, 8}, "Conv", {Floats("w", {1, 1, 1}, {1})}), "pads",
               std::vector<int64_t>(kLong, 0));
     },
     {"node 'bad' (Conv)", "expected pads to hold 2 numbers"}},
    {"ManyAxes",
     [](ModelProto&, GraphProto& g) {
       Bad(g, "Unsqueeze", {Ints("a", std::vector<int64_t>(kLong, 0))});
     },
     {"node 'bad' (Unsqueeze)", "axes has 1048576 elements"},
     absl::StatusCode::kUnimplemented},
    {"LongPermutation",
     [](ModelProto&, GraphProto& g) {
       AddInts(Bad(g, "Transpose"), "perm", std::vector<int64_t>(kLong, 1));
     },
     {"node 'bad' (Transpose)", "perm"}},
    {"ManyAttributes",
     [](ModelProto&, GraphProto& g) {
       onnx::NodeProto* node = Bad(g, "Relu");
       for (int i = 0; i < 20'000; ++i) AddIntAttribute(node, absl::StrCat("a", i), i);
     },
     {"Relu", "'bad'", "attribute 'a0' is unknown"},
     absl::StatusCode::kUnimplemented},
    {"ManyOperators",
     [](ModelProto&, GraphProto& g) {
       for (int i = 0; i < 20'000; ++i) {
         AddNode(&g, absl::StrCat("Op", i), {"x"}, {absl::StrCat("v", i)});
       }
       Bad(g, "Relu");
     },
     {"operator Op0", "and 19980 more"},
     absl::StatusCode::kUnimplemented},
};

INSTANTIATE_TEST_SUITE_P(All, HostileStructureTest, ::testing::ValuesIn(kStructures),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace attnrun::testing
