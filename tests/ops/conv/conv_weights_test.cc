// SPDX-License-Identifier: Apache-2.0
// How kernels of convolutions pack constant weights.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "attnrun/limits.h"
#include "core/status.h"
#include "graph/graph.h"
#include "ops/gemm/packed_store.h"
#include "ops/interface/registry.h"
#include "support/conv_window.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  std::string name;
  // Its domain is attnrun if channels are last.
  std::string op;
  Ints w;
  int64_t group = 1;
  Ints strides = {};

  bool is_last() const { return op == "ChannelsLast"; }
  bool is_integer() const { return op == "ConvInteger"; }
};

// Keeps nothing, and remembers which sources were looked up.
class SourcesStore final : public ops::PackedStore {
 public:
  ops::PackedKey KeyOf(const ops::PackedRecipe& recipe) const override {
    sources_.insert(sources_.end(), recipe.sources.begin(), recipe.sources.end());
    return {};
  }
  std::optional<ops::PackedBytes> Find(const ops::PackedKey& /*key*/) override {
    return std::nullopt;
  }
  void Add(const ops::PackedKey& /*key*/, ops::PackedBytes /*packed*/) override {}

  const std::vector<absl::string_view>& sources() const { return sources_; }

 private:
  mutable std::vector<absl::string_view> sources_;
};

absl::Status MakeKernel(const Case& c, const Tensor& w, Precision precision,
                        ops::PackedStore& store) {
  Graph graph;
  NodeSpec spec;
  spec.op_type = c.is_last() ? "Conv" : c.op;
  spec.opset = c.is_last() ? 1 : 11;
  spec.domain = c.is_last() ? "attnrun" : "";
  spec.attributes["group"] = c.group;
  if (!c.strides.empty()) spec.attributes["strides"] = c.strides;
  for (const char* const name : {"x", "w"}) {
    ATTNRUN_ASSIGN_OR_RETURN(Value * value, graph.AddInput(name, TypeOf(w)));
    spec.inputs.push_back(value);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Node* node, graph.AddNode(std::move(spec), {"y"}));
  ATTNRUN_ASSIGN_OR_RETURN(const auto op, ops::OpRegistry::Get().Create(*node));
  const std::vector<Tensor> constants = {Tensor(), w};
  return op->MakeKernel({constants, precision, &store}).status();
}

class ConvWeightsTest : public ::testing::TestWithParam<Case> {};

// So that a store knows them by their place, and need not read them.
TEST_P(ConvWeightsTest, ArePackedWhereTheyLie) {
  const Case& c = GetParam();
  std::mt19937 generator(Seed());
  const std::vector<DataType> types =
      c.is_integer() ? std::vector{DataType::kInt8, DataType::kUint8}
                     : std::vector{DataType::kFloat, DataType::kFloat16, DataType::kBfloat16};
  for (const DataType type : types) {
    const Tensor w = c.is_integer() ? RandomInts(type, c.w, generator, 0, 127)
                                    : Converted(RandomFloats(c.w, generator), type);
    const auto* const begin = static_cast<const char*>(w.raw());
    for (const Precision precision :
         {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8}) {
      SourcesStore store;
      ASSERT_TRUE(MakeKernel(c, w, precision, store).ok());
      EXPECT_GE(store.sources().size(), c.group);
      for (const absl::string_view source : store.sources()) {
        EXPECT_GE(source.data(), begin);
        EXPECT_LE(source.data() + source.size(), begin + w.byte_size());
        EXPECT_EQ(source.size(), w.byte_size() / c.group);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ConvWeightsTest,
    ::testing::Values(Case{"channels_last", "ChannelsLast", {96, 64, 3, 3}},
                      Case{"groups", "ChannelsLast", {96, 32, 3, 3}, 3},
                      Case{"line", "Conv", {96, 64, 5}},
                      Case{"groups_of_lines", "Conv", {96, 32, 5}, 3},
                      Case{"patches", "Conv", {96, 8, 4, 4}, 1, {4, 4}},
                      Case{"integers", "ConvInteger", {96, 64, 3, 3}},
                      Case{"groups_of_integers", "ConvInteger", {96, 32, 3, 3}, 3}),
    [](const auto& info) { return info.param.name; });

// The bytes of tensors that the process may have at once, for a while.
class TightMemory {
 public:
  explicit TightMemory(int64_t bytes) : before_(HeapLimit()) { SetHeapLimit(bytes); }
  ~TightMemory() { SetHeapLimit(before_); }

 private:
  const int64_t before_;
};

TEST(ConvWeightsTest, HalvesTakeNoMemoryAsFloats) {
  constexpr int64_t kMegabyte = 1 << 20;
  constexpr int64_t kFeatures = 2048;
  constexpr int64_t kChannels = 1024;
  // 12 MB, which are none of the process's tensors.
  const std::vector<uint16_t> zeros(kFeatures * kChannels * 3);
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    OpTester op("Conv", 11);
    op.Input(Converted(RandomFloats({1, kChannels, 8}, generator), type));
    op.Constant(Tensor::Borrow(type, {kFeatures, kChannels, 3}, zeros.data(),
                               zeros.size() * sizeof(uint16_t))
                    .value());
    // Packed weights lie in regions of 16 MB.
    const TightMemory memory(20 * kMegabyte);
    EXPECT_TRUE(op.Kernel().ok()) << op.Kernel().status();
  }
}

}  // namespace
}  // namespace attnrun::testing
