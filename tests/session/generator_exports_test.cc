// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attnrun/generator.h"
#include "capi/counting_decoder.h"
#include "session/cache_models.h"
#include "session/generator_tester.h"

// Files that say less than they need, as exporters write them.
namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kVocabulary = 11;

// A row of logits for each id, all whole numbers.
void AddTable(onnx::GraphProto* graph) {
  onnx::TensorProto& table = *graph->add_initializer();
  table = MakeTensor("table", onnx::TensorProto::FLOAT, {kVocabulary, kVocabulary});
  for (int i = 0; i < kVocabulary * kVocabulary; ++i) {
    table.add_float_data(static_cast<float>(i * i * 37 % 101));
  }
}

// The logits at a position are the sum of the rows of all ids up to it. `present` are those rows.
std::string FirstDecoder() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "input_ids", onnx::TensorProto::INT64, {1, -1});
  Declare(graph->add_output(), "logits", onnx::TensorProto::FLOAT, {1, -1, kVocabulary});
  Declare(graph->add_output(), "present.0.key", onnx::TensorProto::FLOAT, {1, -1, kVocabulary});
  AddTable(graph);
  AddInts(graph, "axis", {}, {1});
  AddNode(graph, "Gather", {"table", "input_ids"}, {"present.0.key"});
  AddNode(graph, "CumSum", {"present.0.key", "axis"}, {"logits"});
  return model.SerializeAsString();
}

// Goes on, but each position sees all ids: right for one id alone.
std::string DecoderWithPast(int64_t length) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  DeclareDecoder(graph, length, kVocabulary);
  AddTable(graph);
  AddInts(graph, "axis", {1}, {1});
  AddCachedRows(graph);
  AddNode(graph, "ReduceSum", {"present.0.key", "axis"}, {"sum"});
  AddNode(graph, "Shape", {"rows"}, {"shape"});
  AddNode(graph, "Expand", {"sum", "shape"}, {"logits"});
  return model.SerializeAsString();
}

// The sums of FirstDecoder. Zeros of the length of the new ids are added to the rows: they meet all
// rows where there is no past, or one id.
std::string DecoderOfSquareMask() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  DeclareDecoder(graph, -1, kVocabulary);
  AddTable(graph);
  AddCachedRows(graph);
  AddNode(graph, "Sub", {"rows", "rows"}, {"zeros"});
  AddNode(graph, "Add", {"present.0.key", "zeros"}, {"masked"});
  AddNewSums(graph, "masked", "logits");
  return model.SerializeAsString();
}

// The logits are half the logits before and the row of the id: right for one id alone. With
// `quantizes`, one scale of all rows is an output, too.
std::string RecurrentDecoder(int64_t length, bool quantizes) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "input_ids", onnx::TensorProto::INT64, {1, length});
  Declare(graph->add_input(), "past_ssm.0", onnx::TensorProto::FLOAT, {1, kVocabulary});
  Declare(graph->add_output(), "logits", onnx::TensorProto::FLOAT, {1, length, kVocabulary});
  Declare(graph->add_output(), "present_ssm.0", onnx::TensorProto::FLOAT, {1, kVocabulary});
  AddTable(graph);
  AddInts(graph, "axis", {1}, {1});
  onnx::TensorProto& half = *graph->add_initializer();
  half = MakeTensor("half", onnx::TensorProto::FLOAT, {});
  half.add_float_data(0.5F);
  AddNode(graph, "Gather", {"table", "input_ids"}, {"rows"});
  AddIntAttribute(AddNode(graph, "ReduceSum", {"rows", "axis"}, {"row"}), "keepdims", 0);
  AddNode(graph, "Mul", {"past_ssm.0", "half"}, {"rest"});
  AddNode(graph, "Add", {"rest", "row"}, {"present_ssm.0"});
  AddNode(graph, "Unsqueeze", {"present_ssm.0", "axis"}, {"state"});
  AddNode(graph, "Shape", {"rows"}, {"shape"});
  AddNode(graph, "Expand", {"state", "shape"}, {"logits"});
  if (quantizes) {
    Declare(graph->add_output(), "codes", onnx::TensorProto::UINT8, {1, length, kVocabulary});
    AddNode(graph, "DynamicQuantizeLinear", {"rows"}, {"codes", "scale", "zero"});
  }
  return model.SerializeAsString();
}

TokenIds TokensOfRecurrentDecoder(TokenIds ids, size_t count) {
  std::vector<float> state(kVocabulary);
  const size_t end = ids.size() + count;
  for (size_t i = 0; ids.size() < end; ++i) {
    for (int j = 0; j < kVocabulary; ++j) {
      const auto cell = static_cast<int>(ids[i]) * kVocabulary + j;
      state[j] = state[j] / 2 + static_cast<float>(cell * cell * 37 % 101);
    }
    if (i + 1 < ids.size()) continue;
    ids.push_back(std::max_element(state.begin(), state.end()) - state.begin());
  }
  return {ids.end() - static_cast<int64_t>(count), ids.end()};
}

// At once, with guesses, and with the prompt in pieces.
void ExpectInAllWays(const TemporaryFolder& folder, const GenerationRequest& request,
                     const GenerationConfig& config, const TokenIds& expected) {
  EXPECT_EQ(Generate(Load(folder), request, config), expected);
  GenerationConfig guesses = config;
  guesses.prompt_lookup_num_tokens = 3;
  EXPECT_EQ(Generate(Load(folder), request, guesses), expected);
  GenerationConfig pieces = config;
  pieces.prefill_chunk_size = 3;
  EXPECT_EQ(Generate(Load(folder), request, pieces), expected);
}

class DecoderOfOneId : public ::testing::TestWithParam<int64_t> {};

