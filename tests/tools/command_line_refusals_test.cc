// SPDX-License-Identifier: Apache-2.0
// Refused commands: their exit statuses and messages, and that they leave nothing behind.
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "tools/command_line.h"

namespace attnrun::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A file of 8 MB, where the shell allows 1,000 blocks of 512 bytes or of 1 kB.
TEST_F(CommandLineTest, AFileThatIsTooLargeIsAnErrorAndLeavesNothing) {
  const Outcome outcome =
      Shell("ulimit -f 1000; ", "m.onnx --dim batch=500000 --output y.npz --threads 1");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("y.npz: "));
  EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  for (const auto& file : fs::directory_iterator(folder_)) {
    EXPECT_THAT(file.path().filename().string(), Not(StartsWith("y.npz")));
  }
}

TEST_F(CommandLineTest, BadUsageIsStatus2) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"run", "MODEL is required"},
      {"m.onnx extra", "not expected: extra"},
      {"m.onnx --frobnicate", "there is no option --frobnicate of run"},
      {"--frobnicate", "--frobnicate"},
      {"bnech m.onnx", "there is no command 'bnech'; did you mean 'bench'?"},
      {"run m.onnx --thread 2", "there is no option --thread of run; did you mean '--threads'?"},
      {"m.onnx --dim batch=1 --dim batch=2", "--dim batch: given twice"},
      {"bench m.onnx --dim batch=1 --sweep batch=1,2", "--dim batch: the measurement varies it"},
      {"m.onnx --engine reference --disable attention", "--engine reference makes none"},
      {"fusions m.onnx --graph --json", "--graph prints text"},
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
      {"m.onnx --disable no_such_pass", "there is no pass 'no_such_pass'"},
      {"m.onnx --disable atention", "did you mean 'attention'?"},
      {"m.onnx --stop-after no_such_pass", "no_such_pass"},
      {"m.onnx --max-rewrites -1", "--max-rewrites"},
      {"compare m.onnx --engine reference", "compared with itself"},
      {"m.onnx --engine reference --precision int8", "not in --precision int8"},
      {"bench m.onnx --runs 0", "--runs"},
      {"bench m.onnx --sweep batch", "--sweep: expected NAME=VALUE, but found 'batch'"},
      {"bench m.onnx --sweep batch=1,x", "--sweep batch: expected a number"},
      {"bench m.onnx --stream batch=5", "--stream batch: expected LOW..HIGH, but found '5'"},
      {"bench m.onnx --stream batch=5..2", "--stream batch: 5..2 is empty"},
      {"bench m.onnx --callers 1 --sweep batch=1", "excludes"},
      {"run m.onnx --inputs ''", "--inputs: the path is empty"},
      {"run m.onnx --expect ''", "--expect: the path is empty"},
      {"run m.onnx --output ''", "--output: the path is empty"},
      {"run m.onnx --weight-cache ''", "--weight-cache: the path is empty"},
      {"run m.onnx --output m.onnx", "--output m.onnx would be written over the model"},
      {"run m.onnx --output ./data/../m.onnx", "would be written over the model"},
      {"run m.onnx --inputs good.npz --output good.npz", "would be written over --inputs"},
      {"profile m.onnx --svg a --trace a", "--trace and --svg name one file"},
      {"bench m.onnx --callers 0", "--callers: expected numbers from 1 to 1024, but found 0"},
      {"bench m.onnx --precision fp8",
       "unknown precision 'fp8': expected float32, bf16, int8-activations or int8"},
  };
  for (const auto& [arguments, message] : cases) ExpectRefused(arguments, 2, message);
  EXPECT_EQ(Attnrun("--help").status, 0);
  EXPECT_EQ(Attnrun("bench --help").status, 0);
  EXPECT_THAT(Attnrun("--version").out, StartsWith("attnrun "));
  EXPECT_THAT(Attnrun("--version").out, HasSubstr("\ninstruction sets: AVX"));
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
  ASSERT_EQ(mkfifo((folder_ / "pipe.npy").c_str(), 0600), 0);
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
      {"--input ids=pipe.npy", "pipe.npy: is not a regular file"},
      {"--input nobody=text.npy", "no input 'nobody'"},
      {"--dim nothing=3",
       "no input has a dimension named 'nothing'; the dimensions are batch, seq"},
      {"--dim seq=1000000000000", "does not fit"},
  };
  for (const auto& [arguments, message] : cases) {
    ExpectRefused(std::string("m.onnx --output o.npz ") + arguments, 3, message);
    ExpectRefused(std::string("bench m.onnx ") + arguments, 3, message);
  }
  ExpectRefused("m.onnx --expect missing.npz", 3, "the model has no output 'ids'");
  ExpectRefused("m.onnx --expect nowhere.npz", 3, "nowhere.npz");
}

TEST_F(CommandLineTest, TextThatCannotBePrintedIsStatus3) {
  for (const char* arguments : {"--help", "--version", "manual", "completion", "ops"}) {
    // NOLINTNEXTLINE(bugprone-command-processor): the words are the test's own.
    const int status = std::system(
        absl::StrCat("'" ATTNRUN_PROGRAM "' ", arguments, " >/dev/full 2>/dev/null").c_str());
    EXPECT_EQ(WEXITSTATUS(status), 3) << arguments;
  }
}

TEST_F(CommandLineTest, OutputsThatCannotBeWrittenAreStatus3) {
  ExpectRefused("m.onnx --output nowhere/o.npz", 3, "nowhere/o.npz: cannot be written");
  ExpectRefused("m.onnx --output data", 3, "data: cannot be written: it is not a regular file");
  ExpectRefused("profile m.onnx --trace nowhere/t.json", 3, "nowhere/t.json: cannot be written");
  ExpectRefused("profile m.onnx --svg nowhere/t.svg", 3, "nowhere/t.svg: cannot be written");
}

}  // namespace
}  // namespace attnrun::cli
