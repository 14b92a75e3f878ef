// The program as its users meet it: exit statuses, messages, files and JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/elements.h"
#include "nlohmann/json.hpp"
#include "onnx.pb.h"
#include "tools/attnrun/npz.h"

namespace attnrun::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteAll(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A dimension is a name or a number.
void Declare(onnx::ValueInfoProto& value, const std::string& name, int type,
             const std::vector<std::string>& dims) {
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto* shape = value.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const std::string& dim : dims) {
    if (std::isdigit(static_cast<unsigned char>(dim[0])) != 0) {
      shape->add_dim()->set_dim_value(std::stoll(dim));
    } else {
      shape->add_dim()->set_dim_param(dim);
    }
  }
}

onnx::NodeProto& AddNode(onnx::GraphProto& graph, const std::string& op, const std::string& name,
                         const std::string& input, const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(name);
  node.add_input(input);
  node.add_output(output);
  return node;
}

// y = softmax(x); ids and mask are declared and not used.
onnx::ModelProto MakeModel(const std::string& op = "Softmax") {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("graph");
  Declare(*graph.add_input(), "x", onnx::TensorProto::FLOAT, {"batch", "4"});
  Declare(*graph.add_input(), "ids", onnx::TensorProto::INT64, {"batch", "seq"});
  Declare(*graph.add_input(), "mask", onnx::TensorProto::INT64, {"batch", "seq"});
  Declare(*graph.add_output(), "y", onnx::TensorProto::FLOAT, {"batch", "4"});
  AddNode(graph, op, "the_node", "x", "y");
  return model;
}

void WriteTensor(const fs::path& path, const std::string& name, const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(1);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const float value : values) tensor.add_float_data(value);
  WriteAll(path, tensor.SerializeAsString());
}

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

class CommandLineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "data");
    WriteAll(folder_ / "m.onnx", MakeModel().SerializeAsString());
    const Tensor x = Tensor::Of<float>({1, 4}, {0, 0, 0, 0}).value();
    const Tensor ids = Tensor::Of<int64_t>({1, 2}, {1, 2}).value();
    WriteArchive("good.npz", {{"x", x}, {"ids", ids}, {"mask", ids}});
  }
  void TearDown() override { fs::remove_all(folder_); }

  void WriteArchive(const std::string& name, const TensorMap& tensors) {
    ASSERT_TRUE(WriteNpz((folder_ / name).string(), tensors).ok());
  }

  // Runs the program in the test's folder. `arguments` are shell words.
  Outcome Attnrun(const std::string& arguments) const {
    const fs::path streams = fs::path(::testing::TempDir()) / (folder_.filename().string() + ".");
    const std::string command = "cd '" + folder_.string() + "' && '" ATTNRUN_PROGRAM "' " +
                                arguments + " >'" + streams.string() + "out' 2>'" +
                                streams.string() + "err' </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadAll(streams.string() + "out"),
            ReadAll(streams.string() + "err")};
  }

  nlohmann::json Json(const std::string& arguments) const {
    const Outcome outcome = Attnrun(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return nlohmann::json::parse(outcome.out);
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      files.push_back(entry.path().string());
    }
    return files;
  }

  // Expects exit status `status`, one message that begins "attnrun: " and says `message`, nothing
  // on standard output and no new file.
  void ExpectRefused(const std::string& arguments, int status, const std::string& message) {
    const std::vector<std::string> before = Files();
    const Outcome outcome = Attnrun(arguments);
    EXPECT_EQ(outcome.status, status) << arguments << ": " << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("attnrun: ")) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_THAT(Files(), ::testing::UnorderedElementsAreArray(before)) << arguments;
  }

  fs::path folder_;
};

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
  // Softmax in float and in double differ somewhere among so many elements.
  const Outcome exact = Attnrun("compare m.onnx --atol 0 --dim batch=1000 --json");
  EXPECT_EQ(exact.status, 1);
  const nlohmann::json json = nlohmann::json::parse(exact.out);
  EXPECT_EQ(json["first_divergence"]["name"], "y");
  EXPECT_TRUE(json["culprit"].is_null());  // there is nothing to rewrite
  EXPECT_EQ(json["outputs"][0]["ok"], false);
  EXPECT_GT(json["outputs"][0]["largest_difference"], 0);
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

