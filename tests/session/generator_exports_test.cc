// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attnrun/generator.h"
#include "capi/counting_decoder.h"
#include "session/cache_models.h"

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
  Declare(graph->add_input(), "input_ids", onnx::TensorProto::INT64, {1, length});
  Declare(graph->add_input(), "past_key_values.0.key", onnx::TensorProto::FLOAT,
          {1, -2, kVocabulary});
  Declare(graph->add_output(), "logits", onnx::TensorProto::FLOAT, {1, -1, kVocabulary});
  Declare(graph->add_output(), "present.0.key", onnx::TensorProto::FLOAT, {1, -3, kVocabulary});
  AddTable(graph);
  AddInts(graph, "axis", {1}, {1});
  AddNode(graph, "Gather", {"table", "input_ids"}, {"rows"});
  AddIntAttribute(AddNode(graph, "Concat", {"past_key_values.0.key", "rows"}, {"present.0.key"}),
                  "axis", 1);
  AddNode(graph, "ReduceSum", {"present.0.key", "axis"}, {"sum"});
  AddNode(graph, "Shape", {"rows"}, {"shape"});
  AddNode(graph, "Expand", {"sum", "shape"}, {"logits"});
  return model.SerializeAsString();
}

// The logits are half the logits before and the row of the id: right for one id alone.
std::string RecurrentDecoder(int64_t length) {
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

Generator Load(const TemporaryFolder& folder) {
  SessionOptions options;
  options.threads = 1;
  auto generator = Generator::Load(folder.path("."), options);
  EXPECT_TRUE(generator.ok()) << generator.status();
  return *std::move(generator);
}

TokenIds Generate(const Generator& generator, const GenerationRequest& request,
                  const GenerationConfig& config) {
  const auto result = generator.Generate({request}, config);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->sequences[0].tokens : TokenIds();
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
  const TemporaryFolder folder;
  folder.Write("model.onnx", RecurrentDecoder(GetParam()));
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

// Makes one state of two features, and takes a mask.
std::string Encoder() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "input_features", onnx::TensorProto::FLOAT, {1, -1, 4});
  Declare(graph->add_input(), "attention_mask", onnx::TensorProto::INT64, {1, -1});
  Declare(graph->add_output(), "last_hidden_state", onnx::TensorProto::FLOAT, {1, -2, 4});
  for (const auto& [name, number] :
       {std::pair("begin", 0), {"end", 1 << 30}, {"axis", 1}, {"step", 2}}) {
    AddInts(graph, name, {1}, {number});
  }
  AddIntAttribute(AddNode(graph, "Cast", {"attention_mask"}, {"mask"}), "to",
                  onnx::TensorProto::FLOAT);
  AddNode(graph, "Unsqueeze", {"mask", "step"}, {"factors"});
  AddNode(graph, "Mul", {"input_features", "factors"}, {"features"});
  AddNode(graph, "Slice", {"features", "begin", "end", "axis", "step"}, {"last_hidden_state"});
  return model.SerializeAsString();
}

// A counting decoder that declares its states and the mask of the features to be as long.
std::string DecoderOfStates() {
  onnx::ModelProto model;
  model.ParseFromString(CountingDecoder());
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "encoder_hidden_states", onnx::TensorProto::FLOAT, {1, -1, 4});
  Declare(graph->add_input(), "encoder_attention_mask", onnx::TensorProto::INT64, {1, -1});
  graph->mutable_node(0)->set_output(0, "rows");
  AddInts(graph, "axes", {2}, {0, 1});
  AddNode(graph, "ReduceSum", {"encoder_hidden_states"}, {"states"});
  AddNode(graph, "ReduceSum", {"encoder_attention_mask", "axes"}, {"ones"});
  AddIntAttribute(AddNode(graph, "Cast", {"ones"}, {"count"}), "to", onnx::TensorProto::FLOAT);
  AddNode(graph, "Add", {"states", "rows"}, {"moved"});
  AddNode(graph, "Mul", {"moved", "count"}, {"logits"});
  return model.SerializeAsString();
}

TEST(GeneratorExportsTest, AnEncoderOfFeaturesMayMakeFewerStatesThanItsMaskIsLong) {
  const TemporaryFolder folder;
  folder.Write("encoder_model.onnx", Encoder());
  folder.Write("decoder_model.onnx", DecoderOfStates());
  folder.Write("config.json", R"({"decoder_start_token_id": [2]})");
  GenerationRequest request;
  request.encoder_inputs["input_features"] =
      *Tensor::Of<float>({1, 6, 4}, std::vector<float>(24, 0.5F));
  GenerationConfig config = Load(folder).config();
  config.max_new_tokens = 3;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(3, 4, 5));
}

