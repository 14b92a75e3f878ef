// SPDX-License-Identifier: Apache-2.0
// Damaged files must cause an error, never a crash, whatever their bytes are.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <random>

#include "loader/loader.h"
#include "loader/model_maker.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

// A model with one of everything: raw and typed data, a subgraph, a function, types, sparse data.
onnx::ModelProto RichModel() {
  onnx::ModelProto model = SmallModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "c", TensorProto::BOOL, {});
  SetType(graph->add_value_info(), "r", TensorProto::FLOAT, {2, 2});
  TensorProto* ints = graph->add_initializer();
  *ints = MakeTensor("ints", TensorProto::INT4, {3});
  ints->add_int32_data(0x21);
  ints->add_int32_data(0x03);
  *graph->add_initializer() = MakeTensor("empty", TensorProto::FLOAT, {0});
  auto* sparse = graph->add_sparse_initializer();
  sparse->add_dims(4);
  *sparse->mutable_values() = RawTensor("s", TensorProto::UINT8, {1}, "\1");
  *sparse->mutable_indices() = RawTensor("", TensorProto::UINT8, {1}, "\2");
  onnx::NodeProto* choose = AddNode(graph, "If", {"c"}, {"z"}, "if");
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto* body = AddSubgraph(choose, branch);
    auto* constant = AddNode(body, "Constant", {}, {"k"});
    *AddAttribute(constant, "value", AttributeProto::TENSOR)->mutable_t() =
        RawTensor("", TensorProto::FLOAT, {1}, std::string(4, '\0'));
    AddNode(body, "Add", {"k", "r"}, {"n"});
    body->add_output()->set_name("n");
  }
  onnx::FunctionProto* function = model.add_functions();
  function->set_name("F");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("axis");
  onnx::NodeProto* body = function->add_node();
  body->set_op_type("Softmax");
  body->add_input("a");
  body->add_output("b");
  AddAttribute(body, "axis", AttributeProto::INT)->set_ref_attr_name("axis");
  AddIntAttribute(AddNode(graph, "F", {"r"}, {"f"}, "call"), "axis", 1);
  return model;
}

// Loads from a copy of exactly these bytes, so that sanitizers see reads past the end.
absl::Status Load(absl::string_view bytes) {
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return loader::ParseModel({copy.get(), bytes.size()}).status();
}

TEST(RobustnessTest, TruncationAnywhereIsRefused) {
  const std::string bytes = RichModel().SerializeAsString();
  ASSERT_EQ(Load(bytes), absl::OkStatus());
  // The functions come last and may be missing, so a file that ends before them is valid.
  onnx::ModelProto head = RichModel();
  head.clear_functions();
  const size_t whole = head.ByteSizeLong();
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (size == whole) continue;
    const absl::Status status = Load(absl::string_view(bytes).substr(0, size));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << "cut at " << size;
    EXPECT_EQ(Message(status).rfind("the model", 0), 0) << Message(status);
  }
}

TEST(RobustnessTest, RandomDamageDoesNotCrash) {
  const std::string bytes = RichModel().SerializeAsString();
  std::mt19937 generator(Seed());
  std::uniform_int_distribution<size_t> position(0, bytes.size() - 1);
  std::uniform_int_distribution<int> value(0, 255);
  std::uniform_int_distribution<int> count(1, 4);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = bytes;
    for (int left = count(generator); left > 0; --left) {
      const auto byte = static_cast<char>(value(generator));
      switch (value(generator) % 3) {
        case 0:
          damaged[position(generator) % damaged.size()] = byte;
          break;
        case 1:
          damaged.insert(position(generator) % damaged.size(), 1, byte);
          break;
        default:
          damaged.erase(position(generator) % damaged.size(), 1);
          break;
      }
    }
    refused += Load(damaged).ok() ? 0 : 1;
  }
  // Most bytes are lengths and names that other parts depend on, so most damage is refused.
  EXPECT_GT(refused, 2500);
}

TEST(RobustnessTest, RandomBytesAreRefused) {
  std::mt19937 generator(Seed());
  std::uniform_int_distribution<int> value(0, 255);
  for (int i = 0; i < 5000; ++i) {
    // A model's first bytes, so that the parser reads on.
    std::string bytes = "\x08\x0a\x3a";
    bytes.push_back(static_cast<char>(value(generator)));
    for (int j = value(generator); j > 0; --j) bytes.push_back(static_cast<char>(value(generator)));
    EXPECT_FALSE(Load(bytes).ok());
  }
}

// Encodes a protobuf varint.
std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>(value | 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

TEST(RobustnessTest, FilesBeyondTwoGigabytes) {
  // protobuf itself refuses messages of 2 GiB. The elements are a hole in the file, of which only
  // the first and the last page are read.
  constexpr int64_t kCount = int64_t{3} << 30;
  const std::string tensor =
      MakeTensor("big", TensorProto::UINT8, {kCount}).SerializeAsString() + "\x4a" + Varint(kCount);
  onnx::ModelProto small = SmallModel();
  onnx::GraphProto graph = small.graph();
  small.clear_graph();
  const std::string front = graph.SerializeAsString() + "\x2a" + Varint(tensor.size() + kCount);
  const std::string begin = small.SerializeAsString() + "\x3a" +
                            Varint(front.size() + tensor.size() + kCount + 4) + front + tensor;
  const TemporaryFolder folder;
  const std::string path = folder.Write("big.onnx", begin);
  const int file = open(path.c_str(), O_WRONLY);
  // The graph's name follows the hole.
  const std::string end = "\x12\2ok";
  ASSERT_EQ(pwrite(file, "\7", 1, static_cast<off_t>(begin.size() + kCount - 1)), 1);
  ASSERT_EQ(pwrite(file, end.data(), end.size(), static_cast<off_t>(begin.size() + kCount)), 4);
  close(file);
  const absl::StatusOr<loader::Model> model = loader::LoadModel(path);
  ASSERT_TRUE(model.ok()) << Message(model.status());
  EXPECT_EQ(model->graph->name(), "ok");
  const Tensor& big = *model->graph->FindValue("big")->constant();
  EXPECT_EQ(big.num_elements(), kCount);
  EXPECT_EQ(big.data<uint8_t>()[0], 0);
  EXPECT_EQ(big.data<uint8_t>()[kCount - 1], 7);
  std::filesystem::resize_file(path, begin.size() + 1000);
  EXPECT_NE(Message(loader::LoadModel(path).status()).find("it is truncated or damaged"),
            std::string::npos);
}

TEST(RobustnessTest, TypesNestedDeeplyAreRefused) {
  onnx::ModelProto model = SmallModel();
  onnx::TypeProto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  for (int i = 0; i < 5000; ++i) type = type->mutable_sequence_type()->mutable_elem_type();
  EXPECT_EQ(Message(Load(model.SerializeAsString())),
            "the model is not an ONNX model: its messages do not follow ONNX's schema, or are "
            "nested too deep");
}

}  // namespace
}  // namespace attnrun::testing