TEST_F(CommandLineTest, BenchJsonHasThePromisedForm) {
  const nlohmann::json json = Json("bench m.onnx --runs 7 --warmup 0 --threads 2 --json");
  EXPECT_EQ(json.size(), 5);
  EXPECT_EQ(json["runs"], 7);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_GT(json["load_ms"], 0);
  EXPECT_GT(json["peak_rss_mb"], 1);
  const nlohmann::json& latency = json["latency_ms"];
  EXPECT_EQ(latency.size(), 4);
  EXPECT_LE(latency["min"], latency["p50"]);
  EXPECT_LE(latency["p50"], latency["p90"]);
  EXPECT_LE(latency["p90"], latency["p99"]);
  EXPECT_THAT(Attnrun("bench m.onnx --runs 3").out, HasSubstr("latency      min "));
}

TEST_F(CommandLineTest, BenchSweepsOverExtents) {
  const nlohmann::json json = Json("bench m.onnx --sweep batch=3,1,40 --runs 2 --json");
  ASSERT_EQ(json["sweep"].size(), 3);
  EXPECT_EQ(json["sweep"][0]["batch"], 3);
  EXPECT_EQ(json["sweep"][2]["batch"], 40);
  EXPECT_GT(json["sweep"][2]["latency_ms"]["p50"], 0);
  EXPECT_THAT(Attnrun("bench m.onnx --sweep batch=7 --runs 2").out, HasSubstr("\n    7  "));
}

TEST_F(CommandLineTest, BenchStreamsComparesRequestsWithTheirRepeats) {
  const nlohmann::json json = Json("bench m.onnx --stream batch=1..9 --runs 20 --json");
  EXPECT_EQ(json["requests"], 20);
  EXPECT_GT(json["ratio"]["p50"], 0);
  EXPECT_LE(json["ratio"]["p50"], json["ratio"]["max"]);
  EXPECT_THAT(Attnrun("bench m.onnx --stream batch=1..9 --runs 3").out,
              HasSubstr("3 requests of batch 1 to 9"));
}

TEST_F(CommandLineTest, BenchCountsWhatManyCallersReach) {
  const nlohmann::json json = Json("bench m.onnx --callers 1,3 --runs 4 --threads 1 --json");
  ASSERT_EQ(json["callers"].size(), 2);
  EXPECT_EQ(json["callers"][1]["callers"], 3);
  EXPECT_GT(json["callers"][1]["runs_per_second"], 0);
  EXPECT_THAT(Attnrun("bench m.onnx --callers 2 --runs 2").out, HasSubstr("runs/s"));
}

TEST_F(CommandLineTest, ProfileNamesNodesAndKernels) {
  const nlohmann::json json = Json("profile m.onnx --runs 2 --json --trace t.json");
  EXPECT_EQ(json["nodes"][0]["node"], "the_node");
  EXPECT_EQ(json["nodes"][0]["op"], "Softmax");
  EXPECT_EQ(json["nodes"][0]["reference"], false);
  const nlohmann::json trace = nlohmann::json::parse(ReadAll(folder_ / "t.json"));
  EXPECT_EQ(trace["traceEvents"][0]["args"]["node"], "the_node");
  const nlohmann::json slow = Json("profile m.onnx --runs 2 --json --engine reference");
  EXPECT_EQ(slow["ops"][0]["kernel"], "reference");
  EXPECT_GT(slow["reference_share"], 0);
  EXPECT_THAT(Attnrun("profile m.onnx --runs 1").out, HasSubstr("Softmax  the_node"));
}