// Behind a link ".." is the folder above its target.
TEST(GeneratorExportsTest, LinksOnTheWayAreFollowed) {
  const TemporaryFolder folder;
  folder.Write("a/model.onnx", CountingDecoder());
  folder.Write("a/config.json", R"({"bos_token_id": 4})");
  folder.Write("a/b/c", "");
  ASSERT_EQ(symlink(folder.path("a/b").c_str(), folder.path("link").c_str()), 0);
  const auto generator = Generator::Load(folder.path("link/../model.onnx"));
  ASSERT_TRUE(generator.ok()) << generator.status();
  EXPECT_EQ(generator->config().bos_token_id, 4);
}

TEST(GeneratorExportsTest, TheStartIsOneId) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("config.json", R"({"decoder_start_token_id": [2, 3]})");
  EXPECT_THAT(std::string(Generator::Load(folder.path(".")).status().message()),
              HasSubstr("decoder_start_token_id: expected one id, but found 2"));
}

// The ids that a decoder of 8 tokens starts with. Its first new token is the one after the last.
class StartTest : public ::testing::Test {
 protected:
  StartTest() {
    folder_.Write("encoder_model.onnx", Encoder());
    folder_.Write("decoder_model.onnx", DecoderOfStates());
    request_.encoder_inputs["input_features"] =
        *Tensor::Of<float>({1, 6, 4}, std::vector<float>(24, 0.5F));
  }

  // The number of ids and the first new token, or the error.
  std::string Start(const std::string& model, const std::string& generation) {
    folder_.Write("config.json", model);
    folder_.Write("generation_config.json", generation);
    const Generator generator = Load(folder_);
    GenerationConfig config = generator.config();
    config.decoder_start_token_id = 1;
    config.max_new_tokens = 1;
    const auto result = generator.Generate({request_}, config);
    if (!result.ok()) return std::string(result.status().message());
    const GeneratedSequence& sequence = result->sequences[0];
    return absl::StrCat(sequence.prompt_tokens, " ", sequence.tokens[0]);
  }

  TemporaryFolder folder_;
  GenerationRequest request_;
};

TEST_F(StartTest, OfWhisperTellsOfTimestamps) {
  const std::string model = R"({"model_type": "whisper"})";
  EXPECT_EQ(Start(model, R"({"forced_decoder_ids": [[1, 5]], "no_timestamps_token_id": 5})"),
            "2 6");
  EXPECT_EQ(Start(model, R"({"no_timestamps_token_id": 5})"), "2 6");
  EXPECT_THAT(Start(model, R"({"forced_decoder_ids": [[1, 5]], "no_timestamps_token_id": 5,
                               "return_timestamps": true})"),
              ::testing::StartsWith("1 "));
}

// A Whisper of two languages.
constexpr char kLanguages[] = R"("lang_to_id": {"<|de|>": 2, "<|en|>": 3},
                                 "task_to_id": {"transcribe": 4, "translate": 3})";

TEST_F(StartTest, OfWhisperHasTheLanguageAndTheTaskByName) {
  const std::string model = R"({"model_type": "whisper"})";
  const auto start = [&](const std::string& settings) {
    return Start(model, absl::StrCat("{", settings, kLanguages, "}"));
  };
  for (const char* language : {"de", "<|de|>", "German"}) {
    EXPECT_EQ(start(absl::StrCat(R"("language": ")", language, R"(",)")), "3 5") << language;
  }
  EXPECT_EQ(start(R"("language": "en", "task": "translate", "forced_decoder_ids": [[1, 6]],)"),
            "3 4");
  EXPECT_THAT(start(R"("language": "fr",)"), HasSubstr("'fr', whose token is <|fr|>"));
  EXPECT_THAT(start(R"("language": "en", "task": "sing",)"), HasSubstr("found 'sing'"));
  request_.prompt = {1, 6};
  EXPECT_EQ(start(""), "2 7");
}

TEST_F(StartTest, OfWhisperDetectsTheLanguage) {
  const std::string model = R"({"model_type": "whisper"})";
  const auto start = [&](const std::string& settings) {
    return Start(model, absl::StrCat("{", settings, kLanguages, "}"));
  };
  EXPECT_EQ(start(""), "2 3");
  EXPECT_EQ(start(R"("task": "transcribe",)"), "3 5");
  EXPECT_EQ(start(R"("forced_decoder_ids": [[1, null], [2, 5]],)"), "3 6");
  EXPECT_EQ(start(R"("forced_decoder_ids": [[1, 6]],)"), "2 7");
  EXPECT_EQ(Start(model, R"({"lang_to_id": {"<|de|>": 5, "<|en|>": 2}})"), "2 3");
  EXPECT_THAT(Start(model, R"({"lang_to_id": {"<|de|>": 9}})"),
              HasSubstr("lang_to_id: expected ids from 0 to 7, but found 9"));
}

