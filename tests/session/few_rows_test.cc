// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "attnrun/session.h"
#include "session/square_product.h"

// Weights are laid out for products of few rows, or of many.
namespace attnrun::testing {
namespace {

constexpr int64_t kRows = 128;
constexpr char kFloats[] = "gemm packed";

std::string KernelOfProduct(const std::string& model, const TensorMap& inputs,
                            const SessionOptions& options = {}) {
  const auto session = Session::LoadBytes(model, options);
  if (!session.ok()) return session.status().ToString();
  std::vector<ProfileEvent> events;
  RunOptions run;
  run.profile = &events;
  if (const auto outputs = session->Run(inputs, run); !outputs.ok()) {
    return outputs.status().ToString();
  }
  return events.front().kernel;
}

// The product's sum goes from run to run.
std::string CarriedSum() {
  onnx::ModelProto model;
  model.ParseFromString(SquareProduct(kRows));
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "past.sum", onnx::TensorProto::FLOAT, {kRows, kRows});
  SetType(graph->add_output(), "present.sum", onnx::TensorProto::FLOAT, {kRows, kRows});
  AddNode(graph, "Add", {"past.sum", "y"}, {"present.sum"});
  return model.SerializeAsString();
}

TEST(FewRowsTest, ProductsOfManyRowsUseTiles) {
  const bool has_amx = absl::StrContains(UsedInstructionSets(), "AMX-BF16");
  EXPECT_EQ(KernelOfProduct(SquareProduct(kRows), SquareOfOnes(kRows)),
            has_amx ? "gemm packed, float32 AMX" : kFloats);
}

TEST(FewRowsTest, SessionsOfFewRowsUseFloats) {
  SessionOptions options;
  options.few_rows = true;
  EXPECT_EQ(KernelOfProduct(SquareProduct(kRows), SquareOfOnes(kRows), options), kFloats);
}

TEST(FewRowsTest, ModelsThatCarryValuesUseFloats) {
  TensorMap inputs = SquareOfOnes(kRows);
  inputs["past.sum"] = inputs["x"];
  EXPECT_EQ(KernelOfProduct(CarriedSum(), inputs), kFloats);
}

}  // namespace
}  // namespace attnrun::testing
