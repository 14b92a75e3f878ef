// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_TOOLS_COMMAND_LINE_H_
#define ATTNRUN_TESTS_TOOLS_COMMAND_LINE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/elements.h"
#include "nlohmann/json.hpp"
#include "onnx.pb.h"
#include "tools/attnrun/npz.h"

// Runs the program as a user would and checks exit statuses, messages, files and JSON.
namespace attnrun::cli {

namespace fs = std::filesystem;

inline std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteAll(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A dimension is a name or a number.
inline void Declare(onnx::ValueInfoProto& value, const std::string& name, int type,
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

inline onnx::NodeProto& AddNode(onnx::GraphProto& graph, const std::string& op,
                                const std::string& name, const std::string& input,
                                const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(name);
  node.add_input(input);
  node.add_output(output);
  return node;
}

// y = softmax(x); the inputs ids and mask are declared but unused.
inline onnx::ModelProto MakeModel(const std::string& op = "Softmax") {
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
  Outcome Attnrun(const std::string& arguments) const { return Shell("", arguments); }
  // As Attnrun, after the shell commands `before`.
  Outcome Shell(const std::string& before, const std::string& arguments) const {
    const fs::path streams = fs::path(::testing::TempDir()) / (folder_.filename().string() + ".");
    const std::string command = "cd '" + folder_.string() + "' && " + before +
                                "'" ATTNRUN_PROGRAM "' " + arguments + " >'" + streams.string() +
                                "out' 2>'" + streams.string() + "err' </dev/null";
    // NOLINTNEXTLINE(bugprone-command-processor): the words are the tests' own.
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

  // Expects exit status `status`, one message that begins with "attnrun: " and contains `message`,
  // no standard output and no new file.
  void ExpectRefused(const std::string& arguments, int status, const std::string& message) {
    const std::vector<std::string> before = Files();
    const Outcome outcome = Attnrun(arguments);
    EXPECT_EQ(outcome.status, status) << arguments << ": " << outcome.err;
    EXPECT_THAT(outcome.err, ::testing::StartsWith("attnrun: ")) << arguments;
    EXPECT_THAT(outcome.err, ::testing::HasSubstr(message)) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_THAT(Files(), ::testing::UnorderedElementsAreArray(before)) << arguments;
  }

  fs::path folder_;
};

}  // namespace attnrun::cli

#endif  // ATTNRUN_TESTS_TOOLS_COMMAND_LINE_H_
