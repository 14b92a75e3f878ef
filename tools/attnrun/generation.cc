// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "attnrun/generator.h"
#include "core/status.h"
#include "tools/attnrun/arrays.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/generation_ids.h"
#include "tools/attnrun/generation_options.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/progress.h"

namespace attnrun::cli {
namespace {

// The arrays of --input, each with a row per request.
absl::StatusOr<TensorMap> ReadEncoderInputs(const Options& options, const Generator& generator) {
  TensorMap inputs;
  if (options.inputs.files.empty()) return inputs;
  if (generator.encoder_inputs().empty()) {
    return absl::InvalidArgumentError("--input is for encoders, and the model has none");
  }
  ATTNRUN_RETURN_IF_ERROR(
      ReadFiles(options.inputs.files, Role::kInput, generator.encoder_inputs(), inputs));
  for (const auto& [name, tensor] : inputs) {
    if (tensor.rank() > 0 && tensor.dim(0) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--input ", name, ": expected a row for each request, but found ", TypeAndShape(tensor)));
  }
  return inputs;
}

// The number of requests, which all sources that are given must agree on.
absl::StatusOr<size_t> CountRequests(const std::vector<TokenIds>& prompts,
                                     const std::vector<TokenIds>& texts, const TensorMap& inputs) {
  std::optional<size_t> count;
  absl::Status status;
  const auto agree = [&](absl::string_view source, size_t found) {
    if (count.has_value() && *count != found) {
      status = absl::InvalidArgumentError(
          absl::StrCat(source, ": expected ", *count, " of them, but found ", found));
    }
    count = found;
  };
  for (const auto& [name, tensor] : inputs) {
    agree(absl::StrCat("--input ", name), static_cast<size_t>(tensor.dim(0)));
  }
  if (!texts.empty()) agree("--encoder-ids", texts.size());
  if (!prompts.empty()) agree("--prompt-ids", prompts.size());
  ATTNRUN_RETURN_IF_ERROR(status);
  return count.value_or(1);
}

Tensor Row(const Tensor& tensor, size_t row) {
  Shape shape = tensor.shape();
  const Shape strides = DenseStrides(shape);
  shape[0] = 1;
  return tensor.View(shape, strides, static_cast<int64_t>(row) * strides[0]);
}

absl::StatusOr<std::vector<GenerationRequest>> MakeRequests(const Options& options,
                                                            const Generator& generator) {
  const GenerationArguments& arguments = options.generation;
  std::vector<TokenIds> prompts = arguments.prompts;
  if (!arguments.prompts_file.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(prompts, ReadIdsFile(arguments.prompts_file));
  }
  if (!arguments.encoder_ids.empty() && generator.encoder_inputs().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--encoder-ids is for encoders, and the model has none: there is no "
                     "encoder_model.onnx beside ",
                     generator.decoder_file()));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap inputs, ReadEncoderInputs(options, generator));
  ATTNRUN_ASSIGN_OR_RETURN(const size_t count,
                           CountRequests(prompts, arguments.encoder_ids, inputs));
  std::vector<GenerationRequest> requests(count);
  for (size_t i = 0; i < count; ++i) {
    if (!prompts.empty()) requests[i].prompt = prompts[i];
    if (!arguments.encoder_ids.empty()) requests[i].encoder_ids = arguments.encoder_ids[i];
    for (const auto& [name, tensor] : inputs) {
      ATTNRUN_ASSIGN_OR_RETURN(requests[i].encoder_inputs[name], Row(tensor, i).Dense());
    }
  }
  return requests;
}

// Applies --generation-config and then the flags.
absl::Status UpdateConfig(const GenerationArguments& arguments, GenerationConfig& config) {
  if (!arguments.config_file.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(arguments.config_file));
    ATTNRUN_RETURN_IF_ERROR(
        Annotate(UpdateGenerationConfig(text, /*strict=*/true, config), arguments.config_file));
  }
  ATTNRUN_RETURN_IF_ERROR(
      UpdateGenerationConfig(arguments.SettingsJson(), /*strict=*/true, config));
  if (arguments.ignore_eos) config.eos_token_id.clear();
  return absl::OkStatus();
}

// Says which options have no effect beside the others.
void WarnOfUnused(const GenerationArguments& arguments, const GenerationConfig& config) {
  // A setting, and the reason why it may have no effect, if that is so.
  struct Unused {
    const char* setting;
    bool holds;
    const char* why;
  };
  std::vector<Unused> unused = {
      {"length_penalty", config.num_beams == 1, "without --num-beams"},
      {"early_stopping", config.num_beams == 1, "without --num-beams"},
      {"diversity_penalty", config.num_beam_groups == 1, "without --num-beam-groups"},
      {"max_length", config.max_new_tokens.has_value(), "beside --max-new-tokens"},
      {"min_length", config.min_new_tokens.has_value(), "beside --min-new-tokens"},
      {"num_assistant_tokens", arguments.draft.empty(), "without --draft"},
      {"max_matching_ngram_size", !config.prompt_lookup_num_tokens.has_value(),
       "without --prompt-lookup-num-tokens"},
      {"language", config.lang_to_id.empty(), "without lang_to_id in the configuration"},
      {"task", config.task_to_id.empty(), "without task_to_id in the configuration"}};
  for (const char* name :
       {"temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff"}) {
    unused.push_back({name, !config.do_sample, "without --do-sample"});
  }
  for (const Unused& option : unused) {
    if (!option.holds || arguments.settings.count(option.setting) == 0) continue;
    std::cerr << "attnrun: " << OptionOf(option.setting) << " has no effect " << option.why << "\n";
  }
  if (arguments.ignore_eos && arguments.settings.count("eos_token_id") > 0) {
    std::cerr << "attnrun: --eos-token-id has no effect beside --ignore-eos\n";
  }
}

