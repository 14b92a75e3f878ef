// SPDX-License-Identifier: Apache-2.0
// `compare` with a lower precision. The kernels of the lower precision depend on the machine, so
// these tests hold with any error.
#include "tools/command_line.h"

namespace attnrun::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// y = MatMul(x, w), where bfloat16 cannot hold the weights.
onnx::ModelProto ProductModel() {
  onnx::ModelProto model = MakeModel("MatMul");
  model.mutable_graph()->mutable_node(0)->add_input("w");
  onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : {4, 4}) weight.add_dims(dim);
  for (int i = 0; i < 16; ++i) weight.add_float_data(0.1F * static_cast<float>(i + 1));
  return model;
}

class CommandLinePrecisionTest : public CommandLineTest {
 protected:
  void SetUp() override {
    CommandLineTest::SetUp();
    WriteAll(folder_ / "p.onnx", ProductModel().SerializeAsString());
  }
};

TEST_F(CommandLinePrecisionTest, CompareReportsTheDifferenceFromFloat32) {
  const Outcome outcome = Attnrun("compare p.onnx --precision bf16 --dim batch=64");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("the outputs in bf16, compared with those in float32\n"),
                                 HasSubstr("  y\n"), Not(HasSubstr("reference"))));
  const nlohmann::json json = Json("compare p.onnx --precision bf16 --dim batch=64 --json");
  EXPECT_EQ(json["precision"], "bf16");
  ASSERT_EQ(json["outputs"].size(), 1);
  EXPECT_EQ(json["outputs"][0]["name"], "y");
  EXPECT_LT(json["outputs"][0]["relative_rms"], 0.01);
  EXPECT_GT(json["outputs"][0]["cosine"], 0.9999);
  EXPECT_FALSE(json.contains("tolerance"));
  // A single layer has no other error than its own.
  for (const nlohmann::json& layer : json["layers"]) {
    EXPECT_EQ(layer["own"], layer["accumulated"]);
    EXPECT_EQ(layer["own"]["rms"], json["outputs"][0]["rms"]);
  }
}

TEST_F(CommandLinePrecisionTest, OnlyATolerancePutsTheResultToTheTest) {
  const std::string command = "compare p.onnx --precision bf16 --dim batch=64 ";
  const nlohmann::json json = Json(command + "--json --rtol 0 --atol 1");
  EXPECT_EQ(json["tolerance"][0]["name"], "y");
  EXPECT_EQ(json["tolerance"][0]["ok"], true);
  const Outcome exact = Attnrun(command + "--json --atol 0");
  const nlohmann::json found = nlohmann::json::parse(exact.out);
  const bool differs = found["outputs"][0]["largest"] > 0;
  EXPECT_EQ(exact.status, differs ? 1 : 0);
  EXPECT_EQ(found["tolerance"][0]["ok"], !differs);
  EXPECT_THAT(exact.err, differs ? HasSubstr("output 'y' differs") : HasSubstr(""));
}

TEST_F(CommandLinePrecisionTest, OutputsOfTheLowerPrecisionAreWritten) {
  const std::string options = " p.onnx --precision bf16 --output ";
  EXPECT_EQ(Attnrun("compare" + options + "compared.npz").status, 0);
  EXPECT_EQ(Attnrun("run" + options + "run.npz").status, 0);
  const auto read = [this](const char* name) {
    const Tensor y = NpzFile::Open((folder_ / name).string())->Read("y").value();
    return ToDoubles(y).value();
  };
  EXPECT_EQ(read("compared.npz"), read("run.npz"));
}

TEST_F(CommandLinePrecisionTest, ModelsWithoutProductsHaveNoLayers) {
  const Outcome outcome = Attnrun("compare m.onnx --precision bf16 --engine unoptimized --atol 0");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("1.00000000  y\n"), HasSubstr("no layer computes in")));
}

TEST_F(CommandLinePrecisionTest, ProductsThatStayFinerAreNamed) {
  const Outcome fusions = Attnrun("fusions p.onnx --precision int8");
  EXPECT_THAT(fusions.out, AllOf(HasSubstr("products: 1 float32\n"), HasSubstr("final: ")));
  const nlohmann::json json = Json("fusions p.onnx --precision int8 --json");
  ASSERT_EQ(json["products"].size(), 1);
  EXPECT_EQ(json["products"][0]["precision"], "float32");
  EXPECT_FALSE(Json("fusions p.onnx --json").contains("products"));
  const std::string compare = "compare p.onnx --precision int8 --dim batch=64";
  EXPECT_THAT(Attnrun(compare).out,
              AllOf(HasSubstr("products: 1 float32\n"), HasSubstr("no layer computes in int8")));
  EXPECT_EQ(Json(compare + " --json")["products"], json["products"]);
}

TEST_F(CommandLinePrecisionTest, ExpectedOutputsAreComparedAsEver) {
  EXPECT_EQ(Attnrun("p.onnx --precision bf16 --output y.npz").status, 0);
  const Outcome outcome = Attnrun("compare p.onnx --precision bf16 --expect y.npz");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("agrees  y"));
  EXPECT_THAT(Attnrun("compare p.onnx --precision float32").out, HasSubstr("with the reference"));
}

}  // namespace
}  // namespace attnrun::cli
