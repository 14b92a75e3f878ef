// SPDX-License-Identifier: Apache-2.0
#include "attnrun/fit_inputs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

onnx::TensorProto Number(const std::string& name, int64_t value) {
  onnx::TensorProto tensor = MakeTensor(name, onnx::TensorProto::INT64, {1});
  tensor.add_int64_data(value);
  return tensor;
}

// Adds the input x of these extents and one more, `length`.
void AddInputOfLength(onnx::GraphProto* graph, const std::vector<int64_t>& extents) {
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, extents);
  graph->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->add_dim()
      ->set_dim_param("length");
}

// A Conv with a kernel of `window` elements on x [1,1,length] behind an If: exporters ask so
// whether an axis has one element before they squeeze it.
std::string ConvBehindIf(int64_t window) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  AddInputOfLength(graph, {1, 1});
  graph->add_output()->set_name("y");
  *graph->add_initializer() = Number("one", 1);
  *graph->add_initializer() =
      RawTensor("w", onnx::TensorProto::FLOAT, {1, 1, window}, std::string(4 * window, '\0'));
  AddNode(graph, "Unsqueeze", {"x", "one"}, {"wide"});
  AddNode(graph, "Shape", {"wide"}, {"shape"});
  AddNode(graph, "Gather", {"shape", "one"}, {"extent"});
  AddNode(graph, "Equal", {"extent", "one"}, {"is_one"});
  onnx::NodeProto* choice = AddNode(graph, "If", {"is_one"}, {"chosen"});
  for (const std::string branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto* body = AddSubgraph(choice, branch);
    const bool squeezes = branch == "then_branch";
    AddNode(body, squeezes ? "Squeeze" : "Identity",
            squeezes ? Names{"wide", "one"} : Names{"wide"}, {branch + "_out"});
    body->set_name(branch);
    body->add_output()->set_name(branch + "_out");
  }
  AddNode(graph, "Conv", {"chosen", "w"}, {"y"});
  return model.SerializeAsString();
}

TEST(InputFitterTest, ReadsNeedsBehindABranchThatEveryRunTakes) {
  const TemporaryFolder folder;
  const auto fitter = InputFitter::Load(folder.Write("model.onnx", ConvBehindIf(100)));
  ASSERT_TRUE(fitter.ok()) << fitter.status();
  EXPECT_EQ(fitter->Fit({{"x", {{1, 1, 16}, {}}}}).at("x").shape, (Shape{1, 1, 100}));
  EXPECT_EQ(fitter->Fit({{"x", {{1, 1, 128}, {}}}}).at("x").shape, (Shape{1, 1, 128}));
}

TEST(InputFitterTest, ArgMaxNeedsAnElement) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  AddInputOfLength(graph, {1});
  graph->add_output()->set_name("y");
  AddIntAttribute(AddNode(graph, "ArgMax", {"x"}, {"y"}), "axis", 1);
  const TemporaryFolder folder;
  const std::string path = folder.Write("model.onnx", model.SerializeAsString());
  const auto fitter = InputFitter::Load(path);
  ASSERT_TRUE(fitter.ok()) << fitter.status();
  EXPECT_EQ(fitter->Fit({{"x", {{1, 0}, {}}}}).at("x").shape, (Shape{1, 1}));
}

}  // namespace
}  // namespace attnrun::testing
