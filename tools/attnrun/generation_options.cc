// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/generation_options.h"

#include <cmath>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tools/attnrun/generation_ids.h"
#include "tools/attnrun/json.h"

namespace attnrun::cli {
namespace {

// An option that sets a setting of transformers to one value.
struct Setting {
  const char* name;
  const char* type;
  const char* description;
};

constexpr Setting kSettings[] = {
    {"max_new_tokens", "N", "The most new tokens"},
    {"max_length", "N", "The most ids, the prompt included"},
    {"min_new_tokens", "N", "Do not stop before"},
    {"min_length", "N", "Do not stop before, the prompt included"},
    {"max_time", "SECONDS", "Stop after the token at which this time is over"},
    {"num_beams", "N", "Beam search"},
    {"num_beam_groups", "N", "Beam search in N groups that differ"},
    {"diversity_penalty", "X",
     "Taken off the score of a token for each earlier group's that is alike"},
    {"num_return_sequences", "N", "Sequences of each prompt, the best first"},
    {"length_penalty", "X", "Beam scores are divided by length^X"},
    {"temperature", "X", "With --do-sample: scores are divided by it"},
    {"top_k", "N", "With --do-sample: keep the N most probable tokens (50 by default; 0: all)"},
    {"top_p", "P", "With --do-sample: keep the most probable tokens that sum to P"},
    {"min_p", "P", "With --do-sample: keep tokens of at least P x the most probable"},
    {"typical_p", "P", "With --do-sample: keep the most typical tokens that sum to P"},
    {"epsilon_cutoff", "P", "With --do-sample: keep tokens of at least P"},
    {"eta_cutoff", "P", "With --do-sample: as epsilon-cutoff, lower where much is possible"},
    {"repetition_penalty", "X", "Scores of tokens so far are divided by it"},
    {"presence_penalty", "X", "Taken off the scores of new tokens so far"},
    {"frequency_penalty", "X", "The same for each time that they came"},
    {"encoder_repetition_penalty", "X", "Above 1: prefer tokens of the encoder's text"},
    {"no_repeat_ngram_size", "N", "No sequence of N tokens comes twice"},
    {"encoder_no_repeat_ngram_size", "N", "None of the encoder's text comes again"},
    {"prefill_chunk_size", "N", "Read the prompt in pieces of N; changes no token"},
    {"prompt_lookup_num_tokens", "N",
     "Guess up to N tokens at once from what followed the last ones before; changes no token"},
    {"max_matching_ngram_size", "N", "With the former: the last N tokens must match (2), or fewer"},
    {"num_assistant_tokens", "N", "With --draft: guess up to N tokens at once (20)"},
    {"forced_bos_token_id", "ID", "The token after the decoder's start"},
    {"decoder_start_token_id", "ID", "The decoder's first token"},
    {"seed", "N", "Seed of --do-sample; 0 if not given"},
};

// An option that sets a setting to a list of ids.
constexpr Setting kLists[] = {
    {"eos_token_id", "ID,ID,...", "Stop after any of these"},
    {"suppress_tokens", "ID,ID,...", "Exclude these tokens"},
    {"begin_suppress_tokens", "ID,ID,...", "Exclude them as first new token"},
    {"forced_eos_token_id", "ID,ID,...", "The last token that the length allows"},
};

TokenIds ReadIds(const std::string& option, const std::string& text) {
  const absl::StatusOr<TokenIds> ids = ParseIds(text);
  if (!ids.ok()) throw CLI::ValidationError(absl::StrCat(option, ": ", ids.status().message()));
  return *ids;
}

std::string IdsJson(const TokenIds& ids) { return absl::StrCat("[", absl::StrJoin(ids, ","), "]"); }

// A number as JSON has it; CLI11 leaves the check to us.
std::string NumberJson(const std::string& option, const std::string& text) {
  double number = 0;
  if (absl::SimpleAtod(text, &number) && std::isfinite(number)) {
    int64_t integer = 0;
    if (absl::SimpleAtoi(text, &integer)) return absl::StrCat(integer);
    uint64_t large = 0;
    if (absl::SimpleAtoi(text, &large)) return absl::StrCat(large);
    return absl::StrFormat("%.17g", number);
  }
  throw CLI::ValidationError(absl::StrCat(option, ": expected a number, but found ", text));
}

void AddIds(CLI::App& app, const std::string& option, std::vector<TokenIds>& lists,
            const std::string& description) {
  const auto add = [option, &lists](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) lists.push_back(ReadIds(option, text));
  };
  app.add_option_function<std::vector<std::string>>(option, add, description + "; may be repeated")
      ->allow_extra_args(false)
      ->type_name("ID,ID,...");
}

// An option that may be repeated and collects the values of a setting.
void AddCollected(CLI::App& app, GenerationArguments& arguments, const std::string& name,
                  const std::string& option, const std::string& type,
                  const std::function<std::string(const std::string&)>& to_json,
                  const std::string& description) {
  const auto set = [=, &arguments](const std::vector<std::string>& texts) {
    const auto append = [&](std::string* out, const std::string& text) { *out += to_json(text); };
    arguments.settings[name] = absl::StrCat("[", absl::StrJoin(texts, ",", append), "]");
  };
  app.add_option_function<std::vector<std::string>>(option, set, description + "; may be repeated")
      ->allow_extra_args(false)
      ->type_name(type);
}

std::string BiasJson(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.size() != 2) {
    throw CLI::ValidationError(
        absl::StrCat("--sequence-bias: expected IDS=X, but found '", text, "'"));
  }
  return absl::StrCat("[", IdsJson(ReadIds("--sequence-bias", parts[0])), ",",
                      NumberJson("--sequence-bias", parts[1]), "]");
}

