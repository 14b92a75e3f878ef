// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/elements.h"
#include "tools/attnrun/dim_sizes.h"
#include "tools/attnrun/npz.h"

namespace attnrun::cli {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A name is a symbolic dimension, "?" an unnamed one, a number a fixed one.
ValueInfo Declare(const std::string& name, DataType type, const std::vector<std::string>& dims) {
  ValueInfo info{name, type, std::vector<Dim>(), false};
  for (const std::string& dim : dims) {
    const bool fixed = std::isdigit(static_cast<unsigned char>(dim[0])) != 0;
    info.shape->push_back(fixed ? Dim{std::stoll(dim), ""} : Dim{-1, dim == "?" ? "" : dim});
  }
  return info;
}

// The inputs without a model's graph to fit them to.
absl::StatusOr<TensorMap> Gather(const std::vector<ValueInfo>& declared,
                                 const InputOptions& options) {
  LazyFitter fitter("");
  absl::StatusOr<GatheredInputs> inputs = GatherInputs(declared, options, fitter);
  if (!inputs.ok()) return inputs.status();
  return std::move(inputs->tensors);
}

const std::vector<ValueInfo> kDecoder = {
    Declare("input_ids", DataType::kInt64, {"batch", "sequence"}),
    Declare("attention_mask", DataType::kInt64, {"batch", "total"}),
    Declare("position_ids", DataType::kInt64, {"batch", "sequence"}),
    Declare("past_key_values.0.key", DataType::kFloat, {"batch", "4", "past", "8"})};

TEST(GenerateTest, ShapesFollowTheNamesOfTheDimensions) {
  const struct {
    std::vector<ValueInfo> inputs;
    std::map<std::string, int64_t> dims;
    std::vector<std::string> expected;
  } cases[] = {
      {kDecoder, {}, {"int64[1,16]", "int64[1,16]", "int64[1,16]", "float[1,4,0,8]"}},
      {kDecoder,
       {{"past", 5}, {"sequence", 1}, {"batch", 2}},
       {"int64[2,1]", "int64[2,6]", "int64[2,1]", "float[2,4,5,8]"}},
      {{Declare("input_ids", DataType::kInt64, {"batch_size", "sequence_length"}),
        Declare("attention_mask", DataType::kInt64,
                {"batch_size", "past_sequence_length + sequence_length"}),
        Declare("past.key", DataType::kFloat, {"batch_size", "2", "past_sequence_length", "8"})},
       {{"past_sequence_length", 3}},
       {"int64[1,16]", "int64[1,19]", "float[1,2,3,8]"}},
      {{Declare("input_ids", DataType::kInt64, {"batch", "1"}),
        Declare("attention_mask", DataType::kInt64, {"batch", "past_length + 1"})},
       {},
       {"int64[1,1]", "int64[1,1]"}},
      {{Declare("pixel_values", DataType::kFloat, {"batch", "3", "32", "32"})},
       {{"batch", 2}},
       {"float[2,3,32,32]"}},
      {{Declare("x", DataType::kFloat, {"?", "?", "48", "?"})}, {}, {"float[1,3,48,224]"}},
      {{Declare("latents", DataType::kFloat, {"batch", "4", "height", "width"})},
       {},
       {"float[1,4,64,64]"}},
      {{Declare("x", DataType::kFloat, {"?", "16", "?", "?"})}, {}, {"float[1,16,64,64]"}},
      {{Declare("image", DataType::kFloat, {"b", "1", "height", "w"})}, {}, {"float[1,1,224,224]"}},
      {{Declare("input_values", DataType::kFloat, {"batch", "samples"})}, {}, {"float[1,4000]"}},
      {{Declare("input_features", DataType::kFloat16, {"batch", "80", "frames"})},
       {},
       {"float16[1,80,3000]"}},
      {{Declare("unk__1", DataType::kInt32, {"unk__2", "unk__3"})}, {}, {"int32[1,16]"}},
      {{Declare("threshold", DataType::kFloat, {})}, {}, {"float[]"}},
      {{Declare("past_values", DataType::kFloat, {"b", "s"})}, {}, {"float[1,16]"}},
  };
  for (const auto& [inputs, dims, expected] : cases) {
    const absl::StatusOr<TensorMap> tensors = Gather(inputs, {{}, "", dims, {}});
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(TypeAndShape(tensors->at(inputs[i].name)), expected[i]) << inputs[i].name;
    }
  }
}

