// SPDX-License-Identifier: Apache-2.0
// attnrun generate: its contract, and what it refuses.
#include "absl/strings/str_split.h"
#include "attnrun/generation_config.h"
#include "tools/command_line.h"

namespace attnrun::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kVocabulary = 8;

// A decoder without cache: logits = table[input_ids]. The most probable token behind i is i + 1,
// and the next one i + 2, modulo 8.
onnx::ModelProto MakeDecoder() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("graph");
  Declare(*graph.add_input(), "input_ids", onnx::TensorProto::INT64, {"batch", "sequence"});
  Declare(*graph.add_output(), "logits", onnx::TensorProto::FLOAT, {"batch", "sequence", "8"});
  onnx::TensorProto& table = *graph.add_initializer();
  table.set_name("table");
  table.set_data_type(onnx::TensorProto::FLOAT);
  table.add_dims(kVocabulary);
  table.add_dims(kVocabulary);
  for (int i = 0; i < kVocabulary; ++i) {
    for (int j = 0; j < kVocabulary; ++j) {
      const int step = (j - i + kVocabulary) % kVocabulary;
      table.add_float_data(step == 1 ? 4.0F : step == 2 ? 3.0F : 0.0F);
    }
  }
  AddNode(graph, "Gather", "gather", "table", "logits").add_input("input_ids");
  return model;
}

class GenerateTest : public CommandLineTest {
 protected:
  void SetUp() override {
    CommandLineTest::SetUp();
    WriteAll(folder_ / "model.onnx", MakeDecoder().SerializeAsString());
    WriteAll(folder_ / "config.json", R"({"eos_token_id": 7, "max_position_embeddings": 20})");
  }

  // The tokens of each sequence.
  std::vector<TokenIds> Tokens(const std::string& arguments) const {
    std::vector<TokenIds> tokens;
    const nlohmann::json report = Json("generate . --json " + arguments);
    for (const auto& sequence : report["sequences"]) {
      tokens.push_back(sequence["tokens"].get<TokenIds>());
    }
    return tokens;
  }
};

TEST_F(GenerateTest, BenchMeasuresPromptsAndNewTokens) {
  const std::string arguments = "bench . --generate --prompt-tokens 5 --new-tokens 3 --runs 2 ";
  const nlohmann::json report = Json(arguments + "--threads 1 --json");
  for (const char* name : {"time_to_first_token_ms", "prompt_tokens_per_second", "load_ms",
                           "decode_tokens_per_second", "read_gb_per_s", "share_of_bandwidth"}) {
    EXPECT_GT(report[name].get<double>(), 0) << name;
  }
  EXPECT_EQ(report["prompt_tokens"], 5);
  EXPECT_EQ(report["new_tokens"], 3);
  EXPECT_EQ(report["threads"], 1);
  // Without the buffer of a gigabyte by which the bandwidth is measured.
  EXPECT_LT(report["peak_rss_mb"], 500);
  EXPECT_THAT(Attnrun(arguments).out, HasSubstr("of the "));
  EXPECT_THAT(Attnrun("bench . --generate --prompt-tokens 1").err, HasSubstr("--prompt-tokens"));
  EXPECT_EQ(Attnrun("bench . --generate --sweep sequence=1,2").status, 2);
  EXPECT_THAT(Attnrun("bench . --generate --dim batch=2").err,
              HasSubstr("--dim: bench --generate"));
}

TEST_F(GenerateTest, PrintsTheReport) {
  const nlohmann::json report = Json("generate . --prompt-ids 1,2 --max-new-tokens 3 --json");
  for (const char* name :
       {"time_to_first_token_ms", "prompt_tokens_per_second", "decode_tokens_per_second"}) {
    EXPECT_GT(report[name].get<double>(), 0) << name;
  }
  ASSERT_EQ(report["sequences"].size(), 1u);
  const nlohmann::json& sequence = report["sequences"][0];
  EXPECT_EQ(sequence["prompt_tokens"], 2);
  EXPECT_EQ(sequence["tokens"], nlohmann::json({3, 4, 5}));
  EXPECT_EQ(sequence["finish"], "length");
  EXPECT_LT(sequence["score"].get<double>(), 0);
}

