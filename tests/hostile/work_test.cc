// SPDX-License-Identifier: Apache-2.0
// Small models that ask for much work: endless loops, tensors that double, long chains.
#include <limits>

#include "hostile/hostile_model.h"

namespace attnrun::testing {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kTooLate = absl::StatusCode::kDeadlineExceeded;

class HostileWorkTest : public ::testing::TestWithParam<HostileModel> {};

TEST_P(HostileWorkTest, IsRefused) { ExpectRefused(GetParam()); }

// Builds first -> op -> ... -> y. A Concat reads the value before it twice.
void MakeChain(GraphProto& graph, const std::string& op, int64_t length, const std::string& first) {
  std::string last = first;
  for (int64_t i = 0; i < length; ++i) {
    const std::string next = i + 1 == length ? "y" : absl::StrCat("c", i);
    const bool doubles = op == "Concat";
    onnx::NodeProto* node =
        AddNode(&graph, op, doubles ? Names{last, last} : Names{last}, {next}, next);
    if (doubles) AddIntAttribute(node, "axis", 0);
    last = next;
  }
}

// A Loop of 2^62 iterations whose body applies `op` to two copies of the carried value.
void MakeLoop(GraphProto& graph, const std::string& op) {
  *graph.add_initializer() = Ints("trips", {std::numeric_limits<int64_t>::max() / 2});
  onnx::NodeProto* loop = AddNode(&graph, "Loop", {"trips", "", "x"}, {"y"}, "bad");
  GraphProto* body = AddSubgraph(loop, "body");
  SetType(body->add_input(), "i", onnx::TensorProto::INT64, {});
  SetType(body->add_input(), "go", onnx::TensorProto::BOOL, {});
  body->add_input()->set_name("carried");
  AddNode(body, "Identity", {"go"}, {"on"});
  onnx::NodeProto* node = AddNode(body, op, {"carried", "carried"}, {"next"}, "inner");
  if (op == "Concat") AddIntAttribute(node, "axis", 0);
  body->add_output()->set_name("on");
  body->add_output()->set_name("next");
}

// A Loop of 2^62 iterations that adds x to a list.
void MakeListLoop(GraphProto& graph) {
  *graph.add_initializer() = Ints("trips", {std::numeric_limits<int64_t>::max() / 2});
  AddNode(&graph, "SequenceEmpty", {}, {"none"});
  onnx::NodeProto* loop = AddNode(&graph, "Loop", {"trips", "", "none"}, {"list"}, "bad");
  GraphProto* body = AddSubgraph(loop, "body");
  SetType(body->add_input(), "i", onnx::TensorProto::INT64, {});
  SetType(body->add_input(), "go", onnx::TensorProto::BOOL, {});
  body->add_input()->set_name("carried");
  AddNode(body, "Identity", {"go"}, {"on"});
  AddNode(body, "SequenceInsert", {"carried", "x"}, {"next"}, "inner");
  body->add_output()->set_name("on");
  body->add_output()->set_name("next");
  AddNode(&graph, "SequenceLength", {"list"}, {"y"});
}

// Loops in each other, the innermost of which makes its carried value an optional without an
// element. To find out what is an optional must not take time exponential in their depth.
void MakeNestedLoops(GraphProto& graph, int depth, const std::string& value,
                     const std::string& result) {
  const auto named = [depth](const char* name) { return absl::StrCat(name, depth); };
  onnx::NodeProto* loop = AddNode(&graph, "Loop", {"trips", "", value}, {result}, named("loop"));
  GraphProto* body = AddSubgraph(loop, "body");
  SetType(body->add_input(), named("i"), onnx::TensorProto::INT64, {});
  SetType(body->add_input(), named("go"), onnx::TensorProto::BOOL, {});
  body->add_input()->set_name(named("carried"));
  AddNode(body, "Identity", {named("go")}, {named("on")});
  if (depth == 0) {
    onnx::NodeProto* none = AddNode(body, "Optional", {}, {named("next")});
    AddAttribute(none, "type", AttributeProto::TYPE_PROTO)
        ->mutable_tp()
        ->mutable_tensor_type()
        ->set_elem_type(onnx::TensorProto::FLOAT);
  } else {
    MakeNestedLoops(*body, depth - 1, named("carried"), named("next"));
  }
  body->add_output()->set_name(named("on"));
  body->add_output()->set_name(named("next"));
}

// y sums the product of operands over all combinations of their elements. It takes all letters, so
// that none is left for "...", and the optimizer cannot multiply two operands at a time.
void MakeEinsum(GraphProto& graph, const std::string& operand) {
  std::string equation;
  Names inputs;
  constexpr int kLetters = 52;
  for (int i = 0; i < kLetters; ++i) {
    absl::StrAppend(&equation, i == 0 ? "" : ",", "...",
                    std::string(1, i < 26 ? 'a' + i : 'A' + i - 26));
    inputs.push_back(operand);
  }
  onnx::NodeProto* node = AddNode(&graph, "Einsum", inputs, {"y"}, "bad");
  AddAttribute(node, "equation", AttributeProto::STRING)->set_s(equation + "->...");
}

// A uint8 tensor of these extents, filled with 1.
onnx::TensorProto Bytes(const std::string& name, const std::vector<int64_t>& dims) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::UINT8);
  int64_t count = 1;
  for (const int64_t dim : dims) {
    tensor.add_dims(dim);
    count *= dim;
  }
  tensor.set_raw_data(std::string(count, '\1'));
  return tensor;
}