TEST(GenerateTest, ValuesArePlausible) {
  const TensorMap tensors = Gather(kDecoder, {{}, "", {{"past", 2}, {"sequence", 3}}, {}}).value();
  EXPECT_THAT(ToInts(tensors.at("attention_mask")).value(), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(ToInts(tensors.at("position_ids")).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(ToInts(tensors.at("input_ids")).value(),
              Each(::testing::AllOf(::testing::Ge(1), ::testing::Le(9))));
  const std::vector<ValueInfo> others = {Declare("token_type_ids", DataType::kInt64, {"b", "s"}),
                                         Declare("mask", DataType::kBool, {"b", "s"}),
                                         Declare("use_cache_branch", DataType::kBool, {"1"}),
                                         Declare("normal", DataType::kFloat, {"1", "10000"})};
  const TensorMap more = Gather(others, {}).value();
  EXPECT_THAT(ToInts(more.at("token_type_ids")).value(), Each(0));
  EXPECT_THAT(ToInts(more.at("mask")).value(), Each(1));
  EXPECT_THAT(ToInts(more.at("use_cache_branch")).value(), ElementsAre(0));
  double sum = 0;
  double squares = 0;
  const std::vector<double> draws = ToDoubles(more.at("normal")).value();
  for (const double x : draws) {
    sum += x;
    squares += x * x;
  }
  // Ten standard deviations of the mean of 10,000 draws, and of their variance.
  EXPECT_NEAR(sum / 10000, 0, 0.1);
  EXPECT_NEAR(squares / 10000, 1, 0.15);
}

TEST(GenerateTest, ValuesDependOnTheSeedOnly) {
  const auto ids = [](uint64_t seed) {
    return ToInts(Gather(kDecoder, {{}, "", {}, seed})->at("input_ids")).value();
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
}

TEST(GenerateTest, EveryElementTypeCanBeGenerated) {
  for (int number = 1; number <= static_cast<int>(DataType::kInt2); ++number) {
    const auto type = static_cast<DataType>(number);
    const absl::StatusOr<TensorMap> tensors = Gather({Declare("x", type, {"b", "5"})}, {});
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    EXPECT_EQ(tensors->at("x").type(), type);
  }
}

TEST(InputsTest, GivenFilesFixTheDimensionsOfGeneratedInputs) {
  const std::string path = ::testing::TempDir() + "/attnrun_inputs_test.npz";
  ASSERT_TRUE(
      WriteNpz(path, {{"input_ids", Tensor::Of<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6}).value()}})
          .ok());
  const TensorMap tensors = Gather(kDecoder, {{}, path, {}, 0}).value();
  EXPECT_THAT(ToInts(tensors.at("input_ids")).value(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(TypeAndShape(tensors.at("attention_mask")), "int64[2,3]");
}

TEST(InputsTest, InputsWithDefaultAreLeftOut) {
  std::vector<ValueInfo> inputs = {Declare("x", DataType::kFloat, {"1"}),
                                   Declare("w", DataType::kFloat, {"1"})};
  inputs[1].has_default = true;
  EXPECT_EQ(Gather(inputs, {})->size(), 1);
}

TEST(InputsTest, RawBitsTakeTheDeclaredType) {
  const std::string path = ::testing::TempDir() + "/attnrun_inputs_test.npz";
  const Tensor tensor = FromDoubles(DataType::kBfloat16, {2}, {1.5, -2}).value();
  ASSERT_TRUE(WriteNpz(path, {{"x", tensor}}).ok());
  const TensorMap tensors =
      Gather({Declare("x", DataType::kBfloat16, {"n"})}, {{}, path, {}, {}}).value();
  EXPECT_THAT(ToDoubles(tensors.at("x")).value(), ElementsAre(1.5, -2));
}

TEST(InputsTest, ErrorsSayWhatIsWrong) {
  const std::string path = ::testing::TempDir() + "/attnrun_inputs_test.npz";
  ASSERT_TRUE(WriteNpz(path, {{"input_ids", Tensor::Of<int64_t>({1, 1}, {1}).value()}}).ok());
  ValueInfo any_rank = kDecoder[0];
  any_rank.shape.reset();
  const struct {
    std::vector<ValueInfo> inputs;
    InputOptions options;
    std::string message;
  } cases[] = {
      {kDecoder, {{}, path, {}, {}}, "input 'attention_mask' is missing"},
      {kDecoder,
       {{{"idz", "x.npy"}}, "", {}, {}},
       "no input 'idz'; its inputs are 'input_ids', 'att"},
      {{kDecoder[1]}, {{}, path, {}, {}}, "no input 'input_ids'; its inputs are 'attention_mask'"},
      {kDecoder, {{}, path, {{"sequence", 2}}, {}}, "expected 2 for dimension 'seq"},
      {kDecoder,
       {{}, "", {{"foo", 2}}, {}},
       "named 'foo'; the dimensions are batch, past, sequence, total"},
      {kDecoder, {{{"input_ids", "/nowhere.npy"}}, "", {}, {}}, "/nowhere.npy: cannot be opened"},
      {kDecoder, {{}, "/nowhere.npz", {}, {}}, "/nowhere.npz: cannot be read"},
      {kDecoder, {{}, ::testing::TempDir() + "/", {}, {}}, "found no input_0.pb"},
      {kDecoder, {{}, "", {{"past", DimSizes::kLargest}}, {}}, "does not fit"},
      {{any_rank}, {}, "input 'input_ids' has no declared rank"},
  };
  for (const auto& [inputs, options, message] : cases) {
    EXPECT_THAT(Gather(inputs, options).status().message(), HasSubstr(message));
  }
}

}  // namespace
}  // namespace attnrun::cli
