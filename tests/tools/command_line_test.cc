// SPDX-License-Identifier: Apache-2.0
// The outputs of the commands.
#include "tools/command_line.h"

#include "absl/algorithm/container.h"

namespace attnrun::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void WriteTensor(const fs::path& path, const std::string& name, const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(1);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const float value : values) tensor.add_float_data(value);
  WriteAll(path, tensor.SerializeAsString());
}

TEST_F(CommandLineTest, RunShowsInputsOutputsAndTime) {
  const Outcome outcome = Attnrun("m.onnx --inputs good.npz --threads 1");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("input   x     float[1,4]  0 0 0 0\n"));
  EXPECT_THAT(outcome.out, HasSubstr("output  y     float[1,4]  0.25 0.25 0.25 0.25\n"));
  EXPECT_THAT(outcome.out, HasSubstr("(optimized, 1 thread)"));
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(Attnrun("run m.onnx").status, 0);
  const nlohmann::json json = Json("run m.onnx --inputs good.npz --json --engine reference");
  EXPECT_EQ(json["outputs"][0]["name"], "y");
  EXPECT_EQ(json["outputs"][0]["shape"], nlohmann::json({1, 4}));
  EXPECT_EQ(json["outputs"][0]["mean"], 0.25);
  EXPECT_EQ(json["engine"], "reference");
  EXPECT_GT(json["time_ms"], 0);
}

void AddAttribute(onnx::NodeProto& node, const std::string& name, int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void AddNumbers(onnx::GraphProto& graph, const std::string& name,
                const std::vector<float>& values) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const float value : values) tensor.add_float_data(value);
}

// y = x + zeros of the shape [batch, n / 4 + 3 length / 4], computed in floats: runs where n, the
// extent of axis 1, is `length`.
onnx::ModelProto ModelOfOneLength(const std::string& x, float length) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("graph");
  Declare(*graph.add_input(), x, onnx::TensorProto::FLOAT, {"batch", "sequence"});
  Declare(*graph.add_output(), "y", onnx::TensorProto::FLOAT, {"batch", "sequence"});
  AddNumbers(graph, "factors", {1, 0.25F});
  AddNumbers(graph, "summands", {0, 0.75F * length});
  AddNode(graph, "Shape", "shape", x, "s");
  AddAttribute(AddNode(graph, "Cast", "to_float", "s", "f"), "to", onnx::TensorProto::FLOAT);
  AddNode(graph, "Mul", "mul", "f", "g").add_input("factors");
  AddNode(graph, "Add", "add", "g", "h").add_input("summands");
  AddAttribute(AddNode(graph, "Cast", "to_int", "h", "n"), "to", onnx::TensorProto::INT64);
  AddNode(graph, "ConstantOfShape", "zeros", "n", "z");
  AddNode(graph, "Add", "sum", x, "y").add_input("z");
  return model;
}

TEST_F(CommandLineTest, OtherExtentsAreMadeUpWhereTheFirstDoNotFit) {
  WriteAll(folder_ / "l.onnx", ModelOfOneLength("x", 8).SerializeAsString());
  EXPECT_EQ(Json("l.onnx --json")["inputs"][0]["shape"], nlohmann::json({1, 8}));
  for (const char* command :
       {"compare l.onnx", "bench l.onnx --runs 1", "profile l.onnx --runs 1"}) {
    EXPECT_EQ(Attnrun(command).status, 0) << command;
  }
  // Extents of the command line stay, and the message is that of the first attempt.
  ExpectRefused("l.onnx --dim sequence=16", 3, "float[1,16]; --dim NAME=N changes an extent");
  ExpectRefused("l.onnx --dim sequence=9", 3, "float[1,9]");
}

TEST_F(CommandLineTest, WaveformsOfOtherLengthsAreMadeUp) {
  WriteAll(folder_ / "l.onnx", ModelOfOneLength("input_values", 400).SerializeAsString());
  EXPECT_EQ(Json("l.onnx --json")["inputs"][0]["shape"], nlohmann::json({1, 400}));
}

