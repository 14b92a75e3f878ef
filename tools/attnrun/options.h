// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_OPTIONS_H_
#define ATTNRUN_TOOLS_ATTNRUN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnrun/session.h"
#include "tools/attnrun/difference.h"
#include "tools/attnrun/inputs.h"

namespace attnrun::cli {

// Exit statuses.
inline constexpr int kFine = 0;
inline constexpr int kComparisonFailed = 1;
inline constexpr int kBadUsage = 2;
// The model or an input is invalid or unsupported, or an output cannot be written.
inline constexpr int kInvalid = 3;

// --sweep NAME=N,N,...: the extents of a symbolic dimension, one after the other.
struct Sweep {
  std::string dim;
  std::vector<int64_t> extents;
};

// --stream NAME=LOW..HIGH: a random extent for every request.
struct Stream {
  std::string dim;
  int64_t low = 0;
  int64_t high = 0;
};

// The command line.
struct Options {
  // "run", "inspect", "fusions", "compare", "bench", "profile" or "ops".
  std::string command;
  std::string model;
  InputOptions inputs;
  SessionOptions session;
  // An .npz; empty for none.
  std::string output;
  // An .npz or a folder; empty for none.
  std::string expect;
  Tolerance tolerance;
  bool json = false;
  std::optional<int> runs;
  std::optional<int> warmup;
  std::optional<Sweep> sweep;
  std::optional<Stream> stream;
  // Numbers of threads that call the session at once; empty: one caller.
  std::vector<int> callers;
  // A Chrome trace; empty for none.
  std::string trace;
  // A drawing of the profile (SVG); empty for none.
  std::string svg;
  // A drawing in the language of Graphviz; empty for none.
  std::string dot;
  // Print the optimized graph.
  bool graph = false;
};

// Reads the command line into `options`. Returns the exit status if that is all there is to do:
// help and version are printed to standard output, what is wrong to standard error.
std::optional<int> ParseOptions(int argc, const char* const* argv, Options& options);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_OPTIONS_H_