// ONNX Runtime's quantized LSTM on an x whose steps have no elements.
void MakeLstm(GraphProto& graph, int64_t steps) {
  Declare(graph, {steps, 1, 0});
  *graph.add_initializer() = Bytes("w", {1, 0, 4});
  *graph.add_initializer() = Bytes("r", {1, 1, 4});
  *graph.add_initializer() = Floats("scale", {1}, {1});
  *graph.add_initializer() = Bytes("zero", {1});
  onnx::NodeProto* node =
      AddNode(&graph, "DynamicQuantizeLSTM",
              {"x", "w", "r", "", "", "", "", "", "scale", "zero", "scale", "zero"}, {"y"}, "bad");
  node->set_domain("com.microsoft");
  AddIntAttribute(node, "hidden_size", 1);
}

const HostileModel kWork[] = {
    {"StepsWithoutEnd",
     [](ModelProto&, GraphProto& g) { MakeLstm(g, int64_t{1} << 40); },
     {},
     kTooLate},
    {"LoopWithoutEnd", [](ModelProto&, GraphProto& g) { MakeLoop(g, "Add"); }, {}, kTooLate},
    {"LoopThatDoubles",
     [](ModelProto&, GraphProto& g) { MakeLoop(g, "Concat"); },
     {"node 'bad' (Loop)", "node 'inner' (Concat)", "of the run's limit"},
     kExhausted},
    {"ListWithoutEnd",
     [](ModelProto&, GraphProto& g) { MakeListLoop(g); },
     {"node 'bad' (Loop)", "node 'inner' (SequenceInsert)", "of the run's limit"},
     kExhausted},
    {"NestedOptionals",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("trips", {1});
       SetType(g.mutable_output(0), "y", onnx::TensorProto::FLOAT, {2, 3});
       MakeNestedLoops(g, 60, "x", "y");
     },
     {"node 'loop60' (Loop): output 0 is an optional without an element, but must be a tensor"}},
    {"SixtyDoublings",
     [](ModelProto&, GraphProto& g) { MakeChain(g, "Concat", 60, "x"); },
     {"(Concat)", "of the run's limit"},
     kExhausted},
    {"SixtyDoublingsOfAConstant",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("w", {2}, {1, 2});
       MakeChain(g, "Concat", 60, "w");
     },
     {"(Concat)", "of the run's limit"},
     kExhausted},
    {"ManyTerms",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {1, 2});
       MakeEinsum(g, "x");
     },
     {},
     kTooLate},
    {"ManyTermsOfConstants",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Floats("w", {1, 2}, {1, 2});
       MakeEinsum(g, "w");
     },
     {},
     kTooLate},
    // Optimizing these must not take time quadratic in their length.
    {"LongChainOfAxes",
     [](ModelProto&, GraphProto& g) {
       *g.add_initializer() = Ints("a", {0});
       std::string last = "x";
       for (int i = 0; i < 2000; ++i) {
         const std::string next = absl::StrCat("c", i);
         AddNode(&g, "Unsqueeze", {last, "a"}, {next});
         last = next;
       }
       AddNode(&g, "MatMul", {"x", last}, {"y"}, "bad");
     },
     {"node 'bad' (MatMul)"}},
    {"EndlessPieces",
     [](ModelProto&, GraphProto& g) {
       Declare(g, {int64_t{1} << 40, 0});
       AddNode(&g, "SplitToSequence", {"x"}, {"pieces"}, "bad");
       AddNode(&g, "SequenceLength", {"pieces"}, {"y"});
     },
     {"node 'bad' (SplitToSequence)", "of the run's limit"},
     kExhausted},
    {"LongList",
     [](ModelProto&, GraphProto& g) {
       AddNode(&g, "SequenceEmpty", {}, {"l0"});
       for (int i = 0; i < 2000; ++i) {
         AddNode(&g, "SequenceInsert", {absl::StrCat("l", i), "x"}, {absl::StrCat("l", i + 1)});
       }
       *g.add_initializer() = Ints("at", {2000});
       AddNode(&g, "SequenceAt", {"l2000", "at"}, {"y"}, "bad");
     },
     {"node 'bad' (SequenceAt)", "from -2000 to 1999"}},
    {"ManyPieces",
     [](ModelProto&, GraphProto& g) {
       constexpr int kPieces = 20'000;
       Declare(g, {kPieces});
       onnx::NodeProto* split = AddNode(&g, "Split", {"x"}, {}, "split");
       AddIntAttribute(split, "num_outputs", kPieces);
       for (int i = 0; i < kPieces; ++i) split->add_output(absl::StrCat("p", i));
       *g.add_initializer() = Ints("s", {7});
       AddNode(&g, "Reshape", {absl::StrCat("p", kPieces - 1), "s"}, {"y"}, "bad");
     },
     {"node 'bad' (Reshape)"}},
};

INSTANTIATE_TEST_SUITE_P(All, HostileWorkTest, ::testing::ValuesIn(kWork),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace attnrun::testing