TEST_F(GenerateTest, StopsAtTheEnd) {
  EXPECT_THAT(Tokens("--prompt-ids 4 --max-new-tokens 9"), ElementsAre(TokenIds{5, 6, 7}));
  EXPECT_THAT(Tokens("--prompt-ids 4 --max-new-tokens 5 --ignore-eos"),
              ElementsAre(TokenIds{5, 6, 7, 0, 1}));
  EXPECT_THAT(Tokens("--prompt-ids 4 --max-new-tokens 9 --stop-sequence 5,6"),
              ElementsAre(TokenIds{5, 6}));
  EXPECT_EQ(Json("generate . --prompt-ids 4 --json")["sequences"][0]["finish"], "stop");
}

TEST_F(GenerateTest, RunsSeveralPromptsInOrder) {
  EXPECT_THAT(Tokens("--prompt-ids 1 --prompt-ids 5,4,3 --max-new-tokens 2"),
              ElementsAre(TokenIds{2, 3}, TokenIds{4, 5}));
  WriteAll(folder_ / "lines.txt", "1\n\n5 4 3\n");
  WriteAll(folder_ / "lists.json", "[[1], [5, 4, 3]]");
  // With the byte order mark of some editors.
  WriteAll(folder_ / "marked.txt",
           "\xEF\xBB\xBF"
           "1\n5,4,3\n");
  for (const char* file : {"lines.txt", "lists.json", "marked.txt"}) {
    EXPECT_THAT(Tokens(std::string("--max-new-tokens 2 --prompt-ids-file ") + file),
                ElementsAre(TokenIds{2, 3}, TokenIds{4, 5}));
  }
}

TEST_F(GenerateTest, SettingsOverrideThoseBefore) {
  WriteAll(folder_ / "generation_config.json", R"({"eos_token_id": 6, "max_new_tokens": 9})");
  EXPECT_THAT(Tokens("--prompt-ids 4"), ElementsAre(TokenIds{5, 6}));
  WriteAll(folder_ / "mine.json", R"({"eos_token_id": [5], "repetition_penalty": null})");
  EXPECT_THAT(Tokens("--prompt-ids 4 --generation-config mine.json"), ElementsAre(TokenIds{5}));
  EXPECT_THAT(Tokens("--prompt-ids 4 --generation-config mine.json --eos-token-id 7"),
              ElementsAre(TokenIds{5, 6, 7}));
  EXPECT_THAT(Tokens("--prompt-ids 4 --suppress-tokens 5 --max-new-tokens 1"),
              ElementsAre(TokenIds{6}));
}

TEST_F(GenerateTest, ReturnsTheBestBeamsFirst) {
  const std::vector<TokenIds> beams =
      Tokens("--prompt-ids 0 --max-new-tokens 2 --num-beams 3 --num-return-sequences 2");
  EXPECT_THAT(beams, ElementsAre(TokenIds{1, 2}, TokenIds{1, 3}));
}

TEST_F(GenerateTest, TheSeedFixesDrawnTokens) {
  const std::string draw = "--prompt-ids 0 --max-new-tokens 12 --ignore-eos --do-sample --seed ";
  EXPECT_EQ(Tokens(draw + "1"), Tokens(draw + "1"));
  EXPECT_NE(Tokens(draw + "1"), Tokens(draw + "2"));
  EXPECT_EQ(Tokens(draw + "1 --top-k 1"), Tokens(draw + "1 --greedy"));
}

TEST_F(GenerateTest, StreamsTokensBeforeTheReport) {
  const std::string out = Attnrun("generate . --prompt-ids 4 --prompt-ids 5 --stream").out;
  EXPECT_THAT(out, ::testing::StartsWith("0 5\n1 6\n0 6\n1 7\n0 7\n"));
  EXPECT_THAT(out, HasSubstr("sequence 1: 1 prompt tokens, 2 new"));
  const std::string json = Attnrun("generate . --prompt-ids 5 --stream --json").out;
  EXPECT_THAT(json, ::testing::StartsWith(R"({"sequence":0,"token":6})"
                                          "\n"
                                          R"({"sequence":0,"token":7})"
                                          "\n{"));
}

TEST_F(GenerateTest, GuessesChangeNoToken) {
  fs::create_directories(folder_ / "draft");
  fs::copy_file(folder_ / "model.onnx", folder_ / "draft" / "model.onnx");
  const std::string prompt =
      "generate . --prompt-ids 1,2,3,1 --max-new-tokens 9 --ignore-eos --json ";
  const nlohmann::json plain = Json(prompt);
  const nlohmann::json lookup = Json(prompt + "--prompt-lookup-num-tokens 2");
  const nlohmann::json draft = Json(prompt + "--draft draft --num-assistant-tokens 3");
  EXPECT_EQ(lookup["sequences"], plain["sequences"]);
  EXPECT_EQ(draft["sequences"], plain["sequences"]);
  EXPECT_EQ(plain["guessed_tokens"], 0);
  EXPECT_GT(lookup["guessed_tokens"], 0);
  EXPECT_EQ(draft["accepted_tokens"], draft["guessed_tokens"]);
}

