// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "session/cache_models.h"
#include "session/generator_tester.h"

// Pads in the text of a decoder or an encoder are hidden as by transformers' `generate`.
namespace attnrun::testing {
namespace {

constexpr int kVocabulary = 17;

int Cell(int64_t row, int column) {
  const auto cell = static_cast<int>(row) * kVocabulary + column;
  return cell * cell * 37 % 101;
}

void AddTable(onnx::GraphProto* graph) {
  onnx::TensorProto& table = *graph->add_initializer();
  table = MakeTensor("table", onnx::TensorProto::FLOAT, {kVocabulary, kVocabulary});
  for (int i = 0; i < kVocabulary; ++i) {
    for (int j = 0; j < kVocabulary; ++j) table.add_float_data(static_cast<float>(Cell(i, j)));
  }
}

// The logits at a position are the sum of the rows of all ids up to it that the mask does not hide,
// and of the row of its position.
onnx::ModelProto Decoder() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  DeclareDecoder(graph, -1, kVocabulary);
  Declare(graph->add_input(), "attention_mask", onnx::TensorProto::INT64, {1, -3});
  Declare(graph->add_input(), "position_ids", onnx::TensorProto::INT64, {1, -1});
  AddTable(graph);
  AddInts(graph, "last_axis", {1}, {2});
  AddCachedRows(graph);
  AddIntAttribute(AddNode(graph, "Cast", {"attention_mask"}, {"mask"}), "to",
                  onnx::TensorProto::FLOAT);
  AddNode(graph, "Unsqueeze", {"mask", "last_axis"}, {"factors"});
  AddNode(graph, "Mul", {"present.0.key", "factors"}, {"seen"});
  AddNewSums(graph, "seen", "new");
  AddNode(graph, "Gather", {"table", "position_ids"}, {"places"});
  AddNode(graph, "Add", {"new", "places"}, {"logits"});
  return model;
}

// The tokens behind `ids`, the last of which has `position`.
TokenIds TokensBehind(TokenIds ids, int64_t position, size_t count) {
  const size_t end = ids.size() + count;
  while (ids.size() < end) {
    std::vector<int> logits(kVocabulary);
    for (int j = 0; j < kVocabulary; ++j) {
      for (const int64_t id : ids) logits[j] += Cell(id, j);
      logits[j] += Cell(position, j);
    }
    ids.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
    ++position;
  }
  return {ids.end() - static_cast<int64_t>(count), ids.end()};
}

class PadsTest : public ::testing::Test {
 protected:
  PadsTest() {
    folder_.Write("config.json", R"({"pad_token_id": 4, "eos_token_id": 2})");
    Write(Decoder());
  }

  void Write(const onnx::ModelProto& model) {
    folder_.Write("model.onnx", model.SerializeAsString());
  }

  void ExpectInAllWays(const TokenIds& prompt, const TokenIds& expected) {
    const Generator generator = Load(folder_);
    GenerationRequest request;
    request.prompt = prompt;
    GenerationConfig config = generator.config();
    config.max_new_tokens = static_cast<int64_t>(expected.size());
    config.min_new_tokens = config.max_new_tokens;
    EXPECT_EQ(Generate(generator, request, config), expected);
    GenerationConfig other = config;
    other.use_cache = false;
    EXPECT_EQ(Generate(generator, request, other), expected);
    other = config;
    other.prefill_chunk_size = 2;
    EXPECT_EQ(Generate(generator, request, other), expected);
    other = config;
    other.prompt_lookup_num_tokens = 3;
    EXPECT_EQ(Generate(generator, request, other), expected);
    // Rows that have read the same ids are others if they hide fewer of them.
    other = config;
    other.pad_token_id.reset();
    Generate(generator, request, other);
    EXPECT_EQ(Generate(generator, request, config), expected);
  }

