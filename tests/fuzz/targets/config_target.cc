// SPDX-License-Identifier: Apache-2.0
// Configurations of generation: each reader reads the same text, and what passes the checks directs
// a search of a few tokens.
#include <algorithm>
#include <string>

#include "fuzz/targets/config_seeds.h"
#include "fuzz/targets/json_mutator.h"
#include "fuzz/targets/target.h"
#include "generation/fake_decoder.h"
#include "generation/model_folder.h"
#include "generation/scheduler.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kVocabulary = 23;
constexpr int64_t kMostNewTokens = 8;

void Search(const GenerationConfig& config) {
  // Wide searches of many sequences take long, as they must.
  if (config.num_beams > 64 || config.num_return_sequences > 64) return;
  const gen::FakeDecoder decoder(kVocabulary);
  gen::Scheduler scheduler(decoder, {}, {});
  gen::SearchSettings settings;
  settings.config = config;
  std::vector<gen::Task> tasks;
  tasks.push_back({{{1, 5, 6}, {3, 3 + kMostNewTokens, {4, 5}}},
                   [](int64_t) { return gen::FakeDecoder::NewRow(); },
                   true});
  GenerationResult result;
  if (!scheduler.Run(std::move(tasks), settings, {}, nullptr, result).ok()) return;
  for (const GeneratedSequence& sequence : result.sequences) {
    if (sequence.tokens.size() > kMostNewTokens) Fail("more tokens than allowed");
    for (const int64_t token : sequence.tokens) {
      if (token < 0 || token >= kVocabulary) Fail("a token outside the vocabulary");
    }
  }
}

void Use(const GenerationConfig& config) {
  if (CheckGenerationConfig(config).ok()) Search(config);
}

}  // namespace
}  // namespace attnrun::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool strict : {true, false}) {
    attnrun::GenerationConfig config;
    if (attnrun::UpdateGenerationConfig(text, strict, config).ok()) attnrun::testing::Use(config);
  }
  attnrun::gen::ModelFolder genai;
  if (attnrun::gen::ReadGenaiConfig(text, genai).ok()) attnrun::testing::Use(genai.config);
  attnrun::gen::ModelFolder model;
  if (attnrun::gen::ReadModelConfig(text, true, model).ok()) attnrun::testing::Use(model.config);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  using nlohmann::json;
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  json value = json::parse(data, data + size, nullptr, false);
  const auto& seeds = attnrun::testing::kConfigSeeds;
  const json donor = json::parse(seeds[seed % std::size(seeds)]);
  if (value.is_discarded()) value = donor;
  attnrun::testing::MutateJson(value, donor, seed);
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > most) return size;
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