TEST_F(CommandLineTest, OperatorsAreListed) {
  EXPECT_THAT(Attnrun("ops").out, HasSubstr("Softmax"));
  const nlohmann::json json = Json("ops --json");
  EXPECT_TRUE(std::any_of(json.begin(), json.end(), [](const auto& op) {
    return op["op"] == "Softmax" && op["since"] == nlohmann::json({1, 11, 13});
  }));
}

TEST_F(CommandLineTest, BadUsageIsStatus2) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"run", "MODEL is required"},
      {"m.onnx extra", "extra"},
      {"m.onnx --frobnicate", "--frobnicate"},
      {"inspect m.onnx --runs 3", "--runs"},
      {"m.onnx --input x", "--input: expected NAME=VALUE, but found 'x'"},
      {"m.onnx --input x=a.npy --input x=b.npy", "given twice"},
      {"m.onnx --dim batch=two", "--dim batch: expected a number from 0 to 2^40, but found two"},
      {"m.onnx --dim batch=-1", "found -1"},
      {"m.onnx --engine warp", "expected optimized, unoptimized or reference, but found 'warp'"},
      {"m.onnx --threads 0", "--threads"},
      {"m.onnx --seed x", "--seed"},
      {"m.onnx --rtol 0.1", "--rtol and --atol need --expect"},
      {"m.onnx --expect good.npz --atol nan", "--atol"},
      {"m.onnx --disable no_such_pass", "no_such_pass"},
      {"m.onnx --stop-after no_such_pass", "no_such_pass"},
      {"m.onnx --max-rewrites -1", "--max-rewrites"},
      {"compare m.onnx --engine reference", "compared with itself"},
      {"bench m.onnx --runs 0", "--runs"},
      {"bench m.onnx --sweep batch", "--sweep: expected NAME=VALUE, but found 'batch'"},
      {"bench m.onnx --sweep batch=1,x", "--sweep batch: expected a number"},
      {"bench m.onnx --stream batch=5", "--stream batch: expected LOW..HIGH, but found '5'"},
      {"bench m.onnx --stream batch=5..2", "--stream batch: 5..2 is empty"},
      {"bench m.onnx --callers 1 --stream batch=1..2", "excludes"},
      {"bench m.onnx --callers 0", "--callers"},
  };
  for (const auto& [arguments, message] : cases) ExpectRefused(arguments, 2, message);
  EXPECT_EQ(Attnrun("--help").status, 0);
  EXPECT_EQ(Attnrun("bench --help").status, 0);
  EXPECT_THAT(Attnrun("--version").out, StartsWith("attnrun "));
}

TEST_F(CommandLineTest, BadModelsAreStatus3) {
  const std::string bytes = MakeModel().SerializeAsString();
  WriteAll(folder_ / "empty.onnx", "");
  WriteAll(folder_ / "text.onnx", "This is no model.\n");
  WriteAll(folder_ / "cut.onnx", bytes.substr(0, bytes.size() / 2));
  onnx::ModelProto no_graph = MakeModel();
  no_graph.clear_graph();
  WriteAll(folder_ / "no_graph.onnx", no_graph.SerializeAsString());
  onnx::ModelProto dangling = MakeModel();
  dangling.mutable_graph()->mutable_node(0)->set_input(0, "nobody");
  WriteAll(folder_ / "dangling.onnx", dangling.SerializeAsString());
  onnx::ModelProto axis = MakeModel();
  onnx::AttributeProto& attribute = *axis.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("axis");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(7);
  WriteAll(folder_ / "axis.onnx", axis.SerializeAsString());
  const std::pair<const char*, const char*> cases[] = {
      {"nowhere.onnx", "nowhere.onnx"},
      {"empty.onnx", "empty.onnx"},
      {"text.onnx", "text.onnx"},
      {"cut.onnx", "cut.onnx"},
      {"no_graph.onnx", "no_graph.onnx"},
      {"dangling.onnx", "nobody"},
      {".", "folder"},
      {"axis.onnx", "the_node"},
  };
  for (const auto& [model, message] : cases) {
    for (const char* command : {"run", "compare", "bench", "profile"}) {
      const std::string trace = std::string(command) == "profile" ? " --trace t.json" : "";
      ExpectRefused(std::string(command) + " " + model + trace, 3, message);
    }
    ExpectRefused(std::string(model) + " --output o.npz", 3, message);
  }
}

