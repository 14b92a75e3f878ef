// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/contradiction.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/attnrun/model_run.h"

namespace attnrun::cli {
namespace {

// The dimension that a bench varies; empty if it varies none.
std::string VariedDim(const Options& options) {
  if (options.sweep.has_value()) return options.sweep->dim;
  return options.stream.has_value() ? options.stream->dim : "";
}

// An option for inputs, which a decoder does not get by name; empty if there is none.
std::string InputOption(const InputOptions& inputs) {
  if (!inputs.archive.empty()) return "--inputs";
  if (!inputs.files.empty()) return "--input";
  return inputs.dims.empty() ? "" : "--dim";
}

// True if both paths lead to one file, which may not exist yet.
bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return !a.empty() && !b.empty() && (a == b || std::filesystem::equivalent(a, b, ignored));
}

// A message if a file would be written over another one of the same command; empty if none.
std::string Overwritten(const Options& options) {
  const std::pair<const char*, const std::string*> written[] = {{"--output", &options.output},
                                                                {"--dot", &options.dot},
                                                                {"--trace", &options.trace},
                                                                {"--svg", &options.svg}};
  const std::pair<const char*, const std::string*> read[] = {{"the model", &options.model},
                                                             {"--inputs", &options.inputs.archive},
                                                             {"--expect", &options.expect}};
  for (const auto& [name, path] : written) {
    for (const auto& [other, source] : read) {
      if (IsSameFile(*path, *source)) {
        return absl::StrCat(name, " ", *path, " would be written over ", other);
      }
    }
  }
  if (IsSameFile(options.trace, options.svg)) return "--trace and --svg name one file";
  return "";
}

}  // namespace

std::string Contradiction(const Options& options) {
  const bool tolerance = options.tolerance.rtol.has_value() || options.tolerance.atol.has_value();
  if (options.command == "run" && tolerance && options.expect.empty()) {
    return "--rtol and --atol need --expect";
  }
  if (options.command == "compare" && options.expect.empty() &&
      options.session.engine == Engine::kReference) {
    return "--engine reference would be compared with itself; add --expect";
  }
  if (options.session.precision != Precision::kFloat32 &&
      options.session.engine == Engine::kReference) {
    return absl::StrCat("--engine reference computes as the model is written, not in --precision ",
                        Name(options.session.precision));
  }
  const bool selects = !options.session.disabled_passes.empty() ||
                       !options.session.stop_after.empty() || options.session.max_rewrites >= 0;
  if (selects && options.session.engine != Engine::kOptimized) {
    return absl::StrCat(
        "--disable, --stop-after and --max-rewrites concern rewrites, and --engine ",
        EngineName(options.session.engine), " makes none");
  }
  std::string overwritten = Overwritten(options);
  if (!overwritten.empty()) return overwritten;
  if (options.graph && options.json) return "--graph prints text; leave out --json";
  if (options.generation_bench.has_value()) {
    const std::string given = InputOption(options.inputs);
    if (!given.empty()) return given + ": bench --generate makes prompts (--prompt-tokens)";
  }
  const std::string varied = VariedDim(options);
  if (!varied.empty() && options.inputs.dims.count(varied) > 0) {
    return absl::StrCat("--dim ", varied, ": the measurement varies it");
  }
  return "";
}

}  // namespace attnrun::cli
