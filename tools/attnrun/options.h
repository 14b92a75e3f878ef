// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_OPTIONS_H_
#define ATTNRUN_TOOLS_ATTNRUN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnrun/session.h"
#include "tools/attnrun/difference.h"
#include "tools/attnrun/generation_arguments.h"
#include "tools/attnrun/inputs.h"

namespace attnrun::cli {

// Exit statuses.
inline constexpr int kFine = 0;
inline constexpr int kComparisonFailed = 1;
inline constexpr int kBadUsage = 2;
// The model or an input is invalid or unsupported, or an output cannot be written.
inline constexpr int kInvalid = 3;

// --sweep NAME=N,N,...: one measurement per extent of a symbolic dimension.
struct Sweep {
  std::string dim;
  std::vector<int64_t> extents;
};

// --stream NAME=LOW..HIGH: a random extent for each request.
struct Stream {
  std::string dim;
  int64_t low = 0;
  int64_t high = 0;
};

// --generate: a prompt of this many ids, and new tokens after it.
struct GenerationBench {
  int64_t prompt_tokens = 128;
  int64_t new_tokens = 64;
};

// The parsed command line.
struct Options {
  // "run", "inspect", "fusions", "compare", "bench", "profile", "generate", "ops" or
  // "passes".
  std::string command;
  std::string model;
  InputOptions inputs;
  SessionOptions session;
  // Path of an .npz file; empty for none.
  std::string output;
  // Path of an .npz file or a folder; empty for none.
  std::string expect;
  Tolerance tolerance;
  bool json = false;
  // Seconds that a run may take.
  std::optional<double> timeout;
  std::optional<int> runs;
  std::optional<int> warmup;
  std::optional<Sweep> sweep;
  std::optional<Stream> stream;
  // Numbers of threads that call the session at once; empty for a single caller.
  std::vector<int> callers;
  std::optional<GenerationBench> generation_bench;
  // Path of a Chrome trace; empty for none.
  std::string trace;
  // Path of a drawing of the profile (SVG); empty for none.
  std::string svg;
  // Path of a Graphviz drawing; empty for none.
  std::string dot;
  // Print the optimized graph.
  bool graph = false;
  GenerationArguments generation;
};

// Parses the command line into `options`. Returns an exit status if the program is done: help and
// version go to standard output, usage errors to standard error.
std::optional<int> ParseOptions(int argc, const char* const* argv, Options& options);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_OPTIONS_H_