TEST_F(CommandLineTest, BadInputsAreStatus3) {
  const Tensor x = Tensor::Of<float>({1, 4}, {0, 0, 0, 0}).value();
  const Tensor ids = Tensor::Of<int64_t>({1, 2}, {1, 2}).value();
  const Tensor three = Tensor::Of<int64_t>({1, 3}, {1, 2, 3}).value();
  const Tensor doubles = Tensor::Of<double>({1, 4}, {0, 0, 0, 0}).value();
  WriteArchive("name.npz", {{"x", x}, {"idz", ids}, {"mask", ids}});
  WriteArchive("missing.npz", {{"x", x}, {"ids", ids}});
  WriteArchive("type.npz", {{"x", doubles}, {"ids", ids}, {"mask", ids}});
  WriteArchive("rank.npz", {{"x", x.Reshaped({4}).value()}, {"ids", ids}, {"mask", ids}});
  WriteArchive("fixed.npz", {{"x", x.Reshaped({2, 2}).value()}, {"ids", ids}, {"mask", ids}});
  WriteArchive("symbol.npz", {{"x", x}, {"ids", ids}, {"mask", three}});
  WriteAll(folder_ / "text.npz", "no archive");
  WriteAll(folder_ / "text.npy", "no array");
  WriteAll(folder_ / "text.pb", "no tensor");
  const std::pair<const char*, const char*> cases[] = {
      {"--inputs name.npz", "no input 'idz'; its inputs are 'x', 'ids', 'mask'"},
      {"--inputs missing.npz", "input 'mask' is missing: expected int64[batch,seq]"},
      {"--inputs type.npz", "input 'x' expects float[batch,4], but found double[1,4]"},
      {"--inputs rank.npz", "input 'x' expects float[batch,4], but found float[4]"},
      {"--inputs fixed.npz", "input 'x' expects float[batch,4], but found float[2,2]"},
      {"--inputs symbol.npz", "'seq' is 2 in input 'ids' but 3 here"},
      {"--inputs good.npz --dim seq=5", "input 'ids': expected 5 for dimension 'seq'"},
      {"--inputs nowhere.npz", "nowhere.npz"},
      {"--inputs text.npz", "text.npz: cannot be read as an .npz archive"},
      {"--inputs data", "data: expected an ONNX test data set"},
      {"--input ids=text.npy", "text.npy: is not an .npy file"},
      {"--input ids=text.pb", "text.pb"},
      {"--input ids=nowhere.npy", "nowhere.npy"},
      {"--input nobody=text.npy", "no input 'nobody'"},
      {"--dim nothing=3", "no input has a dimension named 'nothing'; there are batch, seq"},
      {"--dim seq=1000000000000", "does not fit"},
  };
  for (const auto& [arguments, message] : cases) {
    ExpectRefused(std::string("m.onnx --output o.npz ") + arguments, 3, message);
    ExpectRefused(std::string("bench m.onnx ") + arguments, 3, message);
  }
  ExpectRefused("m.onnx --expect missing.npz", 3, "the model has no output 'ids'");
  ExpectRefused("m.onnx --expect nowhere.npz", 3, "nowhere.npz");
}

TEST_F(CommandLineTest, OutputsThatCannotBeWrittenAreStatus3) {
  ExpectRefused("m.onnx --output nowhere/o.npz", 3, "nowhere/o.npz: cannot be written");
  ExpectRefused("m.onnx --output data", 3, "data: cannot be written: it is not a regular file");
  ExpectRefused("profile m.onnx --trace nowhere/t.json", 3, "nowhere/t.json: cannot be written");
}

TEST_F(CommandLineTest, WeightCache) {
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
  ExpectRefused("p.onnx --weight-cache m.onnx/cache", 3, "m.onnx/cache");
}

}  // namespace
}  // namespace attnrun::cli