TEST_P(DecoderOfOneId, GetsOneAtATime) {
  const TemporaryFolder folder;
  folder.Write("decoder_model.onnx", FirstDecoder());
  folder.Write("decoder_with_past_model.onnx", DecoderWithPast(GetParam()));
  folder.Write("config.json", "{}");
  GenerationRequest request;
  request.prompt = {3, 7, 7, 0, 1, 7, 3, 6};
  GenerationConfig config;
  config.max_new_tokens = 24;
  config.use_cache = false;
  const TokenIds expected = Generate(Load(folder), request, config);
  config.use_cache = true;
  ExpectInAllWays(folder, request, config, expected);
}

TEST(GeneratorExportsTest, ADecoderThatFailsOnSeveralIdsBehindOthersGetsOneAtATime) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", FirstDecoder());
  const TemporaryFolder square;
  square.Write("model.onnx", DecoderOfSquareMask());
  GenerationRequest request;
  request.prompt = {3, 7, 7, 0, 1, 7, 3, 6};
  GenerationConfig config;
  config.max_new_tokens = 24;
  for (const auto* one : {&folder, &square}) one->Write("config.json", "{}");
  ExpectInAllWays(square, request, config, Generate(Load(folder), request, config));
}

// As a merged decoder, or one with a cache, under the name of the first of two.
TEST(DecoderInTwoFiles, AFirstThatReadsACacheGoesOnByItself) {
  const TemporaryFolder folder;
  folder.Write("decoder_model.onnx", DecoderWithPast(-1));
  folder.Write("decoder_with_past_model.onnx", DecoderWithPast(-1));
  folder.Write("config.json", "{}");
  GenerationRequest request;
  request.prompt = {3, 7, 7, 0};
  GenerationConfig config;
  config.max_new_tokens = 12;
  config.use_cache = false;
  const TokenIds expected = Generate(Load(folder), request, config);
  config.use_cache = true;
  EXPECT_EQ(Generate(Load(folder), request, config), expected);
}

TEST(DecoderInTwoFiles, TheFirstGivesWhatTheOtherReads) {
  const TemporaryFolder folder;
  onnx::ModelProto first;
  ASSERT_TRUE(first.ParseFromString(FirstDecoder()));
  first.mutable_graph()->mutable_output()->RemoveLast();
  folder.Write("decoder_model.onnx", first.SerializeAsString());
  folder.Write("decoder_with_past_model.onnx", DecoderWithPast(-1));
  folder.Write("config.json", "{}");
  const auto generator = Generator::Load(folder.path("."), {});
  EXPECT_EQ(generator.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      generator.status().message(),
      HasSubstr("no output of the decoder of the first step gives 'past_key_values.0.key'"));
}

TEST_P(DecoderOfOneId, GoesOnWithARecurrentState) {
  for (const bool quantizes : {false, true}) {
    const TemporaryFolder folder;
    folder.Write("model.onnx", RecurrentDecoder(GetParam(), quantizes));
    folder.Write("config.json", R"({"time_step_limit": [0.0, Infinity]})");
    GenerationRequest request;
    request.prompt = {3, 7, 7, 0, 1, 7, 3, 6};
    GenerationConfig config;
    config.max_new_tokens = 24;
    const TokenIds expected = TokensOfRecurrentDecoder(request.prompt, 24);
    ExpectInAllWays(folder, request, config, expected);
    config.use_cache = false;
    EXPECT_EQ(Generate(Load(folder), request, config), expected);
  }
}

// Any number of ids by its declaration, or one.
INSTANTIATE_TEST_SUITE_P(Lengths, DecoderOfOneId, ::testing::Values(-1, 1));

TEST(GeneratorExportsTest, SettingsForAnEncodersIdsAreForThePromptWithoutOne) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("config.json", "{}");
  GenerationRequest request;
  request.prompt = {1, 2, 1};
  GenerationConfig config;
  config.max_new_tokens = 1;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(2));
  config.encoder_no_repeat_ngram_size = 2;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(3));
}

// Gemma 3n's makes two inputs of the ids. The decoder is a CountingDecoder of both.
TEST(GeneratorExportsTest, AFileOfEmbeddingsGivesAllThatTheDecoderReads) {
  onnx::ModelProto embeddings = EmptyModel();
  onnx::GraphProto* graph = embeddings.mutable_graph();
  Declare(graph->add_input(), "input_ids", onnx::TensorProto::INT64, {1, -1});
  onnx::ModelProto decoder;
  decoder.ParseFromString(CountingDecoder());
  *graph->mutable_initializer() = decoder.graph().initializer();
  *graph->add_node() = decoder.graph().node(0);
  const std::string rows = graph->node(0).output(0);
  AddNode(graph, "Neg", {rows}, {"per_layer_inputs"});
  AddNode(graph, "Identity", {rows}, {"inputs_embeds"});
  onnx::GraphProto* rest = decoder.mutable_graph();
  rest->clear_input();
  rest->clear_node();
  for (const char* name : {"per_layer_inputs", "inputs_embeds"}) {
    Declare(graph->add_output(), name, onnx::TensorProto::FLOAT, {1, -1, 8});
    Declare(rest->add_input(), name, onnx::TensorProto::FLOAT, {1, -1, 8});
  }
  AddNode(rest, "Sub", {"inputs_embeds", "per_layer_inputs"}, {rest->output(0).name()});
  const TemporaryFolder folder;
  folder.Write("embed_tokens.onnx", embeddings.SerializeAsString());
  folder.Write("decoder_model.onnx", decoder.SerializeAsString());
  folder.Write("config.json", "{}");
  EXPECT_THAT(Continue(folder, {4}, 3), ElementsAre(5, 6, 7));
}

}  // namespace
}  // namespace attnrun::testing
