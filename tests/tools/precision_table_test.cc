// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/precision_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "tools/attnrun/json.h"

namespace attnrun::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

PrecisionError Error(double rms) {
  PrecisionError error;
  error.largest = 2 * rms;
  error.rms = rms;
  error.float32_rms = 2;
  error.cosine = 0.75;
  return error;
}

// A report with this number of layers, whose own errors grow from 1 / 2 % on by as much.
PrecisionReport Report(int layers) {
  PrecisionReport report;
  report.precision = Precision::kBfloat16;
  report.outputs.push_back({"logits", Tensor(), Tensor(), Error(0.25)});
  for (int i = 0; i < layers; ++i) {
    report.layers.push_back({absl::StrCat("node_", i), "attnrun.Linear", "gemm packed",
                             absl::StrCat("value_", i), Error(0.01 * (i + 1)), Error(0.5)});
    report.worst_layer = i;
  }
  return report;
}

TEST(PrecisionTableTest, ShowsOutputsLayersAndTheWorstLayer) {
  EXPECT_EQ(
      PrecisionText(Report(2)),
      "the outputs in bf16, compared with those in float32\n"
      "largest   rms  float32 rms  relative      cosine  output\n"
      "    0.5  0.25            2    12.5 %  0.75000000  logits\n"
      "\n"
      "the layers with the largest errors of their own, 2 of 2, worst first (largest and cosine: "
      "accumulated)\n"
      "  own  accumulated  largest      cosine  kernel       op              node\n"
      "  1 %         25 %        1  0.75000000  gemm packed  attnrun.Linear  node_1\n"
      "0.5 %         25 %        1  0.75000000  gemm packed  attnrun.Linear  node_0\n"
      "\n"
      "'node_1' (attnrun.Linear) contributes most: on the inputs of float32, its output in "
      "bf16 differs by 1 %\n");
}

TEST(PrecisionTableTest, CountsProductsAndListsThoseThatAreFiner) {
  const std::vector<ProductPrecision> products = {
      {"first", "attnrun.Linear", Precision::kInt8, ""},
      {"second", "attnrun.Linear", Precision::kInt8, ""},
      {"logits", "attnrun.Linear", Precision::kFloat32, "final"}};
  const std::string text =
      "products: 1 float32, 2 int8\n"
      "float32  attnrun.Linear  logits  final\n";
  EXPECT_EQ(ProductsText(products), text);
  EXPECT_EQ(ProductsText({}), "products: all float32\n");
  PrecisionReport report = Report(1);
  report.products = products;
  EXPECT_THAT(PrecisionText(report), HasSubstr(text));
  const Json json = PrecisionJson(report);
  ASSERT_EQ(json["products"].size(), 3);
  EXPECT_EQ(json["products"][2], Json({{"node", "logits"},
                                       {"op", "attnrun.Linear"},
                                       {"precision", "float32"},
                                       {"reason", "final"}}));
}

TEST(PrecisionTableTest, ListsTenLayersButAllInJson) {
  const std::string text = PrecisionText(Report(12));
  EXPECT_THAT(text, AllOf(HasSubstr("10 of 12, worst first"), HasSubstr("node_2\n"),
                          Not(HasSubstr("node_1\n")),
                          HasSubstr("'node_11' (attnrun.Linear) contributes most")));
  const Json json = PrecisionJson(Report(12));
  EXPECT_EQ(json["layers"].size(), 12);
  EXPECT_EQ(json["worst_layer"], "node_11");
  EXPECT_EQ(json["layers"][0]["node"], "node_0");
}

TEST(PrecisionTableTest, JsonHasTheFigures) {
  PrecisionReport report = Report(1);
  report.layers[0].accumulated.rms = std::numeric_limits<double>::infinity();
  const Json json = Json::parse(JsonText(PrecisionJson(report)));
  EXPECT_EQ(json["precision"], "bf16");
  EXPECT_EQ(json["outputs"], Json({{{"name", "logits"},
                                    {"largest", 0.5},
                                    {"rms", 0.25},
                                    {"float32_rms", 2.0},
                                    {"relative_rms", 0.125},
                                    {"cosine", 0.75}}}));
  const Json& layer = json["layers"][0];
  EXPECT_EQ(layer["op"], "attnrun.Linear");
  EXPECT_EQ(layer["kernel"], "gemm packed");
  EXPECT_EQ(layer["output"], "value_0");
  EXPECT_EQ(layer["own"]["rms"], 0.01);
  EXPECT_TRUE(layer["accumulated"]["rms"].is_null());
}

TEST(PrecisionTableTest, SaysIfThereIsNothingToBlame) {
  EXPECT_THAT(PrecisionText(Report(0)),
              AllOf(HasSubstr("\nno layer computes in bf16\n"), Not(HasSubstr("the layers"))));
  EXPECT_TRUE(PrecisionJson(Report(0))["worst_layer"].is_null());
  PrecisionReport exact = Report(1);
  exact.worst_layer.reset();
  EXPECT_THAT(PrecisionText(exact), HasSubstr("\nno layer has an error of its own\n"));
}

TEST(PrecisionTableTest, SaysWhyThereAreNoFigures) {
  PrecisionReport report = Report(1);
  report.outputs[0].error.incomparable = "other shapes";
  report.layers[0].accumulated.incomparable = "other shapes";
  EXPECT_THAT(PrecisionText(report),
              AllOf(HasSubstr("logits: other shapes\n"), HasSubstr("node_0: other shapes\n")));
  EXPECT_EQ(PrecisionJson(report)["outputs"][0],
            Json({{"name", "logits"}, {"incomparable", "other shapes"}}));
}

}  // namespace
}  // namespace attnrun::cli