// transformers puts the start before other prompts.
TEST_F(StartTest, OfDonutIsThePrompt) {
  request_.prompt = {4};
  const std::string donut = R"({"model_type": "vision-encoder-decoder",
                                "encoder": {"model_type": "donut-swin"}})";
  EXPECT_EQ(Start(donut, "{}"), "1 5");
  const std::string other = R"({"model_type": "vision-encoder-decoder",
                                "encoder": {"model_type": "vit"}})";
  EXPECT_EQ(Start(other, "{}"), "2 5");
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
  GenerationRequest request;
  request.prompt = {4};
  GenerationConfig config;
  config.max_new_tokens = 3;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5, 6, 7));
}

TEST(GeneratorExportsTest, NoTokenBeyondTheVocabularyEndsASequence) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("config.json", R"({"eos_token_id": [-1, 500]})");
  GenerationRequest request;
  request.prompt = {4};
  GenerationConfig config = Load(folder).config();
  config.max_new_tokens = 3;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5, 6, 7));
  config.min_new_tokens = 1;
  config.exponential_decay_length_penalty = {0, 2.0};
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5, 6, 7));
  config.num_beams = 2;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5, 6, 7));
  config.exponential_decay_length_penalty.reset();
  config.num_beam_groups = 2;
  config.diversity_penalty = 0.5;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5, 6, 7));
}

TEST(GeneratorExportsTest, ALengthBelowOneIsNone) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  GenerationRequest request;
  request.prompt = {4};
  GenerationConfig config;
  config.max_new_tokens = 1;
  folder.Write("config.json", R"({"max_position_embeddings": -1})");
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5));
  folder.Write("genai_config.json", R"({"model": {"context_length": 0}})");
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5));
}

TEST(GeneratorExportsTest, RefusesADecoderInSeveralFiles) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("genai_config.json", R"({"model": {"decoder": {"pipeline": [{"a": {}}]}}})");
  EXPECT_THAT(std::string(Generator::Load(folder.path(".")).status().message()),
              HasSubstr("does not run decoders in several files (pipeline)"));
}

// Another file of the folder would be another model.
TEST(GeneratorExportsTest, TheFileThatTheConfigurationNamesMustBeThere) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("genai_config.json", R"({"model": {"decoder": {"filename": "other.onnx"}}})");
  EXPECT_THAT(std::string(Generator::Load(folder.path(".")).status().message()),
              HasSubstr("genai_config.json names 'other.onnx', but there is no such file"));
  EXPECT_EQ(Generator::Load(folder.path("model.onnx")).status(), absl::OkStatus());
  folder.Write("onnx/other.onnx", CountingDecoder());
  EXPECT_EQ(Generator::Load(folder.path(".")).status(), absl::OkStatus());
  folder.Write("genai_config.json", R"({"model": {"decoder": {"filename": "deep/model.onnx"}}})");
  folder.Write("deep/model.onnx", CountingDecoder());
  EXPECT_EQ(Generator::Load(folder.path(".")).status(), absl::OkStatus());
}

TEST(GeneratorExportsTest, NamesLeadToNoOtherFolder) {
  const TemporaryFolder folder;
  folder.Write("secret.onnx", CountingDecoder());
  folder.Write("model/config.json", "{}");
  for (const std::string& name : {std::string("../secret.onnx"), folder.path("secret.onnx")}) {
    folder.Write("model/genai_config.json",
                 absl::StrCat(R"({"model": {"decoder": {"filename": ")", name, R"("}}})"));
    EXPECT_THAT(std::string(Generator::Load(folder.path("model")).status().message()),
                HasSubstr("but there is no such file"));
  }
}

// As ORTOptimizer names files, and where only the subfolder is given.
TEST(GeneratorExportsTest, FilesMayBeOptimizedAndBesideTheirConfiguration) {
  const TemporaryFolder folder;
  folder.Write("onnx/model_optimized.onnx", CountingDecoder());
  folder.Write("config.json", R"({"bos_token_id": 4})");
  for (const char* path : {".", "onnx", "onnx/model_optimized.onnx"}) {
    const auto generator = Generator::Load(folder.path(path));
    ASSERT_TRUE(generator.ok()) << generator.status();
    EXPECT_EQ(generator->config().bos_token_id, 4) << path;
  }
}

}  // namespace
}  // namespace attnrun::testing
