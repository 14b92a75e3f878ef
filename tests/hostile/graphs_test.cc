// SPDX-License-Identifier: Apache-2.0
// Structures that take quadratic or exponential time if a phase of the optimizer, or the plan,
// walks paths instead of nodes.
#include "hostile/bounded.h"

namespace attnrun::testing {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

class HostileGraphsTest : public ::testing::TestWithParam<BoundedModel> {};

TEST_P(HostileGraphsTest, EndsInTime) { ExpectBounded(GetParam()); }

std::string Link(int i, int length) { return i + 1 == length ? "y" : absl::StrCat("c", i); }

// y is `length` nodes away from `first`; add(last, next) adds one of them.
template <typename Add>
void Chain(GraphProto&, int length, const std::string& first, Add add) {
  std::string last = first;
  for (int i = 0; i < length; ++i) {
    add(last, Link(i, length));
    last = Link(i, length);
  }
}

void ChainOf(GraphProto& graph, const std::string& op, int length, const Names& constants = {}) {
  Chain(graph, length, "x", [&](const std::string& last, const std::string& next) {
    Names inputs = {last};
    inputs.insert(inputs.end(), constants.begin(), constants.end());
    AddNode(&graph, op, inputs, {next});
  });
}

// A ladder of 2^length paths: each rung combines the one below with op(itself).
void Ladder(GraphProto& graph, const std::string& op, const std::string& join, int length) {
  Chain(graph, length, "x", [&](const std::string& last, const std::string& next) {
    AddNode(&graph, op, {last}, {next + "_side"});
    NodeProto* joined = AddNode(&graph, join, {last, next + "_side"}, {next});
    if (join == "Concat") AddIntAttribute(joined, "axis", 0);
  });
}

// `count` nodes that all read x, and a Concat of them.
void Fan(GraphProto& graph, const std::string& op, int count, bool own_weights) {
  Names results;
  for (int i = 0; i < count; ++i) {
    const std::string weight = own_weights ? absl::StrCat("w", i) : "w";
    if (own_weights || i == 0) *graph.add_initializer() = Floats(weight, {3, 1}, {1, 2, 3});
    results.push_back(absl::StrCat("r", i));
    AddNode(&graph, op, {"x", weight}, {results.back()});
  }
  AddIntAttribute(AddNode(&graph, "Concat", results, {"y"}, "join"), "axis", 1);
}

void NameExtents(GraphProto& graph, const Names& names) {
  auto* shape = graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->clear_dim();
  for (const std::string& name : names) shape->add_dim()->set_dim_param(name);
}

// Nested nodes of `op`, each with one subgraph per attribute, of which the last nests on.
void Nest(GraphProto& graph, const std::string& op, const Names& attributes, const Names& inputs,
          int depth) {
  GraphProto* inner = &graph;
  for (int i = 0; i < depth; ++i) {
    const std::string result = i == 0 ? "y" : absl::StrCat("n", i);
    NodeProto* node = AddNode(inner, op, inputs, {result}, absl::StrCat("nest", i));
    if (i > 0) inner->add_output()->set_name(result);
    for (const std::string& attribute : attributes) {
      inner = AddSubgraph(node, attribute);
      if (attribute == attributes.back()) break;
      AddNode(inner, "Relu", {"x"}, {absl::StrCat(attribute, i)});
      inner->add_output()->set_name(absl::StrCat(attribute, i));
    }
  }
  AddNode(inner, "Relu", {"x"}, {"innermost"});
  inner->add_output()->set_name("innermost");
}

// A function whose body is `length` nodes in a row.
void LongFunction(ModelProto& model, GraphProto& graph, int length, int calls) {
  auto* domain = model.add_opset_import();
  domain->set_domain("local");
  domain->set_version(1);
  onnx::FunctionProto* function = model.add_functions();
  function->set_name("F");
  function->set_domain("local");
  function->add_opset_import()->set_version(20);
  function->add_input("v0");
  function->add_output(absl::StrCat("v", length));
  for (int i = 0; i < length; ++i) {
    NodeProto* node = function->add_node();
    node->set_op_type("Relu");
    node->add_input(absl::StrCat("v", i));
    node->add_output(absl::StrCat("v", i + 1));
  }
  Chain(graph, calls, "x", [&](const std::string& last, const std::string& next) {
    AddNode(&graph, "F", {last}, {next})->set_domain("local");
  });
}

// Attentions in a row that share one mask, spelled out.
void Attentions(GraphProto& graph, int count) {
  Declare(graph, {1, 2, 4, 8});
  *graph.add_initializer() = Floats("mask", {1, 1, 4, 4}, std::vector<float>(16, 0));
  Chain(graph, count, "x", [&](const std::string& last, const std::string& next) {
    NodeProto* turn = AddNode(&graph, "Transpose", {last}, {next + "_t"});
    AddInts(turn, "perm", {0, 1, 3, 2});
    AddNode(&graph, "MatMul", {last, next + "_t"}, {next + "_s"});
    AddNode(&graph, "Add", {next + "_s", "mask"}, {next + "_m"});
    AddNode(&graph, "Softmax", {next + "_m"}, {next + "_p"});
    AddNode(&graph, "MatMul", {next + "_p", last}, {next});
  });
}

const BoundedModel kGraphs[] = {
    {"LongChainOfRelus", [](ModelProto&, GraphProto& g) { ChainOf(g, "Relu", 20'000); }},
    {"LongChainOfIdentities", [](ModelProto&, GraphProto& g) { ChainOf(g, "Identity", 20'000); }},
    {"LongChainOfTransposes", [](ModelProto&, GraphProto& g) { ChainOf(g, "Transpose", 20'001); }},
    {"LongChainOfCasts",
     [](ModelProto&, GraphProto& g) {
       ChainOf(g, "Cast", 10'000);
       for (int i = 0; i < 10'000; ++i) {
         AddIntAttribute(g.mutable_node(i), "to",
                         i % 2 == 0 ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT);
       }
     }},
    {"LongChainOfSums",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("w", {3}, {1, 2, 3});
       ChainOf(g, "Add", 10'000, {"w"});
     }},
    {"LongChainOfReshapes",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("s", {3, 2});
       ChainOf(g, "Reshape", 10'000, {"s"});
     }},
    {"LongChainOfSlices",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("from", {0});
       *g.add_initializer() = Ints("to", {2});
       ChainOf(g, "Slice", 10'000, {"from", "to"});
     }},
    {"LongChainOfConstants",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("w", {1000}, std::vector<float>(1000, 1));
       Chain(g, 10'000, "w", [&](const std::string& last, const std::string& next) {
         AddNode(&g, "Add", {last, last}, {next});
       });
     }},
    {"ConstantsThatGrow",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("w", {1}, {1});
       Names parts;
       for (int i = 0; i < 2'000; ++i) {
         *g.add_initializer() = Ints(absl::StrCat("s", i), {1 << 18, 1 + i % 3});
         parts.push_back(absl::StrCat("p", i));
         AddNode(&g, "Expand", {"w", absl::StrCat("s", i)}, {parts.back() + "_e"});
         AddNode(&g, "Neg", {parts.back() + "_e"}, {parts.back()});
       }
       AddIntAttribute(AddNode(&g, "Concat", parts, {"y"}, "join"), "axis", 1);
     },
     {"limit"}},
    {"SumsOnTwoToTheThousandPaths",
     [](ModelProto&, GraphProto& g) { Ladder(g, "Relu", "Add", 3'000); }},
    {"ProductsOnManyPaths", [](ModelProto&, GraphProto& g) { Ladder(g, "Neg", "Mul", 3'000); }},
    {"ConcatsOnManyPaths",
     [](ModelProto&, GraphProto& g) { Ladder(g, "Relu", "Concat", 60); },
     {"limit"}},
    {"NamedExtentsThatDouble",
     [](ModelProto&, GraphProto& g) {
       NameExtents(g, {"n", "m"});
       Chain(g, 60, "x", [&](const std::string& last, const std::string& next) {
         AddIntAttribute(AddNode(&g, "Concat", {last, last}, {next}), "axis", 0);
       });
     },
     {"limit"}},
    {"NamedExtentsThatSquare",
     [](ModelProto&, GraphProto& g) {
       NameExtents(g, {"n", "m"});
       AddNode(&g, "Shape", {"x"}, {"s0"});
       for (int i = 0; i < 300; ++i) {
         AddNode(&g, "Mul", {absl::StrCat("s", i), absl::StrCat("s", i)}, {absl::StrCat("q", i)});
         AddNode(&g, "Add", {absl::StrCat("q", i), "s0"}, {absl::StrCat("s", i + 1)});
       }
       AddNode(&g, "ConstantOfShape", {"s300"}, {"y"}, "bad");
     }},
    {"NamedExtentsOfManySums",
     [](ModelProto&, GraphProto& g) {
       NameExtents(g, {"n", "m"});
       AddNode(&g, "Shape", {"x"}, {"s0"});
       for (int i = 0; i < 2'000; ++i) {
         *g.add_initializer() = Ints(absl::StrCat("k", i), {i, 2 * i + 1});
         AddNode(&g, i % 3 == 0 ? "Mul" : (i % 3 == 1 ? "Add" : "Div"),
                 {absl::StrCat("s", i), absl::StrCat("k", i)}, {absl::StrCat("s", i + 1)});
       }
       AddNode(&g, "Reshape", {"x", "s2000"}, {"y"}, "bad");
     }},
    {"ManyNames",
     [](ModelProto&, GraphProto& g) {
       Names names;
       for (int i = 0; i < 10'000; ++i) names.push_back(absl::StrCat("n", i));
       NameExtents(g, names);
       AddNode(&g, "Relu", {"x"}, {"y"}, "bad");
     }},
    {"ManyProducts", [](ModelProto&, GraphProto& g) { Fan(g, "MatMul", 3'000, true); }},
    {"ManyEqualProducts", [](ModelProto&, GraphProto& g) { Fan(g, "MatMul", 10'000, false); }},
    {"ManyEqualSums",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {3, 1});
       Fan(g, "Add", 10'000, false);
     }},
    {"ManyOperands",
     [](ModelProto&, GraphProto& g) { AddNode(&g, "Sum", Names(20'000, "x"), {"y"}, "bad"); }},
    {"ManyParts",
     [](ModelProto&, GraphProto& g) {
       AddIntAttribute(AddNode(&g, "Concat", Names(20'000, "x"), {"y"}, "bad"), "axis", 0);
     }},
    {"ManyOutputs",
     [](ModelProto&, GraphProto& g) {
       AddNode(&g, "Relu", {"x"}, {"y"});
       for (int i = 0; i < 10'000; ++i) {
         AddNode(&g, "Relu", {"x"}, {absl::StrCat("o", i)});
         g.add_output()->set_name(absl::StrCat("o", i));
       }
     }},
    {"ManyInputs",
     [](ModelProto&, GraphProto& g) {
       Names names = {"x"};
       for (int i = 0; i < 10'000; ++i) {
         names.push_back(absl::StrCat("i", i));
         SetType(g.add_input(), names.back(), onnx::TensorProto::FLOAT, {2, 3});
       }
       AddNode(&g, "Sum", names, {"y"}, "bad");
     }},
    {"ManyEqualConstants",
     [](ModelProto&, GraphProto& g) {
       Chain(g, 5'000, "x", [&](const std::string& last, const std::string& next) {
         *g.add_initializer() = Floats("w" + next, {3}, {1, 2, 3});
         AddNode(&g, "Mul", {last, "w" + next}, {next});
       });
     }},
    {"ManyAttentions", [](ModelProto&, GraphProto& g) { Attentions(g, 300); }},
    {"ManyConvolutions",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {1, 1, 4, 4});
       *g.add_initializer() = Floats("w", {1, 1, 1, 1}, {1});
       Chain(g, 2'000, "x", [&](const std::string& last, const std::string& next) {
         AddNode(&g, "Conv", {last, "w"}, {next + "_c"});
         AddNode(&g, "Relu", {next + "_c"}, {next});
       });
     }},
    {"ManyRoundings",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("scale", {}, {0.5F});
       onnx::TensorProto* zero = g.add_initializer();
       *zero = MakeTensor("zero", onnx::TensorProto::INT8, {});
       zero->add_int32_data(0);
       Chain(g, 3'000, "x", [&](const std::string& last, const std::string& next) {
         AddNode(&g, "QuantizeLinear", {last, "scale", "zero"}, {next + "_q"});
         AddNode(&g, "DequantizeLinear", {next + "_q", "scale", "zero"}, {next});
       });
     }},
    {"DeepIfs",
     [](ModelProto&, GraphProto& g) {
       SetType(g.add_input(), "c", onnx::TensorProto::BOOL, {});
       Nest(g, "If", {"else_branch", "then_branch"}, {"c"}, 90);
     }},
    {"IfWithLongBranches",
     [](ModelProto&, GraphProto& g) {
       SetType(g.add_input(), "c", onnx::TensorProto::BOOL, {});
       NodeProto* node = AddNode(&g, "If", {"c"}, {"y"}, "bad");
       for (const char* branch : {"then_branch", "else_branch"}) {
         GraphProto* body = AddSubgraph(node, branch);
         ChainOf(*body, "Relu", 10'000);
         body->add_output()->set_name("y");
       }
     }},
    {"ManyIfs",
     [](ModelProto&, GraphProto& g) {
       SetType(g.add_input(), "c", onnx::TensorProto::BOOL, {});
       Chain(g, 1'000, "x", [&](const std::string& last, const std::string& next) {
         NodeProto* node = AddNode(&g, "If", {"c"}, {next});
         for (const char* branch : {"then_branch", "else_branch"}) {
           GraphProto* body = AddSubgraph(node, branch);
           AddNode(body, branch[0] == 't' ? "Relu" : "Neg", {last}, {next + branch});
           body->add_output()->set_name(next + branch);
         }
       });
     }},
    {"LongFunctions", [](ModelProto& m, GraphProto& g) { LongFunction(m, g, 200, 400); }},
    {"FunctionsBeyondTheLimit",
     [](ModelProto& m, GraphProto& g) { LongFunction(m, g, 1'000, 1'000); },
     {"expand to more than 100000 nodes"}},
    {"FunctionsOfOneName",
     [](ModelProto& m, GraphProto& g) {
       LongFunction(m, g, 2, 2);
       for (int i = 0; i < 1'000; ++i) *m.add_functions() = m.functions(0);
     }},
    {"NodesOfOneName",
     [](ModelProto&, GraphProto& g) {
       ChainOf(g, "Relu", 10'000);
       for (NodeProto& node : *g.mutable_node()) node.set_name("same");
     }},
    {"ValuesOfOneName",
     [](ModelProto&, GraphProto& g) {
       for (int i = 0; i < 10'000; ++i) AddNode(&g, "Relu", {"x"}, {"y"}, "bad");
     },
     {"y"}},
    {"LongNames",
     [](ModelProto&, GraphProto& g) {
       const std::string name(20'000, 'n');
       Chain(g, 1'000, "x", [&](const std::string& last, const std::string& next) {
         AddNode(&g, "Relu", {last}, {next}, name + next);
       });
     }},
    {"NodesBackwards",
     [](ModelProto&, GraphProto& g) {
       ChainOf(g, "Relu", 10'000);
       for (int i = 0; i < 5'000; ++i) g.mutable_node()->SwapElements(i, 9'999 - i);
     }},
    {"Circle",
     [](ModelProto&, GraphProto& g) {
       AddNode(&g, "Add", {"x", "b"}, {"a"}, "first");
       AddNode(&g, "Relu", {"a"}, {"b"}, "second");
       AddNode(&g, "Relu", {"b"}, {"y"}, "third");
     },
     {"the graph has a cycle"}},
    {"LoopsInLoops",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("trips", {int64_t{1} << 62});
       GraphProto* inner = &g;
       std::string carried = "x";
       for (int i = 0; i < 60; ++i) {
         const std::string result = i == 0 ? "y" : absl::StrCat("r", i);
         NodeProto* loop = AddNode(inner, "Loop", {"trips", "", carried}, {result});
         if (i > 0) inner->add_output()->set_name(result);
         inner = AddSubgraph(loop, "body");
         SetType(inner->add_input(), absl::StrCat("i", i), onnx::TensorProto::INT64, {});
         SetType(inner->add_input(), absl::StrCat("go", i), onnx::TensorProto::BOOL, {});
         carried = absl::StrCat("v", i);
         inner->add_input()->set_name(carried);
         AddNode(inner, "Identity", {absl::StrCat("go", i)}, {absl::StrCat("on", i)});
         inner->add_output()->set_name(absl::StrCat("on", i));
       }
       AddNode(inner, "Relu", {carried}, {"last"});
       inner->add_output()->set_name("last");
     },
     {"DEADLINE_EXCEEDED"}},
    {"ScanOverNothing",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {int64_t{1} << 40, 0});
       NodeProto* scan = AddNode(&g, "Scan", {"x"}, {"y"}, "bad");
       AddIntAttribute(scan, "num_scan_inputs", 1);
       GraphProto* body = AddSubgraph(scan, "body");
       body->add_input()->set_name("row");
       AddNode(body, "Relu", {"row"}, {"done"});
       body->add_output()->set_name("done");
     }},
    {"LongAttributes",
     [](ModelProto&, GraphProto& g) {
       NodeProto* node = AddNode(&g, "Constant", {}, {"k"}, "constant");
       AddInts(node, "value_ints", std::vector<int64_t>(1'000'000, 1));
       AddNode(&g, "Add", {"x", "k"}, {"y"}, "bad");
     }},
    {"ManyNotes",
     [](ModelProto& m, GraphProto& g) {
       for (int i = 0; i < 100'000; ++i) {
         auto* note = m.add_metadata_props();
         note->set_key(absl::StrCat("k", i));
         note->set_value("v");
       }
       AddNode(&g, "Relu", {"x"}, {"y"}, "bad");
     }},
    {"ManyDeclarations",
     [](ModelProto&, GraphProto& g) {
       for (int i = 0; i < 50'000; ++i) {
         SetType(g.add_value_info(), absl::StrCat("v", i), onnx::TensorProto::FLOAT, {i});
       }
       AddNode(&g, "Relu", {"x"}, {"y"}, "bad");
     }},
    // Each Concat has one symbol more in its extent.
    {"SumsOfManyExtents",
     [](ModelProto&, GraphProto& g) {
       std::string last = "x";
       for (int i = 0; i < 1'000; ++i) {
         const std::string other = absl::StrCat("x", i);
         auto* input = g.add_input();
         SetType(input, other, onnx::TensorProto::FLOAT, {0, 3});
         input->mutable_type()
             ->mutable_tensor_type()
             ->mutable_shape()
             ->mutable_dim(0)
             ->set_dim_param(absl::StrCat("n", i));
         const std::string all = absl::StrCat("c", i);
         AddIntAttribute(AddNode(&g, "Concat", {last, other}, {all}), "axis", 0);
         AddNode(&g, "Shape", {all}, {absl::StrCat("s", i)});
         g.add_output()->set_name(absl::StrCat("s", i));
         last = all;
       }
       AddNode(&g, "Relu", {last}, {"y"}, "bad");
     }},
    {"AValueReadHundredsOfThousandsOfTimes",
     [](ModelProto&, GraphProto& g) {
       Names all;
       for (int i = 0; i < 200; ++i) {
         all.push_back(absl::StrCat("c", i));
         AddIntAttribute(AddNode(&g, "Concat", Names(2'000, "x"), {all.back()}), "axis", 0);
       }
       AddIntAttribute(AddNode(&g, "Concat", all, {"y"}, "bad"), "axis", 0);
     }},
    // Each condition reads the one before it twice, so that depth alone bounds no walk.
    {"ConditionsReadTwice",
     [](ModelProto&, GraphProto& g) {
       std::string last = "c";
       AddNode(&g, "Greater", {"x", "x"}, {last});
       for (int i = 0; i < 1'500; ++i) {
         const auto name = [i](const char* prefix) { return absl::StrCat(prefix, i); };
         AddNode(&g, "Not", {last}, {name("not")});
         AddNode(&g, "And", {last, name("not")}, {name("and")});
         AddNode(&g, "Or", {name("and"), last}, {name("or")});
         last = name("or");
       }
       AddNode(&g, "Identity", {last}, {"y"}, "bad");
     }},
    {"AProductOfManyAttentions",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {1, 4, 4});
       auto* shape = g.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
       shape->mutable_dim(0)->set_dim_param("batch");
       shape->mutable_dim(1)->set_dim_param("length");
       AddInts(AddNode(&g, "Transpose", {"x"}, {"t"}), "perm", {0, 2, 1});
       AddNode(&g, "MatMul", {"x", "t"}, {"s"});
       Names all;
       for (int i = 0; i < 1'500; ++i) {
         const auto name = [i](const char* prefix) { return absl::StrCat(prefix, i); };
         *g.add_initializer() = Floats(name("b"), {1}, {static_cast<float>(i)});
         AddNode(&g, "Mul", {"s", name("b")}, {name("m")});
         AddIntAttribute(AddNode(&g, "Softmax", {name("m")}, {name("p")}), "axis", -1);
         AddNode(&g, "MatMul", {name("p"), "x"}, {name("o")});
         all.push_back(name("o"));
       }
       AddNode(&g, "Sum", all, {"y"}, "bad");
     }},
    {"ProductsOfManyWeights",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {1, 1});
       std::string last = "x";
       for (int i = 0; i < 14'000; ++i) {
         const std::string w = absl::StrCat("w", i);
         const std::string m = absl::StrCat("m", i);
         *g.add_initializer() = Floats(w, {1, 1}, {static_cast<float>(i)});
         AddNode(&g, "MatMul", {last, w}, {m});
         AddNode(&g, "Relu", {m}, {absl::StrCat("r", i)});
         last = absl::StrCat("r", i);
       }
       AddNode(&g, "Identity", {last}, {"y"}, "bad");
     }},
    {"ManyAxesOfOne",
     [](ModelProto&, GraphProto& g) {
       Declare(g, std::vector<int64_t>(5'000, 1));
       AddNode(&g, "Relu", {"x"}, {"y"}, "bad");
     }},
};

INSTANTIATE_TEST_SUITE_P(All, HostileGraphsTest, ::testing::ValuesIn(kGraphs),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace attnrun::testing