Json ToJson(const GeneratedSequence& sequence) {
  Json json = {{"prompt_tokens", sequence.prompt_tokens},
               {"tokens", sequence.tokens},
               {"score", sequence.score},
               {"finish", Name(sequence.finish)}};
  for (const auto& candidates : sequence.candidates) {
    Json list = Json::array();
    for (const auto& [id, value] : candidates) list.push_back({id, value});
    json["candidates"].push_back(list);
  }
  return json;
}

void Print(const Options& options, const GenerationResult& result) {
  if (options.json) {
    Json json = {{"sequences", Json::array()}};
    for (const GeneratedSequence& sequence : result.sequences) {
      json["sequences"].push_back(ToJson(sequence));
    }
    json["time_to_first_token_ms"] = absl::ToDoubleMilliseconds(result.time_to_first_token);
    json["prompt_tokens_per_second"] = result.prompt_tokens_per_second;
    json["decode_tokens_per_second"] = result.decode_tokens_per_second;
    json["reused_tokens"] = result.reused_tokens;
    json["guessed_tokens"] = result.guessed_tokens;
    json["accepted_tokens"] = result.accepted_tokens;
    json["state_bytes"] = result.state_bytes;
    if (!options.generation.streams) return PrintJson(json);
    // The last of the lines, each of which is an object.
    std::cout << json.dump() << "\n";
    return;
  }
  for (size_t i = 0; i < result.sequences.size(); ++i) {
    const GeneratedSequence& sequence = result.sequences[i];
    std::cout << absl::StrFormat("sequence %d: %d prompt tokens, %d new, score %.4g, end by %s\n",
                                 i, sequence.prompt_tokens, sequence.tokens.size(), sequence.score,
                                 Name(sequence.finish))
              << "  " << absl::StrJoin(sequence.tokens, ",") << "\n";
  }
  std::cout << absl::StrFormat(
      "first token after %.1f ms; %.1f prompt tokens/s, %.1f new tokens/s\n",
      absl::ToDoubleMilliseconds(result.time_to_first_token), result.prompt_tokens_per_second,
      result.decode_tokens_per_second);
  if (result.reused_tokens > 0) {
    std::cout << absl::StrFormat("%d prompt tokens were read once for several prompts\n",
                                 result.reused_tokens);
  }
  if (result.guessed_tokens > 0) {
    std::cout << absl::StrFormat("%d of %d guesses were right\n", result.accepted_tokens,
                                 result.guessed_tokens);
  }
}

// --stream: prints a token of a sequence. Behind --json it is an object of its own line.
void PrintToken(bool is_json, size_t sequence, int64_t token) {
  if (is_json) {
    std::cout << Json({{"sequence", sequence}, {"token", token}}).dump() << "\n" << std::flush;
  } else {
    std::cout << sequence << " " << token << "\n" << std::flush;
  }
}

// Shows or streams the tokens of a search that is sure of them before its end. nullopt, and a
// message, for one that is asked to stream and cannot.
std::optional<GenerateOptions> MakeGenerateOptions(const Options& options,
                                                   const GenerationConfig& config,
                                                   Progress& progress) {
  GenerateOptions generate;
  generate.top_candidates = options.generation.top_candidates;
  const bool streams = options.generation.streams;
  if (config.num_beams > 1) {
    if (!streams) return generate;
    std::cerr << "attnrun: --stream: a beam search is not sure of any token before its end\n";
    return std::nullopt;
  }
  generate.on_token = [=, is_json = options.json, &progress, count = 0](size_t sequence,
                                                                        int64_t token) mutable {
    if (streams) return PrintToken(is_json, sequence, token);
    progress.Show(absl::StrCat(++count, " tokens"));
  };
  return generate;
}

}  // namespace

absl::StatusOr<int> GenerateTokens(const Options& options) {
  const GenerationArguments& arguments = options.generation;
  // Settings that cannot be are bad usage if the command line alone gives them.
  GenerationConfig alone;
  const absl::Status usage = UpdateGenerationConfig(arguments.SettingsJson(), true, alone);
  if (!usage.ok()) {
    std::cerr << "attnrun: " << usage.message() << "\n";
    return kBadUsage;
  }
  GeneratorOptions generation;
  generation.draft = arguments.draft;
  ATTNRUN_ASSIGN_OR_RETURN(const Generator generator,
                           Generator::Load(options.model, options.session, generation));
  GenerationConfig config = generator.config();
  ATTNRUN_RETURN_IF_ERROR(UpdateConfig(arguments, config));
  WarnOfUnused(arguments, config);
  const absl::Status check = CheckGenerationConfig(config);
  if (!check.ok() && !CheckGenerationConfig(alone).ok()) {
    std::cerr << "attnrun: " << check.message() << "\n";
    return kBadUsage;
  }
  ATTNRUN_RETURN_IF_ERROR(check);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests,
                           MakeRequests(options, generator));
  std::optional<Progress> progress(std::in_place);
  const std::optional<GenerateOptions> generate = MakeGenerateOptions(options, config, *progress);
  if (!generate.has_value()) return kBadUsage;
  ATTNRUN_ASSIGN_OR_RETURN(const GenerationResult result,
                           generator.Generate(requests, config, *generate));
  progress.reset();
  Print(options, result);
  return kFine;
}

}  // namespace attnrun::cli