// Each line is an object.
TEST_F(GenerateTest, StreamsLinesOfJson) {
  const std::string out =
      Attnrun("generate . --prompt-ids 4 --max-new-tokens 2 --stream --json").out;
  const std::vector<std::string> lines = absl::StrSplit(out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(nlohmann::json::parse(lines[0])["token"], 5);
  EXPECT_EQ(nlohmann::json::parse(lines[2])["sequences"][0]["tokens"], nlohmann::json({5, 6}));
}

TEST_F(GenerateTest, RefusesAMissingId) {
  for (const char* ids : {"5,,6", "5,6,", ","}) {
    ExpectRefused(std::string("generate . --prompt-ids ") + ids, 2,
                  "--prompt-ids: expected ids separated by commas, but found none beside a comma");
  }
}

// The logits at each position are the mean of the rows of all ids.
TEST_F(GenerateTest, RefusesAnEncoder) {
  onnx::ModelProto model = MakeDecoder();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_output(0, "rows");
  onnx::NodeProto& mean = AddNode(graph, "ReduceMean", "mean", "rows", "average");
  onnx::AttributeProto& axes = *mean.add_attribute();
  axes.set_name("axes");
  axes.set_type(onnx::AttributeProto::INTS);
  axes.add_ints(1);
  AddNode(graph, "Add", "add", "rows", "logits").add_input("average");
  WriteAll(folder_ / "model.onnx", model.SerializeAsString());
  ExpectRefused("generate . --prompt-ids 1", 3,
                "expected a decoder, but output 'logits' at the first token changes with the "
                "second token");
}

TEST_F(GenerateTest, RefusesSeveralOutputsOfNoName) {
  onnx::ModelProto model = MakeDecoder();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_output(0, "hidden");
  graph.mutable_output(0)->set_name("hidden");
  Declare(*graph.add_output(), "pooled", onnx::TensorProto::FLOAT, {"batch", "sequence", "8"});
  AddNode(graph, "Relu", "relu", "hidden", "pooled");
  WriteAll(folder_ / "model.onnx", model.SerializeAsString());
  ExpectRefused(
      "generate . --prompt-ids 1", 3,
      "expected a decoder, but none of its outputs is named 'logits': 'hidden', 'pooled'");
}

TEST_F(GenerateTest, FindsFilesInTheSubfolderOnnx) {
  fs::create_directories(folder_ / "onnx");
  fs::rename(folder_ / "model.onnx", folder_ / "onnx" / "model_q4.onnx");
  EXPECT_THAT(Tokens("--prompt-ids 4"), ElementsAre(TokenIds{5, 6, 7}));
}

TEST_F(GenerateTest, SaysWhichOptionsHaveNoEffect) {
  const std::string greedy = "generate . --prompt-ids 4 --max-new-tokens 2 --json ";
  const auto found = Attnrun(greedy + "--top-k 3 --ignore-eos --eos-token-id 5");
  EXPECT_EQ(found.status, 0);
  EXPECT_THAT(found.err, HasSubstr("--top-k has no effect without --do-sample"));
  EXPECT_THAT(found.err, HasSubstr("--eos-token-id has no effect beside --ignore-eos"));
  EXPECT_EQ(Attnrun(greedy + "--top-k 3 --do-sample --ignore-eos").err, "");
  const auto others = Attnrun(greedy + "--length-penalty 2 --max-length 9 --min-length 1 " +
                              "--min-new-tokens 1 --max-matching-ngram-size 2 --language de");
  for (const char* said :
       {"--length-penalty has no effect without",
        "--max-length has no effect beside --max-new-tokens", "--min-length has no effect beside",
        "--max-matching-ngram-size has no effect without --prompt-lookup-num-tokens",
        "--language has no effect without lang_to_id in the configuration"}) {
    EXPECT_THAT(others.err, HasSubstr(said));
  }
}

TEST_F(GenerateTest, BadUsageIsStatus2) {
  const std::pair<const char*, const char*> cases[] = {
      {"generate", "is required"},
      {"generate . --prompt-ids 1,x", "--prompt-ids: expected ids separated by commas"},
      {"generate . --prompt-ids 1 --top-p high", "--top-p: expected a number, but found high"},
      {"generate . --prompt-ids 1 --top-q 1", "there is no option --top-q of generate"},
      {"generate . --prompt-ids 1 --do-sample --temperature 0", "temperature: expected a number"},
      {"generate . --prompt-ids 1 --top-p 2", "top_p: expected a number from 0 to 1"},
      {"generate . --prompt-ids 1 --num-beams 2 --num-return-sequences 3",
       "num_return_sequences is 3, but num_beams is 2"},
      {"generate . --prompt-ids 1 --num-return-sequences 2", "one most probable sequence"},
      {"generate . --prompt-ids 1 --max-new-tokens 0", "max_new_tokens"},
      {"generate . --prompt-ids 1 --max-new-tokens 2 --min-new-tokens 3", "min_new_tokens is 3"},
      {"generate . --prompt-ids 1 --num-beams 4 --num-beam-groups 3 --diversity-penalty 1",
       "num_beams is 4, no multiple of num_beam_groups, 3"},
      {"generate . --prompt-ids 1 --num-beams 4 --num-beam-groups 2", "needs a diversity_penalty"},
      {"generate . --prompt-ids 1 --num-beams 2 --stream", "--stream: a beam search is not sure"},
      {"generate . --prompt-ids 1 --early-stopping soon", "expected true, false or never"},
      {"generate . --prompt-ids 1 --prompt-ids-file lines.txt", "excludes"},
      {"generate . --prompt-ids 1 --min-length 5 --max-length 4",
       "min_length is 5, but max_length is 4"},
      {"generate . --prompt-ids 1 --cache-type int4",
       "--cache-type: expected float32, float16, bfloat16 or int8, but found 'int4'"},
  };
  for (const auto& [arguments, message] : cases) ExpectRefused(arguments, 2, message);
}

TEST_F(GenerateTest, BadRequestsAreStatus3) {
  WriteAll(folder_ / "unknown.json", R"({"num_beans": 3})");
  WriteAll(folder_ / "type.json", R"({"num_beams": "many"})");
  WriteAll(folder_ / "guided.json", R"({"guidance_scale": 2.5})");
  onnx::ModelProto embeds = MakeDecoder();
  onnx::GraphProto& graph = *embeds.mutable_graph();
  graph.clear_input();
  Declare(*graph.add_input(), "inputs_embeds", onnx::TensorProto::FLOAT,
          {"batch", "sequence", "8"});
  graph.clear_node();
  AddNode(graph, "Identity", "identity", "inputs_embeds", "logits");
  WriteAll(folder_ / "embeds.onnx", embeds.SerializeAsString());
  const std::pair<const char*, const char*> cases[] = {
      {"generate . --prompt-ids 1,8", "expected ids from 0 to 7"},
      {"generate . --prompt-ids 1,-1", "but found -1"},
      {"generate .", "it is empty"},
      {"generate . --prompt-ids 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7,0,1,2,3", "reads at most 20"},
      {"generate . --prompt-ids 1,2 --max-length 2", "it has 2 ids, but max_length is 2"},
      {"generate . --prompt-ids 1 --bad-words 3,9", "bad_words_ids: expected ids from 0 to 7"},
      {"generate . --prompt-ids 1 --suppress-tokens 0,1,2,3,4,5,6,7", "exclude every token"},
      {"generate . --prompt-ids 1 --encoder-ids 1", "the model has none"},
      {"generate . --prompt-ids 1 --generation-config unknown.json", "no setting 'num_beans'"},
      {"generate . --prompt-ids 1 --generation-config type.json", "num_beams: expected an integer"},
      {"generate . --prompt-ids 1 --generation-config guided.json", "guidance_scale"},
      {"generate . --prompt-ids-file none.txt", "none.txt: cannot be read"},
      {"generate . --prompt-ids-file data", "data: expected a file, but it is a folder"},
      {"generate data --prompt-ids 1", "expected model.onnx"},
      {"generate embeds.onnx --prompt-ids 1", "; embed_tokens.onnx beside it would make it of ids"},
      {"generate m.onnx --prompt-ids 1", "does not know how to fill the decoder's input 'x'"},
  };
  for (const auto& [arguments, message] : cases) ExpectRefused(arguments, 3, message);
}

}  // namespace
}  // namespace attnrun::cli
