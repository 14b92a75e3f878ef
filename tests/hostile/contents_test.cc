// SPDX-License-Identifier: Apache-2.0
// Attributes of the wrong kind, and data that does not lie where the file says.
#include "hostile/hostile_model.h"

namespace attnrun::testing {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;

class HostileContentsTest : public ::testing::TestWithParam<HostileModel> {};

TEST_P(HostileContentsTest, IsRefused) { ExpectRefused(GetParam()); }

// A weight of 24 bytes in an external file; `location`, `offset` and `length` are the file's
// entries.
void MakeExternal(GraphProto& graph, const std::string& location, const std::string& offset,
                  const std::string& length) {
  onnx::TensorProto weight = MakeTensor("w", onnx::TensorProto::FLOAT, {2, 3});
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    onnx::StringStringEntryProto* entry = weight.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", location);
  if (!offset.empty()) add("offset", offset);
  if (!length.empty()) add("length", length);
  Bad(graph, "Add", {weight});
}

const HostileModel kContents[] = {
    {"AxisIsReal",
     [](ModelProto&, GraphProto& g) {
       AddAttribute(Bad(g, "Softmax"), "axis", AttributeProto::FLOAT)->set_f(1);
     },
     {"Softmax", "'bad'", "attribute 'axis' is of the wrong kind"},
     absl::StatusCode::kUnimplemented},
    {"AxisIsList",
     [](ModelProto&, GraphProto& g) { AddInts(Bad(g, "Softmax"), "axis", {1}); },
     {"Softmax", "'bad'", "attribute 'axis' is of the wrong kind"},
     absl::StatusCode::kUnimplemented},
    {"PermutationIsNumber",
     [](ModelProto&, GraphProto& g) { AddIntAttribute(Bad(g, "Transpose"), "perm", 1); },
     {"Transpose", "'bad'", "attribute 'perm' is of the wrong kind"},
     absl::StatusCode::kUnimplemented},
    {"EpsilonIsText",
     [](ModelProto&, GraphProto& g) {
       onnx::NodeProto* node = Bad(g, "LayerNormalization", {Floats("s", {3}, {1, 1, 1})});
       AddAttribute(node, "epsilon", AttributeProto::STRING)->set_s("small");
     },
     {"LayerNormalization", "'bad'", "attribute 'epsilon' is of the wrong kind"},
     absl::StatusCode::kUnimplemented},
    {"EquationIsTensor",
     [](ModelProto&, GraphProto& g) {
       *AddAttribute(Bad(g, "Einsum"), "equation", AttributeProto::TENSOR)->mutable_t() =
           Ints("", {1});
     },
     {"Einsum", "'bad'", "attribute 'equation' is of the wrong kind"},
     absl::StatusCode::kUnimplemented},
    {"ValueIsGraph",
     [](ModelProto&, GraphProto& g) {
       AddSubgraph(AddNode(&g, "Constant", {}, {"y"}, "bad"), "value");
     },
     {"Constant", "'bad'", "attribute 'value' is of the wrong kind"},
     absl::StatusCode::kUnimplemented},
    {"BranchIsNumber",
     [](ModelProto&, GraphProto& g) {
       SetType(g.add_input(), "c", onnx::TensorProto::BOOL, {});
       onnx::NodeProto* node = AddNode(&g, "If", {"c"}, {"y"}, "bad");
       AddIntAttribute(node, "then_branch", 1);
       AddIntAttribute(node, "else_branch", 1);
     },
     {"If", "'bad'", "attribute 'then_branch' is of the wrong kind"},
     absl::StatusCode::kUnimplemented},

    {"DataAbove",
     [](ModelProto&, GraphProto& g) { MakeExternal(g, "../w.bin", "", ""); },
     {"initializer 'w'", "the location '../w.bin' is outside the model's folder"}},
    {"DataAtAbsolutePath",
     [](ModelProto&, GraphProto& g) { MakeExternal(g, "/etc/passwd", "", ""); },
     {"initializer 'w'", "found the absolute '/etc/passwd'"}},
    // The model file itself has some hundred bytes.
    {"DataBeyondEnd",
     [](ModelProto&, GraphProto& g) { MakeExternal(g, "model.onnx", "1000000", ""); },
     {"initializer 'w'", "of data file 'model.onnx', but it has"}},
    {"DataEndOverflows",
     [](ModelProto&, GraphProto& g) { MakeExternal(g, "model.onnx", "9223372036854775800", "24"); },
     {"initializer 'w'", "of data file 'model.onnx', but it has"}},
    {"DataBeforeBegin",
     [](ModelProto&, GraphProto& g) { MakeExternal(g, "model.onnx", "-8", ""); },
     {"initializer 'w'", "-8"}},
    {"SparseIndicesAreHuge",
     [](ModelProto&, GraphProto& g) {
       auto* sparse = g.add_sparse_initializer();
       *sparse->mutable_values() = Floats("w", {1}, {1});
       *sparse->mutable_indices() = MakeTensor("", onnx::TensorProto::INT64, {int64_t{1} << 40, 0});
       AddNode(&g, "Add", {"x", "w"}, {"y"}, "bad");
     },
     {"sparse initializer 'w'", "one sparse value per index", "[1099511627776,0]"}},
    {"SparseDataIsHuge",
     [](ModelProto&, GraphProto& g) {
       auto* sparse = g.add_sparse_initializer();
       sparse->add_dims(int64_t{1} << 40);
       *sparse->mutable_values() = Floats("w", {1}, {1});
       *sparse->mutable_indices() = Ints("", {1});
       AddNode(&g, "Add", {"x", "w"}, {"y"}, "bad");
     },
     {"sparse initializer 'w'", "does not fit"},
     absl::StatusCode::kResourceExhausted},
};

INSTANTIATE_TEST_SUITE_P(All, HostileContentsTest, ::testing::ValuesIn(kContents),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace attnrun::testing