TEST_F(CommandLineTest, OutputsAreWrittenAndComparedWithExpectations) {
  EXPECT_EQ(Attnrun("m.onnx --seed 3 --dim batch=2 --output y.npz").status, 0);
  const Tensor y = NpzFile::Open((folder_ / "y.npz").string())->Read("y").value();
  EXPECT_EQ(TypeAndShape(y), "float[2,4]");
  EXPECT_EQ(Attnrun("m.onnx --seed 3 --dim batch=2 --expect y.npz").status, 0);
  EXPECT_EQ(Attnrun("compare m.onnx --seed 3 --dim batch=2 --expect y.npz --rtol 0").status, 0);
  const Outcome other = Attnrun("m.onnx --seed 4 --dim batch=2 --expect y.npz");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, StartsWith("attnrun: m.onnx: output 'y' differs: largest difference "));
  EXPECT_EQ(Attnrun("m.onnx --seed 4 --dim batch=2 --expect y.npz --atol 1").status, 0);
  const Outcome shape = Attnrun("m.onnx --expect y.npz --json");
  EXPECT_EQ(shape.status, 1);
  EXPECT_THAT(shape.err, HasSubstr("expected float[2,4], but found float[1,4]"));
  EXPECT_EQ(nlohmann::json::parse(shape.out)["expect"][0]["ok"], false);
}

TEST_F(CommandLineTest, ARunIsBounded) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("graph");
  Declare(*graph.add_input(), "x", onnx::TensorProto::FLOAT, {"rows", "4"});
  Declare(*graph.add_output(), "y", onnx::TensorProto::FLOAT, {"rows", "4"});
  AddNode(graph, "Softmax", "slow", "x", "p");
  AddNode(graph, "Exp", "next", "p", "y");
  WriteAll(folder_ / "two.onnx", model.SerializeAsString());
  const std::string large = "two.onnx --engine reference --dim rows=500000";
  ExpectRefused(large + " --memory-limit 1", 3, "8000000 bytes");
  // A deadline is looked at between two nodes.
  ExpectRefused(large + " --timeout 0.001", 3, "deadline");
  EXPECT_EQ(Attnrun("two.onnx --timeout 60 --memory-limit 64").status, 0);
}

TEST_F(CommandLineTest, EarlierNamesOfPassesAreTaken) {
  const nlohmann::json passes = Json("passes --json");
  const auto renamed = absl::c_find_if(passes, [](const auto& p) { return !p["aliases"].empty(); });
  ASSERT_NE(renamed, passes.end());
  const std::string earlier = (*renamed)["aliases"][0];
  EXPECT_EQ(Attnrun("m.onnx --disable " + earlier).status, 0);
  EXPECT_EQ(Attnrun("m.onnx --stop-after " + earlier).status, 0);
  EXPECT_THAT(Attnrun("passes").out, HasSubstr("(`" + earlier + "`"));
}

TEST_F(CommandLineTest, TestDataFoldersAreRead) {
  WriteTensor(folder_ / "data/input_0.pb", "x", {0, 0, 0, 0});
  WriteTensor(folder_ / "data/output_0.pb", "y", {0.25, 0.25, 0.25, 0.25});
  EXPECT_EQ(Attnrun("m.onnx --inputs data --seed 1 --expect data").status, 0);
  EXPECT_EQ(Attnrun("m.onnx --input x=data/input_0.pb --seed 1 --expect data").status, 0);
  WriteTensor(folder_ / "data/output_0.pb", "y", {0.25, 0.25, 0.25, 0.5});
  EXPECT_EQ(Attnrun("m.onnx --inputs data --seed 1 --expect data").status, 1);
  WriteTensor(folder_ / "data/output_1.pb", "z", {1});
  ExpectRefused("m.onnx --seed 1 --expect data", 3, "output_1.pb: expected at most 1 outputs");
}

TEST_F(CommandLineTest, CompareGoesValueByValue) {
  const Outcome outcome = Attnrun("compare m.onnx");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("agrees  y  largest difference "));
  EXPECT_THAT(outcome.out, HasSubstr("compared 1 of 1 values with the reference"));
  // Among so many elements, softmax in float and softmax in double differ somewhere.
  const Outcome exact = Attnrun("compare m.onnx --atol 0 --dim batch=1000 --json");
  EXPECT_EQ(exact.status, 1);
  const nlohmann::json json = nlohmann::json::parse(exact.out);
  EXPECT_EQ(json["first_divergence"]["name"], "y");
  EXPECT_TRUE(json["culprit"].is_null());  // there is nothing to rewrite
  EXPECT_EQ(json["outputs"][0]["ok"], false);
  EXPECT_GT(json["outputs"][0]["largest_difference"], 0);
}