  TemporaryFolder folder_;
};

TEST_F(PadsTest, DoNotCountInAPrompt) {
  const TokenIds expected = TokensBehind({3, 7, 5}, 2, 9);
  ExpectInAllWays({3, 7, 5}, expected);
  ExpectInAllWays({4, 4, 3, 7, 5}, expected);
  ExpectInAllWays({3, 4, 7, 4, 5}, expected);
}

TEST_F(PadsTest, AtTheEndStartThePositionsAnew) {
  ExpectInAllWays({3, 7, 5, 4}, TokensBehind({3, 7, 5}, 0, 9));
}

TEST_F(PadsTest, AreIdsIfTheyStop) {
  folder_.Write("config.json", R"({"pad_token_id": 4, "eos_token_id": [2, 4]})");
  ExpectInAllWays({4, 3, 7}, TokensBehind({4, 3, 7}, 2, 9));
}

// The mask of onnxruntime-genai's decoders only tells how many ids there are.
TEST_F(PadsTest, AreIdsForGroupQueryAttention) {
  onnx::ModelProto model = Decoder();
  onnx::OperatorSetIdProto* contrib = model.add_opset_import();
  contrib->set_domain("com.microsoft");
  contrib->set_version(1);
  onnx::GraphProto* graph = model.mutable_graph();
  AddInts(graph, "total", {}, {1});
  onnx::NodeProto* node = AddNode(graph, "GroupQueryAttention",
                                  {"rows", "rows", "rows", "", "", "total", "total"}, {"unused"});
  node->set_domain("com.microsoft");
  AddIntAttribute(node, "num_heads", 1);
  AddIntAttribute(node, "kv_num_heads", 1);
  Write(model);
  ExpectInAllWays({4, 3, 7}, TokensBehind({4, 3, 7}, 2, 9));
}

// An encoder whose states are the rows of its ids, or 0 where its mask hides them.
class EncodedPadsTest : public ::testing::Test {
 protected:
  EncodedPadsTest() {
    folder_.Write("config.json",
                  R"({"pad_token_id": 4, "eos_token_id": 2, "decoder_start_token_id": 4})");
    folder_.Write("encoder_model.onnx", Encoder());
    folder_.Write("decoder_model.onnx", DecoderOfStates());
  }

  static std::string Encoder() {
    onnx::ModelProto model = EmptyModel();
    onnx::GraphProto* graph = model.mutable_graph();
    Declare(graph->add_input(), "input_ids", onnx::TensorProto::INT64, {1, -1});
    Declare(graph->add_input(), "attention_mask", onnx::TensorProto::INT64, {1, -1});
    Declare(graph->add_output(), "last_hidden_state", onnx::TensorProto::FLOAT,
            {1, -1, kVocabulary});
    AddTable(graph);
    AddInts(graph, "axis", {1}, {2});
    AddNode(graph, "Gather", {"table", "input_ids"}, {"rows"});
    AddIntAttribute(AddNode(graph, "Cast", {"attention_mask"}, {"mask"}), "to",
                    onnx::TensorProto::FLOAT);
    AddNode(graph, "Unsqueeze", {"mask", "axis"}, {"factors"});
    AddNode(graph, "Mul", {"rows", "factors"}, {"last_hidden_state"});
    return model.SerializeAsString();
  }

  // The logits are the row of an id and the mean state of the ids that the mask does not hide.
  static std::string DecoderOfStates() {
    onnx::ModelProto model = EmptyModel();
    onnx::GraphProto* graph = model.mutable_graph();
    Declare(graph->add_input(), "input_ids", onnx::TensorProto::INT64, {1, -1});
    Declare(graph->add_input(), "encoder_attention_mask", onnx::TensorProto::INT64, {1, -2});
    Declare(graph->add_input(), "encoder_hidden_states", onnx::TensorProto::FLOAT,
            {1, -2, kVocabulary});
    Declare(graph->add_output(), "logits", onnx::TensorProto::FLOAT, {1, -1, kVocabulary});
    AddTable(graph);
    AddInts(graph, "axis", {1}, {1});
    AddIntAttribute(AddNode(graph, "Cast", {"encoder_attention_mask"}, {"mask"}), "to",
                    onnx::TensorProto::FLOAT);
    AddNode(graph, "ReduceSum", {"mask", "axis"}, {"count"});
    AddNode(graph, "ReduceSum", {"encoder_hidden_states", "axis"}, {"state"});
    AddNode(graph, "Gather", {"table", "input_ids"}, {"rows"});
    AddNode(graph, "Div", {"state", "count"}, {"mean"});
    AddNode(graph, "Add", {"rows", "mean"}, {"logits"});
    return model.SerializeAsString();
  }

  // The sum of the log-probabilities of six tokens.
  double Score(const GenerationRequest& request) {
    const Generator generator = Load(folder_);
    GenerationConfig config = generator.config();
    config.max_new_tokens = 6;
    config.min_new_tokens = 6;
    const auto result = generator.Generate({request}, config);
    EXPECT_TRUE(result.ok()) << result.status();
    return result->sequences[0].score;
  }

  TemporaryFolder folder_;
};

TEST_F(EncodedPadsTest, AreHiddenFromTheEncoderAndTheDecoder) {
  GenerationRequest plain;
  plain.encoder_ids = {3, 7, 5};
  GenerationRequest padded;
  padded.encoder_ids = {3, 4, 7, 5, 4, 4};
  EXPECT_EQ(Score(padded), Score(plain));
  GenerationRequest given;
  given.encoder_inputs["input_ids"] = *Tensor::Of<int64_t>({1, 6}, padded.encoder_ids);
  EXPECT_EQ(Score(given), Score(plain));
  // A mask that is given counts.
  given.encoder_inputs["attention_mask"] = *Tensor::Of<int64_t>({1, 6}, {1, 1, 1, 1, 1, 1});
  EXPECT_NE(Score(given), Score(plain));
}

}  // namespace
}  // namespace attnrun::testing