void AddSettings(CLI::App& app, GenerationArguments& arguments) {
  for (const Setting& setting : kSettings) {
    const std::string option = OptionOf(setting.name);
    app.add_option_function<std::string>(
           option,
           [option, name = setting.name, &arguments](const std::string& text) {
             arguments.settings[name] = NumberJson(option, text);
           },
           setting.description)
        ->type_name(setting.type);
  }
  for (const Setting& setting : kLists) {
    const std::string option = OptionOf(setting.name);
    app.add_option_function<std::string>(
           option,
           [option, name = setting.name, &arguments](const std::string& text) {
             arguments.settings[name] = IdsJson(ReadIds(option, text));
           },
           setting.description)
        ->type_name(setting.type);
  }
  const auto to_ids = [](const std::string& option) {
    return [option](const std::string& text) { return IdsJson(ReadIds(option, text)); };
  };
  AddCollected(app, arguments, "stop_sequences", "--stop-sequence", "ID,ID,...",
               to_ids("--stop-sequence"), "Stop after this sequence of new tokens");
  AddCollected(app, arguments, "bad_words_ids", "--bad-words", "ID,ID,...", to_ids("--bad-words"),
               "Exclude this sequence");
  AddCollected(app, arguments, "sequence_bias", "--sequence-bias", "IDS=X", BiasJson,
               "Add X to the score of the last of IDS after the others");
}

void SetEarlyStopping(const std::string& text, GenerationArguments& arguments) {
  if (text != "true" && text != "false" && text != "never") {
    throw CLI::ValidationError(
        absl::StrCat("--early-stopping: expected true, false or never, but found '", text, "'"));
  }
  arguments.settings["early_stopping"] = text == "never" ? "\"never\"" : text;
}

void AddFlag(CLI::App& app, GenerationArguments& arguments, const std::string& option,
             const std::string& name, const std::string& value, const std::string& description) {
  app.add_flag_callback(
      option, [&arguments, name, value] { arguments.settings[name] = value; }, description);
}

void AddText(CLI::App& app, GenerationArguments& arguments, const std::string& name,
             const std::string& type, const std::string& description) {
  app.add_option_function<std::string>(
         OptionOf(name),
         [&arguments, name](const std::string& text) {
           arguments.settings[name] =
               Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
         },
         description)
      ->type_name(type);
}

}  // namespace

std::string OptionOf(absl::string_view setting) {
  return absl::StrCat("--", absl::StrReplaceAll(setting, {{"_", "-"}}));
}

std::string GenerationArguments::SettingsJson() const {
  const auto append = [](std::string* out, const auto& setting) {
    absl::StrAppend(out, "\"", setting.first, "\":", setting.second);
  };
  return absl::StrCat("{", absl::StrJoin(settings, ",", append), "}");
}

void AddGenerationOptions(CLI::App& app, GenerationArguments& arguments) {
  AddIds(app, "--prompt-ids", arguments.prompts, "A prompt");
  app.add_option("--prompt-ids-file", arguments.prompts_file,
                 "Prompts from a file: one per line, or a JSON list of lists")
      ->excludes("--prompt-ids")
      ->type_name("FILE");
  AddIds(app, "--encoder-ids", arguments.encoder_ids, "A text for the encoder");
  app.add_option("--generation-config", arguments.config_file,
                 "Settings by the names of transformers' GenerationConfig (JSON); they override "
                 "the folder's")
      ->type_name("FILE");
  AddFlag(app, arguments, "--do-sample", "do_sample", "true", "Draw tokens by their probability");
  AddFlag(app, arguments, "--greedy", "do_sample", "false",
          "Take the most probable token, whatever the folder says");
  AddFlag(app, arguments, "--no-cache", "use_cache", "false",
          "Read all ids anew for each token; changes no token");
  AddFlag(app, arguments, "--return-timestamps", "return_timestamps", "true",
          "Whisper: with timestamps");
  AddText(app, arguments, "language", "NAME",
          "Whisper: the language, as de or german; without it, the model detects one");
  AddText(app, arguments, "task", "NAME", "Whisper: transcribe or translate");
  app.add_option("--draft", arguments.draft,
                 "A smaller model of the same vocabulary, which guesses tokens; changes none")
      ->type_name("MODEL|FOLDER");
  app.add_flag("--stream", arguments.streams,
               "Print each token as soon as it is certain: a line with the number of its sequence "
               "and its id; with --json each line is an object, the report the last one");
  app.add_flag("--ignore-eos", arguments.ignore_eos, "Do not stop at stop tokens");
  app.add_option_function<std::string>(
         "--early-stopping",
         [&arguments](const std::string& text) { SetEarlyStopping(text, arguments); },
         "Beam search: true, false or never")
      ->type_name("WHEN");
  app.add_option("--top-candidates", arguments.top_candidates,
                 "With --json: also the N best candidates for each token and their "
                 "log-probabilities")
      ->check(CLI::Range(0, 1 << 20).description(""))
      ->type_name("N");
  AddSettings(app, arguments);
}

}  // namespace attnrun::cli