// Softmax in float and in double differ by rounding errors, which show in a few of many integers.
TEST_F(CommandLineTest, CompareReportsWhereQuantizationRoundsDifferently) {
  onnx::ModelProto model = MakeModel("Softmax");
  AddNode(*model.mutable_graph(), "DynamicQuantizeLinear", "quantize", "y", "q");
  model.mutable_graph()->mutable_node(1)->add_output("scale");
  model.mutable_graph()->mutable_node(1)->add_output("zero_point");
  Declare(*model.mutable_graph()->add_output(), "q", onnx::TensorProto::UINT8, {"batch", "4"});
  WriteAll(folder_ / "quantized.onnx", model.SerializeAsString());
  const Outcome outcome = Attnrun("compare quantized.onnx --dim batch=200000");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("first value that diverges: 'q'"));
  EXPECT_THAT(outcome.out, HasSubstr("it is quantized and differs by one"));
}

// Here they show in halves that are rounded the other way, by up to 2^-12, and in floats made of
// these.
TEST_F(CommandLineTest, CompareAllowsFloatsWhatItAllowsTheirHalves) {
  onnx::ModelProto model = MakeModel("Softmax");
  const auto cast = [&](const char* from, const char* to, onnx::TensorProto::DataType type) {
    AddNode(*model.mutable_graph(), "Cast", to, from, to);
    onnx::NodeProto& node = *model.mutable_graph()->mutable_node()->rbegin();
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("to");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(type);
  };
  cast("y", "half", onnx::TensorProto::FLOAT16);
  cast("half", "z", onnx::TensorProto::FLOAT);
  Declare(*model.mutable_graph()->add_output(), "z", onnx::TensorProto::FLOAT, {"batch", "4"});
  WriteAll(folder_ / "halves.onnx", model.SerializeAsString());
  const std::string compare = "compare halves.onnx --dim batch=200000";
  EXPECT_EQ(Attnrun(compare).status, 0);
  EXPECT_EQ(Attnrun(compare + " --atol 1e-4").status, 1);
}

TEST_F(CommandLineTest, InspectDescribesModelsThatCannotRun) {
  WriteAll(folder_ / "odd.onnx", MakeModel("NoSuchOperator").SerializeAsString());
  const nlohmann::json json = Json("inspect odd.onnx --json");
  EXPECT_EQ(json["producer"], "test");
  EXPECT_EQ(json["opsets"], nlohmann::json({{"ai.onnx", 17}}));
  EXPECT_EQ(json["inputs"][0]["shape"], nlohmann::json({"batch", 4}));
  EXPECT_EQ(json["ops"], nlohmann::json({{"NoSuchOperator", 1}}));
  EXPECT_EQ(json["unsupported"][0]["op"], "NoSuchOperator");
  EXPECT_THAT(Attnrun("inspect odd.onnx").out, HasSubstr("unsupported  1  NoSuchOperator"));
  ExpectRefused("odd.onnx --output o.npz", 3, "NoSuchOperator (1 node, the first 'the_node')");
}

TEST_F(CommandLineTest, OperatorsAreListed) {
  EXPECT_THAT(Attnrun("ops").out, HasSubstr("\n| Softmax | 1, 11, 13 | kernel |\n"));
  const nlohmann::json json = Json("ops --json");
  const auto find = [&json](const std::string& name) {
    const auto found =
        std::find_if(json.begin(), json.end(), [&](const auto& op) { return op["op"] == name; });
    return found == json.end() ? nlohmann::json() : *found;
  };
  EXPECT_EQ(find("Softmax")["since"], nlohmann::json({1, 11, 13}));
  EXPECT_EQ(find("Softmax")["kernel"], true);
  // It shares its class with operators that have a kernel.
  EXPECT_EQ(find("BitShift")["kernel"], false);
  EXPECT_EQ(find("com.microsoft.BiasGelu")["expanded"], true);
  EXPECT_EQ(find("Gelu")["expanded"], false);
}

TEST_F(CommandLineTest, WeightCacheOptionWritesFiles) {
  onnx::ModelProto model = MakeModel("MatMul");
  model.mutable_graph()->mutable_node(0)->add_input("w");
  onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : {4, 4}) weight.add_dims(dim);
  weight.set_raw_data(std::string(64, '?'));
  WriteAll(folder_ / "p.onnx", model.SerializeAsString());
  EXPECT_EQ(Attnrun("p.onnx --weight-cache made/cache").status, 0);
  EXPECT_FALSE(fs::is_empty(folder_ / "made" / "cache"));
  const Outcome unwritable = Attnrun("p.onnx --weight-cache m.onnx/cache");
  EXPECT_EQ(unwritable.status, 0);
  EXPECT_THAT(unwritable.err, StartsWith("attnrun: warning: the weight cache was not written"));
  EXPECT_THAT(unwritable.err, HasSubstr("m.onnx/cache"));
}

}  // namespace
}  // namespace attnrun::cli
