// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "attnrun/generator.h"
#include "core/status.h"
#include "tools/attnrun/bench_modes.h"
#include "tools/attnrun/interrupt_guard.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/latency.h"
#include "tools/attnrun/progress.h"
#include "tools/attnrun/read_bandwidth.h"

namespace attnrun::cli {
namespace {

constexpr int kGenerateWarmup = 1;
constexpr int kGenerateRuns = 5;

// The bytes that a step reads, as far as the files tell.
struct StepBytes {
  // All parameters of the decoder. A table of embeddings that is not the last layer's counts,
  // although a token reads one row of it.
  int64_t weights = 0;
  // For each position of the cache.
  int64_t cache_per_position = 0;
};

std::optional<StepBytes> BytesOfStep(const Generator& generator) {
  const absl::StatusOr<ModelInfo> info = InspectModel(generator.decoder_file());
  const absl::StatusOr<size_t> one = generator.decoder().StateBytes({.batch = 1, .capacity = 1});
  const absl::StatusOr<size_t> two = generator.decoder().StateBytes({.batch = 1, .capacity = 2});
  if (!info.ok() || !one.ok() || !two.ok()) return std::nullopt;
  return StepBytes{info->parameter_bytes, static_cast<int64_t>(*two - *one)};
}

// The new tokens beside those with caches as the model declares them.
struct Agreement {
  // The tokens that are equal before the first that is not.
  int64_t tokens = 0;
  // The largest difference of the log-probabilities of these.
  double largest_difference = 0;
};

struct GenerationReport {
  double prompt_tokens_per_second = 0;
  double decode_tokens_per_second = 0;
  absl::Duration time_to_first_token = absl::InfiniteDuration();
  size_t state_bytes = 0;
  // Before the bandwidth is measured, which takes a large buffer.
  double peak_memory_mb = 0;
  // Bytes per second, and the share of it that decoding reaches; 0 if the files do not tell.
  double bandwidth = 0;
  double share = 0;
  int threads = 0;
  // With --cache-type.
  std::optional<Agreement> agreement;
};

// Ids that every vocabulary has. Lookups of other ids would take as long.
TokenIds Prompt(int64_t tokens) {
  TokenIds ids(tokens);
  for (int64_t i = 0; i < tokens; ++i) ids[i] = 1 + i % 9;
  return ids;
}

GenerationConfig ConfigOf(const GenerationBench& bench) {
  GenerationConfig config;
  config.max_new_tokens = bench.new_tokens;
  config.min_new_tokens = bench.new_tokens;
  return config;
}

std::vector<GenerationRequest> RequestsOf(const GenerationBench& bench) {
  std::vector<GenerationRequest> requests(1);
  requests[0].prompt = Prompt(bench.prompt_tokens);
  return requests;
}

// The tokens of one run, with their log-probabilities.
absl::StatusOr<std::vector<std::pair<int64_t, float>>> TokensOf(const GenerationBench& bench,
                                                                const Generator& generator) {
  GenerateOptions options;
  options.top_candidates = 1;
  ATTNRUN_ASSIGN_OR_RETURN(const GenerationResult result,
                           generator.Generate(RequestsOf(bench), ConfigOf(bench), options));
  std::vector<std::pair<int64_t, float>> tokens;
  for (const auto& candidates : result.sequences[0].candidates) tokens.push_back(candidates[0]);
  return tokens;
}

absl::StatusOr<Agreement> CompareCaches(const Options& options, const GenerationBench& bench,
                                        const Generator& generator) {
  SessionOptions session = options.session;
  session.cache_type = DataType::kFloat;
  ATTNRUN_ASSIGN_OR_RETURN(const Generator exact, Generator::Load(options.model, session));
  ATTNRUN_ASSIGN_OR_RETURN(const auto expected, TokensOf(bench, exact));
  ATTNRUN_ASSIGN_OR_RETURN(const auto actual, TokensOf(bench, generator));
  Agreement agreement;
  for (size_t i = 0; i < actual.size() && actual[i].first == expected[i].first; ++i) {
    ++agreement.tokens;
    agreement.largest_difference = std::max<double>(
        agreement.largest_difference, std::fabs(actual[i].second - expected[i].second));
  }
  return agreement;
}

absl::Status Measure(const Options& options, const GenerationBench& bench,
                     const Generator& generator, GenerationReport& report) {
  const GenerationConfig config = ConfigOf(bench);
  const std::vector<GenerationRequest> requests = RequestsOf(bench);
  GenerateOptions generate;
  generate.cancel = &InterruptFlag();
  Progress progress;
  const int warmup = options.warmup.value_or(kGenerateWarmup);
  for (int run = -warmup; run < options.runs.value_or(kGenerateRuns); ++run) {
    progress.Show(absl::StrCat("run ", run + 1));
    const absl::StatusOr<GenerationResult> result = generator.Generate(requests, config, generate);
    if (WasInterrupted() && run > 0) break;
    if (!result.ok()) return result.status();
    if (run < 0) continue;
    report.prompt_tokens_per_second =
        std::max(report.prompt_tokens_per_second, result->prompt_tokens_per_second);
    report.decode_tokens_per_second =
        std::max(report.decode_tokens_per_second, result->decode_tokens_per_second);
    report.time_to_first_token = std::min(report.time_to_first_token, result->time_to_first_token);
    report.state_bytes = std::max(report.state_bytes, result->state_bytes);
  }
  return absl::OkStatus();
}

// Bytes that a step in the middle of decoding reads.
int64_t BytesRead(const StepBytes& step, const GenerationBench& bench) {
  return step.weights + step.cache_per_position * (bench.prompt_tokens + bench.new_tokens / 2);
}

Json ToJson(const GenerationBench& bench, const GenerationReport& report,
            absl::Duration load_time) {
  Json json = {{"prompt_tokens", bench.prompt_tokens},
               {"new_tokens", bench.new_tokens},
               {"prompt_tokens_per_second", report.prompt_tokens_per_second},
               {"decode_tokens_per_second", report.decode_tokens_per_second},
               {"time_to_first_token_ms", absl::ToDoubleMilliseconds(report.time_to_first_token)},
               {"cache_bytes", report.state_bytes},
               {"load_ms", absl::ToDoubleMilliseconds(load_time)},
               {"peak_rss_mb", report.peak_memory_mb},
               {"threads", report.threads},
               {"read_gb_per_s", report.bandwidth * 1e-9}};
  if (report.agreement.has_value()) {
    json["equal_tokens"] = report.agreement->tokens;
    json["largest_log_probability_difference"] = report.agreement->largest_difference;
  }
  json["share_of_bandwidth"] = report.share > 0 ? Json(report.share) : Json(nullptr);
  return json;
}

void PrintText(const GenerationBench& bench, const GenerationReport& report,
               absl::Duration load_time) {
  std::cout << absl::StrFormat(
      "prompt       %d tokens, %.0f tokens/s\nfirst token  %.2f ms\n"
      "decode       %d tokens, %.1f tokens/s, %.2f ms a token\n",
      bench.prompt_tokens, report.prompt_tokens_per_second,
      absl::ToDoubleMilliseconds(report.time_to_first_token), bench.new_tokens,
      report.decode_tokens_per_second, 1e3 / report.decode_tokens_per_second);
  if (report.share > 0) {
    std::cout << absl::StrFormat("bandwidth    %.0f %% of the %.1f GB/s that memory gives\n",
                                 100 * report.share, report.bandwidth * 1e-9);
  }
  if (report.agreement.has_value()) {
    std::cout << absl::StrFormat(
        "agreement    %d tokens as with float32 caches, log-probabilities differ by up to %.2g\n",
        report.agreement->tokens, report.agreement->largest_difference);
  }
  constexpr double kMebi = 1 << 20;
  std::cout << absl::StrFormat(
      "caches       %.1f MB\nload time    %.1f ms\npeak memory  %.1f MB\nthreads      %d\n",
      static_cast<double>(report.state_bytes) / kMebi, absl::ToDoubleMilliseconds(load_time),
      report.peak_memory_mb, report.threads);
}

}  // namespace

absl::Status BenchGenerate(const Options& options) {
  const GenerationBench bench = options.generation_bench.value_or(GenerationBench());
  const absl::Time begin = absl::Now();
  GeneratorOptions generation;
  // A prompt that was read before is to be read again.
  generation.prefix_cache_bytes = 0;
  ATTNRUN_ASSIGN_OR_RETURN(const Generator generator,
                           Generator::Load(options.model, options.session, generation));
  const absl::Duration load_time = absl::Now() - begin;
  if (!generator.encoder_inputs().empty()) {
    return absl::InvalidArgumentError(
        "bench --generate measures decoders, and this model has an encoder");
  }
  const InterruptGuard guard;
  GenerationReport report;
  ATTNRUN_RETURN_IF_ERROR(Measure(options, bench, generator, report));
  if (options.session.cache_type != DataType::kFloat && !WasInterrupted()) {
    ATTNRUN_ASSIGN_OR_RETURN(report.agreement, CompareCaches(options, bench, generator));
  }
  report.threads = generator.decoder().threads();
  report.peak_memory_mb = PeakMemoryMb();
  report.bandwidth = MeasureMemoryBandwidth(report.threads);
  const std::optional<StepBytes> step = BytesOfStep(generator);
  if (step.has_value() && report.bandwidth > 0) {
    report.share = static_cast<double>(BytesRead(*step, bench)) * report.decode_tokens_per_second /
                   report.bandwidth;
  }
  if (options.json) {
    PrintJson(ToJson(bench, report, load_time));
  } else {
    PrintText(bench, report, load_time);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::cli
